"""A tree is built from entries in any order; what does not belong in one is refused and named."""

from __future__ import annotations

import pytest

from services.stacks.sources.collector import Collector, SourceLimits


def collector(**limits: int) -> Collector:
    return Collector(lambda path: 10, SourceLimits(**limits))


def test_a_single_top_folder_is_stripped() -> None:
    entries = collector()
    for path in ("top/a.py", "top/src/b.py"):
        assert entries.admit(path, 20) == (path, 10)
    tree = entries.tree()
    assert (sorted(tree.folders), tree.folders["src"].files) == (["", "src"], {"b.py": 20})
    assert sorted(entries.tree(strip=False).folders) == ["", "top", "top/src"]


@pytest.mark.parametrize(
    ("path", "why"),
    [("/etc/x", "absolute"), ("a\\b", "absolute"), ("c:/x", "absolute"), ("a/../b", "leaves"), ("d/" * 300 + "x", "too long")],
)  # fmt: skip
def test_unsafe_paths_are_refused_and_named(path: str, why: str) -> None:
    entries = collector()
    assert entries.admit(path, 1) is None
    assert why in entries.tree().warnings[0]


def test_what_macos_adds_is_left_out_without_a_word() -> None:
    entries = collector()
    assert entries.admit("__MACOSX/a", 1) is None
    assert entries.admit("a/._b", 1) is None
    assert entries.tree().warnings == []


def test_beyond_what_may_be_kept_only_names_and_sizes_stay() -> None:
    entries = collector(kept_bytes=15)
    assert [entries.admit(path, 10) for path in ("a", "b")] == [("a", 10), ("b", 0)]
    assert "the rest were not read" in entries.tree().warnings[0]
