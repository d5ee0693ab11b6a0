"""Operations on a document and their exact inverses: what a change set, an undo and an event are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from pydantic import JsonValue

from shared.contracts import flow as contract
from shared.flows.document import Document, Item, Json, Kind, Table
from shared.flows.runtime import Weight, placing_members, runtime_members, weight_of


@dataclass(frozen=True, slots=True)
class Add:
    kind: Kind
    key: str
    item: Item


@dataclass(frozen=True, slots=True)
class Remove:
    kind: Kind
    key: str


@dataclass(frozen=True, slots=True)
class Update:
    """Members of a body that change, or leave; ``rank`` when the element moves in the list."""

    kind: Kind
    key: str
    set: Json
    unset: tuple[str, ...] = ()
    rank: int | None = None


Operation: TypeAlias = Add | Remove | Update
Element: TypeAlias = tuple[Kind, str]


class DoesNotApply(Exception):
    """The document is not the one that the operation was made for."""


def difference(before: Document, after: Document, among: Iterable[Element] | None = None) -> list[Operation]:
    """Return the operations that turn one document into the other; ``among`` names all elements that may differ."""
    elements = among if among is not None else _elements(before, after)
    changes = (
        operation_between(kind, key, before.table(kind).get(key), after.table(kind).get(key))
        for kind, key in _sorted(elements)
    )
    return [operation for operation in changes if operation is not None]


def operation_between(kind: Kind, key: str, before: Item | None, after: Item | None) -> Operation | None:
    """Return the operation between two states of one element; None when they are equal."""
    if after is None:
        return None if before is None else Remove(kind, key)
    if before is None:
        return Add(kind, key, after)
    changed: Json = {name: value for name, value in after.body.items() if not _has_member(before.body, name, value)}
    gone = tuple(name for name in before.body if name not in after.body)
    rank = after.rank if after.rank != before.rank else None
    return Update(kind, key, changed, gone, rank) if changed or gone or rank is not None else None


def apply(document: Document, operations: Iterable[Operation]) -> Document:
    """Return the document after the operations; an element's runtime members are removed with it.

    Raises: DoesNotApply; the document itself is never modified.
    """
    tables: dict[Kind, dict[str, Item]] = {}
    top = document.top
    for operation in operations:
        if operation.kind not in tables:
            tables[operation.kind] = dict(document.table(operation.kind))
        known = tables[operation.kind].get(operation.key)
        if known is None and _only_runtime(operation):
            continue
        item = _applied(known, operation)
        if item is None:
            del tables[operation.kind][operation.key]
        else:
            tables[operation.kind][operation.key] = item
            top = max(top, item.rank + 1)
    changed: dict[Kind, Table] = {kind: tables.get(kind, document.table(kind)) for kind in Kind}
    return Document(changed[Kind.NODE], changed[Kind.EDGE], changed[Kind.SETTING], top)


def conflicts(document: Document, done: Sequence[Operation], *, placed: bool = True) -> list[Element]:
    """Return the elements that have changed since the operations, except for React Flow's own members.

    Without ``placed``, changes of position and look are ignored too.
    """
    ignored = runtime_members if placed else placing_members
    return [
        (op.kind, op.key) for op in done if not _in_effect(document.table(op.kind).get(op.key), op, ignored(op.kind))
    ]


def weight(operations: Iterable[Operation], after: Document) -> Weight:
    """Return the weight of the operations, which led to the document ``after``."""
    return max((_weight(operation, after) for operation in operations), default=Weight.RUNTIME)


def _weight(operation: Operation, after: Document) -> Weight:
    if not isinstance(operation, Update) or operation.rank is not None:
        return Weight.CHANGE
    body = after.table(operation.kind)[operation.key].body
    return weight_of(operation.kind, {*operation.set, *operation.unset}, body)


def _only_runtime(operation: Operation) -> bool:
    return isinstance(operation, Update) and runtime_members(operation.kind).issuperset(
        (*operation.set, *operation.unset)
    )


def _applied(item: Item | None, operation: Operation) -> Item | None:
    if isinstance(operation, Add):
        if item is not None:
            raise DoesNotApply(f"{operation.kind} {operation.key} is already there")
        return operation.item
    if item is None:
        raise DoesNotApply(f"{operation.kind} {operation.key} is not there")
    if isinstance(operation, Remove):
        return None
    body = {**item.body, **operation.set}
    for name in operation.unset:
        body.pop(name, None)
    return Item(item.rank if operation.rank is None else operation.rank, body)


def _in_effect(item: Item | None, operation: Operation, ignored: frozenset[str]) -> bool:
    if isinstance(operation, Remove):
        return item is None
    if item is None:
        return _only_runtime(operation)
    if isinstance(operation, Add):
        return item.rank == operation.item.rank and _without(item, ignored) == _without(operation.item, ignored)
    return all(
        _has_member(item.body, name, value) for name, value in operation.set.items() if name not in ignored
    ) and not any(name in item.body for name in operation.unset if name not in ignored)


def _without(item: Item, ignored: frozenset[str]) -> Json:
    return {name: value for name, value in item.body.items() if name not in ignored}


_ABSENT = object()


def _has_member(body: Mapping[str, JsonValue], name: str, value: JsonValue) -> bool:
    """Return whether the member has exactly that value; ``1`` and ``True`` are not the same."""
    own = body.get(name, cast(JsonValue, _ABSENT))
    return own is value or (own == value and _types(own) == _types(value))


def _types(value: JsonValue) -> object:
    if isinstance(value, dict):
        return [(name, _types(inner)) for name, inner in sorted(value.items())]
    if isinstance(value, list):
        return [_types(inner) for inner in value]
    return isinstance(value, bool)


def _elements(before: Document, after: Document) -> Iterable[Element]:
    for kind in Kind:
        yield from ((kind, key) for key in {**before.table(kind), **after.table(kind)})


def _sorted(elements: Iterable[Element]) -> list[Element]:
    """Nodes before edges before settings, each in the order of their mention."""
    ranks = {Kind.NODE: 0, Kind.EDGE: 1, Kind.SETTING: 2}
    return sorted(elements, key=lambda element: ranks[element[0]])


def to_json(operations: Iterable[Operation]) -> list[JsonValue]:
    """Return the operations as they are stored and sent."""
    return [_json(operation) for operation in operations]


def to_contract(operations: Iterable[Operation]) -> list[contract.Operation]:
    """Return the operations in the form of the API."""
    return [contract.Operation.model_validate(entry) for entry in to_json(operations)]


def _json(operation: Operation) -> JsonValue:
    name = {Add: "add", Remove: "remove", Update: "update"}[type(operation)]
    head: Json = {"op": name, "kind": operation.kind.value, "id": operation.key}
    if isinstance(operation, Add):
        return {**head, "rank": operation.item.rank, "value": operation.item.body}
    if isinstance(operation, Update):
        moved: Json = {} if operation.rank is None else {"rank": operation.rank}
        return {**head, "set": operation.set, "unset": list(operation.unset), **moved}
    return head


def from_json(stored: Iterable[JsonValue]) -> list[Operation]:
    """Return the operations of ``to_json``."""
    return [_operation(cast("Json", entry)) for entry in stored]


def _operation(entry: Json) -> Operation:
    kind, key = Kind(cast(str, entry["kind"])), cast(str, entry["id"])
    if entry["op"] == "add":
        return Add(kind, key, Item(cast(int, entry["rank"]), cast("Json", entry["value"])))
    if entry["op"] == "remove":
        return Remove(kind, key)
    unset = tuple(cast("list[str]", entry["unset"]))
    return Update(kind, key, cast("Json", entry["set"]), unset, cast("int | None", entry.get("rank")))
