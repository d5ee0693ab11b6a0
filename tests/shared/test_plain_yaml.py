"""Untrusted YAML: what it holds is counted before anything is built of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.plain_yaml import NotPlain, documents
from tests.support.bounded import assert_reads

MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 8)}], k{n}: 1}}\n" for n in range(1, 9)
)
LAUGHS = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))


def test_every_document_of_a_text_is_read() -> None:
    assert list(documents("a: 1\n---\n- b\n", most=100)) == [{"a": 1}, ["b"]]
    assert list(documents("", most=100)) == []


@pytest.mark.parametrize("text", ["a: &x 1\nb: *x\n", "a: &x {y: 1}\nb: {<<: *x}\n", "- &a x\n- *a\n", "&a [*a]"])
def test_aliases_are_refused_with_their_line(text: str) -> None:
    with pytest.raises(NotPlain, match="aliases are not read") as refused:
        list(documents(text, most=100))
    assert refused.value.line


def test_a_merge_without_an_alias_is_refused() -> None:
    with pytest.raises(NotPlain, match="merges"):
        list(documents("b: {<<: {y: 1}}\n", most=100))


def test_aliases_count_as_often_as_they_stand() -> None:
    text = "a: &x {y: 1, z: 2}\nb: {<<: *x, z: 3}\nc: [*x, *x]\n"
    assert list(documents(text, most=100, aliases=True)) == [
        {"a": {"y": 1, "z": 2}, "b": {"y": 1, "z": 3}, "c": [{"y": 1, "z": 2}, {"y": 1, "z": 2}]}
    ]
    with pytest.raises(NotPlain, match="more than 20 values"):
        list(documents(text, most=20, aliases=True))


def test_a_list_that_holds_itself_is_refused() -> None:
    with pytest.raises(NotPlain):
        list(documents("&a [*a]", most=100, aliases=True))


@pytest.mark.slow
@pytest.mark.parametrize("text", [MERGES, LAUGHS, "[" * 20_000, "a: 2024-13-45\n", "a: [\n", "\x00", "? " * 9000])
@pytest.mark.parametrize("aliases", [True, False])
def test_bombs_and_broken_texts_are_refused_in_little_time_and_memory(tmp_path: Path, text: str, aliases: bool) -> None:
    code = f"""
    from shared.plain_yaml import NotPlain, documents
    try:
        list(documents(text, most=10_000, aliases={aliases}))
    except NotPlain:
        pass
    else:
        raise AssertionError("it was read")
    """
    assert_reads(code, text, tmp_path)
