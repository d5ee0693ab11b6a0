"""Languages: what the manifests are for, and what the package's own sources are written in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from services.stacks.detectors.detector import finding
from services.stacks.manifests.model import Manifest
from services.stacks.packages.package import Finding, Package, Proof
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import Rules, Technology
from services.stacks.tree import HEAD_BYTES, join
from shared.contracts.detect import Kind

_JVM = ("java", "kotlin", "scala", "groovy")
_PROJECTS = {"*.csproj": "csharp", "*.fsproj": "fsharp", "*.vbproj": "vbnet"}
_BY_SOURCES = {"CMakeLists.txt", "meson.build", "configure.ac", "Makefile", "bazel", "pants.toml", ".buckconfig",
    "conanfile",
               "vcpkg.json", "*.sln", "packages.config", "xcode"}  # fmt: skip
_KOTLIN = ("plugin:org.jetbrains.kotlin", "org.jetbrains.kotlin:", "plugin:kotlin", "plugin:org.jetbrains.kotlin.jvm")
_SCALA = ("org.scala-lang:", "plugin:scala")


#: Single-file components, which say in their text what they are written in.
_COMPONENTS = ("Svelte", "Vue")
_TYPED = re.compile(rb"<script[^>]{0,200}\blang=[\"'](?:ts|tsx|typescript)[\"']")


def _typed(survey: Survey, path: str) -> bool:
    return _TYPED.search(survey.scan.heads.get(path) or survey.scan.tree.read(path, HEAD_BYTES) or b"") is not None


@dataclass(frozen=True)
class Languages:
    rules: Rules
    kind: Kind = "language"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, Finding]]:
        for package in survey.packages.values():
            for manifest in package.manifests:
                for id, proof in self._of(survey, package, manifest):
                    technology = self.rules.get("language", id)
                    if technology:
                        yield package, finding(technology, [_under(proof, technology)])
            yield from ((package, one) for one in self._sources(package))

    def _of(self, survey: Survey, package: Package, manifest: Manifest) -> Iterable[tuple[str, Proof]]:
        proof = Proof(manifest.path, None, "", None, 0.9)
        kind = manifest.kind
        if manifest.ecosystem == "npm":
            yield from self._javascript(survey, package, manifest)
        elif kind == "deno.json":
            only_javascript = "JavaScript" in package.sources and not {"TypeScript", "TSX"} & set(package.sources)
            yield "javascript" if only_javascript else "typescript", proof
        elif kind in {"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}:
            yield self._jvm(package, manifest), proof
        elif kind in _PROJECTS:
            yield _PROJECTS[kind], proof
        elif kind in _BY_SOURCES:
            yield from self._compiled(package, manifest)
        elif manifest.ecosystem == "pypi":
            yield "python", proof
        elif kind in {"_config.yml", "hugo"}:
            return
        elif kind == "wordpress":
            yield "php", proof
        else:
            for system in self.rules.by_manifest.get(kind, ()):
                language = system.text("language")
                if language:
                    yield language, Proof(manifest.path, None, "", None, min(0.9, system.number("weight", 0.9)))

    def _javascript(self, survey: Survey, package: Package, manifest: Manifest) -> Iterable[tuple[str, Proof]]:
        typed = [package.sources[name] for name in ("TypeScript", "TSX") if name in package.sources]
        plain = package.sources.get("JavaScript")
        told = self._typescript_told(survey, package)
        if not typed and told and plain is None:
            typed = [
                sources
                for sources in (package.sources.get(name) for name in _COMPONENTS)
                if sources and _typed(survey, sources.first)
            ]
        if typed and (told or plain is None):
            yield "typescript", Proof(typed[0].first, None, "", None, 0.6)
            if told:
                yield "typescript", told
        if not typed or plain is not None:
            weight = 0.5 if typed and told else 0.9
            yield "javascript", Proof(manifest.path, None, "", None, weight)

    def _typescript_told(self, survey: Survey, package: Package) -> Proof | None:
        for folder, names, markers, manifests in survey.above(package.path):
            if markers and ("tsconfig.json" in names or "tsconfig.base.json" in names):
                name = "tsconfig.json" if "tsconfig.json" in names else "tsconfig.base.json"
                return Proof(join(folder, name), None, "", None, 0.8)
            for manifest in manifests:
                for dependency in manifest.dependencies if manifest.ecosystem == "npm" else ():
                    if dependency.name == "typescript":
                        line = dependency.line
                        return Proof(manifest.path, line, "", manifest.snippet(line), 0.8)
        return None

    def _jvm(self, package: Package, manifest: Manifest) -> str:
        weight = {id: self._bytes(package, id) for id in _JVM}
        best = max(_JVM, key=lambda id: (weight[id], -_JVM.index(id)))
        if weight[best]:
            return best
        names = [dependency.name for dependency in manifest.dependencies]
        if any(name.startswith(_KOTLIN) for name in names):
            return "kotlin"
        return "scala" if any(name.startswith(_SCALA) for name in names) else "java"

    def _compiled(self, package: Package, manifest: Manifest) -> Iterable[tuple[str, Proof]]:
        """C or C++ or whatever a general build tool compiles: by the bytes, then by what the project declares."""
        written = sorted(
            ((sources.bytes, id, sources.first) for id, sources in self._by_id(package).items() if id != "shell"),
            reverse=True,
        )
        native = [
            one for one in written if one[1] in {"c", "c++", "objective-c", "cuda", "fortran", "assembly", "swift"}
        ]
        preferred = native if manifest.ecosystem in {"native", "xcode"} and native else written
        if preferred:
            _, id, first = preferred[0]
            yield id, Proof(first, None, "", None, 0.7)
            yield id, Proof(manifest.path, None, "", None, 0.3)
            return
        declared = manifest.facts.get("languages", "")
        if manifest.kind in {"CMakeLists.txt", "meson.build"}:
            only_c = (" C " in f" {declared} " and "CXX" not in declared) or declared == "'c'"
            yield "c" if only_c else "c++", Proof(manifest.path, None, "", None, 0.6)
        elif manifest.kind == "*.sln":
            yield "csharp", Proof(manifest.path, None, "", None, 0.5)

    def _by_id(self, package: Package) -> dict[str, _Written]:
        written: dict[str, _Written] = {}
        for name, sources in package.sources.items():
            id = self.rules.language_of.get(name)
            if id is not None:
                mine = written.get(id)
                if mine is None:
                    mine = written[id] = _Written(first=sources.first)
                mine.bytes += sources.bytes
        return written

    def _bytes(self, package: Package, id: str) -> int:
        return sum(sources.bytes for name, sources in package.sources.items() if self.rules.language_of.get(name) == id)

    def _sources(self, package: Package) -> Iterable[Finding]:
        """Every other language of the package's own code, weighed by its share; hardly ever the primary one."""
        total = sum(sources.bytes for sources in package.sources.values()) or 1
        for id, written in self._by_id(package).items():
            share = written.bytes / total
            technology = self.rules.get("language", id) if share >= 0.02 and id not in {"html", "shell"} else None
            if technology:
                yield finding(
                    technology, [Proof(written.first, None, technology.rule, None, round(min(0.4, 0.4 * share), 4))]
                )


@dataclass
class _Written:
    first: str
    bytes: int = 0


def _under(proof: Proof, technology: Technology) -> Proof:
    return Proof(proof.file, proof.line, technology.rule, proof.snippet, proof.weight)
