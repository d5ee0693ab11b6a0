"""Exact versions out of lockfiles, by searching for the few names that are wanted; no lockfile is parsed whole."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field

from services.stacks.manifests.model import Dependency
from services.stacks.tree import Tree, join

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
        """What the lockfiles of one folder, which holds those names, pin the dependency to."""
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
