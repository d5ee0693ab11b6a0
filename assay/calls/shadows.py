"""Shadows: a share of one's jobs, done again with another model or prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.calls.call import ApiCall, as_model, as_page, segment, without_none

if TYPE_CHECKING:
    from shared.contracts.common import Page
    from shared.contracts.shadows import ShadowSummary, ShadowView

_PATH = "/v1/shadows"


def start(
    kind: str,
    *,
    model: str | None = None,
    prompt: str | None = None,
    share: float | None = None,
    tokens_per_day: int | None = None,
) -> ApiCall[ShadowView]:
    """``model``, or ``prompt`` (``key@version``), or both; ``share`` of the jobs, 0.01 when it is left out."""
    body = without_none(kind=kind, model=model, prompt=prompt, share=share, tokens_per_day=tokens_per_day)
    return ApiCall("POST", _PATH, as_model("shadows.ShadowView"), body=body)


def page(limit: int | None = None, cursor: str | None = None) -> ApiCall[Page[ShadowSummary]]:
    return ApiCall("GET", _PATH, as_page("shadows.ShadowSummary"), query={"limit": limit, "cursor": cursor})


def get(id: str) -> ApiCall[ShadowView]:
    return ApiCall("GET", f"{_PATH}/{segment(id)}", as_model("shadows.ShadowView"))


def stop(id: str) -> ApiCall[ShadowView]:
    """Choose no further job; what was begun goes to its end."""
    return ApiCall("POST", f"{_PATH}/{segment(id)}/stop", as_model("shadows.ShadowView"))
