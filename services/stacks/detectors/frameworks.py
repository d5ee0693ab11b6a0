"""Frameworks: by the exact name of a dependency, then by the files that they leave in a package."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from services.stacks.manifests.model import Dependency
from services.stacks.packages.package import Package, Proof, TechnologyFinding
from services.stacks.packages.survey import Survey
from services.stacks.rules.backing import image_name
from services.stacks.rules.technologies import TIERS, Technology, TechnologyRules
from services.stacks.scan.markers import is_dockerfile
from services.stacks.tree import HEAD_BYTES, join, resolved
from shared.contracts.detect import TechnologyKind

#: How much a dependency proves, by where it is declared.
_WEIGHTS = {"prod": 0.92, "optional": 0.6, "peer": 0.55, "dev": 0.35, "test": 0.3, "indirect": 0.15}
_USUAL_IN_DEV = 0.88
#: What a build applies, and does not only list.
_APPLIED = ("plugin:", "sdk:", "framework:", "sbt-plugin:")
#: What others give to a package weighs less than what its own manifest says.
_INHERITED = 0.85
_STANDING = {"prod": 2, "optional": 1, "peer": 1, "dev": 0, "test": 0, "indirect": 0}
#: Dependencies of a package that prove the same framework.
MAX_PROOFS = 20
_MODULE_MAJOR = re.compile(r"/v\d+$")


@dataclass(frozen=True)
class Frameworks:
    rules: TechnologyRules
    kind: TechnologyKind = "framework"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]:
        for package in survey.packages.values():
            shown: Counter[str] = Counter()
            for dependency in package.dependencies.values():
                technology = self._named(dependency)
                if technology is not None and shown[technology.id] < MAX_PROOFS:
                    shown[technology.id] += 1
                    yield package, self._by_dependency(survey, package, dependency, technology)
            yield from ((package, by_file) for by_file in self._by_files(survey, package))
            yield from ((package, by_image) for by_image in self._by_images(survey, package))
            yield from ((package, by_source) for by_source in self._by_sources(survey, package))
        yield from self._functions(survey)

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
    ) -> TechnologyFinding:
        weight = _WEIGHTS[dependency.scope] * min(1.0, technology.number("weight", 1.0))
        usual = dependency.scope == "dev" and technology.usual_in_dev
        if usual:
            weight = _USUAL_IN_DEV
        if dependency.inherited:
            weight *= _INHERITED
        if dependency.name.startswith(self.rules.unless_prefix):
            weight = min(weight, 0.45)
        manifest, line = dependency.manifest, dependency.line
        proof = Proof(manifest.path, line, technology.rule, manifest.snippet(line), round(weight, 4))
        if _comes_with(dependency.name, technology):
            companion = TechnologyFinding.of(
                technology, [proof], ecosystem=dependency.ecosystem
            )  # with its own version
            companion.standing = _STANDING[dependency.scope]
            return companion
        version = locked_version(survey, package, dependency) or declared(dependency) or managed(dependency)
        finding = TechnologyFinding.of(technology, [proof], version, ecosystem=dependency.ecosystem)
        finding.by_file = dependency.name.startswith(_APPLIED)
        finding.standing = 2 if usual else _STANDING[dependency.scope] - (1 if dependency.inherited else 0)
        if any((dependency.ecosystem, adapter) in package.dependencies for adapter in technology.list("ssr")):
            finding.tier = finding.rank = TIERS["meta"]  # it ranks above the server that it includes
        return finding

    def _by_files(self, survey: Survey, package: Package) -> Iterable[TechnologyFinding]:
        for name in package.files.keys() & self.rules.by_file.keys():
            for technology in self.rules.by_file[name]:
                if _fits(package, technology):
                    yield _by_file(package, name, technology)
        for top in package.folders[0].folders if package.folders else ():
            for path, technology in self.rules.by_path.get(top, ()):
                if _fits(package, technology) and survey.scan.tree.has(join(package.path, path)):
                    yield _by_file(package, path, technology)
        for manifest in package.manifests:
            for technology in self.rules.by_kind_of_manifest.get(manifest.kind, ()):
                proof = Proof(manifest.path, None, technology.rule, None, 0.9)
                own = "" if technology.anywhere else manifest.ecosystem
                yield TechnologyFinding.of(technology, [proof], ecosystem=own, by_file=True)

    def _by_images(self, survey: Survey, package: Package) -> Iterable[TechnologyFinding]:
        """Yield what the images bring that a package's Dockerfiles are made from."""
        for name in sorted(filter(is_dockerfile, package.markers))[:_MAX_DOCKERFILES]:
            text = survey.scan.tree.text(join(package.path, name), HEAD_BYTES) or ""
            for match in _FROM.finditer(text):
                technology = self.rules.by_image.get(image_name(match[1]))
                if technology is not None:
                    proof = survey.proof_at(join(package.path, name), text, match.start(), technology.rule, 0.8)
                    yield TechnologyFinding.of(technology, [proof], by_file=True)

    def _by_sources(self, survey: Survey, package: Package) -> Iterable[TechnologyFinding]:
        """Yield what the package's own sources import, and the components of Blazor."""
        if "Swift" in package.sources and package.manifest_of("swift", "xcode", "cocoapods"):
            yield from self._by_imports(survey, package)
        blazor = self.rules.get("framework", "blazor")
        if blazor and "HTML+Razor" in package.sources and package.manifest_of("nuget"):
            page = next((path for name, path in package.own_files() if name.endswith(".razor")), None)
            if page:
                yield TechnologyFinding.of(blazor, [Proof(page, None, blazor.rule, None, 0.7)])

    def _by_imports(self, survey: Survey, package: Package) -> Iterable[TechnologyFinding]:
        sources = [path for name, path in package.own_files() if name.endswith(".swift") and name != "Package.swift"]
        seen: set[str] = set()
        for path in sources[:_MAX_READ]:
            head = survey.scan.heads.get(path) or survey.scan.tree.read(path, HEAD_BYTES) or b""
            for match in _IMPORT.finditer(head.decode("utf-8", "replace")):
                technology = self.rules.by_import.get(match[1])
                if technology and technology.id not in seen:
                    seen.add(technology.id)
                    line = head.count(b"\n", 0, match.start(1)) + 1
                    yield TechnologyFinding.of(technology, [Proof(path, line, technology.rule, match[0].strip(), 0.8)])

    def _functions(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]:
        """Yield the folders that a template deploys as functions."""
        technology = self.rules.get("framework", "aws-lambda")
        templates = [m for p in survey.packages.values() for m in p.manifests if m.kind == "sam-template"]
        for template in templates if technology else ():
            for uri in template.facts["functions"].split("\n"):
                package = survey.packages.get(resolved(template.folder, uri) or "")
                if package and technology:
                    proof = survey.line_proof(template, template.line_of(uri), technology.rule, 0.8)
                    yield package, TechnologyFinding.of(technology, [proof], ecosystem="")


