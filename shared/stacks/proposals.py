"""What models named repeatedly, as proposed rules; a person decides which become definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, func, select, tuple_
from sqlalchemy.dialects.postgresql import Insert, insert

from shared.contracts.definitions import Definition, Proposal, SightedFile, Sighting
from shared.stacks.tables import stack_decisions as decisions
from shared.stacks.tables import stack_sightings as sightings

MAX_PROPOSALS = 200
_MAX_SHOWN = 10
_MAX_PATTERNS = 5


@dataclass(frozen=True)
class Seen:
    """A custom technology in one package of one job."""

    kind: str
    id: str
    name: str
    root: str
    confidence: float
    resembles: str | None
    files: Sequence[SightedFile]


def record(tenant: str, job_id: str, source: str, seen: Sequence[Seen]) -> Callable[[Connection], None]:
    """Return the effect that stores the sightings, for the job's completion."""
    rows = [
        {
            "tenant_id": tenant, "job_id": job_id, "source": source, "kind": sighting.kind, "id": sighting.id,
            "name": sighting.name, "root": sighting.root, "confidence": sighting.confidence,
            "resembles": sighting.resembles,
            "files": [file.model_dump() for file in sighting.files],
        }
        for sighting in seen
    ]  # fmt: skip

    def apply(connection: Connection) -> None:
        connection.execute(insert(sightings).on_conflict_do_nothing(), rows)

    return apply


def recurring(tenant: str, at_least: int, key: tuple[str, str] | None = None) -> Select[Any]:
    """Select custom technologies that models named in at least ``at_least`` jobs, most frequent first."""
    jobs = func.count(sightings.c.job_id.distinct())
    query = (
        select(
            sightings.c.kind, sightings.c.id, jobs.label("jobs"),
            func.count(sightings.c.source.distinct()).label("sources"),
            func.avg(sightings.c.confidence).label("confidence"), decisions.c.state,
            decisions.c.actor, decisions.c.at,
        )
        .outerjoin(
            decisions,
            (decisions.c.tenant_id == sightings.c.tenant_id)
            & (decisions.c.kind == sightings.c.kind)
            & (decisions.c.id == sightings.c.id),
        )
        .where(sightings.c.tenant_id == tenant)
        .group_by(sightings.c.kind, sightings.c.id, decisions.c.state, decisions.c.actor, decisions.c.at)
        .having(jobs >= at_least)
        .order_by(jobs.desc(), sightings.c.kind, sightings.c.id)
        .limit(MAX_PROPOSALS)
    )  # fmt: skip
    return query if key is None else query.where(sightings.c.kind == key[0], sightings.c.id == key[1])


def latest(tenant: str, keys: Sequence[tuple[str, str]]) -> Select[Any]:
    """Select the newest sightings of each."""
    place = func.row_number().over(
        partition_by=(sightings.c.kind, sightings.c.id), order_by=sightings.c.created_at.desc()
    )
    wanted = tuple_(sightings.c.kind, sightings.c.id).in_(keys)
    numbered = select(sightings, place.label("place")).where(sightings.c.tenant_id == tenant, wanted).subquery()
    return select(numbered).where(numbered.c.place <= _MAX_SHOWN).order_by(numbered.c.created_at.desc())


def decide(tenant: str, kind: str, id: str, state: str, actor: str) -> Insert:
    row = {"tenant_id": tenant, "kind": kind, "id": id, "state": state, "actor": actor}
    changed = {"state": state, "actor": actor, "at": func.clock_timestamp()}
    return insert(decisions).values(row).on_conflict_do_update(index_elements=["tenant_id", "kind", "id"], set_=changed)


def view(row: RowMapping, seen: Sequence[RowMapping]) -> Proposal:
    """``seen``: its newest sightings."""
    shown = [
        Sighting(
            job_id=sighting["job_id"],
            root=sighting["root"],
            confidence=sighting["confidence"],
            files=sighting["files"],
            at=sighting["created_at"],
        )
        for sighting in seen
    ]
    confidence = round(float(row["confidence"]), 4)
    return Proposal(
        kind=row["kind"],
        id=row["id"],
        name=seen[0]["name"],
        state=row["state"] or "open",
        decided_by=row["actor"],
        decided_at=row["at"],
        jobs=row["jobs"],
        sources=row["sources"],
        confidence=confidence,
        resembles=seen[0]["resembles"],
        definition=Definition(
            kind=row["kind"], id=row["id"], name=seen[0]["name"], files=_patterns(shown), weight=max(0.5, confidence)
        ),
        sightings=shown,
    )


def _patterns(shown: Sequence[Sighting]) -> list[str]:
    """Return the file names that proved it in at least half of the sightings; else the most frequent one."""
    counted = Counter(
        pattern for sighting in shown for pattern in dict.fromkeys(file.pattern for file in sighting.files)
    )
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    often = [pattern for pattern, times in ordered if times * 2 >= len(shown)]
    return (often or [ordered[0][0]])[:_MAX_PATTERNS]
