"""UniversalBuild 1.0: a list with one record per service; the format's members, with our additions next to them."""

from __future__ import annotations

from pydantic import JsonValue

from shared.contracts.detect import Candidate, DetectResult, Service


def universalbuild(result: DetectResult) -> list[JsonValue]:
    return [_record(service, result, primary=at == 0) for at, service in enumerate(result.services)]


def _record(service: Service, result: DetectResult, primary: bool) -> JsonValue:
    build = service.build.model_dump(mode="json")
    runtime = service.runtime.model_dump(mode="json", by_alias=True)
    trail = runtime.pop("trail")
    evidence: list[JsonValue] = []
    candidates: list[JsonValue] = []
    ranks: dict[str, int] = {}
    for candidate in service.candidates:
        ranks[candidate.kind] = ranks.get(candidate.kind, 0) + 1
        first = len(evidence)
        evidence += [proof.model_dump(mode="json") for proof in candidate.evidence]
        candidates.append(
            {
                "axis": candidate.kind, "id": candidate.id, "rank": ranks[candidate.kind],
                "confidence": candidate.confidence, "source": candidate.source,
                "evidence": list(range(first, len(evidence))),
            }
        )  # fmt: skip
    best = next((candidate for candidate in service.candidates if candidate.kind == "framework"), None) or _first(
        service
    )
    return {
        "version": "1.0",
        "metadata": {
            "project_name": service.name,
            "language": service.primary.language,
            "build_system": service.primary.build_system,
            "framework": service.primary.framework,
            "reasoning": _reasoning(service),
        },
        "build": build,
        "runtime": runtime,
        "trail": trail,
        "root": service.path,
        "primary": primary,
        "runtime_id": service.primary.runtime,
        "orchestrator": result.orchestrator,
        "confidence": best.confidence if best else 0.0,
        "candidates": candidates,
        "evidence": evidence,
        "versions": [trail.model_dump(mode="json") for trail in service.versions],
        "conflicts": [conflict.model_dump(mode="json") for conflict in service.conflicts],
    }


def _first(service: Service) -> Candidate | None:
    return next((candidate for candidate in service.candidates if candidate.kind == "language"), None)


def _reasoning(service: Service) -> str:
    """Return one sentence per primary technology, with the file that proves it."""
    said = []
    for kind in ("language", "build_system", "framework", "runtime"):
        id = getattr(service.primary, kind)
        candidate = next((one for one in service.candidates if one.kind == kind and one.id == id), None)
        if candidate is None or not candidate.evidence:
            continue
        proof = candidate.evidence[0]
        where = f"{proof.file}:{proof.line}" if proof.line else proof.file
        said.append(f"{kind.replace('_', ' ')} {candidate.name}, by {where}")
    return "; ".join(said)
