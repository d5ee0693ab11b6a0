"""Evaluations over HTTP: what is accepted, what is refused and where, and what is shown of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx2 as httpx
import pytest
from redis import Redis
from sqlalchemy import text

from services.reconciler.evaluations import advance_all
from shared.contracts.evaluations import EvaluationView
from shared.evaluations import statements
from shared.llm.settings import ProviderSettings
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway, serving
from tests.services.gateway.http.test_problems import assert_problem
from tests.support.platform import wait_for

Json = dict[str, Any]
PATH = "/v1/evaluations"
PRODUCT: Json = {
    "name": "product", "kind": "execute", "input": {"language": "python", "code": "print(6*7)"},
    "expect": {"verdict": "ok", "stdout": "42"},
}  # fmt: skip
TASK: Json = {
    "name": "by city", "kind": "transform", "input": {"task": "sum by city", "data": [{"csv": "city,n\nOslo,1\n"}]},
    "expect": {"table": {"csv": "city,n\nOslo,1"}, "assertions": ["rows == 1"]},
}  # fmt: skip


def body(*cases: Json, **more: Any) -> Json:
    return {"suite": {"name": "s", "cases": list(cases or [PRODUCT])}, **more}


@pytest.fixture
def asking(gateway: Gateway) -> Iterator[httpx.Client]:
    """A gateway with a provider's key."""
    providers = ProviderSettings({"GROQ_API_KEY": "x"})
    with serving(replace(gateway.settings, providers=providers)) as url:
        headers = {"Authorization": f"Bearer {gateway.key('acme', 'read', 'write', 'admin')}"}
        with httpx.Client(base_url=url, headers=headers, timeout=120) as client:
            yield client


def advance(gateway: Gateway) -> None:
    with Redis.from_url(gateway.settings.stores.redis_url) as redis:
        advance_all(gateway.engine, redis)


def finish(gateway: Gateway, *outputs: str) -> None:
    """End the jobs that wait, with these outputs."""
    for output in outputs:
        job, fence = workers.claim(gateway.engine)
        workers.complete(gateway.engine, job, fence, {"verdict": "ok", "stdout": output})


def test_a_suite_is_accepted_run_and_told_of(gateway: Gateway, client: httpx.Client, other: httpx.Client) -> None:
    workers.advertise(gateway.engine)
    variants = [{"name": "a"}, {"name": "b"}]
    answer = client.post(PATH, json=body(variants=variants, repeat=2))
    assert answer.status_code == 202
    begun = EvaluationView.model_validate(answer.json())
    assert (begun.state, begun.progress.pending, answer.headers["location"]) == ("running", 4, f"{PATH}/{begun.id}")
    advance(gateway)
    finish(gateway, "42", "42", "42", "41")
    advance(gateway)
    looked = client.get(f"{PATH}/{begun.id}", params={"suite": "true", "baseline": begun.id})
    view = EvaluationView.model_validate(looked.json())
    assert (view.state, view.progress.finished, view.cases) == ("finished", 4, ["product"])
    assert [(cell.variant, cell.runs, cell.successes) for cell in view.cells] == [("a", 2, 2), ("b", 2, 1)]
    assert (view.unstable, view.cells[1].failures) == (["product / b"], {"wrong_output": 1})
    assert [(each.a, each.b, each.difference) for each in view.comparisons] == [("a", "b", 0.5)]
    assert [(each.a, each.difference, each.p) for each in view.baseline] == [("a", 0.0, 1.0), ("b", 0.0, 1.0)]
    assert view.suite is not None
    assert view.suite.cases[0].name == "product"
    unchanged = {"If-None-Match": looked.headers["etag"]}
    query = {"suite": "true", "baseline": begun.id}
    assert client.get(f"{PATH}/{begun.id}", params=query, headers=unchanged).status_code == 304
    runs = client.get(f"{PATH}/{begun.id}/runs", params={"variant": "b"}).json()["items"]
    assert [(run["success"], run["detail"]) for run in runs] == [(True, None), (False, "printed '41' instead of '42'")]
    [listed] = client.get(PATH, params={"suite": "s", "limit": 1}).json()["items"]
    assert (listed["id"], [total["successes"] for total in listed["totals"]]) == (begun.id, [2, 1])

    assert other.get(PATH).json()["items"] == []
    for path in ("", "/runs"):
        assert_problem(other.get(f"{PATH}/{begun.id}{path}"), 404, "not_found")
    for path in ("/cancel", "/resume"):
        assert_problem(other.post(f"{PATH}/{begun.id}{path}"), 404, "not_found")
        assert_problem(client.post(f"{PATH}/{begun.id}{path}"), 409, "conflict")
    assert_problem(client.get(f"{PATH}/{begun.id}", params={"baseline": "nothing"}), 422, "invalid_request")


