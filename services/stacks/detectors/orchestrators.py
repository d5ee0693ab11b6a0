"""Task orchestrators: a file at the root of the source, or the tool among the root's dependencies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from services.stacks.detectors.detector import finding
from services.stacks.packages.package import Finding, Package, Proof
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import Rules
from services.stacks.tree import ancestors, join
from shared.contracts.detect import Kind


@dataclass(frozen=True)
class Orchestrators:
    rules: Rules
    kind: Kind = "orchestrator"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, Finding]]:
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
                    yield holder, finding(technology, proofs)


def chosen(survey: Survey) -> str | None:
    """The orchestrator of the source: the surest, in the order of the rules."""
    findings = [
        finding
        for package in survey.packages.values()
        for finding in package.findings_of("orchestrator")
        if finding.confidence >= 0.5
    ]
    order = {"user": 0, "rule": 1, "default": 1, "llm": 2}
    return min(findings, key=lambda finding: order[finding.source]).id if findings else None