def _comes_with(name: str, technology: Technology) -> bool:
    """Return whether a package only belongs to a technology, with a version of its own."""
    return any(
        name.startswith(one.removesuffix("*")) if one.endswith("*") else name == one
        for one in technology.list("companions")
    )


def _fits(package: Package, technology: Technology) -> bool:
    """Return whether the package is of the framework's ecosystem, so that a file can prove it."""
    families = _FAMILIES.get(technology.ecosystem, (technology.ecosystem,))
    return technology.anywhere or package.manifest_of(*families) is not None


def _by_file(package: Package, path: str, technology: Technology) -> TechnologyFinding:
    proof = package.file_proof(path, technology.rule, technology.number("file_weight", 0.6))
    own = "" if technology.anywhere else technology.ecosystem
    finding = TechnologyFinding.of(technology, [proof], ecosystem=own, by_file=True)
    finding.standing = 2 if proof.weight >= 0.5 else 0
    return finding


_FROM = re.compile(r"(?mi)^[ \t]*FROM[ \t]+(?:--platform=\S+[ \t]+)?(\S+)")
_MAX_DOCKERFILES = 3
#: Maximum number of a package's sources that are searched for imports.
_MAX_READ = 60
_IMPORT = re.compile(r"(?m)^[ \t]*(?:@testable[ \t]+)?import[ \t]+(\w+)")
_FAMILIES: Mapping[str, tuple[str, ...]] = {"npm": ("npm", "deno", "bower")}


def locked_version(survey: Survey, package: Package, dependency: Dependency) -> str | None:
    """Return the version that the nearest lockfile pins."""
    if dependency.ecosystem == "go":
        return dependency.version
    levels = (level for level in survey.above(package.path) if level.markers)
    pinned = (survey.locks.version(level.folder, level.names, dependency) for level in levels)
    return next((version for version in pinned if version), None)


def declared(dependency: Dependency) -> str | None:
    """Return the version that the manifest requires, if it names one."""
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
    """Return the version from Maven's dependency management: its own, or that of a BOM of its group."""
    if dependency.ecosystem != "maven" or dependency.version is not None:
        return None
    facts = dependency.manifest.facts
    own = facts.get(f"managed:{dependency.name}")
    group = dependency.name.partition(":")[0]
    lists = (value for key, value in facts.items() if key.startswith((f"managed:{group}:", f"managed:{group}.")))
    return own or next(lists, None)
