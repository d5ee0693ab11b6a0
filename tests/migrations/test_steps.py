"""No version is skipped, and no newer database touched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from migrations.steps import (
    BASELINE,
    Refused,
    await_migrated,
    check_revision,
    check_step,
    follows,
    remember,
    remembered,
)
from services.host.postgres import Postgres
from shared import VERSION


@pytest.mark.parametrize(
    ("version", "before", "fits"),
    [
        ("0.1.0", "0.1.0", True),
        ("0.1.4", "0.1.0", True),
        ("0.2.0", "0.1.9", True),
        ("0.3.0", "0.1.0", False),
        ("0.1.0", "0.2.0", False),
        ("1.0.0", "0.9.0", True),
        ("1.1.0", "0.9.0", False),
        ("2.0.0", "0.9.0", False),
    ],
)
def test_which_version_follows_which(version: str, before: str, fits: bool) -> None:
    assert follows(version, before) is fits


def test_a_version_is_not_skipped(database_url: str) -> None:
    remember(database_url, "0.1.0")
    assert remembered(database_url) == "0.1.0"
    check_step(database_url, "7.0.0")  # the tables are the newest: nothing is migrated
    with _at_revision(database_url, BASELINE):
        check_step(database_url, "0.2.0")
        with pytest.raises(Refused, match="through the versions between"):
            check_step(database_url, "0.3.0")
    with _at_revision(database_url, "9999"), pytest.raises(Refused, match=r"are of Assay 0\.1\.0.*install that one"):
        check_step(database_url, "0.0.9")


def test_tables_of_before_the_baseline_are_refused_with_the_way(database_url: str) -> None:
    with (
        _at_revision(database_url, "0059"),
        pytest.raises(Refused, match=r"of revision 0059, .* from 0060 on.* at the commit e0235136555c, .*upgrade"),
    ):
        check_step(database_url, VERSION)
    with pytest.raises(Refused, match="The backup is of revision 0059"):
        check_revision("0059", "The backup is")


def test_the_program_says_why_it_refuses(database_url: str) -> None:
    remember(database_url, "0.0.1")
    with _at_revision(database_url, "9999"):
        ran = subprocess.run(
            [sys.executable, "-m", "migrations"],
            check=False,
            env={**os.environ, "DATABASE_URL": database_url},
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert ran.returncode == 1
    assert ran.stderr == f"The tables are of Assay 0.0.1, and this is {VERSION}: install that one.\n"


def test_processes_wait_for_their_tables(database_url: str, postgres_server: Postgres) -> None:
    assert await_migrated(database_url, 0)
    with _at_revision(database_url, "0001"):
        assert not await_migrated(database_url, 0)
    with _at_revision(database_url, "9999"):  # of a version that came after this one
        assert await_migrated(database_url, 0)
    assert not await_migrated(postgres_server.url_of("postgres"), 0)
    assert not await_migrated(postgres_server.url_of("nowhere"), 0)


def test_an_empty_database_may_be_of_any_version(postgres_server: Postgres) -> None:
    check_step(postgres_server.url_of("postgres"), "7.0.0")


@contextmanager
def _at_revision(url: str, revision: str) -> Iterator[None]:
    """The tables, as if another revision had made them."""
    with psycopg.connect(url, autocommit=True) as connection:
        [(before,)] = connection.execute("SELECT version_num FROM alembic_version").fetchall()
        connection.execute("UPDATE alembic_version SET version_num = %s", (revision,))
        try:
            yield
        finally:
            connection.execute("UPDATE alembic_version SET version_num = %s", (before,))