def test_a_cancelled_one_begins_no_run_until_it_goes_on(gateway: Gateway, client: httpx.Client) -> None:
    workers.advertise(gateway.engine)
    id = client.post(PATH, json=body(repeat=3, concurrency=2)).json()["id"]
    advance(gateway)
    finish(gateway, "42")
    advance(gateway)
    cancelled = client.post(f"{PATH}/{id}/cancel")
    assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelled")
    advance(gateway)
    advance(gateway)
    view = client.get(f"{PATH}/{id}").json()
    assert (view["state"], view["progress"]["finished"]) == ("cancelled", 3)
    assert (view["cells"][0]["successes"], view["cells"][0]["failures"]) == (1, {"cancelled": 2})
    assert client.post(f"{PATH}/{id}/resume").json()["state"] == "running"
    advance(gateway)
    finish(gateway, "42", "42")
    advance(gateway)
    view = client.get(f"{PATH}/{id}").json()
    assert (view["state"], view["cells"][0]["successes"]) == ("finished", 3)


def test_one_goes_on_whole_while_a_reconciler_ends_its_runs(gateway: Gateway, client: httpx.Client) -> None:
    workers.advertise(gateway.engine)
    id = client.post(PATH, json=body(repeat=3, concurrency=1)).json()["id"]
    advance(gateway)
    client.post(f"{PATH}/{id}/cancel").raise_for_status()
    with ThreadPoolExecutor(1) as other:
        with gateway.engine.begin() as reconciler:
            reconciler.execute(statements.lock(id))
            reconciler.execute(statements.skip_pending(id, "cancelled"))
            resumed = other.submit(client.post, f"{PATH}/{id}/resume")
            wait_for(lambda: somebody_waits(gateway), 10)
        assert resumed.result().json()["progress"]["finished"] == 0
    for _ in range(3):
        advance(gateway)
        finish(gateway, "42")
    advance(gateway)
    view = client.get(f"{PATH}/{id}").json()
    assert (view["state"], view["cells"][0]["successes"]) == ("finished", 3)


def somebody_waits(gateway: Gateway) -> bool:
    """Whether a statement waits for what another transaction has locked."""
    with gateway.engine.connect() as connection:
        waiting = text("""
            SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
        """)
        return bool(connection.execute(waiting).scalar_one())


def test_models_and_prompts_become_variants_by_name(gateway: Gateway, asking: httpx.Client) -> None:
    workers.advertise(gateway.engine)
    variants = [{"model": "groq/a"}, {"model": "groq/b", "prompt": "transform@1"}, {}]
    view = asking.post(PATH, json=body(TASK, variants=variants)).json()
    assert view["variants"] == [
        {"name": "groq/a", "model": "groq/a", "prompt": None},
        {"name": "groq/b transform@1", "model": "groq/b", "prompt": "execution.transform@1"},
        {"name": "default", "model": None, "prompt": None},
    ]
    advance(gateway)
    with gateway.engine.connect() as connection:
        query = text("SELECT input, overrides FROM jobs WHERE labels->>'evaluation' = :id ORDER BY id")
        [_, job, _] = connection.execute(query, {"id": view["id"]}).all()
    assert job.overrides == {"model": "groq/b", "prompts": {"execution.transform": 1}}
    assert (job.input["observe"], job.input["result_rows"]) == (["rows == 1"], 1000)
    estimate = asking.post(PATH, json=body(TASK, PRODUCT, repeat=5, dry_run=True))
    assert estimate.status_code == 200
    told = {"runs": 10, "asking": 5, "tokens": None, "cost_usd": None, "from_jobs": 0}
    assert estimate.json() == told
    asking.post(f"{PATH}/{view['id']}/cancel")


