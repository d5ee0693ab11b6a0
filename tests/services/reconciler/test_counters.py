"""Counts, heads and turns are those of the jobs, whichever process wrote them, and wrong ones are fixed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from services.reconciler.counters import Upkeep
from shared.contracts.jobs import JobState
from shared.db import connect
from shared.jobs.record import counts, statements, submission
from tests.support.rows import job_row


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    opened = connect(database_url)
    with opened.begin() as connection:
        connection.execute(text("TRUNCATE jobs, conversations CASCADE"))
    yield opened
    with opened.begin() as connection:
        connection.execute(text("TRUNCATE jobs, conversations CASCADE"))
    opened.dispose()


def queued(engine: Engine) -> tuple[int, int, dict[str, tuple[int, int]]]:
    with engine.connect() as connection:
        depth = {row.kind: (row.queued, row.running) for row in connection.execute(counts.depth())}
        mine = connection.execute(counts.queued_of("a")).scalar_one()
        return mine, connection.execute(counts.queued_in_all()).scalar_one(), depth


def test_counts_follow_a_job_through_its_states(engine: Engine) -> None:
    upkeep = Upkeep(engine)
    with engine.begin() as connection:
        for tenant in ("a", "a", "b"):
            connection.execute(submission.submit(job_row(tenant_id=tenant)))
    assert queued(engine) == (2, 3, {"execute": (3, 0)})
    upkeep.add_up()
    with engine.begin() as connection:
        row = connection.execute(statements.claim("execute", "w", 10).clause).one()
    assert queued(engine)[2] == {"execute": (2, 1)}
    with engine.begin() as connection:
        connection.execute(statements.complete(statements.Held.of(row), JobState.SUCCEEDED, {}, None, [], {}).clause)
    upkeep.add_up()
    assert queued(engine)[2] == {"execute": (2, 0)}
    assert queued(engine)[1] == 2


def test_wrong_counts_heads_and_turns_are_mended(engine: Engine) -> None:
    with engine.begin() as connection:
        for _ in range(3):
            connection.execute(submission.submit(job_row(tenant_id="a", conversation_id="c")))
    upkeep = Upkeep(engine)
    upkeep.add_up()
    with engine.begin() as connection:
        connection.execute(text("UPDATE job_counts SET queued = 70"))
        connection.execute(text("UPDATE jobs SET head = false"))
        connection.execute(text("UPDATE job_turns SET ready = false"))
        assert connection.execute(statements.claim("execute", "w", 10).clause).first() is None
    upkeep.mend()
    assert queued(engine) == (3, 3, {"execute": (3, 0)})
    with engine.begin() as connection:
        assert connection.execute(statements.claim("execute", "w", 10).clause).first() is not None
        assert (
            connection.execute(statements.claim("execute", "w", 10).clause).first() is None
        )  # the conversation's second
