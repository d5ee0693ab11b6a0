"""SPDX 2.3 as JSON: services and the packages that their lock files pin, with package URLs.

Format: https://spdx.github.io/spdx-spec/v2.3/. Licences are not looked up: ``NOASSERTION``, as the format requires.
"""

from __future__ import annotations

import hashlib
from urllib.parse import unquote

from pydantic import JsonValue

from services.stacks.locks.purl import parts
from services.stacks.outputs.packages import packages_of, pinned
from shared.contracts.detect import DetectResult

#: The format requires a time of creation; a fixed one, because the same tree gives the same document.
_CREATED = "1970-01-01T00:00:00Z"
_UNKNOWN: dict[str, JsonValue] = {
    "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
    "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
}  # fmt: skip


def spdx(result: DetectResult, version: str) -> JsonValue:
    """Return the document with a fixed time: ``created`` is the beginning of 1970."""
    digest = hashlib.sha256(result.model_dump_json(by_alias=True, exclude={"stats"}).encode()).hexdigest()
    packages: list[JsonValue] = []
    relations: list[JsonValue] = []
    for service in result.services:
        id = _id(f"service:{service.path}")
        packages.append(
            {"SPDXID": id, "name": service.name, "primaryPackagePurpose": _purpose(service.role), **_UNKNOWN}
        )
        relations.append(_relation("SPDXRef-DOCUMENT", "DESCRIBES", id))
        relations += [_relation(id, "DEPENDS_ON", _id(url)) for url in packages_of(service, result)]
    for url, files in pinned(result).items():
        packages.append(_package(url, files))
        if not result.services:
            relations.append(_relation("SPDXRef-DOCUMENT", "DESCRIBES", _id(url)))
    if not packages:
        relations.append(_relation("SPDXRef-DOCUMENT", "DESCRIBES", "NONE"))  # every document says what it describes
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": result.services[0].name if result.services else "source",
        "documentNamespace": f"https://spdx.org/spdxdocs/assay-{digest}",
        "creationInfo": {"created": _CREATED, "creators": [f"Tool: assay-{version}"]},
        **_comment(result),
        "packages": packages,
        "relationships": relations,
    }


def _comment(result: DetectResult) -> dict[str, JsonValue]:
    """Return what the document leaves out, if anything."""
    left_out = [f"{lock.file}: {entry.name} ({entry.reason})" for lock in result.locks for entry in lock.left_out]
    unread = [f"{lock.file}: not read to its end" for lock in result.locks if not lock.complete and not lock.left_out]
    return {"comment": "Not complete. " + "; ".join([*left_out, *unread])} if left_out or unread else {}


def _package(url: str, files: list[str]) -> JsonValue:
    _, namespace, name, version = parts(url)
    whole = unquote(f"{namespace}/{name}" if namespace else name)
    return {
        "SPDXID": _id(url),
        "name": whole,
        **({"versionInfo": unquote(version)} if version else {}),
        "sourceInfo": f"pinned in {', '.join(files[:20])}",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": url}
        ],
        **_UNKNOWN,
    }  # fmt: skip


def _purpose(role: str) -> str:
    return "APPLICATION" if role == "app" else "LIBRARY"


def _relation(one: str, kind: str, other: str) -> JsonValue:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def _id(text: str) -> str:
    """Letters, digits, points and hyphens only; two that differ stay apart."""
    return f"SPDXRef-{hashlib.sha256(text.encode()).hexdigest()[:32]}"
