"""Which version may follow which: migrations work under the previous version, and under no older one."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import psycopg
from psycopg import sql

from migrations.upgrade import REVISIONS, heads

#: The first revision there is. Databases of an older one were made before the revisions were squashed into it.
BASELINE = "0060"
#: The last commit that has the older revisions.
_BEFORE_BASELINE = "e0235136555c"
_NAMED = re.compile(r"^revision\b[^=]*=\s*[\"']([^\"']+)", re.MULTILINE)


class Refused(RuntimeError):
    """The tables cannot be brought to this version at once."""


def check_step(url: str, version: str) -> None:
    """Check before migrating. Raises: Refused; psycopg.OperationalError when the server does not answer.

    The comment on ``alembic_version`` says which version brought the tables up to date last.
    """
    with psycopg.connect(url, connect_timeout=5) as connection:
        if connection.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,):
            return
        there = {row[0] for row in connection.execute("SELECT version_num FROM alembic_version")}
        before = _remembered(connection)
    for revision in there:
        check_revision(revision)
    if not there <= _known():
        newer = f"Assay {before}" if before else "a later version of Assay"
        raise Refused(f"The tables are of {newer}, and this is {version}: install that one.")
    if there != heads() and before is not None and not follows(version, before):
        raise Refused(
            f"The tables are of Assay {before}, and this is {version}: upgrade through the versions between, one minor "
            "version at a time. What runs meanwhile is the version before, and migrations keep only that one working."
        )


def check_revision(revision: str, what: str = "The tables are") -> None:
    """Check that revisions lead from this one to the newest. Raises: Refused."""
    if revision < BASELINE:
        raise Refused(
            f"{what} of revision {revision}, and this version knows those from {BASELINE} on. Install Assay at the "
            f"commit {_BEFORE_BASELINE}, run `assay upgrade` (for a backup: `assay restore`) with it, then this one."
        )


def knows(revision: str) -> bool:
    """Return whether this version has the revision."""
    return revision in _known()


def remembered(url: str) -> str | None:
    """Return the version that last migrated the database; None when unknown."""
    with psycopg.connect(url, connect_timeout=5) as connection:
        return _remembered(connection)


def _remembered(connection: psycopg.Connection[tuple[str | None]]) -> str | None:
    row = connection.execute("SELECT obj_description('alembic_version'::regclass, 'pg_class')").fetchone()
    return row[0] if row is not None else None


def remember(url: str, version: str) -> None:
    """Say in the database which version it was brought up to date by."""
    with psycopg.connect(url, connect_timeout=5) as connection:
        connection.execute(sql.SQL("COMMENT ON TABLE alembic_version IS {}").format(sql.Literal(version)))


def await_migrated(url: str, seconds: float) -> bool:
    """Wait until the tables are of this version, or of a later one; False when they are not yet."""
    deadline = time.monotonic() + seconds
    while True:
        with suppress(psycopg.Error):  # the server, or the role, is not there yet
            with psycopg.connect(url, connect_timeout=5) as connection:
                rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
            there = {row[0] for row in rows}
            if heads() & there or any(revision >= BASELINE for revision in there - _known()):
                return True
        if time.monotonic() > deadline:
            return False
        time.sleep(1)


def follows(version: str, before: str) -> bool:
    """Return whether it is of the same minor version, of the next, or of the next major one."""
    (major, minor), (old_major, old_minor) = (_parts(each) for each in (version, before))
    if major == old_major:
        return minor in (old_minor, old_minor + 1)
    return major == old_major + 1 and minor == 0


def _known() -> set[str]:
    return {name for file in REVISIONS.glob("*.py") for name in _NAMED.findall(file.read_text("utf-8"))}


def _parts(version: str) -> tuple[int, int]:
    major, minor, *_ = version.split(".")
    return int(major), int(minor)
