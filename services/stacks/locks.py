"""Exact versions out of lockfiles, by searching for the few names that somebody asks about; nothing is parsed whole."""

from __future__ import annotations

import re

from services.stacks.manifests.model import Dependency
from services.stacks.packages import Package, Survey
from services.stacks.tree import join

#: Ecosystem to its lockfiles and the pattern of one entry in each.
_PATTERNS: dict[str, tuple[tuple[str, str], ...]] = {
    "npm": (
        ("package-lock.json", r'"node_modules/{name}"\s*:\s*\{{[^{{}}]*?"version"\s*:\s*"([^"]+)"'),
        ("npm-shrinkwrap.json", r'"node_modules/{name}"\s*:\s*\{{[^{{}}]*?"version"\s*:\s*"([^"]+)"'),
        ("pnpm-lock.yaml", r"""(?m)^ {{4,}}'?{name}'?:\n\s+specifier:[^\n]*\n\s+version:\s*'?([\w.+-]+)"""),
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


def locked_version(survey: Survey, package: Package, dependency: Dependency) -> str | None:
    """The version that the nearest lockfile pins."""
    if dependency.ecosystem == "go":
        return dependency.version
    patterns = _PATTERNS.get(dependency.ecosystem)
    if not patterns:
        return None
    for folder, names in survey.above(package.path):
        for lock, pattern in patterns:
            if lock not in names:
                continue
            name = re.escape(dependency.name)
            if dependency.ecosystem == "pypi":
                name = name.replace(r"\-", "[-_.]")
            text = survey.scan.tree.text(join(folder, lock))
            found = re.search(pattern.format(name=name), text, re.S if lock == "Pipfile.lock" else 0) if text else None
            if found:
                return found[1]
    return None
