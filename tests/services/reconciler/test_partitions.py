"""Events have the partition of their job's day: added ahead, dropped with its last job, without blocking others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from migrations import roles
from services.reconciler.partitions import PastDays, add_days
from services.reconciler.retention import Retention
from shared import blobs
from shared.db import connect
from shared.jobs import metrics
from shared.jobs.record import queries, statements, submission
from shared.jobs.upkeep import deletion, partitions
from tests.support.event_days import id_on, partition_on, split_into_days
from tests.support.event_days import partitions as there
from tests.support.rows import job_row

_DAYS = 40


@pytest.fixture(scope="module")
def module_engine(database_url: str) -> Iterator[Engine]:
    opened = connect(database_url)
    with opened.begin() as connection:
        split_into_days(connection, _DAYS)
    yield opened
    opened.dispose()


@pytest.fixture
def engine(module_engine: Engine) -> Iterator[Engine]:
    yield module_engine
    with module_engine.begin() as connection:
        connection.execute(text("TRUNCATE jobs, conversations CASCADE"))


def add_job(connection: Connection, id: str, ended_days_ago: float | None = None) -> None:
    connection.execute(submission.submit(job_row(id=id)))
    if ended_days_ago is not None:
        connection.execute(statements.cancel(id, "t"))
        ended = text("UPDATE jobs SET finished_at = now() - make_interval(secs => :seconds) WHERE id = :id")
        connection.execute(ended, {"seconds": ended_days_ago * 86400, "id": id})


def jobs_with_events(engine: Engine) -> set[str]:
    with engine.connect() as connection:
        return set(connection.scalars(text("SELECT DISTINCT job_id FROM job_events")))


def retain(engine: Engine, folder: Path, days: float = 30) -> None:
    Retention(engine, blobs.open_store(folder.as_uri()), days, 90, 7).delete_expired()


def dropped_days(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        left = there(connection)
        return [days for days in range(_DAYS + 1) if partition_on(connection, days) not in left]


def test_days_are_added_ahead_and_an_insert_finds_a_place_for_any_id(engine: Engine) -> None:
    add_days(engine)
    add_days(engine)
    with engine.begin() as connection:
        assert connection.execute(partitions.days_ahead()).scalar_one() == partitions.AHEAD == 7
        assert metrics.job_event_days_ahead._value.get() == 7
        ids = {days: id_on(connection, days) for days in (1, 0, -7, -8, -400, _DAYS + 5)}
        for id in (*ids.values(), "odd", "", "~"):
            add_job(connection, id)
        found = "SELECT tableoid::regclass::text FROM job_events WHERE job_id = :id"
        place = {id: connection.execute(text(found), {"id": id}).scalar_one() for id in (*ids.values(), "odd", "", "~")}
        expected = {ids[days]: partition_on(connection, days) for days in (1, 0, -7)}
        assert place == dict.fromkeys((*ids.values(), "odd", "", "~"), "job_events_default") | expected


def test_a_day_of_which_the_default_partition_has_events_stays_in_it(engine: Engine) -> None:
    add_days(engine)
    with engine.connect() as connection:
        last, before = (partition_on(connection, -days) for days in (7, 6))
        for name in (last, before):
            connection.execute(text(f"ALTER TABLE job_events DETACH PARTITION {name}"))
            connection.execute(text(f"DROP TABLE {name}"))
        add_job(connection, id_on(connection, -6))
        assert connection.execute(partitions.add_days()).scalar_one() == 1
        assert there(connection) & {last, before} == {last}
        assert connection.execute(partitions.days_ahead()).scalar_one() == 5
        connection.rollback()


def test_days_that_a_clock_ahead_has_added_are_no_hindrance_later(engine: Engine) -> None:
    add_days(engine)
    with engine.connect() as connection:
        name, between = partition_on(connection, -5), partition_on(connection, -4)
        for each in (partition_on(connection, -7), partition_on(connection, -6), between):
            connection.execute(text(f"DROP TABLE {each}"))
        assert connection.execute(partitions.days_ahead()).scalar_one() == 3
        assert connection.execute(partitions.add_days()).scalar_one() == 3
        assert {name, between} <= there(connection)
        assert connection.execute(partitions.days_ahead()).scalar_one() == 7
        connection.rollback()


def test_whoever_adds_while_another_does_tries_again_later(engine: Engine) -> None:
    with engine.begin() as other:
        other.execute(text("LOCK TABLE ONLY job_events IN SHARE UPDATE EXCLUSIVE MODE"))
        add_days(engine)
        with pytest.raises(DBAPIError, match="lock timeout"), engine.begin() as connection:
            connection.execute(partitions.add_days())
    several = [Thread(target=add_days, args=(engine,)) for _ in range(3)]
    for each in several:
        each.start()
    for each in several:
        each.join(30)
    with engine.connect() as connection:
        assert connection.execute(partitions.days_ahead()).scalar_one() == 7


def test_retention_drops_days_whose_jobs_are_gone_and_leaves_their_neighbours(engine: Engine, tmp_path: Path) -> None:
    before = dropped_days(engine)
    with engine.begin() as connection:
        old, edge, kept = (id_on(connection, days) for days in (38, 30.4, 29))
        for id, ended in ((old, 38), (edge, 30.4), (kept, 29)):
            add_job(connection, id, ended + 0.3)
    retain(engine, tmp_path)
    # The day of a job that expires today is not over before tomorrow: until then its events are there, and unread.
    assert jobs_with_events(engine) == {edge, kept}
    with engine.connect() as connection:
        assert connection.execute(queries.events_after(edge, "t", 0, 10)).all() == []
        assert connection.execute(queries.find(edge, "t")).all() == []
        assert len(connection.execute(queries.events_after(kept, "t", 0, 10)).all()) == 2
    dropped = dropped_days(engine)
    assert set(dropped) - set(before) >= {38, 35, 32}
    assert min(dropped) == 31
    with engine.begin() as connection:
        split_again(connection, dropped)


def split_again(connection: Connection, days: list[int]) -> None:
    for number in days:
        name = partition_on(connection, number)
        connection.execute(text(f"CREATE TABLE {name} (LIKE job_events INCLUDING ALL)"))
        start = f"date_trunc('day', statement_timestamp(), 'UTC') - make_interval(hours => {24 * number})"
        low, high = connection.execute(
            text(f"SELECT job_id_at({start}), job_id_at({start} + interval '24 hours')")
        ).one()
        connection.execute(
            text(f"ALTER TABLE job_events ATTACH PARTITION {name} FOR VALUES FROM ('{low}') TO ('{high}')")
        )


def test_a_job_that_ended_late_holds_its_day_and_no_event_of_others(engine: Engine, tmp_path: Path) -> None:
    with engine.begin() as connection:
        split_again(connection, dropped_days(engine))
        late, gone, last_week = (id_on(connection, days, number) for days, number in ((36, 1), (36, 2), (32, 0)))
        add_job(connection, late, 3)
        add_job(connection, gone, 36)
        add_job(connection, last_week, None)
        name = partition_on(connection, 36)
    retain(engine, tmp_path)
    assert jobs_with_events(engine) == {late, last_week}
    assert 36 not in dropped_days(engine)
    with engine.begin() as connection:
        assert len(connection.execute(queries.events_after(late, "t", 0, 10)).all()) == 2
        connection.execute(deletion.delete_job(late, "t"))
        assert connection.execute(partitions.drop(name)).scalar_one()
    assert 36 in dropped_days(engine)


def test_a_day_that_is_not_late_yet_keeps_events_until_it_is(engine: Engine) -> None:
    with engine.begin() as connection:
        split_again(connection, dropped_days(engine))
        late, gone = (id_on(connection, 32, number) for number in (1, 2))
        add_job(connection, late, 1)
        add_job(connection, gone, 31.9)
        connection.execute(partitions.leave_events())
        connection.execute(text("DELETE FROM jobs WHERE id = :id"), {"id": gone})
    PastDays(engine, 30).drop()
    assert jobs_with_events(engine) == {late, gone}
    PastDays(engine, 29).drop()
    assert jobs_with_events(engine) == {late}


def test_events_outside_of_days_go_with_their_job(engine: Engine, tmp_path: Path) -> None:
    with engine.begin() as connection:
        ids = [*("odd", ""), id_on(connection, _DAYS + 9), id_on(connection, -30)]
        for id in ids:
            add_job(connection, id, 31)
    retain(engine, tmp_path)
    assert jobs_with_events(engine) == set()


def test_a_short_retention_deletes_events_with_their_jobs(engine: Engine, tmp_path: Path) -> None:
    with engine.begin() as connection:
        add_job(connection, id_on(connection, 0), 0.6)
        kept = id_on(connection, 0, 1)
        add_job(connection, kept, 0.4)
    retain(engine, tmp_path, days=0.5)
    assert jobs_with_events(engine) == {kept}


@pytest.mark.parametrize("delete", ["DELETE FROM jobs WHERE tenant_id = 't'", "TRUNCATE jobs CASCADE"])
def test_events_go_with_the_jobs_that_others_delete(engine: Engine, delete: str) -> None:
    with engine.begin() as connection:
        for days in (0, 3, 17):
            add_job(connection, id_on(connection, days))
        connection.execute(submission.submit(job_row(id="kept", tenant_id="other")))
        connection.execute(text(delete))
    assert jobs_with_events(engine) == ({"kept"} if delete.startswith("DELETE") else set())


def test_a_drop_gives_way_to_whoever_writes(engine: Engine) -> None:
    with engine.begin() as connection:
        split_again(connection, dropped_days(engine))
    with engine.begin() as writer:
        add_job(writer, id_on(writer, 0))
        PastDays(engine, 38).drop()
        with engine.begin() as another:
            another.execute(submission.submit(job_row(tenant_id="other", kind="flow")))
    assert dropped_days(engine) == []
    PastDays(engine, 38).drop()
    assert 40 in dropped_days(engine)


def test_only_days_that_are_over_and_empty_can_be_dropped(engine: Engine) -> None:
    add_days(engine)
    with engine.begin() as connection:
        split_again(connection, dropped_days(engine))
        add_job(connection, id_on(connection, 35))
        names = [partition_on(connection, days) for days in (35, 0, -1)]
        for name in (*names, "jobs", "job_events", "job_events_default", "job_events_19700101", "x; DROP TABLE jobs"):
            assert not connection.execute(partitions.drop(name)).scalar_one(), name
        assert connection.execute(partitions.drop(partition_on(connection, 34))).scalar_one()


def test_the_role_of_the_reconciler_may_do_all_of_it(engine: Engine, database_url: str, tmp_path: Path) -> None:
    with engine.begin() as connection:
        split_again(connection, dropped_days(engine))
        roles.allow_login(connection, {"reconciler": "secret"})
        late, gone = (id_on(connection, 37, number) for number in (1, 2))
        add_job(connection, late, 3)
        add_job(connection, gone, 36)
    login = make_url(database_url).set(username="assay_reconciler", password="secret")
    own = connect(login.render_as_string(hide_password=False))
    try:
        add_days(own)
        retain(own, tmp_path)
    finally:
        own.dispose()
    assert jobs_with_events(engine) == {late}
    assert {38, 36} <= set(dropped_days(engine))
    assert 37 not in dropped_days(engine)
