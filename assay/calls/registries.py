"""Prompts, models and providers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.calls.call import Call, as_model, as_page, raw, segment

if TYPE_CHECKING:
    from shared.contracts.common import Page
    from shared.contracts.models import Models, ModelTest, Prompt, Providers


def prompts() -> Call[Page[Prompt]]:
    return Call("GET", "/v1/prompts", as_page("models.Prompt"))


def prompt(key: str) -> Call[Prompt]:
    return Call("GET", f"/v1/prompts/{segment(key)}", as_model("models.Prompt"))


def set_prompt(key: str, text: str, if_match: str | None = None) -> Call[Prompt]:
    headers = {"If-Match": if_match} if if_match is not None else {}
    return Call("PUT", f"/v1/prompts/{segment(key)}", as_model("models.Prompt"), body={"text": text}, headers=headers)


def prompt_versions(key: str) -> Call[Page[Prompt]]:
    return Call("GET", f"/v1/prompts/{segment(key)}/versions", as_page("models.Prompt"))


def roll_back_prompt(key: str, version: int) -> Call[Prompt]:
    return Call("POST", f"/v1/prompts/{segment(key)}/rollback", as_model("models.Prompt"), body={"version": version})


def reset_prompt(key: str) -> Call[Prompt]:
    return Call("POST", f"/v1/prompts/{segment(key)}/reset", as_model("models.Prompt"))


def models() -> Call[Models]:
    return Call("GET", "/v1/models", as_model("models.Models"))


def set_chain(role: str, chain: Sequence[Mapping[str, Any]]) -> Call[Any]:
    return Call("PUT", f"/v1/models/{segment(role)}", raw, body={"chain": list(chain)})


def test_model(role: str) -> Call[ModelTest]:
    return Call("POST", f"/v1/models/{segment(role)}/test", as_model("models.ModelTest"), wait_seconds=60)


def reset_models() -> Call[Any]:
    return Call("POST", "/v1/models/reset", raw)


def providers() -> Call[Providers]:
    return Call("GET", "/v1/providers", as_model("models.Providers"))
