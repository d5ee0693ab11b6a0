"""Evaluations: suites run with several models and prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.calls.call import ApiCall, as_model, as_page, segment, without_none

if TYPE_CHECKING:
    from shared.contracts.common import Page
    from shared.contracts.evaluations import Case, EvaluationEstimate, EvaluationSummary, EvaluationView, Run

_PATH = "/v1/evaluations"


def create(
    suite: Mapping[str, Any],
    variants: Sequence[Mapping[str, str | None]] = (),
    *,
    repeat: int = 1,
    budget: Mapping[str, float | None] | None = None,
    concurrency: int | None = None,
    idempotency_key: str | None = None,
) -> ApiCall[EvaluationView]:
    """``variants``: each with ``name``, ``model`` and ``prompt`` (``key@version``), all of which may be left out."""
    headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
    body = _body(suite, variants, repeat, budget, concurrency)
    return ApiCall("POST", _PATH, as_model("evaluations.EvaluationView"), body=body, headers=headers)


def estimate(
    suite: Mapping[str, Any], variants: Sequence[Mapping[str, str | None]] = (), *, repeat: int = 1
) -> ApiCall[EvaluationEstimate]:
    """Check everything and return an estimate of the cost; nothing is run."""
    body = {**_body(suite, variants, repeat, None, None), "dry_run": True}
    return ApiCall("POST", _PATH, as_model("evaluations.EvaluationEstimate"), body=body)


def page(
    suite: str | None = None, limit: int | None = None, cursor: str | None = None
) -> ApiCall[Page[EvaluationSummary]]:
    query = {"suite": suite, "limit": limit, "cursor": cursor}
    return ApiCall("GET", _PATH, as_page("evaluations.EvaluationSummary"), query=query)


def get(id: str, baseline: str | None = None, *, suite: bool = False) -> ApiCall[EvaluationView]:
    query = {"baseline": baseline, "suite": "true" if suite else None}
    return ApiCall("GET", f"{_PATH}/{segment(id)}", as_model("evaluations.EvaluationView"), query=query)


def runs(id: str, case: str | None = None, variant: str | None = None) -> ApiCall[Page[Run]]:
    query = {"case": case, "variant": variant}
    return ApiCall("GET", f"{_PATH}/{segment(id)}/runs", as_page("evaluations.Run"), query=query)


def case_of(job: str, name: str | None = None) -> ApiCall[Case]:
    """Return a finished job as a case: its input with files by id, and its result as the expectation."""
    path = f"/v1/jobs/{segment(job)}/case"
    return ApiCall("GET", path, as_model("evaluations.Case"), query={"name": name})


def cancel(id: str) -> ApiCall[EvaluationView]:
    return ApiCall("POST", f"{_PATH}/{segment(id)}/cancel", as_model("evaluations.EvaluationView"))


def resume(id: str, budget: Mapping[str, float | None] | None = None) -> ApiCall[EvaluationView]:
    """Begin what was not begun, or was cancelled, after all."""
    body = without_none(budget=budget)
    return ApiCall("POST", f"{_PATH}/{segment(id)}/resume", as_model("evaluations.EvaluationView"), body=body)


def _body(
    suite: Mapping[str, Any],
    variants: Sequence[Mapping[str, str | None]],
    repeat: int,
    budget: Mapping[str, float | None] | None,
    concurrency: int | None,
) -> dict[str, object]:
    given = [{name: value for name, value in variant.items() if value is not None} for variant in variants]
    return without_none(
        suite=suite, variants=given or None, repeat=repeat, budget=budget or None, concurrency=concurrency
    )
