"""What must hold of a run, and the cause that a failure is counted by."""

from __future__ import annotations

import time
from random import Random
from typing import Any

import pytest

from shared.contracts.evaluations import Expectation
from shared.evaluations.scoring import FinishedRun, Used, score, scored

USED = Used(turns=2, tokens=100, cost_usd=None, seconds=1.5)
EXECUTED = {"verdict": "ok", "stdout": "42\n"}
FOUND = {"hits": {"talks": [{"id": "1"}, {"id": "2"}], "people": [{"id": "7"}]}, "answer": "On Friday."}
DETECTED = {
    "services": [
        {"path": "", "primary": {"language": "python", "framework": None}, "candidates": [{"id": "python"}]},
        {"path": "web", "primary": {"language": "typescript"}, "candidates": [{"id": "react"}, {"id": "vite"}]},
    ]
}
UNVERIFIED = {
    "status": "unverified",
    "observed": [{"text": "rows == 2", "holds": True, "detail": ""}],
    "unverified_because": [{"code": "input_not_read", "message": "The code never reads the data set data."}],
}
NOT_CHECKED = {**UNVERIFIED, "unverified_because": [{"code": "not_checked", "message": "No check says so."}]}
OBSERVED = {
    "observed": [
        {"text": "rows == 2", "holds": True, "detail": ""},
        {"text": "unique(a)", "holds": False, "detail": "3 twice"},
    ]
}
FLOW = {"nodes": [{"id": "1", "data": {"label": "A"}}], "edges": []}


def cause(
    kind: str, result: dict[str, Any] | None, state: str = "succeeded", failure: Any = None, **expect: Any
) -> str:
    outcome = score(Expectation.model_validate(expect), FinishedRun(kind, state, result, failure, USED))
    assert outcome.success == (outcome.cause is None)
    return outcome.cause or "success"


@pytest.mark.parametrize(
    ("expect", "told"),
    [
        ({}, "success"),
        ({"verdict": "ok", "stdout": "42"}, "success"),
        ({"stdout": "43"}, "wrong_output"),
        ({"verdict": "memory"}, "wrong_verdict"),
        ({"required": ["42"], "forbidden": ["43"]}, "success"),
        ({"forbidden": ["42"]}, "forbidden_content"),
        ({"required": ["secret"]}, "missing_content"),
        ({"budget": {"turns": 2, "tokens": 100, "seconds": 2}}, "success"),
        ({"budget": {"tokens": 99}}, "over_budget"),
        ({"budget": {"cost_usd": 1}}, "over_budget"),
        ({"error": "user_code_failed"}, "wrong_error"),
    ],
)
def test_of_code(expect: dict[str, Any], told: str) -> None:
    assert cause("execute", EXECUTED, **expect) == told


@pytest.mark.parametrize(
    ("kind", "result", "expect", "told"),
    [
        ("search", FOUND, {"relevant": ["1", "7"]}, "success"),
        ("search", FOUND, {"relevant": {"talks": ["1", "7"]}}, "missed_records"),
        ("search", FOUND, {"relevant": {"talks": ["1", "7"]}, "recall": 0.5}, "success"),
        ("search", FOUND, {"required": ["Friday"]}, "success"),
        ("search", {"hits": {}}, {"relevant": ["1"]}, "missed_records"),
        ("detect", DETECTED, {"labels": ["python", "vite"]}, "success"),
        ("detect", DETECTED, {"labels": ["go"]}, "missing_labels"),
        ("detect", DETECTED, {"labels": {"": {"language": "python"}, "web": ["react"]}}, "success"),
        ("detect", DETECTED, {"labels": {"": {"framework": "django"}}}, "wrong_labels"),
        ("detect", DETECTED, {"labels": {"api": ["go"]}}, "missing_labels"),
        ("transform", OBSERVED, {"assertions": ["rows == 2"]}, "success"),
        ("transform", OBSERVED, {"assertions": ["rows == 2", "unique(a)"]}, "assertion_failed"),
        ("transform", {"observed": []}, {"assertions": ["rows == 2"]}, "assertion_failed"),
        ("transform", {"status": "question", "question": "Which?"}, {"table": {"csv": "a"}}, "question"),
        ("transform", {"status": "done", "table": None}, {"table": {"csv": "a"}}, "wrong_table"),
        ("transform", {"status": "best_so_far"}, {"status": "done"}, "wrong_status"),
        ("transform", UNVERIFIED, {"assertions": ["rows == 2"]}, "unverified"),
        ("transform", UNVERIFIED, {"status": "unverified"}, "success"),
        ("transform", NOT_CHECKED, {"assertions": ["rows == 2"]}, "success"),
        ("transform", NOT_CHECKED, {}, "unverified"),
        ("transform", UNVERIFIED, {"status": "done"}, "wrong_status"),
        ("flow", {"flow": FLOW}, {"flow": FLOW}, "success"),
        ("flow", {"flow": {"nodes": [], "edges": []}}, {"flow": FLOW}, "wrong_flow"),
        ("document", {"markdown": "# Sales\n42"}, {"required": ["42"], "forbidden": ["error"]}, "success"),
    ],
)
def test_of_the_other_kinds(kind: str, result: dict[str, Any], expect: dict[str, Any], told: str) -> None:
    assert cause(kind, result, **expect) == told


def test_a_job_that_failed_is_counted_by_its_code_unless_that_was_expected() -> None:
    error = {"code": "budget_spent", "detail": "no more turns"}
    assert cause("transform", None, "failed", error) == "budget_spent"
    assert cause("transform", None, "failed", error, error="budget_spent") == "success"
    assert cause("transform", None, "cancelled") == "cancelled"


def test_a_detail_is_cut_and_can_be_kept() -> None:
    printed = {"verdict": "ok", "stdout": "\0y" * 4000}
    outcome = score(Expectation(stdout="x"), FinishedRun("execute", "succeeded", printed, None, USED))
    assert outcome.detail is not None
    assert len(outcome.detail) <= 500
    assert "\0" not in outcome.detail


def test_what_takes_too_long_to_compare_is_an_outcome() -> None:
    random = Random(5)
    places = [(random.random() * 1e-9, float(number)) for number in range(1000)]
    moved = [[a + random.random() * 1e-9, b + 0.5] for a, b in places]
    expect = {"table": {"csv": "a,b\n" + "\n".join(f"{a},{b}" for a, b in places), "tolerance": 0.5}}
    columns = [{"name": "a", "type": "float"}, {"name": "b", "type": "float"}]
    result = {"status": "done", "table": {"columns": columns, "rows": moved, "row_count": 1000}}
    began = time.monotonic()
    outcome = scored(expect, FinishedRun("transform", "succeeded", result, None, Used(1, 1, 0.0, 1.0)))
    assert outcome.success or outcome.cause == "not_scored"
    assert time.monotonic() - began < 60
