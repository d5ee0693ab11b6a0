"""A folder that did not change since it was detected is not detected again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from services.stacks.detect import Detect
from services.stacks.engine import StackEngine
from services.stacks.settings import StacksSettings
from services.stacks.sources import local
from services.stacks.sources.local import folder_identity, open_folder
from shared.contracts.detect import DetectInput, DetectResult
from tests.services.stacks.trees import engine, service
from tests.support.context import MemoryContext

LATER = 3_000_000_000


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "requirements.txt").write_text("flask\n")
    (tmp_path / "api" / "app.py").write_text("from flask import Flask\n")
    return tmp_path


def identity(folder: Path) -> str | None:
    return folder_identity(open_folder(folder, 1000), time.time_ns() + LATER)


def _same_size(folder: Path) -> None:
    (folder / "api" / "app.py").write_text("from flask import FLASK\n")


def _restored_times(folder: Path) -> None:
    changed = folder / "api" / "app.py"
    before = changed.stat()
    changed.write_text("from flask import FLASK\n")
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replaced(folder: Path) -> None:
    (folder / "new").write_text("from flask import Flask\n")
    (folder / "new").rename(folder / "api" / "app.py")


@pytest.mark.parametrize(
    "change",
    [
        _same_size,
        _restored_times,
        _replaced,
        lambda folder: (folder / "api" / "app.py").rename(folder / "api" / "main.py"),
        lambda folder: (folder / "api" / "app.py").unlink(),
        lambda folder: (folder / "api" / "empty").touch(),
        lambda folder: (folder / "empty").mkdir(),
        lambda folder: (folder / "api" / "app.py").chmod(0o600),
    ],
)
def test_every_change_of_a_folder_changes_its_identity(shop: Path, change: Callable[[Path], object]) -> None:
    before = identity(shop)
    assert before is not None
    assert identity(shop) == before
    time.sleep(0.02)  # longer than one step of the file system's clock
    change(shop)
    assert identity(shop) != before


def test_a_folder_that_was_just_changed_has_no_identity(shop: Path) -> None:
    assert folder_identity(open_folder(shop, 1000), time.time_ns()) is None


def test_sizes_are_noted_while_they_are_at_hand(shop: Path) -> None:
    tree = open_folder(shop, 1000)
    folder_identity(tree, time.time_ns())
    assert tree.folders["api"].files == {"requirements.txt": 6, "app.py": 24}


def test_an_unchanged_folder_is_answered_from_memory(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_SETTLED", -LATER)
    runs: list[None] = []
    whole = StackEngine.detect

    def counted(*arguments: object, **named: object) -> tuple[DetectResult, list[str]]:
        runs.append(None)
        return whole(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(StackEngine, "detect", counted)
    detect = Detect(StacksSettings(), engine(), lambda: False)
    asked = DetectInput.model_validate({"source": {"path": str(shop)}, "mode": "static"})
    results = [detect(MemoryContext().context("detect"), asked) for _ in range(2)]
    assert len(runs) == 1
    assert results[0].services == results[1].services
    (shop / "api" / "requirements.txt").write_text("fastapi\n")
    (shop / "api" / "app.py").write_text("from fastapi import FastAPI\n")
    changed = detect(MemoryContext().context("detect"), asked)
    assert (len(runs), service(changed, "api").primary.framework) == (2, "fastapi")
