"""A tenant's own definitions for stack detection, and the proposals for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.calls.call import ApiCall, as_model, as_page, segment, without_none

if TYPE_CHECKING:
    from shared.contracts.common import Page
    from shared.contracts.definitions import DefinitionsCheck, DefinitionSet, DefinitionsVersion, Proposal

_PATH = "/v1/stacks/definitions"
Definitions = str | Sequence[Mapping[str, Any]]


def definitions() -> ApiCall[DefinitionSet]:
    return ApiCall("GET", _PATH, as_model("definitions.DefinitionSet"))


def definition_version(number: int) -> ApiCall[DefinitionSet]:
    return ApiCall("GET", f"{_PATH}/versions/{number}", as_model("definitions.DefinitionSet"))


def set_definitions(
    definitions: Definitions, if_match: str | None = None, note: str | None = None
) -> ApiCall[DefinitionSet]:
    """``definitions``: the YAML, or a list; ``note`` says why."""
    body = {**_body(definitions), **without_none(note=note)}
    return ApiCall("PUT", _PATH, as_model("definitions.DefinitionSet"), body=body, headers=_headers(if_match))


def delete_definitions(if_match: str | None = None) -> ApiCall[DefinitionSet]:
    return ApiCall("DELETE", _PATH, as_model("definitions.DefinitionSet"), headers=_headers(if_match))


def check_definitions(definitions: Definitions) -> ApiCall[DefinitionsCheck]:
    return ApiCall("POST", f"{_PATH}/check", as_model("definitions.DefinitionsCheck"), body=_body(definitions))


def definition_versions() -> ApiCall[Page[DefinitionsVersion]]:
    return ApiCall("GET", f"{_PATH}/versions", as_page("definitions.DefinitionsVersion"))


def roll_back_definitions(version: int) -> ApiCall[DefinitionSet]:
    return ApiCall("POST", f"{_PATH}/rollback", as_model("definitions.DefinitionSet"), body={"version": version})


def proposals(at_least: int | None = None) -> ApiCall[Page[Proposal]]:
    return ApiCall("GET", "/v1/stacks/proposals", as_page("definitions.Proposal"), query={"at_least": at_least})


def promote(
    axis: str, id: str, *, new_id: str | None = None, name: str | None = None, files: Sequence[str] | None = None
) -> ApiCall[DefinitionSet]:
    """``axis``: the technology's kind, such as ``language``."""
    body = without_none(id=new_id, name=name, files=None if files is None else list(files))
    path = f"/v1/stacks/proposals/{segment(axis)}/{segment(id)}/promote"
    return ApiCall("POST", path, as_model("definitions.DefinitionSet"), body=body)


def dismiss(axis: str, id: str) -> ApiCall[Proposal]:
    return ApiCall(
        "POST", f"/v1/stacks/proposals/{segment(axis)}/{segment(id)}/dismiss", as_model("definitions.Proposal")
    )


def _body(definitions: Definitions) -> dict[str, Any]:
    return {"yaml": definitions} if isinstance(definitions, str) else {"definitions": list(definitions)}


def _headers(if_match: str | None) -> dict[str, str]:
    return {"If-Match": if_match} if if_match is not None else {}
