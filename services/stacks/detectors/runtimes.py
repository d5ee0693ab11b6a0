"""Runtimes: what the primary language needs, unless the package manager or the framework brings its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from services.stacks.detectors.detector import finding
from services.stacks.packages.package import Finding, Package, Proof
from services.stacks.packages.ranking import primary_language, primary_of
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import Rules
from shared.contracts.detect import Kind


@dataclass(frozen=True)
class Runtimes:
    rules: Rules
    kind: Kind = "runtime"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, Finding]]:
        for package in survey.packages.values():
            main = primary_language(package)
            for language in package.findings_of("language"):
                if language.source == "llm" or language.custom or (language is not main and language.confidence < 0.5):
                    continue
                id, weight = self._of(package, language.id)
                technology = self.rules.get("runtime", id) if id else None
                if technology:
                    sure = weight if language is main else weight / 2
                    first = max(language.proofs, key=lambda proof: proof.weight)
                    yield (
                        package,
                        finding(technology, [Proof(first.file, first.line, technology.rule, first.snippet, sure)]),
                    )
            yield from self._static(package)

    def _of(self, package: Package, language: str) -> tuple[str | None, float]:
        technology = self.rules.get("language", language)
        runtime = technology.text("runtime") if technology else None
        if runtime == "node":
            return self._javascript(package), 0.9
        if language == "gleam":
            manifest = package.manifest("gleam.toml")
            return ("node" if manifest and manifest.facts.get("target") == "javascript" else "beam"), 0.9
        if language == "rust" and ("framework", "yew") in package.findings:
            return "wasm", 0.8
        return runtime, 0.9

    def _javascript(self, package: Package) -> str:
        node, deno = package.manifest_of("npm"), package.manifest("deno.json")
        if deno and not (node and (node.dependencies or "scripts" in node.data)):
            return "deno"
        built = primary_of(package, "build_system")
        says_node = any(
            statement.runtime == "node" for manifest in package.manifests for statement in manifest.statements
        )
        if built and built.id == "bun" and not says_node and ".nvmrc" not in package.files:
            return "bun"
        return "node"

    def _static(self, package: Package) -> Iterable[tuple[Package, Finding]]:
        """A page that a build leaves as files needs no server of its own: a second candidate."""
        framework = primary_of(package, "framework")
        technology = self.rules.get("framework", framework.id) if framework else None
        static = self.rules.get("runtime", "static")
        if framework and technology and technology.static and static and framework.confidence >= 0.5:
            first = framework.proofs[0]
            weight = 0.95 if framework.id == "hugo" else 0.4  # no program of another language serves it
            yield package, finding(static, [Proof(first.file, first.line, static.rule, first.snippet, weight)])
