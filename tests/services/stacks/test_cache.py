"""The key of a stored result covers everything that decides it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pydantic import create_model

from services.stacks import cache
from services.stacks.cache import Answer, ResultCache, cache_key, engine_version
from shared.contracts.detect import DetectResult
from tests.services.stacks.trees import detected

PACKAGE = Path(cache.__file__).parent


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engine") / "stacks"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_a_copy_of_the_same_code_has_the_same_version(copy: Path) -> None:
    assert engine_version.__wrapped__(copy) == engine_version()


@pytest.mark.parametrize(
    "path",
    [
        "detectors/python.py",
        "phases/facts/code.py",
        "rules/languages.yaml",
        "linguist/data.json",
        "prompts/identify.md",
    ],
)
def test_a_changed_file_of_the_package_changes_the_version(copy: Path, path: str) -> None:
    before = (copy / path).read_bytes()
    (copy / path).write_bytes(before + b"\n")
    try:
        assert engine_version.__wrapped__(copy) != engine_version()
    finally:
        (copy / path).write_bytes(before)


def test_a_new_detector_changes_the_version(copy: Path) -> None:
    added = copy / "detectors" / "databases.py"
    added.touch()
    assert engine_version.__wrapped__(copy) != engine_version()
    added.unlink()


def test_a_changed_result_model_changes_the_version(copy: Path) -> None:
    extended = create_model("DetectResult", __base__=DetectResult, databases=(list[str], []))
    assert engine_version.__wrapped__(copy, extended) != engine_version()


def test_every_part_of_the_key_counts() -> None:
    parts = ("tenant", "tree", "engine", 1, "request")
    changed = [("other", *parts[1:]), ("tenant", "other", *parts[2:]), ("tenant", "tree", "other", 1, "request"),
               ("tenant", "tree", "engine", 2, "request"), ("tenant", "tree", "engine", 1, "other")]  # fmt: skip
    assert len({cache_key(*parts), *(cache_key(*one) for one in changed)}) == 6


def test_the_cache_keeps_the_newest_answers() -> None:
    results, answer = ResultCache(most=2), Answer(detected({}), ["a warning"])
    for key in ("a", "b"):
        results.put(key, answer)
    assert results.get("a") is answer
    results.put("c", answer)
    assert [key for key in "abc" if results.get(key)] == ["a", "c"]


def test_a_cache_of_no_entries_keeps_none() -> None:
    results = ResultCache(most=0)
    results.put("a", Answer(detected({}), []))
    assert results.get("a") is None
