"""What can go wrong with a flow, beyond a tool call that fails."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from shared.contracts.flow_document import MAX_EDGES, MAX_NODES
from shared.errors import Conflict, TooLarge


class FlowTooLarge(TooLarge):
    code, title, status = "flow_too_large", "Flow too large", 413
    cause = "The flow has more nodes or edges than allowed."
    remedy = "Split it; `detail` names the limits."


def too_large(nodes: int, edges: int) -> FlowTooLarge:
    return FlowTooLarge(
        f"A flow holds at most {MAX_NODES:,} nodes and {MAX_EDGES:,} edges; this one has {nodes:,} and {edges:,}."
    )


class UndoConflict(Conflict):
    """Another author has changed the elements of the change set in the meantime."""

    code, title, status = "undo_conflict", "Undo conflict", 409
    cause = "A later change touched the same elements."
    remedy = "Undo the later change first, or use `scope=all`."

    def __init__(self, conflicts: Sequence[tuple[str, str]]) -> None:
        named: JsonValue = [{"kind": kind, "id": key} for kind, key in conflicts[:100]]
        super().__init__(
            "Elements of that change have been changed since. Undo the later changes first, or edit them by hand.",
            conflicts=named,
        )


class ProposalClosed(Conflict):
    code, title, status = "proposal_closed", "Proposal closed", 409
    cause = "The proposal was already applied or discarded."
    remedy = "Request a new proposal."
