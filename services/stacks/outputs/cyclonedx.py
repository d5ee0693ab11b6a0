"""CycloneDX 1.6: the frameworks, languages and tools of each service as components, the services as applications.

The databases, brokers and other services that they use are under ``services``, each once.
"""

from __future__ import annotations

import re
import uuid
from urllib.parse import quote, unquote

from pydantic import JsonValue

from services.stacks.locks.purl import parts
from services.stacks.outputs.packages import packages_of, pinned
from services.stacks.rules.technologies import TechnologyRules
from shared.contracts.detect import BackingService, Candidate, DetectResult, Service

_PURL = {
    "npm": "npm", "pypi": "pypi", "cargo": "cargo", "go": "golang", "maven": "maven", "nuget": "nuget", "gem": "gem",
    "composer": "composer", "hex": "hex", "pub": "pub", "hackage": "hackage", "cran": "cran", "cpan": "cpan",
}  # fmt: skip
_NAMESPACE = uuid.UUID("5d3c1f52-9f7a-5c4b-8f2e-0f4a5be0a1c7")


def cyclonedx(result: DetectResult, rules: TechnologyRules, version: str) -> JsonValue:
    """Return the document, without a time stamp: the same tree gives the same document."""
    components: list[JsonValue] = []
    dependencies: list[JsonValue] = []
    for service in result.services:
        reference = f"service:{service.path or '.'}"
        inner = [
            _component(candidate, service, rules) for candidate in service.candidates if candidate.confidence >= 0.5
        ]
        components.append(_application(service, reference, inner))
        needed = [
            *(str(component["bom-ref"]) for component in inner),
            *map(_backing_reference, service.backing_services),
            *packages_of(service, result),
        ]
        dependencies.append({"ref": reference, "dependsOn": list(needed)})
    components += [_locked(url, files) for url, files in pinned(result).items()]
    serial = uuid.uuid5(_NAMESPACE, result.model_dump_json(by_alias=True, exclude={"stats"}))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "tools": {"components": [{"type": "application", "name": "assay", "version": version}]},
            "properties": [
                {"name": f"assay:language:{name}", "value": str(size)} for name, size in result.languages.items()
            ],
        },
        "components": components,
        "services": [
            *(_service(service) for service in result.services if service.role == "app" and service.runtime.ports),
            *_backing(result),
        ],
        "dependencies": dependencies,
        **({"compositions": [{"aggregate": _aggregate(result)}]} if result.locks else {}),
    }


def _aggregate(result: DetectResult) -> str:
    """Return whether the packages of the document are all that the lock files pin."""
    return "complete" if all(lock.complete for lock in result.locks) else "incomplete"


def _locked(url: str, files: list[str]) -> JsonValue:
    """Return a package that lock files pin; its package URL is its reference."""
    _, namespace, name, version = parts(url)
    return {
        "type": "library",
        "bom-ref": url,
        **({"group": unquote(namespace)} if namespace else {}),
        "name": unquote(name),
        **({"version": unquote(version)} if version else {}),
        "purl": url,
        "evidence": {"occurrences": [{"location": file} for file in files[:20]]},
    }


def _application(service: Service, reference: str, inner: list[dict[str, JsonValue]]) -> JsonValue:
    listed: list[JsonValue] = list(inner)
    properties: list[JsonValue] = [{"name": "assay:path", "value": service.path or "."}]
    properties += [
        {"name": f"assay:{trail.runtime}", "value": f"{trail.value} ({trail.source})"} for trail in service.versions
    ]
    return {
        "type": "application" if service.role == "app" else "library",
        "bom-ref": reference,
        "name": service.name,
        "properties": properties,
        "components": listed,
    }


def _component(candidate: Candidate, service: Service, rules: TechnologyRules) -> dict[str, JsonValue]:
    component: dict[str, JsonValue] = {
        "type": {"framework": "framework", "runtime": "platform"}.get(candidate.kind, "application"),
        "bom-ref": f"{service.path or '.'}#{candidate.kind}:{candidate.id}",
        "name": candidate.name,
        "properties": [{"name": "assay:kind", "value": candidate.kind}, {"name": "assay:id", "value": candidate.id}],
        "evidence": {
            "identity": [
                {
                    "field": "name",
                    "confidence": candidate.confidence,
                    "methods": [
                        {"technique": "manifest-analysis", "confidence": candidate.confidence, "value": proof.rule}
                    ],
                }
                for proof in candidate.evidence[:1]
            ],
            "occurrences": [
                {"location": proof.file, **({"line": proof.line} if proof.line else {})}
                for proof in candidate.evidence[:20]
            ],
        },
    }
    if candidate.version:
        component["version"] = candidate.version
    purl = _purl(candidate, rules)
    if purl:
        component["purl"] = purl
    return component


def _purl(candidate: Candidate, rules: TechnologyRules) -> str | None:
    """Return the package URL of a framework in a registry, by the first name in its rule."""
    technology = rules.get("framework", candidate.id) if candidate.kind == "framework" else None
    kind = _PURL.get(technology.ecosystem) if technology else None
    names = [one for one in technology.list("packages") if "*" not in one] if technology else []
    name = next((one for one in names if not one.startswith(("plugin:", "sdk:", "framework:", "sbt-plugin:"))), None)
    if not kind or not name:
        return None
    path = "/".join(quote(part, safe=".-_~") for part in name.replace(":", "/").split("/"))
    exact = (
        candidate.version if candidate.version and re.fullmatch(r"v?\d+(?:\.\d+)*[\w.+-]*", candidate.version) else None
    )
    return f"pkg:{kind}/{path}" + (f"@{quote(exact, safe='.-_~')}" if exact else "")


def _service(service: Service) -> JsonValue:
    return {
        "bom-ref": f"endpoint:{service.path or '.'}",
        "name": service.name,
        "endpoints": [
            f"http://localhost:{port}{service.runtime.health.endpoint if service.runtime.health else '/'}"
            for port in service.runtime.ports
        ],
    }


def _backing(result: DetectResult) -> list[JsonValue]:
    """Return what the services use over the network, in the order of their ids."""
    users: dict[str, list[tuple[Service, BackingService]]] = {}
    for service in result.services:
        for used in service.backing_services:
            users.setdefault(used.id, []).append((service, used))
    return [_backing_service(users[id]) for id in sorted(users)]


def _backing_service(users: list[tuple[Service, BackingService]]) -> JsonValue:
    used = users[0][1]
    properties: list[JsonValue] = [
        {"name": "assay:category", "value": used.category},
        {"name": "assay:id", "value": used.id},
        {"name": "assay:confidence", "value": f"{max(one.confidence for _, one in users):g}"},
    ]
    for service, one in users:
        for proof in one.evidence[:1]:
            place = f"{proof.file}:{proof.line}" if proof.line else proof.file
            properties.append({"name": f"assay:evidence:{service.path or '.'}", "value": place})
    return {"bom-ref": _backing_reference(used), "name": used.name, "group": used.category, "properties": properties}


def _backing_reference(used: BackingService) -> str:
    return f"backing:{used.id}"
