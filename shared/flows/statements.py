"""SQL statements on flows, executed by the gateway and the workers; the first one of a request names the tenant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Insert,
    Select,
    Text,
    Update,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.sql import Delete

from shared.flows.tables import change_sets, flows, proposals, snapshots, versions

_NOW = func.clock_timestamp()
#: So long after an edit a page may still be placing what it made.
_SETTLING = text("interval '10 seconds'")
#: What a page or a program writes when it saves the whole document.
SAVES = ("ui.save", "api.save")


def one(tenant: str, flow_id: str, *, lock: bool = False) -> Select[Any]:
    statement = select(flows).where(flows.c.tenant_id == tenant, flows.c.id == flow_id)
    return statement.with_for_update() if lock else statement


def elements(tenant: str, flow_id: str) -> Select[Any]:
    """How many nodes and edges the flow has."""
    return select(flows.c.nodes_count + flows.c.edges_count).where(flows.c.id == flow_id, flows.c.tenant_id == tenant)


def named(tenant: str, name: str) -> Select[Any]:
    """The oldest flow of that name."""
    of_name = select(flows).where(flows.c.tenant_id == tenant, flows.c.name == name)
    return of_name.order_by(flows.c.created_at, flows.c.id).limit(1)


def name_lock(tenant: str, name: str) -> Select[Any]:
    """Until the transaction ends, nobody else makes the tenant's flow of that name."""
    return select(func.pg_advisory_xact_lock(func.hashtextextended(f"flow:{tenant}:{name}", 0)))


def listing(tenant: str, limit: int, after: tuple[object, str] | None) -> Select[Any]:
    rows = select(flows).where(flows.c.tenant_id == tenant)
    if after is not None:
        rows = rows.where(tuple_(flows.c.created_at, flows.c.id) < tuple_(*map(literal, after)))
    return rows.order_by(flows.c.created_at.desc(), flows.c.id.desc()).limit(limit)


def create(values: dict[str, object]) -> Insert:
    return insert(flows).values(**values).returning(flows)


def advance(flow_id: str, values: dict[str, object]) -> Update:
    """A new version of the flow; the caller holds the row's lock."""
    return update(flows).where(flows.c.id == flow_id).values(updated_at=_NOW, **values).returning(flows)


def remove(tenant: str, flow_id: str) -> Delete:
    return delete(flows).where(flows.c.tenant_id == tenant, flows.c.id == flow_id)


def add_version(values: dict[str, object]) -> Insert:
    return insert(versions).values(**values)


def version(flow_id: str, number: int) -> Select[Any]:
    return select(versions).where(versions.c.flow_id == flow_id, versions.c.version == number)


def version_list(flow_id: str, limit: int, before: int | None) -> Select[Any]:
    rows = select(versions, cast(versions.c.version, Text).label("id")).where(versions.c.flow_id == flow_id)
    if before is not None:
        rows = rows.where(versions.c.version < before)
    return rows.order_by(versions.c.version.desc()).limit(limit)


def name_version(flow_id: str, number: int, name: str | None) -> Update:
    mine = (versions.c.flow_id == flow_id) & (versions.c.version == number)
    return update(versions).where(mine).values(name=name).returning(versions)


def tail(flow_id: str, after: int, upto: int, limit: int | None = None) -> Select[Any]:
    """The versions after one, up to another, in order."""
    rows = select(versions).where(versions.c.flow_id == flow_id, versions.c.version > after, versions.c.version <= upto)
    return rows.order_by(versions.c.version).limit(limit)


def edited_lately(flow_id: str, upto: int) -> Select[bool]:
    """Whether one of the newest versions is a recent edit, undo or redo, and not a saved document."""
    lately = select(versions.c.version).where(
        versions.c.flow_id == flow_id,
        versions.c.version.between(upto - 49, upto),
        versions.c.origin.not_in(SAVES),
        _NOW - versions.c.at < _SETTLING,
    )
    return select(lately.exists())


