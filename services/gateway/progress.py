"""How far the watched jobs and flows have come: one look of a gateway for all who watch."""

from __future__ import annotations

from collections.abc import Mapping

from services.gateway.database import Database
from services.gateway.notifications import Progress
from shared.contracts.jobs import JobState
from shared.flows import statements
from shared.jobs.record import queries


async def progress_of_jobs(database: Database, known: Mapping[str, int | None]) -> Mapping[str, Progress]:
    """Return the jobs, of any tenant, whose last event differs from the known one; used only to wake watchers.

    Raises: DatabaseUnavailable.
    """
    async with database.read() as db:
        rows = (await db.execute(queries.progressed(known))).all()
    return {row.id: Progress(row.last_seq, row.state is None or JobState(row.state).terminal) for row in rows}


async def progress_of_flows(database: Database, known: Mapping[str, int | None]) -> Mapping[str, Progress]:
    """Return the flows whose version differs from the known one.

    Raises: DatabaseUnavailable.
    """
    async with database.read() as db:
        rows = (await db.execute(statements.progressed(known))).all()
    return {row.id: Progress(row.version, row.version is None) for row in rows}
