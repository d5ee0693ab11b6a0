"""The detectors that ask, one per kind; to the phases they are detectors like any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from services.stacks.asking.interview import Interview
from services.stacks.asking.subjects import KINDS
from services.stacks.packages import Finding, Package, Survey
from shared.contracts.detect import Kind


@dataclass(frozen=True)
class Asking:
    interview: Interview
    kind: Kind

    def detect(self, survey: Survey) -> Iterable[tuple[Package, Finding]]:
        for package, fact in self.interview.held(survey):
            if fact.kind != self.kind:
                continue
            known = package.findings.get((fact.kind, fact.id))
            proofs = list(fact.proofs)
            if known is not None:  # what a rule found keeps its own confidence
                proofs = [proof._replace(weight=0.0) for proof in proofs]
            technology = self.interview.rules.get(fact.kind, fact.id)
            yield package, Finding(
                fact.kind, fact.id, fact.name, proofs, custom=fact.custom, source="llm",
                tier=technology.tier if technology else 0, ecosystem=technology.ecosystem if technology else "",
            )  # fmt: skip


def asking(interview: Interview) -> list[Asking]:
    kinds: tuple[Kind, ...] = (*KINDS[:2], "package_manager", *KINDS[2:])
    return [Asking(interview, kind) for kind in kinds]
