"""Which files of an archive are kept, and how much of each."""

from __future__ import annotations

import pytest

from services.stacks.scan.scanner import SMALL_TREE
from services.stacks.selector import ArchiveSelector
from services.stacks.tree import HEAD_BYTES, MANIFEST_BYTES
from tests.services.stacks.trees import engine


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("package.json", MANIFEST_BYTES), ("a/yarn.lock", MANIFEST_BYTES), (".gitignore", MANIFEST_BYTES), ("a/.nvmrc", MANIFEST_BYTES),
        ("Dockerfile.dev", HEAD_BYTES), (".env.local", HEAD_BYTES), ("k8s/web.yaml", HEAD_BYTES * 4), ("a/b/c/x.yaml", 0),
        ("src/main.py", HEAD_BYTES), ("node_modules/koa/package.json", 0), ("a.png", 0), ("data.json", 0), ("x.blorb", 4096),
    ],
)  # fmt: skip
def test_a_path_decides_how_much_is_kept(path: str, kept: int) -> None:
    assert ArchiveSelector(engine().tables)(path) == kept


def test_of_a_large_archive_only_entry_files_and_shared_endings_are_kept() -> None:
    select = ArchiveSelector(engine().tables)
    for number in range(SMALL_TREE + 1):
        assert select(f"src/f{number}.py")
    assert select("src/other.py") == 0
    assert select("src/main.py") == HEAD_BYTES
    assert select("src/other.h") == HEAD_BYTES
