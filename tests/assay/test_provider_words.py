"""What the command says of providers and endpoints that learned or refuse something."""

from __future__ import annotations

import pytest

from assay.commands.doctor import _provider
from assay.commands.endpoints import _learned


@pytest.mark.parametrize(
    ("state", "error", "finding", "ok"),
    [
        ("closed", None, "called when needed", True),
        ("parked", "rate_limited", "limits our rate", False),
        ("parked", "payment_required", "refuses every call", False),
        ("refusing", "request_refused", "is called, but refuses every request: request_refused", False),
    ],
)
def test_a_doctor_tells_a_limit_from_a_refusal(state: str, error: str | None, finding: str, ok: bool) -> None:
    provider = {
        "name": "groq",
        "configured": True,
        "state": state,
        "until": "2026-11-26T10:00:00Z",
        "last_error": error,
    }
    check = _provider(provider, [provider])
    assert check.finding.startswith(finding)
    assert check.ok is ok


def test_what_refusals_taught_is_listed_with_its_end() -> None:
    until = "2026-11-26T10:15:00Z"
    facts = [
        {"model": "m", "what": "window", "tokens": 200_000, "until": until},
        {"model": "m", "what": "cap_tokens", "tokens": 4096, "until": until},
        {"model": "n", "what": "cap", "tokens": None, "until": until},
        {"model": "n", "what": "schema", "tokens": None, "until": until},
    ]
    assert _learned({"learned": facts}) == (
        "m: window 200000 until 10:15 UTC; m: answers of at most 4096 tokens until 10:15 UTC; "
        "n: takes the other name of the answer's token limit until 10:15 UTC; n: no schema until 10:15 UTC"
    )
    assert _learned({}) is None
