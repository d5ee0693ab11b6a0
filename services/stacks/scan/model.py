"""What the scan leaves for the later phases: folders with their sources, manifests and markers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from services.stacks.manifests.model import Manifest
from services.stacks.tree import Tree


@dataclass(slots=True)
class Sources:
    """First-party code of one language in one folder."""

    bytes: int = 0
    files: int = 0
    first: str = ""


@dataclass(slots=True)
class ScannedFolder:
    path: str
    files: dict[str, int]
    folders: list[str]
    sources: dict[str, Sources] = field(default_factory=dict)  #: by linguist's name
    manifests: list[Manifest] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  #: files that no table knows
    markers: list[str] = field(default_factory=list)  #: files that say something about the packages at or below it
    aside: bool = False  #: vendored or documentation, in linguist's terms
    test: bool = False  #: a folder of tests, or below one
    fixture: bool = False  #: what tests work on, or the code of others: no package is made of it


@dataclass(slots=True)
class Scan:
    tree: Tree
    root: str
    folders: dict[str, ScannedFolder] = field(default_factory=dict)
    languages: dict[str, int] = field(default_factory=dict)
    heads: dict[str, bytes] = field(default_factory=dict)  #: beginnings of code files, in a small tree
    outside: dict[str, ScannedFolder] = field(default_factory=dict)  #: above ``root``: only for what is inherited
    files: int = 0
    manifests: int = 0  #: met, read or not
    warnings: list[str] = field(default_factory=list)
    skipped: set[str] = field(default_factory=set)  #: paths of files that the source's own ignore files leave out
    _paths: list[str] = field(default_factory=list)  #: of ``folders``, in order

    def below(self, folder: str) -> Iterator[ScannedFolder]:
        """Yield every folder under that one, in the order of their paths."""
        if len(self._paths) != len(self.folders):
            self._paths = list(self.folders)
        prefix = folder + "/" if folder else ""
        for at in range(bisect_right(self._paths, prefix), len(self._paths)):
            if not self._paths[at].startswith(prefix):
                return
            yield self.folders[self._paths[at]]

    def folder(self, path: str) -> ScannedFolder | None:
        """Inside ``root`` or above it."""
        return self.folders.get(path) or self.outside.get(path)

    def manifests_at(self, folder: str) -> list[Manifest]:
        scanned = self.folder(folder)
        return scanned.manifests if scanned else []

    def names(self, folder: str) -> dict[str, int]:
        listed = self.tree.folders.get(folder)
        return listed.files if listed else {}
