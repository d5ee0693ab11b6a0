"""All packages of a source with what lies above them: what the detectors look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from services.stacks.manifests.model import Manifest
from services.stacks.packages.lockfiles import Locks
from services.stacks.packages.package import Package, Proof
from services.stacks.scan.model import Scan
from services.stacks.tree import ancestors, parent


class Level(NamedTuple):
    """A folder at or above a package, and what in it concerns the package."""

    folder: str
    names: dict[str, int]
    markers: Sequence[str]
    manifests: Sequence[Manifest]


@dataclass(slots=True)
class Survey:
    """All that the detectors look at, and what they have found."""

    scan: Scan
    packages: dict[str, Package]
    warnings: list[str] = field(default_factory=list)
    llm_calls: int = 0
    locks: Locks = field(init=False)
    _levels: dict[str, tuple[Level, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.locks = Locks(self.scan.tree)

    def release(self) -> None:
        """Break the reference cycles (a dependency knows its manifest): all of it is freed without the collector."""
        for package in self.packages.values():
            for manifest in package.manifests:
                manifest.dependencies.clear()

    def line_proof(self, manifest: Manifest, line: int | None, rule: str, weight: float) -> Proof:
        return Proof(manifest.path, line, rule, manifest.snippet(line), weight)

    def above(self, path: str) -> tuple[Level, ...]:
        """The folder and those above it up to the root of the source."""
        known = self._levels.get(path)
        if known is None:
            outer = self._levels.get(parent(path), ()) if path else ()
            if outer or not path:
                known = (self._level(path), *outer)
            else:
                known = tuple(self._level(folder) for folder in ancestors(path))
                self._levels[parent(path)] = known[1:]
            self._levels[path] = known
        return known

    def _level(self, path: str) -> Level:
        folder = self.scan.folders.get(path) or self.scan.outside.get(path)
        return Level(path, folder.files, folder.markers, folder.manifests) if folder else Level(path, {}, (), ())

    def manifests_at(self, folder: str) -> list[Manifest]:
        scanned = self.scan.folders.get(folder) or self.scan.outside.get(folder)
        return scanned.manifests if scanned else []


def split_off(survey: Survey, path: str) -> None:
    """A new package at that folder, with the folders below it that belonged to the package around it."""
    outer = next((survey.packages[above] for above in ancestors(path) if above in survey.packages), None)
    here = survey.scan.folders[path]
    new = Package(path, [], here.files, markers=here.markers)
    prefix = path + "/" if path else ""
    candidates = outer.folders if outer else list(survey.scan.folders.values())
    for folder in list(candidates):
        if folder.path == path or folder.path.startswith(prefix):
            if outer:
                outer.folders.remove(folder)
            elif any(above in survey.packages for above in ancestors(folder.path)):
                continue
            new.folders.append(folder)
            for language, sources in folder.sources.items():
                mine = new.sources.setdefault(language, type(sources)(first=sources.first))
                mine.bytes += sources.bytes
                mine.files += sources.files
                if outer and language in outer.sources:
                    outer.sources[language].bytes -= sources.bytes
                    outer.sources[language].files -= sources.files
                    if outer.sources[language].files <= 0:
                        del outer.sources[language]
    survey.packages[path] = new
