"""SQL statements on flows, executed by the gateway and the workers; each names the tenant and the flow."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Insert,
    Select,
    Table,
    Text,
    Update,
    cast,
    delete,
    func,
    insert,
    literal,
    literal_column,
    select,
    text,
    true,
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


class FlowKey(NamedTuple):
    tenant: str
    id: str


def one(tenant: str, flow_id: str, *, lock: bool = False, share: bool = False) -> Select[Any]:
    """Select the flow's row; ``lock`` keeps other writers out, ``share`` only lets other readers in."""
    statement = select(flows).where(flows.c.tenant_id == tenant, flows.c.id == flow_id)
    return statement.with_for_update(read=share) if lock or share else statement


def elements(tenant: str, flow_id: str) -> Select[Any]:
    """Select the flow's number of nodes and edges."""
    return select(flows.c.nodes_count + flows.c.edges_count).where(flows.c.id == flow_id, flows.c.tenant_id == tenant)


def named(tenant: str, name: str) -> Select[Any]:
    """Select the oldest flow of that name."""
    of_name = select(flows).where(flows.c.tenant_id == tenant, flows.c.name == name)
    return of_name.order_by(flows.c.created_at, flows.c.id).limit(1)


def names_of(tenant: str, ids: Collection[str]) -> Select[str, str]:
    return select(flows.c.id, flows.c.name).where(flows.c.tenant_id == tenant, flows.c.id.in_(ids))


def name_lock(tenant: str, name: str) -> Select[Any]:
    """Lock the name, so that no other transaction creates the tenant's flow of that name."""
    return select(func.pg_advisory_xact_lock(func.hashtextextended(f"flow:{tenant}:{name}", 0)))


def listing(tenant: str, limit: int, after: tuple[object, str] | None) -> Select[Any]:
    """Select the flows, newest first, each with the key that made its current version."""
    current = (versions.c.tenant_id == tenant) & (versions.c.flow_id == flows.c.id)
    joined = flows.outerjoin(versions, current & (versions.c.version == flows.c.version))
    rows = select(flows, versions.c.actor).select_from(joined).where(flows.c.tenant_id == tenant)
    if after is not None:
        rows = rows.where(tuple_(flows.c.created_at, flows.c.id) < tuple_(*map(literal, after)))
    return rows.order_by(flows.c.created_at.desc(), flows.c.id.desc()).limit(limit)


def create(values: dict[str, object]) -> Insert:
    return insert(flows).values(**values).returning(flows)


def advance(flow: FlowKey, values: dict[str, object]) -> Update:
    """Write a new version of the flow; the caller holds the row's lock."""
    return update(flows).where(_is(flow)).values(updated_at=_NOW, **values).returning(flows)


def remove(tenant: str, flow_id: str) -> Delete:
    return delete(flows).where(flows.c.tenant_id == tenant, flows.c.id == flow_id)


def add_version(flow: FlowKey, values: dict[str, object]) -> Insert:
    return insert(versions).values(tenant_id=flow.tenant, flow_id=flow.id, **values)


def version(flow: FlowKey, number: int) -> Select[Any]:
    return select(versions).where(_of(versions, flow), versions.c.version == number)


def version_list(flow: FlowKey, limit: int, before: int | None) -> Select[Any]:
    rows = select(versions, cast(versions.c.version, Text).label("id")).where(_of(versions, flow))
    if before is not None:
        rows = rows.where(versions.c.version < before)
    return rows.order_by(versions.c.version.desc()).limit(limit)


def name_version(flow: FlowKey, number: int, name: str | None) -> Update:
    mine = _of(versions, flow) & (versions.c.version == number)
    return update(versions).where(mine).values(name=name).returning(versions)


def tail(flow: FlowKey, after: int, upto: int, limit: int | None = None) -> Select[Any]:
    """Select the versions after one, up to another, in order."""
    rows = select(versions).where(_of(versions, flow), versions.c.version > after, versions.c.version <= upto)
    return rows.order_by(versions.c.version).limit(limit)


def edited_lately(flow: FlowKey, upto: int) -> Select[bool]:
    """Select whether one of the newest versions is a recent edit, undo or redo, and not a saved document."""
    lately = select(versions.c.version).where(
        _of(versions, flow),
        versions.c.version.between(upto - 49, upto),
        versions.c.origin.not_in(SAVES),
        _NOW - versions.c.at < _SETTLING,
    )
    return select(lately.exists())


