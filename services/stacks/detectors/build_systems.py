"""Build systems that their manifests name outright, and the package managers that belong to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from services.stacks.detectors.detector import file_proof, finding
from services.stacks.packages.package import Finding, Package, Proof
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import Rules
from shared.contracts.detect import Kind


@dataclass(frozen=True)
class BuildSystems:
    rules: Rules
    kind: Kind = "build_system"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, Finding]]:
        for package in survey.packages.values():
            for manifest in package.manifests:
                for technology in self.rules.by_manifest.get(manifest.kind, ()):
                    weight = technology.number("weight", 0.95)
                    proofs = [Proof(manifest.path, None, technology.rule, None, weight)]
                    proofs += [
                        file_proof(package, name, technology, 0.5)
                        for name in technology.list("support")
                        if name in package.files or ("/" in name and survey.scan.tree.has(f"{package.path}/{name}"))
                    ]
                    yield package, finding(technology, proofs)


@dataclass(frozen=True)
class PackageManagers:
    """The manager of every build system found, unless something said another one."""

    rules: Rules
    kind: Kind = "package_manager"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, Finding]]:
        for package in survey.packages.values():
            for built in package.findings_of("build_system"):
                system = self.rules.get("build_system", built.id)
                manager = self.rules.get("package_manager", system.text("manager") or "") if system else None
                if manager and not (system and system.text("ecosystem")):
                    proofs = [proof.under(manager.rule) for proof in built.proofs]
                    yield package, finding(manager, proofs, built.version, built.source)
