"""What every detector is to the phases: they cannot tell which kind answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from services.stacks.packages import Finding, Package, Proof, Survey
from services.stacks.rules import Rules, Technology
from services.stacks.tree import join
from shared.contracts.detect import Kind


class Detector(Protocol):
    """Looks at every package of a survey for technologies of one kind."""

    @property
    def kind(self) -> Kind: ...

    def detect(self, survey: Survey) -> Iterable[tuple[Package, Finding]]: ...


@dataclass(frozen=True)
class Registry:
    """The detectors in the order in which they are asked."""

    detectors: Sequence[Detector]
    rules: Rules

    def of(self, kind: Kind) -> list[Detector]:
        return [it for it in self.detectors if it.kind == kind]


def finding(it: Technology, proofs: list[Proof], version: str | None = None, source: str = "rule") -> Finding:
    return Finding(
        it.kind, it.id, it.name, proofs, version=version, source=source, tier=it.tier, ecosystem=it.ecosystem
    )


def file_proof(package: Package, name: str, it: Technology, weight: float) -> Proof:
    return Proof(join(package.path, name), None, it.rule, None, weight)
