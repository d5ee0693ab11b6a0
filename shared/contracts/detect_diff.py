"""What changed between two detections of a source: services come and gone, and changes within those that stayed."""

from __future__ import annotations

from collections.abc import Iterator

from shared.contracts.common import Answer
from shared.contracts.detect import DetectResult, Service


class StackChange(Answer):
    """One difference; null is absent.

    ``what`` is an axis, ``version:NAME``, ``candidate:KIND:ID``, ``finding:RULE: TEXT`` or ``service``; the value of a
    finding is its location.
    """

    path: str
    """Folder of the package; empty for the whole source"""
    what: str
    """What changed: an axis, `version:NAME`, `candidate:KIND:ID`, `finding:RULE: TEXT` or `service`"""
    before: str | None
    """Value in the earlier result; null if absent"""
    after: str | None
    """Value in the later result; null if absent"""


def compare(before: DetectResult, after: DetectResult) -> list[StackChange]:
    """Return the differences in the order of the paths; empty when both results agree."""
    old, new = ({service.path: service for service in result.services} for result in (before, after))
    changes: list[StackChange] = []
    if before.orchestrator != after.orchestrator:
        changes.append(StackChange(path="", what="orchestrator", before=before.orchestrator, after=after.orchestrator))
    for path in sorted(old.keys() | new.keys()):
        was, now = _facts(old.get(path)), _facts(new.get(path))
        if path not in old or path not in new:
            was, now = {"service": was.get("service")}, {"service": now.get("service")}
        changes += [
            StackChange(path=path, what=what, before=was.get(what), after=now.get(what))
            for what in sorted(was.keys() | now.keys())
            if was.get(what) != now.get(what)
        ]
    had, has = _findings(before), _findings(after)
    changes += [
        StackChange(path=path, what=what, before=had.get((path, what)), after=has.get((path, what)))
        for path, what in sorted(had.keys() ^ has.keys())
    ]
    return sorted(changes, key=lambda change: change.path)


def _findings(result: DetectResult) -> dict[tuple[str, str], str]:
    """Return the location of each finding by its service and text; one that only moved to another line is the same."""
    return {
        (finding.service or "", f"finding:{finding.rule}: {finding.message}"): finding.file or finding.service or "."
        for finding in result.findings
    }


def _facts(service: Service | None) -> dict[str, str | None]:
    return dict(_listed(service)) if service is not None else {}


def _listed(service: Service) -> Iterator[tuple[str, str | None]]:
    yield "service", service.name
    for kind in ("language", "build_system", "framework", "runtime", "package_manager"):
        yield kind, getattr(service.primary, kind)
    for trail in service.versions:
        yield f"version:{trail.runtime}", trail.value
    for candidate in service.candidates:
        if candidate.confidence >= 0.5:
            yield f"candidate:{candidate.kind}:{candidate.id}", candidate.version or "yes"
