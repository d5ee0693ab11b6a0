"""All findings of a source, in an order that never changes."""

from __future__ import annotations

from collections.abc import Iterator

from services.stacks.findings.secrets import secret_files
from services.stacks.findings.unpinned import unpinned
from services.stacks.packages.survey import Survey
from services.stacks.phases.ranges import LIFECYCLES_AS_OF
from shared.contracts.detect import FINDING_RULES, DetectResult, Service, StackFinding

_ORDER = {rule: number for number, rule in enumerate(FINDING_RULES)}
#: Technologies below this confidence cause no findings.
_SURE = 0.5


def findings(survey: Survey, result: DetectResult) -> list[StackFinding]:
    """Return the findings, each once; of ``result`` only the services are read."""
    gathered = [
        *(finding for service in result.services for finding in (*_out_of_support(service), *_conflicts(service))),
        *unpinned(survey, result.services),
        *secret_files(survey.scan),
    ]
    return sorted(gathered, key=lambda one: (_ORDER[one.rule], one.service or "", one.file or "", one.line or 0))


def _out_of_support(service: Service) -> Iterator[StackFinding]:
    for trail in service.versions:
        if trail.eol:
            since = f" since {trail.eol_date}" if trail.eol_date else ""
            message = f"{trail.runtime} {trail.value} is out of support{since} (lifecycles as of {LIFECYCLES_AS_OF})"
            yield StackFinding(
                rule="eol", message=message, service=service.path, file=trail.file, line=trail.line,
                since=trail.eol_date,
            )  # fmt: skip
    for candidate in service.candidates:
        if candidate.confidence < _SURE or not (candidate.end_of_life or candidate.successor):
            continue
        if candidate.end_of_life and candidate.end_of_life > LIFECYCLES_AS_OF:
            continue
        since = f" since {candidate.end_of_life}" if candidate.end_of_life else ""
        instead = f"; its makers recommend {candidate.successor}" if candidate.successor else ""
        proof = candidate.evidence[0] if candidate.evidence else None
        yield StackFinding(
            rule="eol", message=f"{candidate.name} is no longer maintained{since}{instead}", service=service.path,
            file=proof.file if proof else None, line=proof.line if proof else None, since=candidate.end_of_life,
        )  # fmt: skip


def _conflicts(service: Service) -> Iterator[StackFinding]:
    for conflict in service.conflicts:
        claims = ", ".join(str(claim) for claim in conflict.claims)
        counts = f"; {conflict.winner} counts, by {conflict.rule}" if conflict.winner else ""
        yield StackFinding(rule="conflict", message=f"{conflict.kind}: {claims}{counts}", service=service.path)
