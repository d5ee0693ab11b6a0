"""A flow in Postgres for tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from pydantic import JsonValue
from sqlalchemy import Connection, Engine, func, select, update

from shared.flows import editing, history
from shared.flows.calls import Call
from shared.flows.document import Document, Kind, document_of
from shared.flows.editing import Edited, replacement
from shared.flows.statements import FlowKey
from shared.flows.store import Author, Flow, FlowStore
from shared.flows.tables import change_sets
from tests.shared.flows.drafts import call

ANNE, BERT = Author("anne", "api"), Author("bert", "api")
T = TypeVar("T")


class StoredFlow:
    """One flow, edited one transaction at a time; every call may come from a process that knows nothing yet."""

    def __init__(
        self,
        engine: Engine,
        document: Document,
        depth: int = 200,
        kept_versions: int = 2_000,
        most_bytes: int = 64_000_000,
    ) -> None:
        self.engine = engine
        self.limits = (depth, kept_versions, most_bytes)
        self.id = self.transact(lambda c, s: s.create(c, "t", "Test", document, ANNE)).id

    def transact(self, work: Callable[[Connection, FlowStore], T], store: FlowStore | None = None) -> T:
        with self.engine.begin() as connection:
            return work(connection, store or FlowStore(*self.limits))

    def edit(self, *calls: Call, author: Author = ANNE, expected: int | None = None, atomic: bool = False) -> Edited:
        return self.transact(lambda c, s: editing.edit(s, c, s.lock(c, "t", self.id, expected), calls, author, atomic))

    def undo(self, author: Author = ANNE, scope: history.Scope = "all") -> Flow | None:
        return self.transact(lambda c, s: history.undo(s, c, s.lock(c, "t", self.id), author, scope))

    def redo(self, author: Author = ANNE, scope: history.Scope = "all") -> Flow | None:
        return self.transact(lambda c, s: history.redo(s, c, s.lock(c, "t", self.id), author, scope))

    def save(
        self,
        nodes: list[JsonValue],
        edges: list[JsonValue],
        *,
        join: bool = False,
        page: bool = False,
        author: Author = ANNE,
    ) -> Flow:
        def work(connection: Connection, store: FlowStore) -> Flow:
            flow = store.lock(connection, "t", self.id)
            document = document_of(nodes, edges, flow.document.settings)
            edit = replacement(flow.document, document, "Saved", join=join, page=page)
            return history.change(store, connection, flow, author, edit)

        return self.transact(work)

    @property
    def now(self) -> Flow:
        return self.transact(lambda c, s: s.read(c, "t", self.id))

    def at(self, version: int) -> Document:
        return self.transact(lambda c, s: s.document_at(c, FlowKey("t", self.id), version))

    def entries(self) -> int:
        count = select(func.count()).select_from(change_sets).where(change_sets.c.flow_id == self.id)
        return self.transact(lambda c, s: c.execute(count).scalar_one())

    def set_age(self, seconds: float) -> None:
        """Make the history that old, by the clock of the database; below zero is later than now."""
        then = func.clock_timestamp() - timedelta(seconds=seconds)
        self.transact(
            lambda c, s: c.execute(update(change_sets).where(change_sets.c.flow_id == self.id).values(at=then))
        )


def names(flow: Flow | Document | None) -> list[JsonValue]:
    assert flow is not None
    document = flow.document if isinstance(flow, Flow) else flow
    return [body.get("id") for body in document.listed(Kind.NODE)]


def add(label: str) -> Call:
    return call("addNode", label=label)
