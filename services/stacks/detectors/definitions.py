"""The caller's own technologies: files or dependencies that prove them; checked before the rules."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from services.stacks.globs import glob_regex
from services.stacks.packages.package import Package, Proof, TechnologyFinding
from services.stacks.packages.survey import Survey, split_off
from services.stacks.rules.technologies import TechnologyRules
from services.stacks.tree import ancestors
from shared.contracts.detect import Definition, TechnologyKind

_ECOSYSTEMS = {
    "node": "npm", "nodejs": "npm", "javascript": "npm", "yarn": "npm", "pnpm": "npm", "pip": "pypi", "python": "pypi",
    "crates": "cargo", "crates.io": "cargo", "rust": "cargo", "golang": "go", "java": "maven", "gradle": "maven",
    "rubygems": "gem", "ruby": "gem", "bundler": "gem", "packagist": "composer", "php": "composer", "elixir": "hex",
    "dotnet": "nuget", "dart": "pub", "flutter": "pub",
}  # fmt: skip


@dataclass(frozen=True)
class Definitions:
    """One definition, as a detector."""

    definition: Definition
    rules: TechnologyRules

    @property
    def kind(self) -> TechnologyKind:
        return self.definition.kind

    def detect(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]:
        for package in survey.packages.values():
            proofs = [*self._files(package), *self._dependencies(survey, package)]
            if proofs:
                known = self.rules.get(self.definition.kind, self.definition.id)
                yield package, TechnologyFinding(
                    self.definition.kind, self.definition.id, self.definition.name, proofs,
                    custom=known is None, source="user", tier=known.tier if known else 0,
                )  # fmt: skip

    def _files(self, package: Package) -> Iterable[Proof]:
        wanted = patterns(self.definition)
        if not wanted:
            return
        count = 0
        base = len(package.path) + 1 if package.path else 0
        for name, path in package.own_files():
            if any(pattern.fullmatch(path[base:] if deep else name) for pattern, deep in wanted):
                yield Proof(path, None, self._rule, None, self.definition.weight)
                count += 1
                if count == 5:
                    return

    def _dependencies(self, survey: Survey, package: Package) -> Iterable[Proof]:
        for wanted in self.definition.dependencies:
            ecosystem = _ECOSYSTEMS.get(wanted.ecosystem.lower(), wanted.ecosystem.lower())
            name = wanted.name.lower() if ecosystem in {"nuget", "composer"} else wanted.name
            if ecosystem == "pypi":
                name = re.sub(r"[-_.]+", "-", name).lower()
            dependency = package.dependencies.get((ecosystem, name))
            if dependency is not None:
                yield survey.line_proof(dependency.manifest, dependency.line, self._rule, self.definition.weight)

    @property
    def _rule(self) -> str:
        return f"user.{self.definition.id}"


def patterns(definition: Definition) -> list[tuple[re.Pattern[str], bool]]:
    """Return the file globs; with a slash they are matched against the path within the package."""
    return [
        (re.compile(glob_regex(glob.removeprefix("./"))), "/" in glob.removeprefix("./")) for glob in definition.files
    ]


def add_packages(survey: Survey, definitions: list[Definition]) -> None:
    """Add packages for the definitions' files: a build system's anywhere, others only outside of any package."""
    for definition in definitions:
        names = [pattern for pattern, deep in patterns(definition) if not deep]
        own = definition.kind in {"build_system", "package_manager"}
        for path, folder in survey.scan.folders.items():
            if path in survey.packages or not any(p.fullmatch(name) for name in folder.files for p in names):
                continue
            if own or not any(above in survey.packages for above in ancestors(path)):
                split_off(survey, path)
