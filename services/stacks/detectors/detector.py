"""What every detector is to the phases: they cannot tell which kind answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from services.stacks.packages.package import Finding, Package, Proof
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import Technology
from services.stacks.tree import join
from shared.contracts.detect import Kind


class Detector(Protocol):
    """Looks at every package of a survey for technologies of one kind."""

    @property
    def kind(self) -> Kind: ...

    def detect(self, survey: Survey) -> Iterable[tuple[Package, Finding]]: ...


def finding(technology: Technology, proofs: list[Proof], version: str | None = None, source: str = "rule") -> Finding:
    return Finding(
        technology.kind,
        technology.id,
        technology.name,
        proofs,
        version=version,
        source=source,
        tier=technology.tier,
        ecosystem=technology.ecosystem,
    )


def file_proof(package: Package, name: str, technology: Technology, weight: float) -> Proof:
    return Proof(join(package.path, name), None, technology.rule, None, weight)
