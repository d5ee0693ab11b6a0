"""The reconciler begins runs, scores them, and ends evaluations; a step happens whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Barrier, Thread
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url
from uuid_utils import uuid7

from migrations import roles
from services.reconciler.evaluations import advance, advance_all
from shared.contracts.jobs import JobState
from shared.db import connect
from shared.evaluations import statements
from shared.jobs.delivery import notifications
from shared.jobs.record import statements as job_statements

Json = dict[str, Any]


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url)
    yield engine
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE evaluations, evaluation_runs, jobs CASCADE"))
    engine.dispose()


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as client:
        yield client


def begin(engine: Engine, cases: int = 2, repeat: int = 1, variants: Sequence[Json] = (), **given: Any) -> str:
    case: Json = {"kind": "execute", "input": {"language": "python", "code": "6*7"}, "expect": {"stdout": "42"}}
    plain = {"name": "default", "model": None, "prompt": None}
    row = {
        "id": str(uuid7()), "tenant_id": "t", "name": "s", "variants": list(variants) or [plain], "repeat": repeat,
        "suite": {"name": "s", "cases": [{"name": f"case {n}", **case} for n in range(cases)]}, "budget": {},
        "concurrency": 8, "priority": 3, "actor": "key", "cases": cases, **given,
    }  # fmt: skip
    with engine.begin() as connection:
        connection.execute(statements.create(row))
    return str(row["id"])


def finish(
    engine: Engine, stdout: str = "42\n", usage: Json | None = None, state: JobState = JobState.SUCCEEDED
) -> int:
    """End every job that waits; how many."""
    count = 0
    result = {"verdict": "ok", "stdout": stdout} if state is JobState.SUCCEEDED else None
    with engine.begin() as connection:
        while job := connection.execute(job_statements.claim("execute", "w", 60).clause).one_or_none():
            done = job_statements.complete(
                job_statements.Held.of(job), state, result, None, [], usage or {"llm_calls": 0}
            ).clause
            connection.execute(done)
            count += 1
    return count


def state_of(engine: Engine, id: str) -> tuple[str, bool]:
    with engine.connect() as connection:
        row = connection.execute(text("SELECT state, open FROM evaluations WHERE id = :id"), {"id": id}).one()
    return row.state, row.open


def runs_of(engine: Engine, id: str) -> list[Json]:
    with engine.connect() as connection:
        return [{**row} for row in connection.execute(statements.runs([id], "t")).mappings()]


def test_runs_are_begun_as_jobs_scored_and_ended(engine: Engine, redis: Redis) -> None:
    redis.delete(notifications.queue_name("execute"))
    id = begin(engine, variants=[{"name": "a", "model": "groq/m", "prompt": "execution.transform@3"}])
    advance_all(engine, redis)
    assert redis.llen(notifications.queue_name("execute")) == 2
    with engine.connect() as connection:
        job = connection.execute(text("SELECT * FROM jobs ORDER BY id LIMIT 1")).mappings().one()
    assert job["overrides"] == {"model": "groq/m", "prompts": {"execution.transform": 3}}
    assert job["labels"] == {"evaluation": id, "case": "case 0", "variant": "a"}
    assert (job["tenant_id"], job["actor"], job["priority"]) == ("t", "key", 3)
    assert finish(engine) == 2
    advance_all(engine, redis)
    assert state_of(engine, id) == ("finished", False)
    assert [(run["success"], run["cause"]) for run in runs_of(engine, id)] == [(True, None)] * 2


def test_no_more_run_at_once_than_were_asked_for(engine: Engine, redis: Redis) -> None:
    id = begin(engine, cases=5, repeat=2, concurrency=3)
    begun = []
    while state_of(engine, id)[1]:
        advance(engine, redis, id)
        begun.append(finish(engine))
    assert begun == [3, 3, 3, 1, 0]
    first = [(run["repetition"], run["case_number"]) for run in sorted(runs_of(engine, id), key=lambda r: r["job_id"])]
    assert first == sorted(first)


def test_two_reconcilers_begin_no_run_twice(engine: Engine, redis: Redis) -> None:
    id = begin(engine, cases=30, concurrency=30)
    start = Barrier(4)

    def step() -> None:
        start.wait(30)
        advance(engine, redis, id)

    threads = [Thread(target=step) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM jobs")) == 30


@pytest.mark.parametrize(
    ("budget", "usage"),
    [
        ({"tokens": 150}, {"llm_calls": 1, "input_tokens": 60, "output_tokens": 40, "cost_usd": 0.1}),
        ({"cost_usd": 0.15}, {"llm_calls": 1, "input_tokens": 60, "output_tokens": 40, "cost_usd": 0.1}),
    ],
)
def test_no_run_is_begun_once_the_budget_is_spent(engine: Engine, redis: Redis, budget: Json, usage: Json) -> None:
    id = begin(engine, cases=5, concurrency=1, budget=budget)
    while state_of(engine, id)[1]:
        advance(engine, redis, id)
        finish(engine, usage=usage)
    assert state_of(engine, id) == ("budget_spent", False)
    runs = runs_of(engine, id)
    assert [run["state"] for run in runs] == ["finished"] * 2 + ["skipped"] * 3
    assert {run["cause"] for run in runs[2:]} == {"budget_spent"}

    with engine.begin() as connection:
        connection.execute(statements.resume(id, "t", {"tokens": 10_000}))
    while state_of(engine, id)[1]:
        advance(engine, redis, id)
        finish(engine, usage=usage)
    assert state_of(engine, id) == ("finished", False)
    assert [run["success"] for run in runs_of(engine, id)] == [True] * 5


def test_a_budget_of_money_is_spent_when_nobody_knows_the_price(engine: Engine, redis: Redis) -> None:
    id = begin(engine, cases=3, concurrency=1, budget={"cost_usd": 100})
    while state_of(engine, id)[1]:
        advance(engine, redis, id)
        finish(engine, usage={"llm_calls": 1, "input_tokens": 1, "output_tokens": 1, "cost_usd": None})
    assert [run["state"] for run in runs_of(engine, id)] == ["finished", "skipped", "skipped"]


def test_what_does_not_hold_and_what_cannot_be_compared_are_failures(engine: Engine, redis: Redis) -> None:
    wrong, failed, gone = (begin(engine, cases=1) for _ in range(3))
    advance(engine, redis, wrong)
    finish(engine, stdout="41")
    advance(engine, redis, failed)
    finish(engine, state=JobState.CANCELLED)
    advance(engine, redis, gone)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM jobs WHERE labels->>'evaluation' = :id"), {"id": gone})
    broken = begin(engine, cases=1)
    with engine.begin() as connection:
        connection.execute(text("UPDATE evaluations SET suite = jsonb_set(suite, '{cases,0,expect}', '{\"flow\": 5}')"
                                " WHERE id = :id"), {"id": broken})  # fmt: skip
        connection.execute(statements.set_state(broken, "running"))
    advance_all(engine, redis)
    assert [runs_of(engine, id)[0]["cause"] for id in (wrong, failed, gone)] == [
        "wrong_output",
        "cancelled",
        "job_deleted",
    ]
    assert all(not state_of(engine, id)[1] for id in (wrong, failed, gone))


def test_the_reconcilers_role_may_do_all_of_it(database_url: str, engine: Engine, redis: Redis) -> None:
    with engine.begin() as connection:
        roles.allow_login(connection, {"reconciler": "secret"})
    url = make_url(database_url).set(username="assay_reconciler", password="secret")
    limited = connect(url.render_as_string(hide_password=False))
    id = begin(engine, cases=3, concurrency=2, budget={"tokens": 1})
    while state_of(engine, id)[1]:
        advance(limited, redis, id)
        finish(engine, usage={"llm_calls": 1, "input_tokens": 1, "output_tokens": 1, "cost_usd": 0.1})
    limited.dispose()
    assert state_of(engine, id) == ("budget_spent", False)
    assert [run["success"] for run in runs_of(engine, id)] == [True, True, None]