def version_of(tenant: str, flow_id: str) -> Select[int]:
    return select(flows.c.version).where(flows.c.tenant_id == tenant, flows.c.id == flow_id)


def progressed(known: Mapping[str, int | None]) -> Select[Any]:
    """Of the flows (id to known version) those that have another one; it is null of a deleted one."""
    ids, numbers = cast(list(known), ARRAY(Text)), cast(list(known.values()), ARRAY(BigInteger))
    given = func.unnest(ids, numbers).table_valued("id", "version", name="known").render_derived()
    joined = given.outerjoin(flows, flows.c.id == given.c.id)
    differs = flows.c.version.is_distinct_from(given.c.version)
    return select(given.c.id, flows.c.version).select_from(joined).where(differs)


def snapshot_at(flow_id: str, number: int) -> Select[Any]:
    """The newest snapshot that is not newer than the version."""
    rows = select(snapshots).where(snapshots.c.flow_id == flow_id, snapshots.c.version <= number)
    return rows.order_by(snapshots.c.version.desc()).limit(1)


def add_snapshot(flow_id: str, number: int, document: bytes) -> Insert:
    return insert(snapshots).values(flow_id=flow_id, version=number, document=document)


def too_old(flow_id: str, most_bytes: int) -> Select[Any]:
    """The newest version such that the operations from it on have more than so many bytes."""
    weight = func.sum(func.octet_length(versions.c.operations)).over(order_by=versions.c.version.desc())
    weighed = select(versions.c.version, weight.label("weight")).where(versions.c.flow_id == flow_id).subquery()
    return select(func.coalesce(func.max(weighed.c.version), 0)).where(weighed.c.weight > most_bytes)


def forget_versions(flow_id: str, before: int) -> tuple[Delete, Delete]:
    """Drop what is older than the last snapshot before a version; named versions and their snapshots stay."""
    named_ones = select(versions.c.version).where(versions.c.flow_id == flow_id, versions.c.name.is_not(None))
    base = select(func.max(snapshots.c.version)).where(snapshots.c.flow_id == flow_id, snapshots.c.version <= before)
    return (
        delete(versions).where(
            versions.c.flow_id == flow_id, versions.c.version < base.scalar_subquery(), versions.c.name.is_(None)
        ),
        delete(snapshots).where(
            snapshots.c.flow_id == flow_id,
            snapshots.c.version < base.scalar_subquery(),
            snapshots.c.version.not_in(named_ones),
        ),
    )


def add_change_set(flow_id: str, values: dict[str, object]) -> Insert:
    """A new last entry of the history."""
    last = select(func.coalesce(func.max(change_sets.c.seq), 0) + 1).where(change_sets.c.flow_id == flow_id)
    return insert(change_sets).values(flow_id=flow_id, seq=last.scalar_subquery(), **values)


def rewrite_change_set(flow_id: str, seq: int, values: dict[str, object]) -> Update:
    return update(change_sets).where(change_sets.c.flow_id == flow_id, change_sets.c.seq == seq).values(**values)


def cut_redo_tail(flow_id: str) -> Delete:
    return delete(change_sets).where(change_sets.c.flow_id == flow_id, change_sets.c.undone_at.is_not(None))


def drop_beyond(flow_id: str, depth: int, most_bytes: int) -> Delete:
    """Keep the newest entries only: at most ``depth`` of them and ``most_bytes``, but always the last one."""
    newest_first = change_sets.c.seq.desc()
    size = func.octet_length(change_sets.c.forward) + func.octet_length(change_sets.c.inverse)
    entry = select(
        change_sets.c.seq,
        func.row_number().over(order_by=newest_first).label("place"),
        func.sum(size).over(order_by=newest_first).label("weight"),
    )
    weighed = entry.where(change_sets.c.flow_id == flow_id).subquery()
    old = (weighed.c.place > depth) | ((weighed.c.weight > most_bytes) & (weighed.c.place > 1))
    return delete(change_sets).where(
        change_sets.c.flow_id == flow_id, change_sets.c.seq.in_(select(weighed.c.seq).where(old))
    )


