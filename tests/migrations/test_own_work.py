"""Each worker as a taken-over process, with the password of its service: it reaches the rows of its own work only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from migrations import roles
from shared.db import with_driver
from shared.kinds import KINDS
from shared.llm.chat import ChainLink, ChatRequest, ProviderAttempt
from shared.llm.ledger import CallLedger, Owner

WORKERS = ("execution", "search", "flows", "stacks", "broker")
SERVICE_OF = {kind.name: kind.service for kind in KINDS.values()}
#: What one job of each kind has; ``done-`` jobs have ended, and are of a tenant for whom nothing runs.
ROWS = """
INSERT INTO conversations (id, tenant_id) VALUES (:id, :tenant);
INSERT INTO jobs (id, tenant_id, kind, state, input, conversation_id, actor)
    VALUES (:id, :tenant, :kind, :state, '{}', :id, 'a');
INSERT INTO job_events (job_id, tenant_id, seq, type, fence) VALUES (:id, :tenant, 1, 'job_started', 1);
INSERT INTO job_forms (job_id, tenant_id, name, media_type, body) VALUES (:id, :tenant, 'f', 'text/plain', 'x');
INSERT INTO files (id, tenant_id, name, size, sha256, media_type, job_id)
    VALUES (:id, :tenant, 'f', 1, 'aa', 'text/plain', :id);
INSERT INTO messages (tenant_id, conversation_id, job_id, role, content) VALUES (:tenant, :id, :id, 'user', 'x');
INSERT INTO job_turns (kind, tenant_id) VALUES (:kind, :tenant) ON CONFLICT DO NOTHING;
INSERT INTO workers (id, service, kinds, concurrency, version) VALUES (:id, :service, '{}', 1, '1')
"""
CALL = """
INSERT INTO llm_calls (tenant_id, job_id, turn, attempt, role, requested_provider, requested_model, reason, outcome,
                       seconds, source) VALUES (:tenant, :id, 1, 1, 'r', 'p', 'm', 'primary', 'ok', 1, 'live')
RETURNING id
"""
#: Statements that a worker's role may make in some row, by table; ``:id`` is of the job, its conversation or its file.
WRITES = {
    "jobs": ["UPDATE jobs SET priority = 1 WHERE id = :id"],
    "job_turns": ["UPDATE job_turns SET turn = 9 WHERE kind = :kind AND tenant_id = :tenant"],
    "job_events": [
        "INSERT INTO job_events (job_id, tenant_id, seq, type, fence) VALUES (:id, :tenant, 7, 'job_failed', 1)"
    ],
    "job_forms": [
        "INSERT INTO job_forms (job_id, tenant_id, name, media_type, body) VALUES (:id, :tenant, 'g', 'x/y', 'x')"
    ],
    "files": [
        "INSERT INTO files (id, tenant_id, name, size, sha256, media_type, job_id)"
        " VALUES ('new', :tenant, 'f', 1, 'aa', 'x/y', :id)"
    ],
    "conversations": ["UPDATE conversations SET updated_at = now() WHERE id = :id"],
    "messages": [
        "INSERT INTO messages (tenant_id, conversation_id, job_id, role, content)"
        " VALUES (:tenant, :id, :id, 'assistant', 'x')"
    ],
    "llm_calls": [CALL],
    "llm_texts": ["INSERT INTO llm_texts (call_id, tenant_id, body) VALUES (:call, :tenant, 'x')"],
    "workers": ["UPDATE workers SET seen_at = '2000-01-01' WHERE id = :id", "DELETE FROM workers WHERE id = :id"],
}
READS = {
    "jobs": "id = :id", "job_turns": "kind = :kind AND tenant_id = :tenant", "job_events": "job_id = :id",
    "job_forms": "job_id = :id", "files": "id = :id", "conversations": "id = :id", "messages": "job_id = :id",
    "llm_calls": "job_id = :id", "workers": "id = :id",
}  # fmt: skip


@pytest.fixture(scope="module")
def owner(database_url: str) -> Iterator[Engine]:
    engine = create_engine(with_driver(database_url))
    with engine.begin() as connection:
        roles.apply(connection)
        roles.allow_login(connection, dict.fromkeys(WORKERS, "secret"))
        for kind, service in SERVICE_OF.items():
            for state in ("running", "succeeded"):
                for statement in ROWS.split(";\n"):
                    connection.execute(text(statement), row(kind, state, service=service))
    yield engine
    engine.dispose()


def row(kind: str, state: str, **more: object) -> dict[str, object]:
    return {"id": f"{kind}-{state}", "tenant": f"{state}-of-{kind}", "kind": kind, "state": state, **more}


@pytest.fixture(params=WORKERS)
def worker(request: pytest.FixtureRequest, owner: Engine, database_url: str) -> Iterator[tuple[str, Connection]]:
    name = str(request.param)
    url = make_url(with_driver(database_url)).set(username=roles.PREFIX + name, password="secret")
    engine = create_engine(url, connect_args={"options": "-c assay.tenant=*"})
    with engine.connect() as connection:
        yield name, connection
    engine.dispose()


def changed(connection: Connection, statement: str, given: dict[str, Any]) -> bool:
    """Return whether the statement changes a row; nothing of it is kept."""
    savepoint = connection.begin_nested()
    try:
        return connection.execute(text(statement), given).rowcount > 0
    except DBAPIError as fault:
        if getattr(fault.orig, "sqlstate", None) != "42501":
            raise
        return False
    finally:
        savepoint.rollback()


def own_kinds(service: str) -> set[str]:
    """Return the kinds of the service's work: the broker calls models for those of execution."""
    return {kind for kind, served in SERVICE_OF.items() if served == service.replace("broker", "execution")}


