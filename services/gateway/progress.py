"""How far the watched jobs and flows have come: one look of a gateway for all who watch."""

from __future__ import annotations

from collections.abc import Mapping

from services.gateway.database import Database
from services.gateway.notifications import Progress
from shared.contracts.jobs import JobState
from shared.flows import statements
from shared.jobs.record import queries


async def progress_of_jobs(database: Database, known: Mapping[str, int | None]) -> Mapping[str, Progress]:
    """Of the jobs whose last event is another than the known one, whosever they are: it only tells whom to wake.

    Raises: DatabaseUnavailable.
    """
    async with database.read() as db:
        rows = (await db.execute(queries.progressed(known))).all()
    return {row.id: Progress(row.last_seq, row.state is None or JobState(row.state).terminal) for row in rows}


async def progress_of_flows(database: Database, known: Mapping[str, int | None]) -> Mapping[str, Progress]:
    """The same of flows, by their versions.

    Raises: DatabaseUnavailable.
    """
    async with database.read() as db:
        rows = (await db.execute(statements.progressed(known))).all()
    return {row.id: Progress(row.version, row.version is None) for row in rows}
