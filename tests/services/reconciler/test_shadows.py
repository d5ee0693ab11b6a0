"""A share of a tenant's jobs is done again, compared with the first answers; none twice, within its budget."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Barrier, Thread
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url
from uuid_utils import uuid7

from migrations import roles
from services.reconciler.evaluations import advance_all
from services.reconciler.shadows import case_from, is_chosen, sample_all
from shared.contracts.jobs import JobState
from shared.db import connect
from shared.evaluations import shadows as statements
from shared.evaluations import statements as evaluation_statements
from shared.jobs.record import statements as job_statements
from shared.jobs.record import submission

Json = dict[str, Any]
_ASKED: Json = {"llm_calls": 1, "input_tokens": 60, "output_tokens": 40}
_TABLE: Json = {"columns": [{"name": "n"}], "rows": [[1]], "row_count": 1}


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url)
    yield engine
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE shadows, evaluations, evaluation_runs, jobs CASCADE"))
    engine.dispose()


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as client:
        yield client


def start(engine: Engine, **given: Any) -> str:
    row = {
        "id": str(uuid7()), "tenant_id": "t", "kind": "transform", "model": "groq/b", "prompt": None, "share": 1.0,
        "tokens_per_day": 10_000, "actor": "key", "request_id": None, **given,
    }  # fmt: skip
    with engine.begin() as connection:
        connection.execute(statements.create(row))
    return str(row["id"])


def submit(engine: Engine, kind: str = "transform", tenant: str = "t", **given: Any) -> str:
    row = {
        "id": str(uuid7()), "tenant_id": tenant, "kind": kind, "priority": 5, "labels": {}, "budget": {},
        "input": {"task": "count", "data": [{"name": "d", "rows": [{"n": 1}]}]}, "overrides": {}, "warnings": [],
        "conversation_id": str(uuid7()), "actor": "k", **given,
    }  # fmt: skip
    with engine.begin() as connection:
        connection.execute(submission.submit(row))
        # Long enough ago that no earlier one can still come to light.
        connection.execute(text("UPDATE jobs SET created_at = created_at - interval '3 seconds' WHERE id = :id"), row)
        connection.execute(text("UPDATE shadows SET seen_at = seen_at - interval '1 hour' WHERE seen_id = ''"))
    return str(row["id"])


def finish(engine: Engine, usage: Json = _ASKED, table: Json = _TABLE, kind: str = "transform") -> int:
    """End every job that waits; how many."""
    count = 0
    with engine.begin() as connection:
        while job := connection.execute(job_statements.claim(kind, "w", 60).clause).one_or_none():
            done = job_statements.complete(
                job_statements.Held.of(job), JobState.SUCCEEDED, {"table": table}, None, [], usage
            )
            connection.execute(done.clause)
            count += 1
    return count


def work(engine: Engine, redis: Redis, table: Json = _TABLE) -> None:
    """Until nothing of evaluations is left to be done."""
    for _ in range(20):
        sample_all(engine)
        advance_all(engine, redis)
        if finish(engine, table=table) == 0:
            break
    advance_all(engine, redis)


def view(engine: Engine, id: str) -> Json:
    with engine.connect() as connection:
        shadow = connection.execute(statements.find(id, "t")).mappings().one()
        ids = [row.id for row in connection.execute(statements.evaluations(id, "t", 20))]
        runs = [{**row} for row in connection.execute(evaluation_statements.runs(ids, "t")).mappings()]
    return {**shadow, "ids": ids, "runs": runs}


def test_a_job_is_done_again_and_compared_and_its_own_answer_stays(engine: Engine, redis: Redis) -> None:
    shadow = start(engine)
    job = submit(engine)
    finish(engine)
    work(engine, redis, table={**_TABLE, "rows": [[2]]})
    seen = view(engine, shadow)
    live, other = seen["runs"]
    assert (live["job_id"], live["success"], live["variant_number"]) == (job, True, 0)
    assert (other["success"], other["cause"], other["tokens"]) == (False, "wrong_table", 100)
    assert seen["tokens_today"] == 100
    with engine.connect() as connection:
        again = connection.execute(text("SELECT * FROM jobs WHERE id = :id"), {"id": other["job_id"]}).mappings().one()
        first = connection.execute(text("SELECT result FROM jobs WHERE id = :id"), {"id": job}).scalar_one()
    assert again["overrides"] == {"model": "groq/b"}
    assert (again["tenant_id"], again["priority"], again["labels"]["variant"]) == ("t", 0, "shadow")
    assert first == {"table": _TABLE}
    assert view(engine, shadow)["passed_over"] == {}


def test_runs_of_evaluations_other_tenants_other_kinds_and_answers_without_a_model_are_left(
    engine: Engine, redis: Redis
) -> None:
    shadow = start(engine)
    submit(engine, labels={"evaluation": "e"})
    submit(engine, tenant="u")
    submit(engine, kind="document", input={"markdown": "a"})
    submit(engine)
    finish(engine, usage={"llm_calls": 0})
    finish(engine, kind="document")
    work(engine, redis)
    seen = view(engine, shadow)
    assert (seen["runs"], seen["passed_over"]) == ([], {"unanswered": 1})


def test_what_would_pass_the_budget_or_hurry_is_passed_over(engine: Engine, redis: Redis) -> None:
    shadow = start(engine, tokens_per_day=150)
    for _ in range(5):
        submit(engine)
    finish(engine)
    work(engine, redis)
    seen = view(engine, shadow)
    assert (len(seen["runs"]), seen["passed_over"]) == (4, {"behind": 3})
    submit(engine)
    finish(engine)
    work(engine, redis)
    seen = view(engine, shadow)
    assert (len(seen["runs"]), seen["tokens_today"]) == (4, 200)
    assert seen["passed_over"] == {"behind": 3, "budget": 1}


def test_a_job_is_waited_for_until_it_ends_and_a_stopped_shadow_takes_none(engine: Engine, redis: Redis) -> None:
    shadow = start(engine)
    submit(engine)
    sample_all(engine)
    assert view(engine, shadow)["runs"] == []
    finish(engine)
    work(engine, redis)
    seen = view(engine, shadow)
    assert len(seen["runs"]) == 2
    with engine.begin() as connection:
        assert connection.execute(statements.stop(shadow, "t")).one_or_none() is not None
        assert connection.execute(statements.stop(shadow, "t")).one_or_none() is None
    submit(engine)
    finish(engine)
    work(engine, redis)
    assert len(view(engine, shadow)["runs"]) == 2
    with engine.connect() as connection:
        ended = connection.execute(text("SELECT state, open FROM evaluations WHERE id = :id"), {"id": seen["ids"][0]})
        assert tuple(ended.one()) == ("finished", False)


def test_a_full_evaluation_is_ended_and_another_goes_on(
    engine: Engine, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.reconciler.shadows._MAX_IN_ONE", 2)
    shadow = start(engine)
    for _ in range(3):
        submit(engine)
        finish(engine)
        work(engine, redis)
    seen = view(engine, shadow)
    assert (len(seen["ids"]), len(seen["runs"])) == (2, 6)
    with engine.connect() as connection:
        states = connection.execute(text("SELECT state FROM evaluations ORDER BY created_at")).scalars().all()
    assert states == ["finished", "running"]


def test_reconcilers_at_once_do_no_job_again_twice(engine: Engine, redis: Redis) -> None:
    shadow = start(engine)
    submit(engine)
    submit(engine)
    finish(engine)
    together = Barrier(4)

    def step() -> None:
        together.wait(30)
        for _ in range(5):
            sample_all(engine)

    threads = [Thread(target=step) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(run["variant_number"] for run in view(engine, shadow)["runs"]) == [0, 0, 1, 1]


def test_the_reconcilers_own_role_may_do_all_of_it(engine: Engine, redis: Redis, database_url: str) -> None:
    with engine.begin() as connection:
        roles.apply(connection)
        roles.allow_login(connection, {"reconciler": "secret"})
    shadow = start(engine)
    submit(engine)
    finish(engine)
    url = make_url(database_url).set(username="assay_reconciler", password="secret")
    own = connect(url.render_as_string(hide_password=False))
    sample_all(own)
    advance_all(own, redis)
    own.dispose()
    assert len(view(engine, shadow)["runs"]) == 2


def test_the_share_holds_and_the_choice_is_the_same_every_time() -> None:
    jobs = [str(number) for number in range(10_000)]
    chosen = [job for job in jobs if is_chosen("s", job, 0.1)]
    assert 800 < len(chosen) < 1200
    assert chosen == [job for job in jobs if is_chosen("s", job, 0.1)]
    assert set(chosen) != {job for job in jobs if is_chosen("other", job, 0.1)}
    assert set(chosen) < {job for job in jobs if is_chosen("s", job, 0.2)}


def test_what_is_too_large_makes_no_case() -> None:
    job: Json = {
        "id": "j", "kind": "document", "state": "succeeded", "input": {"markdown": "a"}, "result": {}, "budget": {},
    }  # fmt: skip
    assert case_from(job) == {"name": "a j", "kind": "document", "input": {"markdown": "a"}}
    assert case_from({**job, "input": {"markdown": "a" * 70_000}}) is None
