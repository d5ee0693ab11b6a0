"""Small trees written down as a mapping of paths to texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from services.stacks.engine import DetectOptions, StackEngine
from services.stacks.sources.collector import KeptFiles
from services.stacks.tree import Folder, Tree, parent
from shared.contracts.detect import Candidate, DetectResult, Service

Files = Mapping[str, object]


@cache
def engine() -> StackEngine:
    return StackEngine()


def as_bytes(content: object) -> bytes:
    if isinstance(content, bytes):
        return content
    return content.encode() if isinstance(content, str) else json.dumps(content, indent=2).encode()


def tree_of(files: Files) -> Tree:
    """A tree in memory; a value that is neither text nor bytes is written as JSON."""
    kept = KeptFiles({path: as_bytes(content) for path, content in files.items()})
    folders: dict[str, Folder] = {"": Folder("")}

    def folder(path: str) -> Folder:
        if path not in folders:
            folders[path] = Folder(path)
            folder(parent(path)).folders.append(path.rpartition("/")[2])
        return folders[path]

    for path, content in kept.contents.items():
        folder(parent(path)).files[path.rpartition("/")[2]] = len(content)
    return Tree(folders, kept)


def detected(files: Files, **options: object) -> DetectResult:
    return engine().detect(tree_of(files), DetectOptions(**options))[0]  # type: ignore[arg-type]


def warned(files: Files, **options: object) -> list[str]:
    return engine().detect(tree_of(files), DetectOptions(**options))[1]  # type: ignore[arg-type]


def service(result: DetectResult, path: str = "") -> Service:
    return next(service for service in result.services if service.path == path)


def candidate(service: Service, kind: str, id: str) -> Candidate | None:
    return next((candidate for candidate in service.candidates if (candidate.kind, candidate.id) == (kind, id)), None)
