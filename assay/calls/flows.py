"""Flows; a flow is answered as its flat JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from assay.calls.call import ApiCall, nothing, raw, segment, text_of, without_none

Json = dict[str, Any]
Format = Literal["mermaid", "dot", "json", "svg"]
Direction = Literal["LR", "RL", "TD", "TB", "BT"]


def create(flow: Mapping[str, Any]) -> ApiCall[Json]:
    return ApiCall("POST", "/v1/flows", raw, body=flow)


def page(limit: int | None = None, cursor: str | None = None) -> ApiCall[Json]:
    return ApiCall("GET", "/v1/flows", raw, query={"limit": limit, "cursor": cursor})


def get(id: str) -> ApiCall[Json]:
    return ApiCall("GET", _path(id), raw)


def replace(id: str, flow: Mapping[str, Any], if_match: str | None = None) -> ApiCall[Json]:
    return ApiCall("PUT", _path(id), raw, body=flow, headers=_if_match(if_match))


def delete(id: str, if_match: str | None = None) -> ApiCall[None]:
    return ApiCall("DELETE", _path(id), nothing, headers=_if_match(if_match))


def operate(
    id: str, tool_calls: Sequence[Mapping[str, Any]], *, atomic: bool = False, if_match: str | None = None
) -> ApiCall[Json]:
    """Run tool calls without a model."""
    body = {"tool_calls": list(tool_calls), "atomic": atomic}
    return ApiCall("POST", _path(id, "operations"), raw, body=body, headers=_if_match(if_match))


def undo(id: str, scope: Literal["all", "mine"] | None = None) -> ApiCall[Json]:
    return ApiCall("POST", _path(id, "undo"), raw, body=without_none(scope=scope))


def redo(id: str, scope: Literal["all", "mine"] | None = None) -> ApiCall[Json]:
    return ApiCall("POST", _path(id, "redo"), raw, body=without_none(scope=scope))


def history(id: str, limit: int | None = None, cursor: str | None = None) -> ApiCall[Json]:
    return ApiCall("GET", _path(id, "history"), raw, query={"limit": limit, "cursor": cursor})


def version(id: str, number: int) -> ApiCall[Json]:
    return ApiCall("GET", _path(id, f"versions/{number}"), raw)


def versions(id: str, limit: int | None = None, cursor: str | None = None) -> ApiCall[Json]:
    return ApiCall("GET", _path(id, "versions"), raw, query={"limit": limit, "cursor": cursor})


def name_version(id: str, number: int, name: str | None) -> ApiCall[Json]:
    """Name a version, so that it is kept; None takes the name away."""
    return ApiCall("PUT", _path(id, f"versions/{number}"), raw, body={"name": name})


def restore(id: str, number: int) -> ApiCall[Json]:
    """Make an earlier version the current one."""
    return ApiCall("POST", _path(id, f"versions/{number}/restore"), raw)


def branch(id: str, number: int, name: str | None = None) -> ApiCall[Json]:
    """Begin a new flow from a version."""
    return ApiCall("POST", _path(id, f"versions/{number}/branch"), raw, body=without_none(name=name))


def lint(id: str) -> ApiCall[Json]:
    return ApiCall("GET", _path(id, "lint"), raw)


def proposals(id: str, limit: int | None = None) -> ApiCall[Json]:
    return ApiCall("GET", _path(id, "proposals"), raw, query={"limit": limit})


def proposal(id: str, proposal_id: str) -> ApiCall[Json]:
    return ApiCall("GET", _path(id, f"proposals/{segment(proposal_id)}"), raw)


def diff(id: str, old: int, new: int | None = None) -> ApiCall[Json]:
    return ApiCall("GET", _path(id, "diff"), raw, query={"from": old, "to": new})


def apply(id: str, proposal_id: str, accept: Sequence[int] | None = None) -> ApiCall[Json]:
    """``accept``: only these operations of the proposal, by their place in its list."""
    body = without_none(accept=None if accept is None else list(accept))
    return ApiCall("POST", _path(id, f"proposals/{segment(proposal_id)}/apply"), raw, body=body)


def discard(id: str, proposal_id: str) -> ApiCall[Any]:
    return ApiCall("POST", _path(id, f"proposals/{segment(proposal_id)}/discard"), raw)


def export(id: str, format: Format, direction: Direction | None = None) -> ApiCall[str]:
    return ApiCall("GET", _path(id, "export"), text_of, query={"format": format, "direction": direction})


def import_text(format: Literal["mermaid", "json"], text: str, name: str | None = None) -> ApiCall[Json]:
    return ApiCall("POST", "/v1/flows/import", raw, body=without_none(format=format, text=text, name=name))


def layout(id: str, direction: Literal["LR", "TB"] | None = None) -> ApiCall[Json]:
    return ApiCall("POST", _path(id, "layout"), raw, body=without_none(direction=direction))


def _path(id: str, rest: str = "") -> str:
    return f"/v1/flows/{segment(id)}" + (f"/{rest}" if rest else "")


def _if_match(etag: str | None) -> dict[str, str]:
    return {"If-Match": etag} if etag is not None else {}
