"""Each state change is one fenced statement, and who is next is fair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import pytest
from pydantic import JsonValue
from sqlalchemy import Connection, RowMapping, select, text

from shared.contracts.jobs import JobState
from shared.db import connect
from shared.jobs.record import advertising, listing, queries, quotas, statements, submission
from shared.jobs.record.tables import job_events
from shared.jobs.upkeep import maintenance
from tests.support.rows import job_row


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    engine = connect(database_url)
    with engine.connect() as opened:
        yield opened  # what a test did is rolled back
    engine.dispose()


def submit(
    connection: Connection, tenant: str = "a", priority: int = 5, conversation: str | None = None, kind: str = "execute"
) -> str:
    row = job_row(tenant_id=tenant, kind=kind, priority=priority)
    connection.execute(submission.submit(row if conversation is None else {**row, "conversation_id": conversation}))
    return str(row["id"])


def claim(connection: Connection, cap: int = 0) -> RowMapping | None:
    return connection.execute(statements.claim("execute", "w", 10, cap).clause).mappings().one_or_none()


def order(connection: Connection, cap: int = 0) -> list[str]:
    claimed = []
    while (row := claim(connection, cap)) is not None:
        claimed.append(row["id"])
    return claimed


def held(row: RowMapping) -> statements.Held:
    return statements.Held(row["tenant_id"], row["id"], row["fence"])


def end(
    connection: Connection, row: RowMapping, state: JobState = JobState.SUCCEEDED, cap: int = 0
) -> RowMapping | None:
    statement = statements.complete(held(row), state, {"x": 1}, None, ["look out"], {}, cap).clause
    return connection.execute(statement).mappings().one_or_none()


def types(connection: Connection, job_id: str) -> list[str]:
    told = select(job_events.c.type).where(job_events.c.job_id == job_id).order_by(job_events.c.seq)
    return list(connection.execute(told).scalars())


def test_a_job_is_claimed_once_and_only_its_kind(connection: Connection) -> None:
    job_id = submit(connection)
    submit(connection, kind="flow")
    row = claim(connection)
    assert row is not None
    assert (row["id"], row["state"], row["attempt"], row["fence"] > 0) == (job_id, "running", 1, True)
    assert claim(connection) is None


def test_tenants_take_turns_whatever_the_length_of_their_queues(connection: Connection) -> None:
    many = [submit(connection, "a") for _ in range(50)]
    few = [submit(connection, "b") for _ in range(2)]
    claimed = order(connection)
    assert set(claimed) == {*many, *few}
    assert claimed.index(few[0]) <= 1
    assert claimed.index(few[1]) <= 3


def test_priority_counts_within_a_tenant_then_age(connection: Connection) -> None:
    low, first, second, high = (submit(connection, "a", priority) for priority in (0, 5, 5, 9))
    assert order(connection) == [high, first, second, low]


def test_jobs_of_one_conversation_keep_their_order(connection: Connection) -> None:
    first, second = submit(connection, conversation="c"), submit(connection, priority=9, conversation="c")
    row = claim(connection)
    assert row is not None
    assert row["id"] == first
    assert claim(connection) is None
    done = end(connection, row)
    assert done is not None
    assert done["next_kind"] == "execute"
    assert order(connection) == [second]


def test_a_tenants_own_cap_holds_instead_of_the_default(connection: Connection) -> None:
    connection.execute(quotas.set_limits("a", {"running_jobs": 1}, "admin"))
    connection.execute(quotas.set_limits("c", {"running_jobs": 0}, "admin"))
    mine, *_ = [submit(connection, "a"), submit(connection, "a")]
    others = [submit(connection, "b"), submit(connection, "b"), submit(connection, "c"), submit(connection, "c")]
    claimed = order(connection, cap=1)
    assert sorted(claimed) == sorted([mine, others[0], *others[2:]])


def test_a_tenants_cap_holds(connection: Connection) -> None:
    for _ in range(5):
        submit(connection, "a")
    submit(connection, "b")
    assert len(order(connection, cap=2)) == 3


@pytest.mark.parametrize("cap", [2, 40], ids=["small", "large"])
def test_the_end_of_a_job_that_kept_others_waiting_says_so(connection: Connection, cap: int) -> None:
    for _ in range(cap + 1):
        submit(connection, "a")
    rows = [claim(connection, cap) for _ in range(cap)]
    assert claim(connection, cap) is None
    first, second, *_ = rows
    assert first is not None
    assert second is not None
    done = end(connection, first, cap=cap)
    assert done is not None
    assert done["next_kind"] == "execute"
    below = end(connection, second, cap=cap)  # one place was free already
    assert below is not None
    assert below["next_kind"] is None
    assert claim(connection, cap) is not None


def test_a_claim_that_a_crash_forgets_shares_its_fence_with_no_later_one(connection: Connection) -> None:
    submit(connection)
    before = connection.begin_nested()
    forgotten = claim(connection)
    before.rollback()
    later = claim(connection)
    assert forgotten is not None
    assert later is not None
    assert later["id"] == forgotten["id"]
    assert later["fence"] > forgotten["fence"]
    assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "off"


def test_a_write_under_an_old_fence_changes_nothing(connection: Connection) -> None:
    job_id = submit(connection)
    old = claim(connection)
    assert old is not None
    connection.execute(statements.hand_back(held(old)).clause)
    new = claim(connection)
    assert new is not None
    assert new["fence"] > old["fence"]
    assert end(connection, old) is None
    assert connection.execute(statements.append_event(held(old), "thinking", {}).clause).first() is None
    assert connection.execute(statements.heartbeat([held(old)], 10)).all() == []
    assert end(connection, new) is not None
    assert types(connection, job_id) == ["job_queued", "job_started", "job_started", "job_succeeded"]


def test_a_queued_job_is_cancelled_at_once(connection: Connection) -> None:
    job_id = submit(connection)
    row = connection.execute(statements.cancel(job_id, "a")).mappings().one()
    assert row["state"] == "cancelled"
    assert types(connection, job_id) == ["job_queued", "job_cancelled"]
    assert connection.execute(statements.cancel(job_id, "a")).first() is None
    assert claim(connection) is None


def test_a_running_job_hears_of_its_cancellation_and_no_late_result_wins(connection: Connection) -> None:
    job_id = submit(connection)
    row = claim(connection)
    assert row is not None
    assert connection.execute(statements.cancel(job_id, "a")).mappings().one()["state"] == "running"
    assert connection.execute(statements.heartbeat([held(row)], 10)).one().cancel_requested_at
    done = end(connection, row)
    assert done is not None
    assert done["state"] == "cancelled"
    stored = connection.execute(queries.find(job_id, "a")).mappings().one()
    assert (stored["result"], stored["error"]) == (None, None)


def test_another_tenant_sees_and_cancels_nothing(connection: Connection) -> None:
    job_id = submit(connection, "a")
    assert connection.execute(queries.find(job_id, "b")).first() is None
    assert connection.execute(statements.cancel(job_id, "b")).first() is None
    assert connection.execute(listing.page("b", listing.JobFilter(), 10)).all() == []


_LATE = text(
    "UPDATE jobs SET lease_until = lease_until - interval '1 h', condemned_until = condemned_until - interval '1 h'"
)
_CRASHED: Mapping[str, JsonValue] = {"code": "worker_crashed"}


def silenced(connection: Connection) -> RowMapping:
    """Claim the job, let its lease run out, and return the row as it was claimed."""
    row = claim(connection)
    assert row is not None
    connection.execute(_LATE)
    connection.execute(statements.reclaim(3, 12, 20, _CRASHED))
    return row


def test_an_expired_lease_requeues_and_after_three_crashes_and_a_wait_kills(connection: Connection) -> None:
    job_id = submit(connection)
    for _ in range(3):
        silenced(connection)
        assert connection.execute(statements.bury(_CRASHED)).all() == []
    assert claim(connection) is None, "it waits for the worker to come back, and no other worker dies of it"
    connection.execute(_LATE)
    assert [row.state for row in connection.execute(statements.bury(_CRASHED))] == ["dead"]
    stored = connection.execute(queries.find(job_id, "a")).mappings().one()
    assert stored["error"] == {"code": "worker_crashed"}
    assert stored["finished_at"] is not None
    assert types(connection, job_id)[-1] == "job_dead"


def test_a_worker_that_comes_back_takes_its_crash_back_once(connection: Connection) -> None:
    job_id = submit(connection)
    rows = [silenced(connection) for _ in range(3)]
    assert claim(connection) is None
    for _ in range(2):
        connection.execute(statements.came_back(held(rows[1])))
    stored = connection.execute(queries.find(job_id, "a")).mappings().one()
    assert (stored["state"], stored["crashes"]) == ("queued", 2)
    connection.execute(_LATE)
    assert connection.execute(statements.bury(_CRASHED)).all() == []
    again = claim(connection)
    assert again is not None, "it runs again at once"
    connection.execute(statements.came_back(held(again)))
    connection.execute(statements.came_back(held(rows[0])))
    done = end(connection, again)
    assert done is not None
    assert connection.execute(statements.came_back(held(rows[2]))).first() is None, "an end is an end"
    assert connection.execute(queries.find(job_id, "a")).mappings().one()["crashes"] == 1


def test_a_job_whose_workers_always_come_back_is_not_tried_without_end(connection: Connection) -> None:
    submit(connection)
    states: list[str] = []
    while "dead" not in states:
        row = claim(connection)
        assert row is not None
        connection.execute(_LATE)
        states += [each.state for each in connection.execute(statements.reclaim(3, 12, 20, _CRASHED))]
        connection.execute(statements.came_back(held(row)))
    assert states == ["queued"] * 11 + ["dead"]


def test_a_job_that_is_cancelled_while_it_waits_for_its_verdict_is_cancelled(connection: Connection) -> None:
    job_id = submit(connection)
    for _ in range(3):
        silenced(connection)
    assert connection.execute(statements.cancel(job_id, "a")).mappings().one()["state"] == "cancelled"
    connection.execute(_LATE)
    assert connection.execute(statements.bury(_CRASHED)).all() == []


def test_of_several_jobs_of_a_dead_worker_none_is_blamed_until_one_kills_a_worker_alone(connection: Connection) -> None:
    jobs = [submit(connection, f"tenant-{n}") for n in range(3)]

    def reclaimed() -> Mapping[str, tuple[str, int, bool]]:
        late = text("UPDATE jobs SET lease_until = clock_timestamp() - interval '1 s' WHERE id = :one")
        connection.execute(late, {"one": jobs[0]})  # one lease is enough: the worker is silent
        connection.execute(statements.reclaim(3, 12, 20, _CRASHED))
        query = text("SELECT id, state, crashes, suspect FROM jobs WHERE id = ANY(:ids)")
        return {row.id: (row.state, row.crashes, row.suspect) for row in connection.execute(query, {"ids": jobs})}

    assert [claim(connection) is not None for _ in jobs] == [True] * 3
    assert reclaimed() == dict.fromkeys(jobs, ("queued", 0, True))
    rows = [claim(connection) for _ in jobs]  # two of them wait for the third, which learns that it is alone
    first = next(row for row in rows if row is not None and row["id"] == jobs[0])
    assert connection.execute(statements.begin_alone(held(first)).clause).first() is not None
    assert reclaimed() == {**dict.fromkeys(jobs, ("queued", 0, True)), jobs[0]: ("queued", 1, True)}


def test_only_jobs_that_could_run_lack_a_notification(connection: Connection) -> None:
    first = submit(connection, conversation="c")
    submit(connection, conversation="c")
    later = submit(connection)
    connection.execute(text("UPDATE jobs SET run_at = run_at + interval '1 h' WHERE id = :id"), {"id": later})
    connection.execute(text("UPDATE jobs SET notified_at = notified_at - interval '2 s'"))
    assert connection.execute(maintenance.waiting_jobs(1)).all() == [("execute", 1, 1)]
    assert connection.execute(maintenance.unnotified_jobs("execute", 1, 10)).scalars().all() == [first]
    assert connection.execute(maintenance.unnotified_jobs("execute", 1, 10)).scalars().all() == []


def test_pages_go_on_where_the_last_one_ended(connection: Connection) -> None:
    ids = [submit(connection) for _ in range(5)]
    page = connection.execute(listing.page("a", listing.JobFilter(), 2)).mappings().all()
    last = (page[-1]["created_at"], page[-1]["id"])
    rest = connection.execute(listing.page("a", listing.JobFilter(), 10, last)).mappings().all()
    assert [row["id"] for row in [*page, *rest]] == ids[::-1]
    assert "input" not in page[0]


def test_old_jobs_go_with_their_events(connection: Connection) -> None:
    job_id = submit(connection)
    connection.execute(statements.cancel(job_id, "a"))
    assert connection.execute(maintenance.expired_jobs(1, 10)).scalars().all() == []
    connection.execute(text("UPDATE jobs SET finished_at = finished_at - interval '2 days'"))
    assert connection.execute(maintenance.expired_jobs(1, 10)).scalars().all() == [job_id]
    assert types(connection, job_id) == []


def test_workers_are_believed_for_a_while(connection: Connection) -> None:
    for version in ("1", "2"):
        connection.execute(advertising.advertise("w", "execution", ["execute"], 4, version, {"tier": "ns"}))
    assert [row.facts for row in connection.execute(queries.live_workers(10))] == [{"tier": "ns"}]
    connection.execute(text("UPDATE workers SET seen_at = seen_at - interval '1 h'"))
    assert connection.execute(queries.live_workers(10)).all() == []
    connection.execute(advertising.retire("w"))


def test_a_tenant_with_more_weight_has_more_turns(connection: Connection) -> None:
    connection.execute(text("INSERT INTO tenant_limits (tenant_id, weight) VALUES ('heavy', 3)"))
    for tenant in ("heavy", "light"):
        for _ in range(8):
            submit(connection, tenant)
    rows = [claim(connection) for _ in range(8)]
    assert sorted(row["tenant_id"] for row in rows if row is not None) == ["heavy"] * 6 + ["light"] * 2


def test_a_tenant_that_was_idle_does_not_catch_up(connection: Connection) -> None:
    for _ in range(20):
        submit(connection, "busy")
    for _ in range(10):
        claim(connection)
    for _ in range(6):
        submit(connection, "idle")
    rows = [claim(connection) for _ in range(6)]
    assert sorted(row["tenant_id"] for row in rows if row is not None) == ["busy"] * 3 + ["idle"] * 3


def claim_some(connection: Connection, most: int, cap: int = 0) -> list[str]:
    """The tenants of the jobs of one statement."""
    claimed = connection.execute(statements.claim("execute", "w", 10, cap, *map(str, range(most))).clause).all()
    assert len({row.model_digest for row in claimed}) == len(claimed)
    return sorted(row.tenant_id for row in claimed)


def test_several_jobs_are_claimed_at_once_and_never_more_than_may_be(connection: Connection) -> None:
    first, *_ = [submit(connection, conversation="c") for _ in range(2)]
    others = [submit(connection, priority=4) for _ in range(3)]
    rows = connection.execute(statements.claim("execute", "w", 10, 0, "x", "y", "z").clause).all()
    assert {row.id for row in rows} == {first, *others[:2]}, "one of a conversation; else by priority, then age"
    assert {row.model_digest for row in rows} == {"x", "y", "z"}
    assert all(types(connection, row.id) == ["job_queued", "job_started"] for row in rows)
    assert claim_some(connection, 3) == ["a"]
    assert claim_some(connection, 3) == []


def test_a_cap_holds_for_several_at_once_too(connection: Connection) -> None:
    for tenant in "aaaabb":
        submit(connection, tenant)
    claimed = []
    while some := claim_some(connection, 6, cap=3):
        claimed += some
    assert Counter(claimed) == {"a": 3, "b": 2}


def test_several_at_once_are_shared_as_they_are_one_by_one(connection: Connection) -> None:
    connection.execute(text("INSERT INTO tenant_limits (tenant_id, weight) VALUES ('heavy', 3)"))
    for tenant in ("heavy", "light", "slight"):
        for _ in range(40):
            submit(connection, tenant)
    shares: Counter[str] = Counter()
    for most in (1, 7, 2, 9, 4, 5, 12, 10):
        wanted = most
        while wanted:
            some = claim_some(connection, wanted)
            assert some
            shares.update(some)
            wanted -= len(some)
        total = shares.total()
        assert abs(shares["heavy"] - total * 3 / 5) <= 2, shares
        assert abs(shares["light"] - shares["slight"]) <= 1, shares
