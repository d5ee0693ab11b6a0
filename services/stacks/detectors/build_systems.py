"""Build systems that their manifests name outright, the package managers that belong to them, and orchestrators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from services.stacks.packages.package import Package, Proof, TechnologyFinding
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import TechnologyRules
from services.stacks.tree import ancestors, join
from shared.contracts.detect import TechnologyKind


@dataclass(frozen=True)
class BuildSystems:
    rules: TechnologyRules
    kind: TechnologyKind = "build_system"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]:
        for package in survey.packages.values():
            for manifest in package.manifests:
                for technology in self.rules.by_manifest.get(manifest.kind, ()):
                    weight = 0.4 if package.wrapped_by(manifest) else technology.number("weight", 0.95)
                    proofs = [Proof(manifest.path, None, technology.rule, None, weight)]
                    proofs += [
                        package.file_proof(name, technology.rule, 0.5)
                        for name in technology.list("support")
                        if name in package.files or ("/" in name and survey.scan.tree.has(f"{package.path}/{name}"))
                    ]
                    yield package, TechnologyFinding.of(technology, proofs)


@dataclass(frozen=True)
class PackageManagers:
    """The manager of every build system found, unless something said another one."""

    rules: TechnologyRules
    kind: TechnologyKind = "package_manager"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]:
        for package in survey.packages.values():
            for built in package.findings_of("build_system"):
                system = self.rules.get("build_system", built.id)
                manager = self.rules.get("package_manager", system.text("manager") or "") if system else None
                if manager and not (system and system.text("ecosystem")):
                    proofs = [proof.under(manager.rule) for proof in built.proofs]
                    yield package, TechnologyFinding.of(manager, proofs, built.version, built.source)


@dataclass(frozen=True)
class Orchestrators:
    rules: TechnologyRules
    kind: TechnologyKind = "orchestrator"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]:
        """Found for the folder that holds the file: its package, or the first one below it."""
        for folder in ancestors(survey.scan.root):
            names = survey.scan.names(folder)
            holder = survey.packages.get(folder) or next(iter(survey.packages.values()), None)
            if holder is None:
                return
            for technology in self.rules.of("orchestrator"):
                proofs = [
                    Proof(join(folder, name), None, technology.rule, None, 0.95)
                    for name in technology.list("files")
                    if name in names or ("/" in name and survey.scan.tree.has(join(folder, name)))
                ]
                for name in technology.list("packages"):
                    dependency = holder.dependencies.get(("npm", name)) if holder.path == folder else None
                    if dependency and (proofs or technology.id == "wireit"):
                        line = dependency.line
                        shown = dependency.manifest.snippet(line)
                        proofs.append(Proof(dependency.manifest.path, line, technology.rule, shown, 0.5))
                if proofs:
                    yield holder, TechnologyFinding.of(technology, proofs)


def chosen_orchestrator(survey: Survey) -> str | None:
    """Return the source's orchestrator: the most confident one, in the order of the rules."""
    findings = [
        finding
        for package in survey.packages.values()
        for finding in package.findings_of("orchestrator")
        if finding.confidence >= 0.5
    ]
    order = {"user": 0, "rule": 1, "default": 1, "llm": 2}
    return min(findings, key=lambda finding: order[finding.source]).id if findings else None
