"""The files that claims rest on, stored with the result, so that each claim can be verified."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from services.stacks.tree import HEAD_BYTES, Tree, decoded, join
from shared.contracts.detect import DetectResult

_MAX_FILES = 5_000  #: names
_MAX_CHARACTERS = 200_000  #: of all texts together


def source(tree: Tree, result: DetectResult) -> JsonValue:
    """``files``: the names of the tree, ``file_count`` in all; ``texts`` by name, ``cut`` those not to their end.

    A file that holds credentials is not among the texts.
    """
    secret = {finding.file for finding in result.findings if finding.rule == "secret-file"}
    names = [join(folder.path, name) for folder in tree.ordered() for name in sorted(folder.files)]
    texts: dict[str, JsonValue] = {}
    cut: list[JsonValue] = []
    left = _MAX_CHARACTERS
    for name in dict.fromkeys(_proofs(result)):
        if name in secret or name.rpartition("/")[2].startswith(".env") or not tree.has(name):
            continue
        body = tree.read(name, HEAD_BYTES)
        if body is None or b"\0" in body[:1024] or left <= 0:
            continue
        text = decoded(body)
        texts[name] = text[:left]
        if len(body) == HEAD_BYTES or len(text) > left:
            cut.append(name)
        left -= len(text)
    return {"files": [*names[:_MAX_FILES]], "file_count": len(names), "texts": texts, "cut": cut}


def _proofs(result: DetectResult) -> Iterator[str]:
    for service in result.services:
        for candidate in service.candidates:
            yield from (evidence.file for evidence in candidate.evidence)
        for backing in service.backing_services:
            yield from (evidence.file for evidence in backing.evidence)
        origins = (service.runtime.trail.command, service.runtime.trail.ports, service.runtime.trail.health)
        yield from (origin.evidence.file for origin in origins if origin and origin.evidence)
        for trail in service.versions:
            yield from (file for file in (trail.file, *(other.file for other in trail.overridden)) if file)
    yield from (finding.file for finding in result.findings if finding.file)
