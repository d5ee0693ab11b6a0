"""Flows in Postgres: reading one at any version, and the one way to write a new version."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol, TypeVar

from pydantic import JsonValue
from sqlalchemy import Connection, RowMapping

from shared.contracts.flow_document import MAX_EDGES, MAX_NODES
from shared.errors import NotFound
from shared.flows import statements, visuals
from shared.flows.batch import HistoryEntry, HistoryWindow
from shared.flows.cache import DocumentCache
from shared.flows.changes import stale_edit
from shared.flows.document import Document, Json, Kind, shown
from shared.flows.encoding import decode_document, decode_operations, encode_document, encode_operations
from shared.flows.errors import too_large
from shared.flows.operations import Operation, apply
from shared.flows.statements import FlowKey

_SNAPSHOT_EVERY = 64  #: versions
_TAIL_BYTES = 64_000  #: reading a tail shorter than this is faster than writing a snapshot


Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Flow:
    """A flow at one version."""

    id: str
    tenant: str
    name: str
    version: int
    document: Document
    created_at: datetime
    updated_at: datetime
    conversation_id: str | None
    tail: tuple[int, int, int]  #: the newest snapshot's version, its bytes, the bytes of operations since

    @property
    def key(self) -> FlowKey:
        return FlowKey(self.tenant, self.id)

    def content(self) -> Json:
        """Nodes, edges and settings as a client sees them."""
        return {
            "nodes": shown(self.document, Kind.NODE),
            "edges": shown(self.document, Kind.EDGE),
            "settings": visuals.merged(self.document.settings),
        }

    def view(self) -> dict[str, JsonValue]:
        times: Json = {"created_at": _iso(self.created_at), "updated_at": _iso(self.updated_at)}
        return {"id": self.id, "name": self.name, **self.content(), "version": self.version, **times}


@dataclass(frozen=True)
class Author:
    """Who changes a flow, and through what."""

    actor: str
    origin: str
    job: str | None = None  #: that did it, or that a proposal is of

    @property
    def origin_of_change(self) -> str:
        """As an entry of the history keeps it: see ``origin_and_job``."""
        return self.origin if self.job is None else f"{self.origin}:{self.job}"


def origin_and_job(kept: str) -> tuple[str, str | None]:
    """Return the origin of a history entry and its job, which may be deleted."""
    origin, _, job = kept.partition(":")
    return origin, job or None


def origin_of_branch(flow_id: str, version: int) -> str:
    """Return the origin of the first version of a branch: see ``branch_source``."""
    return f"branch:{flow_id}@{version}"


def branch_source(origin: str) -> tuple[str, int] | None:
    """Return the flow and version that a flow was branched from; the flow may be deleted."""
    kind, _, source = origin.partition(":")
    flow_id, _, version = source.rpartition("@")
    return (flow_id, int(version)) if kind == "branch" else None


class Offload(Protocol):
    """Runs what takes long; under an event loop, in a thread while the connection's caller waits."""

    def __call__(self, connection: Connection, work: Callable[[], Answer], /) -> Answer: ...


def inline(connection: Connection, work: Callable[[], Answer], /) -> Answer:
    """Run the work here."""
    return work()


