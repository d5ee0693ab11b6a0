"""A document being edited: every change is journalled, so that any part of a batch can be rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from shared.flows.document import (
    Document,
    Item,
    Json,
    Kind,
    corner_of,
    group_of,
    label_of,
    random_id,
    relative_parent,
    text_of,
)
from shared.flows.operations import Element, Operation, apply, difference
from shared.flows.visuals import size_of


@dataclass(frozen=True, slots=True)
class JournalEntry:
    kind: Kind
    key: str
    before: Item | None
    after: Item | None


#: Left, top, width and height.
Box = tuple[float, float, float, float]


class Index:
    """Index of the elements of one table that mention a name; built on first use, then kept up to date."""

    def __init__(self, names_of: Callable[[Json], Iterable[str]]) -> None:
        self._names_of = names_of
        self._keys: dict[str, dict[str, None]] | None = None

    def keys(self, name: str, table: dict[str, Item]) -> list[str]:
        if self._keys is None:
            self._keys = {}
            for key, item in table.items():
                self._note(key, item)
        return list(self._keys.get(name, ()))

    def names(self, table: dict[str, Item]) -> list[str]:
        """Return the names that elements mention."""
        self.keys("", table)
        assert self._keys is not None
        return [name for name, keys in self._keys.items() if keys and name]

    def update(self, key: str, before: Item | None, after: Item | None) -> None:
        if self._keys is None:
            return
        if before is not None:
            for name in self._names_of(before.body):
                self._keys.get(name, {}).pop(key, None)
        if after is not None:
            self._note(key, after)

    def _note(self, key: str, item: Item) -> None:
        assert self._keys is not None
        for name in self._names_of(item.body):
            self._keys.setdefault(name, {})[key] = None


def _marks(body: Json) -> Iterator[str]:
    data = body.get("data")
    if isinstance(data, dict) and data.get("collapsed") is True:
        yield "collapsed"
    if body.get("isCollapsed") is True:
        yield "collapsed group"
    if body.get("subtreeHidden") is True:
        yield "subtreeHidden"


class Draft:
    """A copy of a document that a batch changes."""

    def __init__(self, base: Document, new_id: Callable[[], str] = random_id) -> None:
        self.base = base
        self.new_id = new_id
        self.nodes = dict(base.nodes)
        self.edges = dict(base.edges)
        self.settings = dict(base.settings)
        self._top = base.top
        self._journal: list[JournalEntry] = []
        self._touched: dict[Element, None] = {}
        self._incident = Index(lambda body: {text_of(body, "source"), text_of(body, "target")})
        self._labelled = Index(lambda body: (label_of(body),))
        self._attached = Index(lambda body: {text_of(body, "parentGroupId"), relative_parent(body)})
        self._marked = Index(_marks)
        self._boxes: dict[str, Box] | None = None  #: of every node
        self._moved: dict[str, None] = {}  #: nodes whose box may be another one now
        self.revision = 0  #: counts every change, also one that is taken back
        self._outgoing = Index(lambda body: (text_of(body, "source"),))

    def incident(self, node: str) -> list[str]:
        """Return the ids of the edges at a node."""
        return self._incident.keys(node, self.edges)

    def children(self, node: str) -> list[str]:
        """Return the targets of a node's outgoing edges, existing nodes only."""
        targets = (text_of(self.edges[key].body, "target") for key in self._outgoing.keys(node, self.edges))
        return [target for target in targets if target in self.nodes]

    def labelled(self, label: str) -> list[str]:
        return self._labelled.keys(label, self.nodes)

    def members(self, group: str) -> list[str]:
        """Return the nodes directly inside a group."""
        return [key for key in self.attached(group) if group_of(self.nodes[key].body) == group]

    def attached(self, node: str) -> list[str]:
        """Return the nodes that name this one as their group or as the parent that their position counts from."""
        return self._attached.keys(node, self.nodes)

    def containers(self) -> list[str]:
        """Return the nodes that others are in."""
        return [key for key in self._attached.names(self.nodes) if key in self.nodes]

    def boxes(self) -> Mapping[str, Box]:
        """Return the box of every node, in the diagram's coordinates."""
        if self._boxes is None:
            self._boxes = {key: self._box(key) for key in self.nodes}
        pending = list(self._moved)
        self._moved = {}
        seen: set[str] = set()
        while pending:
            key = pending.pop()
            if key in seen:
                continue
            seen.add(key)
            if key in self.nodes:
                self._boxes[key] = self._box(key)
            else:
                self._boxes.pop(key, None)
            pending += self.attached(key)
        return self._boxes

    def _box(self, key: str) -> Box:
        return (*corner_of(self.nodes, key), *size_of(self.settings, key, self.nodes[key].body))

    def marked(self, mark: str) -> list[str]:
        """Return the nodes that are ``collapsed`` roots, ``collapsed group`` or ``subtreeHidden``."""
        return self._marked.keys(mark, self.nodes)

    def add(self, kind: Kind, key: str, body: Json) -> None:
        """Put a new element at the end of its list."""
        self._put(kind, key, Item(self._top, body))
        self._top += 1

    def change(self, kind: Kind, key: str, unset: Iterable[str] = (), /, **members: object) -> None:
        """Replace members of an element's body."""
        item = self._table(kind)[key]
        body: Json = {**item.body, **members}  # type: ignore[dict-item]
        for name in unset:
            body.pop(name, None)
        self._put(kind, key, Item(item.rank, body))

    def remove(self, kind: Kind, key: str) -> None:
        if key in self._table(kind):
            self._put(kind, key, None)

    def set(self, pointer: str, value: float | str) -> None:
        """Give a visual setting a value."""
        self._put(Kind.SETTING, pointer, Item(0, {"value": value}))

    def apply(self, operations: Iterable[Operation]) -> None:
        """Run stored operations, for an undo or redo of an earlier change set.

        Raises: DoesNotApply, with the draft untouched.
        """
        operations = list(operations)
        after = apply(self.document(), operations)
        for operation in operations:
            self._put(operation.kind, operation.key, after.table(operation.kind).get(operation.key))

    def mark(self) -> int:
        """Return a position in the journal that ``roll_back`` can return to."""
        return len(self._journal)

    def added_edges(self, mark: int) -> list[str]:
        """Return the edges that were added since the mark and are still there."""
        added = (entry.key for entry in self._journal[mark:] if entry.kind is Kind.EDGE and entry.before is None)
        return [key for key in dict.fromkeys(added) if key in self.edges]

    def shown_since(self, mark: int) -> list[str]:
        """Return the nodes that were hidden at the mark and are not any more."""
        before: dict[str, Item | None] = {}
        for entry in self._journal[mark:]:
            if entry.kind is Kind.NODE:
                before.setdefault(entry.key, entry.before)
        return [
            key
            for key, item in before.items()
            if item is not None
            and item.body.get("hidden") is True
            and key in self.nodes
            and self.nodes[key].body.get("hidden") is not True
        ]

    def roll_back(self, mark: int) -> list[JournalEntry]:
        """Return to the mark; the result is what ``reapply`` needs to redo the changes."""
        entries = self._journal[mark:]
        for entry in reversed(entries):
            self._set(entry.kind, entry.key, entry.before)
        del self._journal[mark:]
        return entries

    def reapply(self, entries: Iterable[JournalEntry]) -> None:
        for entry in entries:
            self._put(entry.kind, entry.key, entry.after)

    def document(self) -> Document:
        """Return the draft's current state as a separate document."""
        return Document(dict(self.nodes), dict(self.edges), dict(self.settings), self._top)

    def operations(self) -> tuple[list[Operation], list[Operation]]:
        """Return all changes of the draft, and the operations that exactly revert them."""
        now = Document(self.nodes, self.edges, self.settings, self._top)
        return difference(self.base, now, self._touched), difference(now, self.base, self._touched)

    def _put(self, kind: Kind, key: str, item: Item | None) -> None:
        before = self._table(kind).get(key)
        self._journal.append(JournalEntry(kind, key, before, item))
        self._touched[kind, key] = None
        self._set(kind, key, item)

    def _set(self, kind: Kind, key: str, item: Item | None) -> None:
        table = self._table(kind)
        self.revision += 1
        if kind is Kind.NODE:
            self._moved[key] = None
        elif kind is Kind.SETTING:
            self._boxes = None
        before = table.get(key)
        if item is None:
            table.pop(key, None)
        else:
            table[key] = item
        for index in self._indexes(kind):
            index.update(key, before, item)

    def _indexes(self, kind: Kind) -> Iterator[Index]:
        if kind is Kind.NODE:
            yield self._labelled
            yield self._attached
            yield self._marked
        elif kind is Kind.EDGE:
            yield self._incident
            yield self._outgoing

    def _table(self, kind: Kind) -> dict[str, Item]:
        if kind is Kind.NODE:
            return self.nodes
        return self.edges if kind is Kind.EDGE else self.settings