def version_of(tenant: str, flow_id: str) -> Select[int]:
    return select(flows.c.version).where(flows.c.tenant_id == tenant, flows.c.id == flow_id)


def progressed(known: Mapping[str, int | None]) -> Select[Any]:
    """Select the flows (id to known version) whose version has changed; it is null for a deleted one."""
    ids, numbers = cast(list(known), ARRAY(Text)), cast(list(known.values()), ARRAY(BigInteger))
    given = func.unnest(ids, numbers).table_valued("id", "version", name="known").render_derived()
    flow = select(flows.c.version).where(flows.c.id == given.c.id).limit(literal_column("1")).lateral("flow")
    differs = flow.c.version.is_distinct_from(given.c.version)
    return select(given.c.id, flow.c.version).select_from(given.outerjoin(flow, true())).where(differs)


def snapshot_at(flow: FlowKey, number: int) -> Select[Any]:
    """Select the newest snapshot that is not newer than the version."""
    rows = select(snapshots).where(_of(snapshots, flow), snapshots.c.version <= number)
    return rows.order_by(snapshots.c.version.desc()).limit(1)


def add_snapshot(flow: FlowKey, number: int, document: bytes) -> Insert:
    return insert(snapshots).values(tenant_id=flow.tenant, flow_id=flow.id, version=number, document=document)


def too_old(flow: FlowKey, most_bytes: int) -> Select[Any]:
    """Select the newest version from which on the operations exceed ``most_bytes``."""
    weight = func.sum(func.octet_length(versions.c.operations)).over(order_by=versions.c.version.desc())
    weighed = select(versions.c.version, weight.label("weight")).where(_of(versions, flow)).subquery()
    return select(func.coalesce(func.max(weighed.c.version), 0)).where(weighed.c.weight > most_bytes)


def forget_versions(flow: FlowKey, before: int) -> tuple[Delete, Delete]:
    """Drop what is older than the last snapshot before a version; named versions and their snapshots stay."""
    named_ones = select(versions.c.version).where(_of(versions, flow), versions.c.name.is_not(None))
    base = select(func.max(snapshots.c.version)).where(_of(snapshots, flow), snapshots.c.version <= before)
    return (
        delete(versions).where(
            _of(versions, flow), versions.c.version < base.scalar_subquery(), versions.c.name.is_(None)
        ),
        delete(snapshots).where(
            _of(snapshots, flow),
            snapshots.c.version < base.scalar_subquery(),
            snapshots.c.version.not_in(named_ones),
        ),
    )


def add_change_set(flow: FlowKey, values: dict[str, object]) -> Insert:
    """Insert a new last entry of the history."""
    last = select(func.coalesce(func.max(change_sets.c.seq), 0) + 1).where(_of(change_sets, flow))
    return insert(change_sets).values(tenant_id=flow.tenant, flow_id=flow.id, seq=last.scalar_subquery(), **values)


def rewrite_change_set(flow: FlowKey, seq: int, values: dict[str, object]) -> Update:
    return update(change_sets).where(_of(change_sets, flow), change_sets.c.seq == seq).values(**values)


def cut_redo_tail(flow: FlowKey, actor: str) -> tuple[Delete, Update]:
    """Drop what the author of a new change could redo; what others undid stays for them alone."""
    undone_ones = _of(change_sets, flow) & change_sets.c.undone_at.is_not(None)
    own = change_sets.c.actor == actor
    others = undone_ones & ~own & ~change_sets.c.cut
    return delete(change_sets).where(undone_ones, own), update(change_sets).where(others).values(cut=True)


def redone(flow: FlowKey, seq: int) -> Update:
    """Put an entry that was cut back into the history, as the last one."""
    last = select(func.max(change_sets.c.seq) + 1).where(_of(change_sets, flow)).scalar_subquery()
    entry = _of(change_sets, flow) & (change_sets.c.seq == seq)
    return update(change_sets).where(entry).values(undone_at=None, cut=False, seq=last)


def drop_beyond(flow: FlowKey, depth: int, most_bytes: int) -> Delete:
    """Keep the newest entries only: at most ``depth`` of them and ``most_bytes``, but always the last one."""
    newest_first = change_sets.c.seq.desc()
    size = func.octet_length(change_sets.c.forward) + func.octet_length(change_sets.c.inverse)
    entry = select(
        change_sets.c.seq,
        func.row_number().over(order_by=newest_first).label("place"),
        func.sum(size).over(order_by=newest_first).label("weight"),
    )
    weighed = entry.where(_of(change_sets, flow)).subquery()
    old = (weighed.c.place > depth) | ((weighed.c.weight > most_bytes) & (weighed.c.place > 1))
    return delete(change_sets).where(_of(change_sets, flow), change_sets.c.seq.in_(select(weighed.c.seq).where(old)))