def test_the_kinds_are_those_of_the_table_of_kinds() -> None:
    assert {service: set(kinds) for service, kinds in roles.KINDS_OF.items()} == {
        service: own_kinds(service) for service in SERVICE_OF.values()
    }


@pytest.mark.parametrize("table", sorted(WRITES))
def test_it_writes_and_deletes_rows_of_its_own_work_only(
    worker: tuple[str, Connection], owner: Engine, table: str
) -> None:
    name, connection = worker
    for statement in WRITES[table]:
        if statement.split()[0] not in roles.SERVICES[name].get(table, ()):
            continue
        written = set()
        for kind in KINDS:
            given = row(kind, "running")
            with owner.begin() as made:
                given["call"] = made.execute(text(CALL), given).scalar_one()
            if changed(connection, statement, given):
                written.add(kind)
        assert written == own_kinds(name), statement


@pytest.mark.parametrize("table", sorted(READS))
def test_it_reads_rows_of_its_own_work_and_of_others_what_decides_whose_turn_it_is(
    worker: tuple[str, Connection], owner: Engine, table: str
) -> None:
    name, connection = worker
    if table not in roles.SERVICES[name]:
        return
    with owner.begin() as made:
        for kind in KINDS:
            for state in ("running", "succeeded"):
                made.execute(text(CALL), row(kind, state))
    query = text(f"SELECT FROM {table} WHERE {READS[table]} LIMIT 1")
    seen = {
        state: {kind for kind in KINDS if connection.execute(query, row(kind, state)).first() is not None}
        for state in ("running", "succeeded")
    }
    assert seen["running"] == (set(KINDS) if table == "jobs" else own_kinds(name))
    # Of tenants for whom nothing of its kinds runs, it reads no files, messages or calls.
    assert seen["succeeded"] == (set() if table in ("files", "messages") else own_kinds(name))


def test_it_sees_all_of_a_tenant_for_whom_it_works(worker: tuple[str, Connection], owner: Engine) -> None:
    name, connection = worker
    given = row("execute", "succeeded", tenant="served", service="execution") | {"id": f"of-{name}"}
    foreign = next(kind for kind in KINDS if kind not in own_kinds(name))
    own = next(iter(sorted(own_kinds(name))))
    with owner.begin() as made:
        for statement in ROWS.split(";\n")[:2]:
            made.execute(text(statement), {**given, "kind": foreign})
            made.execute(text(statement), {**given, "id": f"own-{name}", "kind": own, "state": "running"})
    try:
        found = connection.execute(text("SELECT count(*) FROM jobs WHERE id = :id"), given)
        assert found.scalar() == 1
    finally:
        with owner.begin() as made:
            made.execute(text("DELETE FROM jobs WHERE tenant_id = 'served'"))


def test_it_turns_no_job_into_one_of_its_own(worker: tuple[str, Connection]) -> None:
    name, connection = worker
    if "UPDATE" not in roles.SERVICES[name]["jobs"]:
        return
    foreign = next(kind for kind in KINDS if kind not in own_kinds(name))
    own = next(iter(sorted(own_kinds(name))))
    assert not changed(
        connection, "UPDATE jobs SET kind = :own WHERE id = :id", {"own": own, **row(foreign, "running")}
    )
    assert not changed(
        connection, "UPDATE jobs SET kind = :foreign WHERE id = :id", {"foreign": foreign, **row(own, "running")}
    )


def test_calls_of_a_job_that_was_deleted_keep_no_others_back(worker: tuple[str, Connection]) -> None:
    name, connection = worker
    ledger, own = CallLedger(connection.engine), f"{min(own_kinds(name))}-running"
    attempt = ProviderAttempt(1, ChatRequest("r", ()), ChainLink("p", "m"), "primary", "ok")
    with connection.begin():
        counted = text("SELECT count(*) FROM llm_calls WHERE job_id = :id")
        before = connection.scalar(counted, {"id": own})
    for job in ("deleted", own, own):
        ledger.write(Owner(f"running-of-{min(own_kinds(name))}", job), attempt)
    with connection.begin():
        assert connection.scalar(counted, {"id": own}) == before + 2


def test_applying_the_roles_again_changes_no_policy(owner: Engine) -> None:
    query = text("SELECT oid, polname FROM pg_policy ORDER BY oid")
    with owner.begin() as connection:
        before = connection.execute(query).all()
        roles.apply(connection)
        assert connection.execute(query).all() == before
    assert sum(policy.polname.startswith("own_") for policy in before) > 40
