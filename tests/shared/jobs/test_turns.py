"""Claims, submits and ends at once: no conversation runs twice, none stops, no job is claimed twice, caps hold."""

from __future__ import annotations

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, Row, text

from shared.contracts.jobs import JobState
from shared.db import connect
from shared.jobs.record import statements, submission
from tests.support.rows import job_row

_CAP = 2
_JOBS = 400
_AT_ONCE = 4
_LOOKS = 3  #: without a job before a worker ends


class Crowd:
    """Clients and workers, and what they noticed."""

    def __init__(self, engine: Engine, cap: int) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._cap = cap
        self._guard = threading.Lock()
        self._running: Counter[tuple[str, str]] = Counter()
        self.submitted = threading.Event()
        self.runs: Counter[str] = Counter()
        self.faults: list[str] = []

    def submit(self, client: int) -> None:
        dice = random.Random(client)
        for _ in range(_JOBS // _AT_ONCE):
            tenant = f"t{dice.randrange(3)}"
            given = {"conversation_id": f"{tenant}-{dice.randrange(4)}"} if dice.randrange(3) else {}
            with self._engine.connect() as connection:
                connection.execute(submission.submit(job_row(tenant_id=tenant, **given)))

    def work(self, worker: int) -> None:
        idle = 0
        while idle < _LOOKS or not self.submitted.is_set():
            with self._engine.connect() as connection:
                idle = 0 if self._run_some(connection, f"w{worker}", most=1 + worker % 3) else idle + 1

    def _run_some(self, connection: Connection, worker: str, most: int) -> bool:
        rows = connection.execute(statements.claim("execute", worker, 60, self._cap, *[None] * most).clause).all()
        for row in rows:
            self._begin(row)
        for row in rows:
            self._end(connection, row)
        return bool(rows)

    def _places(self, row: Row[Any]) -> dict[tuple[str, str], int]:
        return {("conversation", row.conversation_id): 1, ("tenant", row.tenant_id): self._cap or _JOBS}

    def _begin(self, row: Row[Any]) -> None:
        places = self._places(row)
        with self._guard:
            self.runs[row.id] += 1
            self._running.update(places.keys())
            self.faults += [f"{place} has too many" for place, most in places.items() if self._running[place] > most]

    def _end(self, connection: Connection, row: Row[Any]) -> None:
        with self._guard:
            self._running.subtract(self._places(row).keys())
        connection.execute(statements.complete(statements.Held.of(row), JobState.SUCCEEDED, {}, None, [], {}).clause)


@pytest.mark.slow
@pytest.mark.parametrize("cap", [0, _CAP])
def test_many_at_once_leave_nothing_behind(database_url: str, cap: int) -> None:
    engine = connect(database_url, connections=2 * _AT_ONCE)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE jobs, conversations CASCADE"))
    crowd = Crowd(engine, cap)
    with ThreadPoolExecutor(2 * _AT_ONCE) as threads:
        workers = [threads.submit(crowd.work, number) for number in range(_AT_ONCE)]
        clients = [threads.submit(crowd.submit, number) for number in range(_AT_ONCE)]
        try:
            for client in clients:
                client.result()
        finally:
            crowd.submitted.set()
        for each in workers:
            each.result()
    crowd.work(9)  # a worker may have looked while another held the last tenant's row
    with engine.begin() as connection:
        states = [tuple(row) for row in connection.execute(text("SELECT state, count(*) FROM jobs GROUP BY state"))]
        deltas = connection.execute(text("SELECT sum(queued), sum(running) FROM job_deltas")).one()
        connection.execute(text("TRUNCATE jobs, conversations CASCADE"))
    engine.dispose()
    assert crowd.faults == []
    assert states == [("succeeded", _JOBS)]
    assert set(crowd.runs.values()) == {1}
    assert tuple(deltas) == (0, 0)
