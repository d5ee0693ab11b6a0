"""Documents as clients send them: validated by the contract, then stored as they were written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import orjson
from pydantic import JsonValue, ValidationError

from shared.contracts.flow_document import MAX_LABEL, FlowCreate, FlowSave
from shared.contracts.flow_routes import ImportWarning
from shared.errors import InvalidRequest
from shared.faults import worded
from shared.flows import visuals
from shared.flows.document import Document, Item, Json, document_of
from shared.flows.errors import FlowTooLarge
from shared.flows.forms.foreign.recognize import read_foreign, warnings_of, without_nodes
from shared.flows.forms.foreign.texts import unwrapped
from shared.flows.forms.mermaid_import import read_mermaid
from shared.flows.tools.placement import with_places

_MAX_ERRORS = 100
_NAME = 200  #: characters


def read_document(
    checked: FlowCreate | FlowSave, given: Mapping[str, JsonValue], kept_settings: Mapping[str, Item]
) -> Document:
    """Return the document of a valid request; ``given`` is the request as it was sent.

    Settings that it does not give stay ``kept_settings``.

    Raises: InvalidRequest for duplicate ids and for invalid colors.
    """
    nodes = [_completed(cast("Json", node)) for node in cast("list[JsonValue]", given.get("nodes", []))]
    edges = cast("list[JsonValue]", given.get("edges", []))
    _check_unique("nodes", nodes)
    _check_unique("edges", edges)
    own = visuals.stored(checked.settings) if checked.settings is not None else dict(kept_settings)
    return document_of(nodes, edges, own)


def import_document(form: str, text: str) -> tuple[str | None, Document, list[ImportWarning]]:
    """Name, document and what was not understood of another form's text. Raises: InvalidRequest, FlowTooLarge."""
    text, further = unwrapped(form, text)
    if form == "mermaid":
        document, warnings = read_mermaid(text)
        if not document.nodes:
            raise without_nodes()
        return None, document, [*warnings, *further]
    try:
        content = orjson.loads(text)
        flow = read_foreign(content)
        given: Json = {"nodes": flow.nodes, "edges": flow.edges, "settings": flow.settings}
        if flow.name is not None:
            given["name"] = flow.name[:_NAME]
        checked = FlowCreate.model_validate(given)
    except orjson.JSONDecodeError as wrong:
        raise _refused(f"line {wrong.lineno}: {wrong.msg}") from None
    except ValidationError as wrong:
        faults = wrong.errors(include_url=False)
        if any(error["type"] == "flow_too_large" for error in faults):
            raise FlowTooLarge(faults[0]["msg"]) from None
        errors: list[tuple[list[str | int], str]] = [
            (["body", "text", *error["loc"]], worded(error)) for error in faults
        ]
        raise InvalidRequest("The text is JSON, but no flow.", errors[:_MAX_ERRORS]) from None
    except RecursionError:
        raise _refused("it is nested too deeply") from None
    document = read_document(checked, given, {})
    if not document.nodes:
        raise without_nodes()
    unplaced = [node["id"] for node in flow.nodes if isinstance(node, dict) and "position" not in node]
    if unplaced:
        document = with_places(document, [key for key in unplaced if isinstance(key, str)])
    return flow.name, document, [*warnings_of(flow, text), *further]


def _completed(node: Json) -> JsonValue:
    """Return a node with the members that every node has; existing ones stay unchanged.

    A node whose data has no label gets the one beside its data, where several programs write it.
    """
    missing: Json = {}
    if "type" not in node:
        missing["type"] = "default"
    if "position" not in node:
        missing["position"] = {"x": 0, "y": 0}
    data = cast("Json", node.get("data", {}))
    beside = node.get("label")
    if "label" not in data and isinstance(beside, str) and len(beside) <= MAX_LABEL:
        missing["data"] = {**data, "label": beside}
    elif "data" not in node:
        missing["data"] = {"label": ""}
    return {**node, **missing}


def _check_unique(name: str, elements: Sequence[JsonValue]) -> None:
    seen: set[JsonValue] = set()
    duplicates: list[tuple[list[str | int], str]] = []
    for place, element in enumerate(elements):
        key = cast("Json", element)["id"]
        if key in seen:
            duplicates.append((["body", name, place, "id"], "is the id of an earlier one too"))
        seen.add(key)
    if duplicates:
        raise InvalidRequest(f"{name} share an id; ids are unique within a flow.", duplicates[:_MAX_ERRORS])


def _refused(message: str) -> InvalidRequest:
    return InvalidRequest(f"The text cannot be read: {message}.", [(["body", "text"], message)])
