"""Proposals: the effect of an edit, kept until it is applied or discarded."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping

from shared.errors import InvalidRequest, NotFound
from shared.flows import history, statements
from shared.flows.changes import stale_edit
from shared.flows.document import Document
from shared.flows.encoding import decode_operations, encode_operations
from shared.flows.errors import ProposalClosed
from shared.flows.history import Edit
from shared.flows.lint import lint
from shared.flows.operations import DoesNotApply, Operation, apply, difference
from shared.flows.store import Author, Flow, FlowStore

KEPT = 200  #: proposals of a flow


def new_id() -> str:
    return uuid.uuid4().hex


def propose(
    connection: Connection, proposal_id: str, flow: Flow, actor: str, summary: str, forward: Sequence[Operation]
) -> None:
    """Keep a proposal for the flow at its version."""
    values: dict[str, object] = {
        "id": proposal_id,
        "base_version": flow.version,
        "state": "open",
        "actor": actor,
        "summary": history.storable(summary),
        "forward": encode_operations(forward),
    }
    connection.execute(statements.add_proposal(flow.key, values))
    connection.execute(statements.drop_proposals(flow.key, KEPT))


def find(connection: Connection, flow: Flow, proposal_id: str) -> RowMapping:
    """Return a proposal. Raises: NotFound."""
    row = connection.execute(statements.proposal(flow.key, proposal_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("There is no such proposal.")
    return row


def accept(
    store: FlowStore,
    connection: Connection,
    flow: Flow,
    proposal_id: str,
    author: Author,
    chosen: Sequence[int] | None = None,
) -> Flow:
    """Write a proposal's operations, or the chosen ones, on the locked flow as one change set.

    Raises: NotFound, ProposalClosed, PreconditionFailed when the flow has moved on, InvalidRequest for a choice that
    does not hold together.
    """
    row = _open(connection, flow, proposal_id)
    if row["base_version"] != flow.version:
        raise stale_edit(connection, flow.key, row["base_version"], flow.version)
    forward = decode_operations(row["forward"])
    if chosen is not None:
        forward = _chosen(flow.document, forward, chosen)
    after = apply(flow.document, forward)
    touched = dict.fromkeys((operation.kind, operation.key) for operation in forward)
    edit = Edit(forward, difference(after, flow.document, touched), row["summary"])
    connection.execute(statements.decide(flow.key, proposal_id, "applied"))
    return history.change(store, connection, flow, author, edit)


def discard(connection: Connection, flow: Flow, proposal_id: str) -> None:
    """Discard a proposal. Raises: NotFound, ProposalClosed."""
    _open(connection, flow, proposal_id)
    connection.execute(statements.decide(flow.key, proposal_id, "discarded"))


def _open(connection: Connection, flow: Flow, proposal_id: str) -> RowMapping:
    row = find(connection, flow, proposal_id)
    if row["state"] != "open":
        raise ProposalClosed(f"The proposal has been {row['state']} already.")
    return row


def _chosen(document: Document, forward: Sequence[Operation], chosen: Sequence[int]) -> tuple[Operation, ...]:
    """Return the accepted operations.

    Raises: InvalidRequest for a number out of range, or an edge without both of its nodes.
    """
    if any(place >= len(forward) for place in chosen):
        message = f"the proposal has {len(forward)} operations, counted from 0"
        raise InvalidRequest(f"accept: {message}", [(["body", "accept"], message)])
    wanted = tuple(forward[place] for place in sorted(set(chosen)))
    try:
        after = apply(document, wanted)
    except DoesNotApply:
        raise _incoherent("a chosen operation needs one that is left out") from None
    known = {key for finding in lint(document) if finding.code in _DANGLING for key in finding.ids}
    broken = [finding for finding in lint(after) if finding.code in _DANGLING and not known.issuperset(finding.ids)]
    if broken:
        raise _incoherent(broken[0].message)
    return wanted


_DANGLING = ("dangling_edge", "unknown_group")


def _incoherent(message: str) -> InvalidRequest:
    return InvalidRequest(f"These operations do not hold together: {message}.", [(["body", "accept"], message)])