def applied(flow: FlowKey, limit: int, actor: str | None = None) -> Select[Any]:
    """Select the entries in effect, newest first."""
    age = _NOW - change_sets.c.at
    recent, settling = age < text("interval '1 second'"), age < _SETTLING
    rows = select(change_sets, recent.label("recent"), settling.label("settling"))
    rows = rows.where(_of(change_sets, flow), change_sets.c.undone_at.is_(None))
    if actor is not None:
        rows = rows.where(change_sets.c.actor == actor)
    return rows.order_by(change_sets.c.seq.desc()).limit(limit)


def undone(flow: FlowKey, limit: int, actor: str | None = None) -> Select[Any]:
    """Select the undone entries, the next to redo first; those that a later edit cut are for their author alone."""
    rows = select(change_sets).where(_of(change_sets, flow), change_sets.c.undone_at.is_not(None))
    rows = rows.where(~change_sets.c.cut if actor is None else change_sets.c.actor == actor)
    return rows.order_by(change_sets.c.undone_at.desc()).limit(limit)


def history(flow: FlowKey, limit: int, before: int | None = None) -> Select[Any]:
    """Select the history, newest first, without the operations."""
    wanted = [column for column in change_sets.c if column.name not in ("forward", "inverse")]
    rows = select(*wanted, cast(change_sets.c.seq, Text).label("id")).where(_of(change_sets, flow))
    if before is not None:
        rows = rows.where(change_sets.c.seq < before)
    return rows.order_by(change_sets.c.seq.desc()).limit(limit)


def extent(flow: FlowKey) -> Select[int, int, Any]:
    """``entries, in_effect, newest_at`` of the history."""
    is_applied = change_sets.c.undone_at.is_(None)
    return select(
        func.count().label("entries"),
        func.count().filter(is_applied).label("in_effect"),
        func.max(change_sets.c.at).filter(is_applied).label("newest_at"),
    ).where(_of(change_sets, flow), ~change_sets.c.cut)


def add_proposal(flow: FlowKey, values: dict[str, object]) -> Insert:
    return insert(proposals).values(tenant_id=flow.tenant, flow_id=flow.id, **values)


def proposal(flow: FlowKey, proposal_id: str) -> Select[Any]:
    return select(proposals).where(_of(proposals, flow), proposals.c.id == proposal_id)


def proposal_list(flow: FlowKey, limit: int, after: tuple[object, str] | None) -> Select[Any]:
    rows = select(proposals).where(_of(proposals, flow))
    if after is not None:
        rows = rows.where(tuple_(proposals.c.created_at, proposals.c.id) < tuple_(*map(literal, after)))
    return rows.order_by(proposals.c.created_at.desc(), proposals.c.id.desc()).limit(limit)


def drop_proposals(flow: FlowKey, kept: int) -> Delete:
    """Keep the newest only."""
    mine = select(proposals.c.id).where(_of(proposals, flow))
    old = mine.order_by(proposals.c.created_at.desc(), proposals.c.id.desc()).offset(kept)
    return delete(proposals).where(_of(proposals, flow), proposals.c.id.in_(old))


def decide(flow: FlowKey, proposal_id: str, state: str) -> Update:
    mine = _of(proposals, flow) & (proposals.c.id == proposal_id)
    return update(proposals).where(mine).values(state=state)


def converse(flow: FlowKey, conversation_id: str) -> Update:
    return update(flows).where(_is(flow)).values(conversation_id=conversation_id)


def notes_of(flow: FlowKey) -> Select[Any]:
    return select(flows.c.notes).where(_is(flow))


def note(flow: FlowKey, bullets: list[str]) -> Update:
    return update(flows).where(_is(flow)).values(notes=bullets)


def _is(flow: FlowKey) -> ColumnElement[bool]:
    return (flows.c.tenant_id == flow.tenant) & (flows.c.id == flow.id)


def _of(table: Table, flow: FlowKey) -> ColumnElement[bool]:
    return (table.c.tenant_id == flow.tenant) & (table.c.flow_id == flow.id)