@pytest.mark.parametrize(
    ("given", "loc"),
    [
        (body({**PRODUCT, "kind": "nothing"}), ["suite", "cases", 0, "kind"]),
        (body(PRODUCT, {**PRODUCT, "name": "x", "input": {"language": "python"}}),
         ["suite", "cases", 1, "input", "code"]),
        (body({**PRODUCT, "expect": {"stdut": "42"}}), ["suite", "cases", 0, "expect", "stdut"]),
        (body({**PRODUCT, "expect": {"table": {"csv": "a"}}}), ["suite", "cases", 0, "expect", "table"]),
        (body({**TASK, "expect": {"table": {"csv": "a,b\n1"}}}), ["suite", "cases", 0, "expect", "table"]),
        (body({**TASK, "expect": {"assertions": ["rows is 1"]}}), ["suite", "cases", 0, "expect", "assertions", 0]),
        (body({**PRODUCT, "input": {"code": "1", "language": "python", "files": [{"id": "no", "path": "a"}]}}),
         ["suite", "cases", 0, "input", "files", 0, "id"]),
        (body(PRODUCT, PRODUCT), ["suite"]),
        (body(TASK, variants=[{"model": "nobody-has-this"}]), ["variants", 0, "model"]),
        (body(TASK, variants=[{"prompt": "transform@99"}]), ["variants", 0, "prompt"]),
        (body(TASK, variants=[{"prompt": "nothing@1"}]), ["variants", 0, "prompt"]),
        (body(variants=[{}, {}]), ["variants"]),
        (body(repeat=101), ["repeat"]),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_at_its_place(asking: httpx.Client, given: Json, loc: list[str | int]) -> None:
    refused = assert_problem(asking.post(PATH, json=given), 422, "invalid_request")
    assert refused["errors"][0]["loc"] == ["body", *loc]  # type: ignore[index]


@pytest.mark.slow
def test_a_tenant_may_use_its_models_only_and_has_a_bounded_number_under_way(
    gateway: Gateway, asking: httpx.Client, client: httpx.Client
) -> None:
    asking.put("/v1/tenants/acme/models", json={"models": ["cerebras/*"]})
    try:
        refused = asking.post(PATH, json=body(TASK, variants=[{"model": "groq/a"}]))
        assert (refused.status_code, refused.json()["code"]) == (403, "model_not_allowed")
    finally:
        asking.delete("/v1/tenants/acme/models")
    assert_problem(client.post(PATH, json=body(TASK)), 503, "no_provider_configured")
    advance(gateway)
    ids = [client.post(PATH, json=body()).json()["id"] for _ in range(20)]
    assert_problem(client.post(PATH, json=body()), 429, "quota_exceeded")
    for id in ids:
        client.post(f"{PATH}/{id}/cancel")
    advance(gateway)
    assert client.post(PATH, json=body(dry_run=True)).status_code == 200


def evaluated(gateway: Gateway, client: httpx.Client, *outputs: str, **variant: str) -> str:
    """The id of an evaluation with a run for each output, all of one variant."""
    id = str(client.post(PATH, json=body(variants=[variant], repeat=len(outputs))).json()["id"])
    advance(gateway)
    finish(gateway, *outputs)
    advance(gateway)
    return id


def test_a_prompt_is_published_when_the_evaluation_passed_and_its_history_tells_so(
    gateway: Gateway, asking: httpx.Client
) -> None:
    workers.advertise(gateway.engine)
    advance(gateway)
    path = "/v1/prompts/execution.transform"
    before = asking.get(path).json()
    draft = asking.put(path, json={"text": before["text"] + " Mind the gaps.", "use": False}).json()
    assert draft["version"] > before["version"]
    assert asking.get(path).json()["version"] == before["version"]
    prompt = f"transform@{draft['version']}"
    half = evaluated(gateway, asking, "42", "41", prompt=prompt)
    body = {"version": draft["version"], "evaluation": half}
    assert_problem(asking.post(f"{path}/publish", json=body), 409, "conflict")
    assert_problem(asking.post(f"{path}/publish", json={**body, "version": before["version"]}), 409, "conflict")
    assert_problem(asking.post(f"{path}/publish", json={**body, "evaluation": "none"}), 404, "not_found")
    assert_problem(asking.post(f"{path}/publish", json={"version": 9999}), 404, "not_found")
    published = asking.post(f"{path}/publish", json={**body, "require": 0.5})
    assert published.status_code == 200
    assert asking.get(path).json()["version"] == draft["version"]
    [newest, *_] = asking.get(f"{path}/versions").json()["items"]
    assert newest["gate"] == {"evaluation_id": half, "runs": 2, "successes": 1, "required": 0.5}
    again = asking.post(f"{path}/publish", json={"version": before["version"]}).json()
    assert (again["version"], again["gate"]) == (before["version"], None)


def test_a_model_is_chosen_when_the_evaluation_passed(gateway: Gateway, asking: httpx.Client) -> None:
    workers.advertise(gateway.engine)
    advance(gateway)
    good, bad = (evaluated(gateway, asking, output, model="groq/a") for output in ("42", "41"))
    chain = {"chain": [{"provider": "groq", "model": "a"}]}
    assert_problem(asking.put("/v1/models/flows.edit", json={**chain, "evaluation": bad}), 409, "conflict")
    other = {"chain": [{"provider": "groq", "model": "b"}], "evaluation": good}
    assert_problem(asking.put("/v1/models/flows.edit", json=other), 409, "conflict")
    try:
        assert asking.put("/v1/models/flows.edit", json={**chain, "evaluation": good}).status_code == 200
        [entry, *_] = asking.get("/v1/audit", params={"action": "models.set"}).json()["items"]
        assert good in str(entry)
    finally:
        asking.post("/v1/models/reset")