def applied(flow_id: str, limit: int, actor: str | None = None) -> Select[Any]:
    """The entries in effect, the newest first."""
    age = _NOW - change_sets.c.at
    recent, settling = age < text("interval '1 second'"), age < _SETTLING
    rows = select(change_sets, recent.label("recent"), settling.label("settling"))
    rows = rows.where(change_sets.c.flow_id == flow_id, change_sets.c.undone_at.is_(None))
    if actor is not None:
        rows = rows.where(change_sets.c.actor == actor)
    return rows.order_by(change_sets.c.seq.desc()).limit(limit)


def undone(flow_id: str, limit: int, actor: str | None = None) -> Select[Any]:
    """The entries undone, the next to redo first."""
    rows = select(change_sets).where(change_sets.c.flow_id == flow_id, change_sets.c.undone_at.is_not(None))
    if actor is not None:
        rows = rows.where(change_sets.c.actor == actor)
    return rows.order_by(change_sets.c.undone_at.desc()).limit(limit)


def history(flow_id: str, limit: int, before: int | None = None) -> Select[Any]:
    """The history, the newest first, without the operations."""
    wanted = [column for column in change_sets.c if column.name not in ("forward", "inverse")]
    rows = select(*wanted, cast(change_sets.c.seq, Text).label("id")).where(change_sets.c.flow_id == flow_id)
    if before is not None:
        rows = rows.where(change_sets.c.seq < before)
    return rows.order_by(change_sets.c.seq.desc()).limit(limit)


def extent(flow_id: str) -> Select[int, int, Any]:
    """``entries, in_effect, newest_at`` of the history."""
    is_applied = change_sets.c.undone_at.is_(None)
    return select(
        func.count().label("entries"),
        func.count().filter(is_applied).label("in_effect"),
        func.max(change_sets.c.at).filter(is_applied).label("newest_at"),
    ).where(change_sets.c.flow_id == flow_id)


def add_proposal(values: dict[str, object]) -> Insert:
    return insert(proposals).values(**values)


def proposal(flow_id: str, proposal_id: str) -> Select[Any]:
    return select(proposals).where(proposals.c.flow_id == flow_id, proposals.c.id == proposal_id)


def proposal_list(flow_id: str, limit: int, after: tuple[object, str] | None) -> Select[Any]:
    rows = select(proposals).where(proposals.c.flow_id == flow_id)
    if after is not None:
        rows = rows.where(tuple_(proposals.c.created_at, proposals.c.id) < tuple_(*map(literal, after)))
    return rows.order_by(proposals.c.created_at.desc(), proposals.c.id.desc()).limit(limit)


def drop_proposals(flow_id: str, kept: int) -> Delete:
    """Keep the newest only."""
    mine = select(proposals.c.id).where(proposals.c.flow_id == flow_id)
    old = mine.order_by(proposals.c.created_at.desc(), proposals.c.id.desc()).offset(kept)
    return delete(proposals).where(proposals.c.id.in_(old))


def decide(flow_id: str, proposal_id: str, state: str) -> Update:
    mine = (proposals.c.flow_id == flow_id) & (proposals.c.id == proposal_id)
    return update(proposals).where(mine).values(state=state)


def converse(flow_id: str, conversation_id: str) -> Update:
    return update(flows).where(flows.c.id == flow_id).values(conversation_id=conversation_id)


def notes_of(flow_id: str) -> Select[Any]:
    return select(flows.c.notes).where(flows.c.id == flow_id)


def note(flow_id: str, bullets: list[str]) -> Update:
    return update(flows).where(flows.c.id == flow_id).values(notes=bullets)
