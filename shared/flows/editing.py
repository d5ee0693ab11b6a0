"""Edits of a stored flow: batches of calls, saves of whole documents, restores; each is one change set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from shared.flows import history
from shared.flows.batch import HISTORY_CALLS, Batch, Move
from shared.flows.calls import Call, CallOutcome
from shared.flows.document import Document, Kind, resembles
from shared.flows.draft import Draft
from shared.flows.history import Edit
from shared.flows.operations import Operation, Update, difference, weight
from shared.flows.store import Author, Flow, FlowStore
from shared.flows.tools.subtrees import Held, held, settle


@dataclass(frozen=True)
class Edited:
    """A flow after a batch; a batch that changed nothing leaves the version as it was."""

    flow: Flow
    outcomes: list[CallOutcome]

    @property
    def success(self) -> bool:
        return all(outcome.success for outcome in self.outcomes)


def batch_on(store: FlowStore, connection: Connection, flow: Flow, calls: Sequence[Call]) -> Batch:
    """Return a batch at the flow's version, with as much of the history as the calls can reach."""
    steps = sum(call.name in HISTORY_CALLS for call in calls)
    return Batch(flow.document, store.history(connection, flow.key, steps))


def edit(
    store: FlowStore, connection: Connection, flow: Flow, calls: Sequence[Call], author: Author, atomic: bool = False
) -> Edited:
    """Run calls on a locked flow and write what they did."""
    batch = batch_on(store, connection, flow, calls)
    outcomes = batch.run(calls, atomic)
    drag = is_drag(calls)
    return Edited(write_batch(store, connection, flow, batch, author, summary_of(calls), drag=drag), outcomes)


def write_batch(
    store: FlowStore,
    connection: Connection,
    flow: Flow,
    batch: Batch,
    author: Author,
    summary: str,
    *,
    drag: bool = False,
) -> Flow:
    """Write a batch on the locked flow that it was made for: undos and redos alone as such, else one change set."""
    if batch.only_moves:
        for move in net(batch.moves):
            step = history.undo if move.undone else history.redo
            flow = step(store, connection, flow, author) or flow
        return flow
    forward, inverse = batch.draft.operations()
    if all(_only_rank(one) for one in forward) and resembles(flow.document, batch.draft.document()):
        return flow  # the last element was deleted and made again as it was
    return history.change(store, connection, flow, author, Edit(forward, inverse, summary, drag))


def _only_rank(operation: Operation) -> bool:
    return isinstance(operation, Update) and not operation.set and not operation.unset


def net(moves: Sequence[Move]) -> list[Move]:
    """Return the moves without those that cancel each other."""
    left: list[Move] = []
    for move in moves:
        if left and left[-1].seq == move.seq and left[-1].undone is not move.undone:
            left.pop()
        else:
            left.append(move)
    return left


def replacement(
    before: Document, after: Document, summary: str, *, name: str | None = None, join: bool = False, page: bool = False
) -> Edit:
    """Return the edit that replaces a document by another; equal elements are not touched. ``page``: see ``Edit``."""
    if resembles(before, after):
        return Edit((), (), summary, name=name)
    aligned = _aligned(before, _released(before, after))
    forward, inverse = difference(before, aligned), difference(aligned, before)
    heavy = weight(forward, aligned)
    return Edit(forward, inverse, summary, drag=not join, join=join, page=page, weight=heavy, name=name)


def restoration(before: Document, after: Document, summary: str) -> Edit:
    """Return the edit that leads back to an earlier document of the same flow."""
    return Edit(difference(before, after), difference(after, before), summary)


def is_drag(calls: Sequence[Call]) -> bool:
    """Return whether the calls may be steps of dragging a node."""
    return bool(calls) and all(call.name == "updateNode" for call in calls)


def summary_of(calls: Sequence[Call]) -> str:
    counted = Counter(call.name for call in calls)
    return ", ".join(f"{name} x{count}" if count > 1 else name for name, count in counted.items())


def _aligned(before: Document, after: Document) -> Document:
    """Return the new document with the old ranks where the order of the kept elements is unchanged."""
    if not all(_order_kept(before, after, kind) for kind in (Kind.NODE, Kind.EDGE)):
        shift = before.top
        nodes, edges = (
            {key: type(item)(item.rank + shift, item.body) for key, item in after.table(kind).items()}
            for kind in (Kind.NODE, Kind.EDGE)
        )
        return Document(nodes, edges, after.settings, after.top + shift)
    top = before.top
    tables = []
    for kind in (Kind.NODE, Kind.EDGE):
        table = {}
        for key, item in after.table(kind).items():
            known = before.table(kind).get(key)
            table[key] = type(item)(known.rank if known else top, item.body)
            top += known is None
        tables.append(table)
    return Document(tables[0], tables[1], after.settings, top)


def _released(before: Document, after: Document) -> Document:
    """Return the new document without the marks of nodes whose collapsed root it does not have any more."""
    draft = Draft(after)
    if not any(
        item.body.get("hidden") is True or item.body.get("subtreeHidden") is True for item in after.nodes.values()
    ):
        return after
    earlier = held(Draft(before))
    kept = {key for key in (*earlier.below, *earlier.inside) if key in after.nodes}
    settle(draft, Held(earlier.below & kept, earlier.inside & kept), draft.mark())
    return draft.document()


def _order_kept(before: Document, after: Document, kind: Kind) -> bool:
    """Return whether the old elements are in their old order, and before the new ones."""
    ranks = [known.rank if (known := before.table(kind).get(key)) else None for key in after.table(kind)]
    old = [rank for rank in ranks if rank is not None]
    return old == sorted(old) and None not in ranks[: len(old)]
