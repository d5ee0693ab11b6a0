"""Globs of ignore files, workspaces and definitions: what they fit, and that no name makes them slow."""

from __future__ import annotations

import re

import pytest

from services.stacks.globs import glob_regex


@pytest.mark.parametrize(
    ("glob", "fits", "others"),
    [
        ("*.foo", ["a.foo", ".foo", "a.b.foo"], ["a/b.foo", "a.foox", "foo"]),
        ("a*b*c", ["abc", "axbxc", "abbcc", "abcbc"], ["abx", "acb", "a/bc"]),
        ("*a*", ["a", "bab"], ["", "b", "a/a"]),
        ("packages/*", ["packages/a"], ["packages", "packages/a/b"]),
        ("packages/**", ["packages/a", "packages/a/b"], ["packages", "other/a"]),
        ("**/node", ["node", "a/node", "a/b/node"], ["anode", "a/nodes"]),
        ("a/**/b*c/**/d", ["a/bc/d", "a/x/bxc/y/d", "a/bx/bc/d", "a/b/b1c/b2/d"], ["a/bx/d", "a/bc/dd"]),
        ("**/a/**/b", ["a/b", "x/a/b", "a/x/b", "a/a/b"], ["a", "b", "ab"]),
        ("a**b", ["ab", "a/b", "axx/yb"], ["a", "ba"]),
        ("fil?.[ch]", ["file.c", "fill.h"], ["file.d", "fil.c", "fil/.c"]),
        ("[!a]b", ["bb"], ["ab"]),
        (r"\*x", ["*x"], ["ax"]),
        ("a.b+(c)", ["a.b+(c)"], ["aXb+(c)"]),
        ("[", ["["], ["a"]),
    ],
)
def test_a_glob_fits_what_it_says(glob: str, fits: list[str], others: list[str]) -> None:
    pattern = re.compile(glob_regex(glob))
    assert [name for name in fits if not pattern.fullmatch(name)] == []
    assert [name for name in others if pattern.fullmatch(name)] == []


@pytest.mark.timeout(20)
def test_many_stars_are_no_work() -> None:
    for glob in ("*a" * 90 + "b", "**/*a" * 40 + "b", "*a*" * 60 + "b"):
        pattern = re.compile(glob_regex(glob))
        assert pattern.fullmatch("a" * 250) is None
        assert pattern.fullmatch("/".join(["a" * 40] * 20)) is None
