"""A Postgres that answers but fails statements is a defect: reported as one, logged in its words, found by a doctor."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2 as httpx
import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, InternalError, OperationalError, ProgrammingError

from services.gateway import database
from services.gateway.database import UNAVAILABLE, database_errors
from shared.db import reason_of, sqlstate_of
from shared.errors import AssayError, DatabaseFailed, DatabaseUnavailable, InvalidRequest, QueryTooSlow, StorageFull
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem
from tests.support.wait import until

WORDS = 'could not access file "/opt/lib/plugin": No such file or directory'


def raised(state: str) -> psycopg.Error:
    fault = psycopg.errors.lookup(state)(WORDS)
    assert fault.sqlstate == state
    return fault


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ("58P01", DatabaseFailed), ("58030", DatabaseFailed), ("58000", DatabaseFailed), ("XX000", DatabaseFailed),
        ("XX001", DatabaseFailed), ("XX002", DatabaseFailed), ("F0000", DatabaseFailed), ("HV000", DatabaseFailed),
        ("55000", DatabaseFailed), ("57P01", DatabaseUnavailable), ("57P03", DatabaseUnavailable),
        ("08006", DatabaseUnavailable), ("40001", DatabaseUnavailable), ("40P01", DatabaseUnavailable),
        ("53300", DatabaseUnavailable), ("53200", DatabaseUnavailable), ("25006", DatabaseUnavailable),
        ("55P03", DatabaseUnavailable), ("53100", StorageFull), ("57014", QueryTooSlow), ("22003", InvalidRequest),
    ],
)  # fmt: skip
@pytest.mark.parametrize("wrapped", [True, False])
def test_what_a_state_of_sql_means(state: str, problem: type[AssayError], wrapped: bool) -> None:
    inner = raised(state)
    kind = OperationalError if isinstance(inner, psycopg.OperationalError) else InternalError
    error: Exception = kind("INSERT", {}, inner) if wrapped else inner
    with pytest.raises(problem) as failed, database_errors():
        raise error
    assert sqlstate_of(error) == state
    if problem is DatabaseFailed:
        assert (failed.value.status, failed.value.extra) == (500, {"sqlstate": state})
        assert state in failed.value.detail
        assert "/opt" not in failed.value.detail
    if state in ("40001", "53300"):
        assert failed.value.detail != UNAVAILABLE, "it does answer"


def test_a_connection_that_broke_is_an_outage() -> None:
    for error in (
        psycopg.OperationalError("server closed the connection"), ConnectionResetError(),
        OperationalError("SELECT", {}, psycopg.OperationalError("timeout expired")),
    ):  # fmt: skip
        with pytest.raises(DatabaseUnavailable, match="does not answer"), database_errors():
            raise error


def test_a_defect_of_ours_is_not_hidden() -> None:
    error = ProgrammingError("SELECT", {}, raised("42P01"))
    with pytest.raises(ProgrammingError), database_errors():
        raise error


def test_values_are_not_logged() -> None:
    fault: DBAPIError = InternalError("INSERT", {}, raised("22003"))
    assert reason_of(fault) == "InternalError 22003"


@pytest.fixture
def broken(gateway: Gateway) -> Iterator[None]:
    """A Postgres whose inserts need a file that is gone."""
    with gateway.engine.begin() as connection:
        connection.execute(
            text(
                "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                f"RAISE EXCEPTION USING ERRCODE = '58P01', MESSAGE = '{WORDS}'; END $$"
            )
        )
        connection.execute(text("CREATE TRIGGER broken BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION broken()"))
    try:
        yield
    finally:
        with gateway.engine.begin() as connection:
            connection.execute(text("DROP TRIGGER broken ON jobs"))
            connection.execute(text("DROP FUNCTION broken()"))


def doctor(client: httpx.Client) -> dict[str, dict[str, object]]:
    return {each["name"]: each for each in client.get("/v1/doctor").json()["items"]}


@pytest.mark.usefixtures("broken")
def test_a_failing_insert_is_a_defect_in_every_place(admin: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[tuple[str, object]] = []
    monkeypatch.setattr(database.log, "error", lambda event, **said: logged.append((event, said)), raising=False)
    problem = assert_problem(admin.post("/v1/jobs", json=EXECUTE), 500, "database_failed")
    assert problem["sqlstate"] == "58P01"
    assert "/opt" not in str(problem)
    assert logged == [("database_failed", {"sqlstate": "58P01", "reason": f"OperationalError 58P01: {WORDS}"})]
    write = doctor(admin)["write"]
    assert (write["ok"], write["grave"]) == (False, True)
    assert "58P01" in str(write["finding"])
    until(lambda: "58P01" in str(admin.get("/readyz").json()["dependencies"]["postgres"]["reason"]), "the monitor")
    assert admin.get("/readyz").json()["status"] == "degraded"


def test_a_doctors_write_leaves_nothing(gateway: Gateway, admin: httpx.Client) -> None:
    assert doctor(admin)["write"]["ok"] is True
    with gateway.engine.connect() as connection:
        for table in ("jobs", "job_events", "conversations"):
            rows = connection.execute(text(f"SELECT count(*) FROM {table} WHERE tenant_id <> ''"))
            assert rows.scalar_one() == 0, table
