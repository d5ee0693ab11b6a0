"""What revision 0060 needs that takes long, done beforehand while everything runs: marks of old jobs with warnings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from migrations import marks
from migrations.online import Session, insist, session

#: What it is made for; of an older one the revision does everything itself, in one transaction with the others.
_BEFORE = {"0057", "0058", "0059"}


@contextmanager
def warnings_marked(url: str) -> Iterator[None]:
    """Have the trigger stand, and the jobs of before it marked. Raises: psycopg.Error."""
    with session(url) as connection:
        if _is_awaited(connection):
            connection.execute(marks.WARNED_FUNCTION.encode())
            if connection.execute("SELECT 1 FROM pg_trigger WHERE tgname = 'jobs_warned'").fetchone() is None:
                insist(connection, marks.WARNED_TRIGGER)
            for statement in (marks.WARNED_BACKFILL, marks.WARNED_LEFT):
                connection.execute(statement.encode())
        yield


def _is_awaited(connection: Session) -> bool:
    if connection.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,):
        return False
    there = {str(row[0]) for row in connection.execute("SELECT version_num FROM alembic_version")}
    return there <= _BEFORE and there != set()