class FlowStore:
    """Reads and writes flows on a connection that the caller commits.

    ``depth`` is how many change sets can be undone; ``kept_versions`` how many versions can be looked up; of either
    no more than ``most_bytes`` of operations.
    """

    def __init__(
        self, depth: int = 200, kept_versions: int = 2_000, most_bytes: int = 64_000_000, offload: Offload = inline
    ) -> None:
        self.depth = depth
        self.most_bytes = most_bytes
        self._offload = offload
        self._kept_versions = kept_versions
        self._cache = DocumentCache()

    def committed(self, flow: Flow) -> None:
        """Cache a committed version for the next reader."""
        self._cache.keep(flow.id, flow.version, flow.document)

    def create(self, connection: Connection, tenant: str, name: str, document: Document, author: Author) -> Flow:
        """Create a flow. Raises: FlowTooLarge, InvalidRequest."""
        check_size(document)
        flow_id, written = uuid.uuid4().hex, self._offload(connection, lambda: encode_document(document))
        counts = {"nodes_count": len(document.nodes), "edges_count": len(document.edges)}
        row = (
            connection.execute(
                statements.create(
                    {
                        "id": flow_id,
                        "tenant_id": tenant,
                        "name": name,
                        "version": 1,
                        "snapshot_version": 1,
                        "snapshot_bytes": len(written),
                        **counts,
                    }
                )
            )
            .mappings()
            .one()
        )
        flow = FlowKey(tenant, flow_id)
        connection.execute(statements.add_snapshot(flow, 1, written))
        self._add_version(connection, flow, 1, "create", author, encode_operations(()))
        return _flow(row, document)

    def read(self, connection: Connection, tenant: str, flow_id: str, expected: int | None = None) -> Flow:
        """Return the flow. Raises: NotFound, PreconditionFailed."""
        row = self._row(connection, FlowKey(tenant, flow_id), expected)
        document = self._find_document(connection, FlowKey(tenant, flow_id), row["version"])
        if document is None:  # a writer dropped the version after the row was read: keep writers out, read again
            row = self._row(connection, FlowKey(tenant, flow_id), expected, share=True)
            document = self.document_at(connection, FlowKey(tenant, flow_id), row["version"])
        return self._cached(_flow(row, document))

    def lock(self, connection: Connection, tenant: str, flow_id: str, expected: int | None = None) -> Flow:
        """Return the flow, locked for writing until the transaction ends. Raises: NotFound, PreconditionFailed."""
        row = self._row(connection, FlowKey(tenant, flow_id), expected, lock=True)
        return self._cached(_flow(row, self.document_at(connection, FlowKey(tenant, flow_id), row["version"])))

    def document_at(self, connection: Connection, flow: FlowKey, version: int) -> Document:
        """Return the document of a version. Raises: NotFound when the version is not kept."""
        document = self._find_document(connection, flow, version)
        if document is None:
            raise NotFound(f"Version {version} is not kept.")
        return document

    def _find_document(self, connection: Connection, flow: FlowKey, version: int) -> Document | None:
        """Return the document at a version, None when it is not kept.

        The versions after a cached document may be dropped already: the newest snapshot is then the start.
        """
        known = self._cache.find(flow.id, version)
        document = None if known is None else self._brought_to(connection, flow, *known, version)
        if document is None:
            row = connection.execute(statements.snapshot_at(flow, version)).one_or_none()
            if row is None:
                return None
            start = self._offload(connection, lambda: decode_document(row.document))
            document = self._brought_to(connection, flow, row.version, start, version)
        return document

    def _brought_to(
        self, connection: Connection, flow: FlowKey, at: int, document: Document, version: int
    ) -> Document | None:
        """Return the document after the versions that follow ``at``, None when one of them is not kept."""
        if at == version:
            return document
        rows = connection.execute(statements.tail(flow, at, version)).all()
        if len(rows) != version - at:
            return None
        return apply(document, (operation for row in rows for operation in decode_operations(row.operations)))

    def at(self, connection: Connection, flow: Flow, version: int) -> Flow:
        """Return the flow at a version. Raises: NotFound."""
        row = connection.execute(statements.version(flow.key, version)).one_or_none()
        if row is None:
            raise NotFound(f"Version {version} is not there.")
        document = self.document_at(connection, flow.key, version)
        return replace(flow, version=version, document=document, updated_at=row.at)

    def history(self, connection: Connection, flow: FlowKey, steps: int) -> HistoryWindow:
        """Return as much of the history as the given number of undos and redos can reach."""
        if not steps:
            return HistoryWindow()
        applied = connection.execute(statements.applied(flow, steps)).mappings().all()
        undone = connection.execute(statements.undone(flow, steps)).mappings().all()
        return HistoryWindow(
            tuple(_history_entry(row) for row in reversed(applied)),
            tuple(_history_entry(row) for row in reversed(undone)),
        )

    def write(
        self,
        connection: Connection,
        flow: Flow,
        kind: Literal["change", "undo", "redo"],
        author: Author,
        operations: Sequence[Operation],
        name: str | None = None,
    ) -> Flow:
        """Write the next version of a locked flow. Raises: FlowTooLarge, InvalidRequest."""
        document = apply(flow.document, operations)
        check_size(document)
        version, packed = flow.version + 1, encode_operations(operations)
        self._add_version(connection, flow.key, version, kind, author, packed)
        row = (
            connection.execute(
                statements.advance(
                    flow.key,
                    {
                        "version": version,
                        "name": name or flow.name,
                        "nodes_count": len(document.nodes),
                        "edges_count": len(document.edges),
                        **self._tail(connection, flow, version, document, len(packed)),
                    },
                )
            )
            .mappings()
            .one()
        )
        return _flow(row, document)

    def keep_snapshot(self, connection: Connection, flow: FlowKey, version: int) -> None:
        """Keep a snapshot of the version, so that it stays readable when older versions are dropped."""
        document = self.document_at(connection, flow, version)
        row = connection.execute(statements.snapshot_at(flow, version)).one_or_none()
        if row is None or row.version != version:
            connection.execute(statements.add_snapshot(flow, version, encode_document(document)))

    def _row(
        self, connection: Connection, flow: FlowKey, expected: int | None, *, lock: bool = False, share: bool = False
    ) -> RowMapping:
        """Return the flow's row. Raises: NotFound, PreconditionFailed."""
        statement = statements.one(flow.tenant, flow.id, lock=lock, share=share)
        row = connection.execute(statement).mappings().one_or_none()
        if row is None:
            raise NotFound("There is no such flow.")
        if expected is not None and row["version"] != expected:
            raise stale_edit(connection, flow, expected, row["version"])
        return row

    def _cached(self, flow: Flow) -> Flow:
        self.committed(flow)
        return flow

    def _tail(
        self, connection: Connection, flow: Flow, version: int, document: Document, added: int
    ) -> dict[str, object]:
        """Return the snapshot columns of the flow's row; write a new snapshot when the operations since are too
        large.
        """
        at, snapshot_bytes, tail_bytes = flow.tail
        tail_bytes += added
        if version - at < _SNAPSHOT_EVERY and tail_bytes <= max(_TAIL_BYTES, snapshot_bytes):
            return {"tail_bytes": tail_bytes}
        written = self._offload(connection, lambda: encode_document(document))
        connection.execute(statements.add_snapshot(flow.key, version, written))
        too_old = connection.execute(statements.too_old(flow.key, self.most_bytes)).scalar_one()
        for forget in statements.forget_versions(flow.key, max(too_old, version - self._kept_versions)):
            connection.execute(forget)
        return {"snapshot_version": version, "snapshot_bytes": len(written), "tail_bytes": 0}

    def _add_version(
        self, connection: Connection, flow: FlowKey, version: int, kind: str, author: Author, operations: bytes
    ) -> None:
        connection.execute(
            statements.add_version(
                flow,
                {
                    "version": version,
                    "kind": kind,
                    "actor": author.actor,
                    "origin": author.origin,
                    "operations": operations,
                },
            )
        )


def _history_entry(row: RowMapping) -> HistoryEntry:
    return HistoryEntry(row["seq"], decode_operations(row["forward"]), decode_operations(row["inverse"]))


def check_size(document: Document) -> None:
    """Raise FlowTooLarge for a document over the limits."""
    if len(document.nodes) > MAX_NODES or len(document.edges) > MAX_EDGES:
        raise too_large(len(document.nodes), len(document.edges))


def _flow(row: RowMapping, document: Document) -> Flow:
    return Flow(
        id=row["id"],
        tenant=row["tenant_id"],
        name=row["name"],
        version=row["version"],
        document=document,
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        conversation_id=row["conversation_id"],
        tail=(row["snapshot_version"], row["snapshot_bytes"], row["tail_bytes"]),
    )


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
