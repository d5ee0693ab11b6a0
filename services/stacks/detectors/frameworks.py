"""Frameworks: by the exact name of a dependency, then by the files that they leave in a package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from services.stacks.detectors.detector import file_proof, finding
from services.stacks.manifests.model import Dependency
from services.stacks.packages.package import Finding, Package, Proof
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import Rules, Technology
from services.stacks.tree import join
from shared.contracts.detect import Kind

#: How much a dependency proves, by where it is declared.
_WEIGHTS = {"prod": 0.92, "optional": 0.6, "peer": 0.55, "dev": 0.35, "test": 0.3, "indirect": 0.15}
_USUAL_IN_DEV = 0.88
_MODULE_MAJOR = re.compile(r"/v\d+$")


@dataclass(frozen=True)
class Frameworks:
    rules: Rules
    kind: Kind = "framework"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, Finding]]:
        for package in survey.packages.values():
            for dependency in package.dependencies.values():
                technology = self._named(dependency)
                if technology is not None:
                    yield package, self._by_dependency(survey, package, dependency, technology)
            yield from ((package, by_file) for by_file in self._by_files(survey, package))

    def _named(self, dependency: Dependency) -> Technology | None:
        ecosystem, name = dependency.ecosystem, dependency.name
        if ecosystem == "go":
            name = _MODULE_MAJOR.sub("", name)
        elif ecosystem == "nuget":
            name = name.lower()
        exact = self.rules.by_dependency.get((ecosystem, name))
        if exact is not None or ecosystem not in self.rules.by_prefix:
            return exact
        for prefix, technology in self.rules.by_prefix[ecosystem]:
            if name.startswith(prefix):
                return technology
        return None

    def _by_dependency(
        self, survey: Survey, package: Package, dependency: Dependency, technology: Technology
    ) -> Finding:
        weight = _WEIGHTS[dependency.scope] * min(1.0, technology.number("weight", 1.0))
        if dependency.scope == "dev" and technology.usual_in_dev:
            weight = _USUAL_IN_DEV
        if dependency.name.startswith(self.rules.unless_prefix):
            weight = min(weight, 0.45)
        manifest, line = dependency.manifest, dependency.line
        proof = Proof(manifest.path, line, technology.rule, manifest.snippet(line), round(weight, 4))
        if dependency.name in technology.list("companions"):
            return finding(technology, [proof])  # whose version is its own
        version = locked_version(survey, package, dependency) or declared(dependency) or managed(dependency)
        return finding(technology, [proof], version)

    def _by_files(self, survey: Survey, package: Package) -> Iterable[Finding]:
        for name in package.files.keys() & self.rules.by_file.keys():
            for technology in self.rules.by_file[name]:
                if self._fits(package, technology):
                    yield finding(
                        technology, [file_proof(package, name, technology, technology.number("file_weight", 0.6))]
                    )
        for top in package.folders[0].folders if package.folders else ():
            for path, technology in self.rules.by_path.get(top, ()):
                if self._fits(package, technology) and survey.scan.tree.has(join(package.path, path)):
                    yield finding(
                        technology, [file_proof(package, path, technology, technology.number("file_weight", 0.6))]
                    )
        for manifest in package.manifests:
            if manifest.kind in _OWN:
                for technology in self.rules.of("framework"):
                    if manifest.kind in technology.list("manifest_kinds"):
                        yield finding(
                            technology, [file_proof(package, manifest.path.rpartition("/")[2], technology, 0.9)]
                        )

    def _fits(self, package: Package, technology: Technology) -> bool:
        """A file proves a framework only in a package of its ecosystem."""
        if technology.id in {"hugo", "wordpress", "jekyll"}:
            return True
        return any(
            manifest.ecosystem in _FAMILIES.get(technology.ecosystem, (technology.ecosystem,))
            for manifest in package.manifests
        )


_OWN = frozenset(("hugo", "_config.yml"))
_FAMILIES: Mapping[str, tuple[str, ...]] = {"npm": ("npm", "deno")}


def locked_version(survey: Survey, package: Package, dependency: Dependency) -> str | None:
    """The version that the nearest lockfile pins."""
    if dependency.ecosystem == "go":
        return dependency.version
    levels = (level for level in survey.above(package.path) if level.markers)
    pinned = (survey.locks.version(level.folder, level.names, dependency) for level in levels)
    return next((version for version in pinned if version), None)


def declared(dependency: Dependency) -> str | None:
    """The version that the manifest requires, if it names one."""
    version = dependency.version
    if (
        version is None
        or version in {"", "*", "latest", "workspace", "next"}
        or version.startswith(("$", "git", "http"))
    ):
        return None
    for prefix in ("workspace:", "npm:", "catalog:", "file:", "link:", "portal:"):
        if version.startswith(prefix):
            return None
    return version.strip().removeprefix("==").strip()


def managed(dependency: Dependency) -> str | None:
    """The version that Maven's dependency management gives it: its own, or that of a list of its group."""
    if dependency.ecosystem != "maven" or dependency.version is not None:
        return None
    facts = dependency.manifest.facts
    own = facts.get(f"managed:{dependency.name}")
    group = dependency.name.partition(":")[0]
    lists = (value for key, value in facts.items() if key.startswith((f"managed:{group}:", f"managed:{group}.")))
    return own or next(lists, None)
