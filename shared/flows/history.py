"""Change sets: a new one cuts what its author could redo; undo and redo follow them, alone or past those of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, RowMapping

from shared.flows import statements
from shared.flows.document import Document, Kind, relative_parent, text_of
from shared.flows.encoding import decode_operations, encode_operations
from shared.flows.errors import UndoConflict
from shared.flows.operations import Add, DoesNotApply, Element, Operation, Update, apply, conflicts, difference
from shared.flows.runtime import Weight, runtime_members
from shared.flows.store import Author, Flow, FlowStore

Scope = Literal["all", "mine"]

_SUMMARY = 300


@dataclass(frozen=True)
class Edit:
    """A change set, and how it enters the history.

    A drag of nodes that were dragged a moment ago, and an edit that is to ``join``, become part of the last entry.
    So does what React Flow writes for itself, which never cuts the redo list. A ``page`` that saves whole
    documents also positions what others have just made, undone or redone: that is not a separate step either.
    """

    forward: Sequence[Operation]
    inverse: Sequence[Operation]
    summary: str
    drag: bool = False
    join: bool = False
    page: bool = False
    weight: Weight = Weight.CHANGE
    name: str | None = None  #: the flow's new name, which is not part of the history

    @property
    def places(self) -> bool:
        """Return whether a page saved only the positions of elements, and no other change that matters."""
        return self.page and self.weight is Weight.PLACEMENT


@dataclass(frozen=True)
class Step:
    """The flow after an undo or redo, and the summary of the change that went or came back."""

    flow: Flow
    summary: str


def change(store: FlowStore, connection: Connection, flow: Flow, author: Author, edit: Edit) -> Flow:
    """Write a change set on a locked flow; no operations, no change set."""
    forward, inverse, name = edit.forward, edit.inverse, edit.name
    if not forward and name in (None, flow.name):
        return flow
    after = store.write(connection, flow, "change", author, forward, name)
    if not forward:
        return after
    quiet = _keeps_redo_tail(connection, flow, edit)
    if not quiet:
        for statement in statements.cut_redo_tail(flow.key, author.actor):
            connection.execute(statement)
    join, moves_only = edit.join or quiet, edit.drag and _only_moves(forward)
    last = _last(connection, flow) if join or moves_only or edit.places else None
    if last and (join or _same_drag(last, author, edit, moves_only) or _settles(connection, flow, edit, last)):
        _join(connection, after, last, inverse)
    elif not join:
        values: dict[str, object] = {
            "version": after.version,
            "base_version": flow.version,
            "actor": author.actor,
            "origin": author.origin_of_change,
            "summary": storable(edit.summary),
            "moves_only": moves_only,
            "forward": encode_operations(forward),
            "inverse": encode_operations(inverse),
        }
        connection.execute(statements.add_change_set(flow.key, values))
        connection.execute(statements.drop_beyond(flow.key, store.depth, store.most_bytes))
    return after


def undo(store: FlowStore, connection: Connection, flow: Flow, author: Author, scope: Scope = "all") -> Flow | None:
    """Undo the last change set, or the author's own last one; None without any.

    Raises: UndoConflict.
    """
    step = walk(store, connection, flow, author, scope, "undo")
    return None if step is None else step.flow


def redo(store: FlowStore, connection: Connection, flow: Flow, author: Author, scope: Scope = "all") -> Flow | None:
    """Apply what was undone last; None when there is nothing. Raises: UndoConflict."""
    step = walk(store, connection, flow, author, scope, "redo")
    return None if step is None else step.flow


def walk(
    store: FlowStore, connection: Connection, flow: Flow, author: Author, scope: Scope, kind: Literal["undo", "redo"]
) -> Step | None:
    """Make one undo or redo and return it with its change set; None when the history has none. Raises: UndoConflict."""
    actor = author.actor if scope == "mine" else None
    newest = statements.applied if kind == "undo" else statements.undone
    row = connection.execute(newest(flow.key, 1, actor)).mappings().one_or_none()
    if row is None:
        return None
    forward, inverse = decode_operations(row["forward"]), decode_operations(row["inverse"])
    wanted, made = (inverse, forward) if kind == "undo" else (forward, inverse)
    _check(flow.document, wanted, made, alone=scope == "mine", placed=scope == "mine" and kind == "undo")
    after = store.write(connection, flow, kind, author, wanted)
    if row["cut"]:
        connection.execute(statements.redone(flow.key, row["seq"]))
    else:
        values: dict[str, object] = {"undone_at": after.version if kind == "undo" else None}
        connection.execute(statements.rewrite_change_set(flow.key, row["seq"], values))
    return Step(after, row["summary"])


def storable(summary: str) -> str:
    """Return the summary without what Postgres cannot store, and cut to its maximum length."""
    return summary.replace("\x00", "").encode("utf-8", "replace").decode()[:_SUMMARY]


def _check(
    document: Document, wanted: Sequence[Operation], made: Sequence[Operation], *, alone: bool, placed: bool
) -> None:
    """Raise UndoConflict when another author's later work would be lost, or left without its ends.

    Without later work in between (not ``alone``) the step leads to an earlier state, whatever it holds;
    a page may have repositioned the nodes since, though.
    """
    in_the_way: list[Element] = conflicts(document, made, placed=placed)
    if not in_the_way:
        try:
            in_the_way = left_dangling(document, apply(document, wanted), wanted) if alone else []
        except DoesNotApply:
            in_the_way = [(operation.kind, operation.key) for operation in wanted]
    if in_the_way:
        raise UndoConflict([(kind.value, key) for kind, key in in_the_way])


def left_dangling(before: Document, after: Document, wanted: Sequence[Operation]) -> list[Element]:
    """Edges and members that lose their ends or their group by the operations."""
    gone = {operation.key for operation in wanted if operation.key not in after.nodes}
    back = {operation.key for operation in wanted if isinstance(operation, Add) and operation.kind is Kind.EDGE}
    dangling: list[Element] = []
    if gone or back:
        for key, item in after.edges.items():
            ends = (text_of(item.body, "source"), text_of(item.body, "target"))
            lost = key in back and not all(end in after.nodes for end in ends)
            if lost or any(end in gone and end in before.nodes for end in ends):
                dangling.append((Kind.EDGE, key))
        dangling += [
            (Kind.NODE, key)
            for key, item in after.nodes.items()
            if any(
                group in gone and group in before.nodes
                for group in (text_of(item.body, "parentGroupId"), relative_parent(item.body))
            )
        ]
    return dangling


def _last(connection: Connection, flow: Flow) -> RowMapping | None:
    return connection.execute(statements.applied(flow.key, 1)).mappings().one_or_none()


def _keeps_redo_tail(connection: Connection, flow: Flow, edit: Edit) -> bool:
    """Return whether undone steps can still be redone after the edit, because it changes nothing they depend on."""
    if edit.weight is Weight.RUNTIME:
        return True
    return edit.places and connection.execute(statements.undone(flow.key, 1)).first() is not None


def _settles(connection: Connection, flow: Flow, edit: Edit, last: RowMapping) -> bool:
    """Return whether a page only positions what was made, undone or redone a moment ago."""
    if not edit.places:
        return False
    if connection.execute(statements.edited_lately(flow.key, flow.version)).scalar_one():
        return True
    added = {one.key for one in decode_operations(last["forward"]) if isinstance(one, Add)}
    return bool(last["settling"]) and any(one.key in added for one in edit.forward)


def _only_moves(operations: Sequence[Operation]) -> bool:
    """Return whether nodes are moved, and nothing else is changed that an author would undo."""
    moved = {"position", *runtime_members(Kind.NODE)}
    return bool(_moved(operations)) and all(
        isinstance(operation, Update)
        and operation.kind is Kind.NODE
        and moved.issuperset((*operation.set, *operation.unset))
        and operation.rank is None
        for operation in operations
    )


def _moved(operations: Sequence[Operation]) -> set[str]:
    return {one.key for one in operations if isinstance(one, Update) and "position" in one.set}


def _same_drag(last: RowMapping, author: Author, edit: Edit, moves_only: bool) -> bool:
    if not (moves_only and last["moves_only"] and last["recent"] and last["actor"] == author.actor):
        return False
    return _moved(decode_operations(last["forward"])) == _moved(edit.forward)


def _join(connection: Connection, after: Flow, last: RowMapping, inverse: Sequence[Operation]) -> None:
    """Extend the last entry of the history to the new version."""
    back = [*inverse, *decode_operations(last["inverse"])]
    start = apply(after.document, back)
    touched = dict.fromkeys((operation.kind, operation.key) for operation in back)
    values: dict[str, object] = {
        "version": after.version,
        "forward": encode_operations(difference(start, after.document, touched)),
        "inverse": encode_operations(difference(after.document, start, touched)),
    }
    connection.execute(statements.rewrite_change_set(after.key, last["seq"], values))
