"""What can go wrong with a flow, beyond a tool call that fails."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from shared.contracts.flow_document import MAX_EDGES, MAX_NODES
from shared.errors import Conflict, TooLarge


class FlowTooLarge(TooLarge):
    code, title, status = "flow_too_large", "A flow of that size is not kept", 413


def too_large(nodes: int, edges: int) -> FlowTooLarge:
    return FlowTooLarge(
        f"A flow holds at most {MAX_NODES:,} nodes and {MAX_EDGES:,} edges; this one has {nodes:,} and {edges:,}."
    )


class UndoConflict(Conflict):
    """The elements of a change have been changed again by somebody else."""

    code, title, status = "undo_conflict", "Later changes stand in the way", 409

    def __init__(self, conflicts: Sequence[tuple[str, str]]) -> None:
        named: JsonValue = [{"kind": kind, "id": key} for kind, key in conflicts[:100]]
        super().__init__(
            "Elements of that change have been changed since; undo the later changes first, or edit them by hand.",
            conflicts=named,
        )


class ProposalClosed(Conflict):
    code, title, status = "proposal_closed", "The proposal has already been decided", 409
