"""Proposals: kept next to a flow, applied once, whole or in part, or discarded."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from shared.errors import InvalidRequest, NotFound, PreconditionFailed
from shared.flows import proposals
from shared.flows.batch import Batch
from shared.flows.errors import ProposalClosed
from shared.flows.store import Flow
from tests.shared.flows.drafts import call, diagram
from tests.shared.flows.stored_flow import ANNE, StoredFlow, add, names


def test_a_proposal_is_applied_once_and_only_on_its_base(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    flow = stored.now
    batch = Batch(flow.document)
    batch.run([add("A"), call("addNode", label="B", parentNodeId="a")])
    forward, _ = batch.draft.operations()
    for proposal_id in ("p1" + stored.id, "p2" + stored.id):
        stored.transact(lambda c, s, key=proposal_id: proposals.propose(c, key, flow, "anne", "Add", forward))  # type: ignore[misc]

    def accept(proposal_id: str, chosen: list[int] | None = None) -> Flow:
        return stored.transact(
            lambda c, s: proposals.accept(s, c, s.lock(c, "t", stored.id), proposal_id + stored.id, ANNE, chosen)
        )

    for wrong in ([9], [1, 2]):
        with pytest.raises(InvalidRequest):
            accept("p1", wrong)
    assert names(accept("p1", [0])) == ["x", "a"]
    with pytest.raises(ProposalClosed):
        accept("p1")
    with pytest.raises(PreconditionFailed):
        accept("p2")
    stored.transact(lambda c, s: proposals.discard(c, s.lock(c, "t", stored.id), "p2" + stored.id))
    with pytest.raises(ProposalClosed):
        accept("p2")
    with pytest.raises(NotFound):
        accept("p3")
    assert names(stored.undo()) == ["x"]
