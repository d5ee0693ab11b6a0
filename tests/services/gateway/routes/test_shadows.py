"""Shadows over HTTP: who may start one, what is refused, and what is shown of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2 as httpx
import pytest

from shared.contracts.shadows import ShadowView
from shared.llm.settings import ProviderSettings
from tests.services.gateway.conftest import Gateway, serving
from tests.services.gateway.http.test_problems import assert_problem

PATH = "/v1/shadows"
BODY: dict[str, Any] = {"kind": "transform", "model": "groq/b", "share": 0.5}


@pytest.fixture
def asking(gateway: Gateway) -> Iterator[httpx.Client]:
    """A tenant's administrator, at a gateway with a provider's key."""
    with serving(replace(gateway.settings, providers=ProviderSettings({"GROQ_API_KEY": "x"}))) as url:
        headers = {"Authorization": f"Bearer {gateway.key('acme', 'read', 'write', 'tenant_admin')}"}
        with httpx.Client(base_url=url, headers=headers, timeout=120) as client:
            yield client


def test_a_shadow_is_started_looked_at_and_stopped(asking: httpx.Client, other: httpx.Client) -> None:
    answer = asking.post(PATH, json={**BODY, "prompt": "transform@1"})
    assert answer.status_code == 201, answer.text
    begun = ShadowView.model_validate(answer.json())
    assert (begun.state, begun.prompt, begun.tokens_per_day) == ("running", "execution.transform@1", 100_000)
    assert (begun.tokens_today, begun.passed_over, begun.evaluations) == (0, {}, [])
    assert answer.headers["location"] == f"{PATH}/{begun.id}"
    assert asking.get(f"{PATH}/{begun.id}").json() == answer.json()
    assert [each["id"] for each in asking.get(PATH).json()["items"]] == [begun.id]
    assert other.get(PATH).json()["items"] == []
    assert_problem(other.get(f"{PATH}/{begun.id}"), 404, "not_found")
    assert asking.post(f"{PATH}/{begun.id}/stop").json()["state"] == "stopped"
    assert_problem(asking.post(f"{PATH}/{begun.id}/stop"), 409, "conflict")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"model": None}, "give a model or a prompt"),
        ({"model": "nobody/m"}, "body.model"),
        ({"prompt": "transform@99"}, "no version 99"),
        ({"kind": "flow"}, "body.kind"),
        ({"share": 0}, "body.share"),
        ({"tokens_per_day": 0}, "body.tokens_per_day"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_field(asking: httpx.Client, wrong: dict[str, Any], told: str) -> None:
    answer = asking.post(PATH, json={**BODY, **wrong})
    assert_problem(answer, 422, "invalid_request")
    assert told in answer.text


def test_only_a_tenants_administrator_may_start_one_and_only_so_many(gateway: Gateway, asking: httpx.Client) -> None:
    user = {"Authorization": f"Bearer {gateway.key('acme', 'read', 'write')}"}
    assert_problem(asking.post(PATH, json=BODY, headers=user), 403, "missing_scope")
    ids = [asking.post(PATH, json=BODY).json()["id"] for _ in range(5)]
    assert_problem(asking.post(f"{PATH}/{ids[0]}/stop", headers=user), 403, "missing_scope")
    refused = asking.post(PATH, json=BODY)
    assert_problem(refused, 429, "quota_exceeded")
    assert "stop one" in refused.text
    first = asking.get(PATH, params={"limit": 3}).json()
    second = asking.get(PATH, params={"limit": 3, "cursor": first["next_cursor"]}).json()
    listed = [each["id"] for each in [*first["items"], *second["items"]]]
    assert listed[:5] == ids[::-1]
    assert asking.post(f"{PATH}/{ids[0]}/stop").status_code == 200
    assert asking.post(PATH, json=BODY).status_code == 201
