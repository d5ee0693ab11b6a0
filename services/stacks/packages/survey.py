"""The detectors' input: all packages of a source, the folders above them, and the versions that lockfiles pin."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from services.stacks.manifests.formats import Broken
from services.stacks.manifests.model import Dependency, Json, Manifest, snippet
from services.stacks.packages.package import Package, Proof
from services.stacks.scan.model import Scan
from services.stacks.tree import MANIFEST_BYTES, Tree, ancestors, join, parent


class Level(NamedTuple):
    """A folder at or above a package, and what in it concerns the package."""

    folder: str
    names: dict[str, int]
    markers: Sequence[str]
    manifests: Sequence[Manifest]


@dataclass(slots=True)
class Survey:
    """The detectors' input and their findings."""

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

    def proof_at(self, path: str, text: str, offset: int, rule: str, weight: float) -> Proof:
        """Return the proof that a place in a text is."""
        line = text.count("\n", 0, offset) + 1
        return Proof(path, line, rule, snippet(text, line), weight)

    def read(self, path: str, reader: Callable[[str], Json], limit: int = MANIFEST_BYTES) -> Json:
        """Return the content of a settings file; empty, with a warning, when it is broken."""
        try:
            return reader(self.scan.tree.text(path, limit) or "")
        except Broken as broken:
            self.warnings.append(f"{path}:{broken.line or 1}: {broken.reason}")
            return {}

    def above(self, path: str) -> tuple[Level, ...]:
        """Return the folder and those above it up to the root of the source."""
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
        folder = self.scan.folder(path)
        return Level(path, folder.files, folder.markers, folder.manifests) if folder else Level(path, {}, (), ())


def split_off(survey: Survey, path: str) -> None:
    """Add a package at that folder, with the folders below it that belonged to the package around it."""
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


#: Ecosystem to its lockfiles and the pattern of one entry in each.
_PATTERNS: dict[str, tuple[tuple[str, str], ...]] = {
    "npm": (
        ("package-lock.json", r'"node_modules/{name}"\s*:\s*\{{[^{{}}]*?"version"\s*:\s*"([^"]+)"'),
        ("npm-shrinkwrap.json", r'"node_modules/{name}"\s*:\s*\{{[^{{}}]*?"version"\s*:\s*"([^"]+)"'),
        ("pnpm-lock.yaml", r"""(?m)^ {{2,}}'?{name}'?:\n\s+specifier:[^\n]*\n\s+version:\s*'?([\w.+-]+)"""),
        ("yarn.lock", r"""(?m)^"?{name}@(?!npm:\S*@)[^\n]*:\n\s+version:?\s+"?([^"\n]+)"""),
        ("bun.lock", r'"{name}"\s*:\s*\[\s*"{name}@([^"]+)"'),
    ),
    "pypi": (
        *((lock, r'(?m)^name = "{name}"\nversion = "([^"]+)"') for lock in ("uv.lock", "poetry.lock", "pdm.lock")),
        ("Pipfile.lock", r'"{name}"\s*:\s*\{{.*?"version"\s*:\s*"==([^"]+)"'),
    ),
    "cargo": (("Cargo.lock", r'(?m)^name = "{name}"\nversion = "([^"]+)"'),),
    "gem": (("Gemfile.lock", r"(?m)^ {{4}}{name} \(([^)]+)\)"),),
    "composer": (("composer.lock", r'"name":\s*"{name}",\s*"version":\s*"v?([^"]+)"'),),
    "hex": (("mix.lock", r'"{name}":\s*\{{:hex,\s*:\w+,\s*"([^"]+)"'),),
    "pub": (("pubspec.lock", r'(?ms)^  {name}:\n.*?\n    version: "([^"]+)"'),),
}


@dataclass
class Locks:
    """The lockfiles of a source; each is read once, and searched once for each name."""

    tree: Tree
    _texts: dict[str, str] = field(default_factory=dict)
    _versions: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def version(self, folder: str, names: Container[str], dependency: Dependency) -> str | None:
        """Return the version to which the lockfiles of one folder, which holds those names, pin the dependency."""
        for lock, pattern in _PATTERNS.get(dependency.ecosystem, ()):
            if lock in names and (version := self._pinned(join(folder, lock), pattern, dependency)):
                return version
        return None

    def _pinned(self, path: str, pattern: str, dependency: Dependency) -> str | None:
        key = (path, dependency.name)
        if key not in self._versions:
            if path not in self._texts:
                self._texts[path] = self.tree.text(path) or ""
            name = re.escape(dependency.name)
            if dependency.ecosystem == "pypi":
                name = name.replace(r"\-", "[-_.]")
            flags = re.S if path.endswith("Pipfile.lock") else 0
            match = re.search(pattern.format(name=name), self._texts[path], flags)
            self._versions[key] = match[1] if match else None
        return self._versions[key]
