"""A retry often sends again what its first attempt had done: such a call is answered, not done twice."""

from __future__ import annotations

from collections.abc import MutableSequence
from dataclasses import replace

from shared.flows.calls import Call, Outcome
from shared.flows.draft import Draft

#: Doing these again would double, collide or miss; all other calls may simply run again.
_ONCE = frozenset(["addNode", "addEdge", "deleteNode", "deleteEdge", "createGroup", "ungroup", "changeDimensions"])


def repeated(draft: Draft, call: Call, done_before: MutableSequence[Outcome]) -> Outcome | None:
    """The earlier outcome of the very same call, used up by this one; None when the call has to run."""
    if call.name not in _ONCE:
        return None
    for index, earlier in enumerate(done_before):
        if (earlier.call.name, earlier.call.params) == (call.name, call.params) and _stands(draft, earlier):
            del done_before[index]
            return replace(earlier, call=call, repeated=True)
    return None


def _stands(draft: Draft, earlier: Outcome) -> bool:
    """Whether what the call did is still so."""
    there = {
        "addNode": earlier.node_id in draft.nodes,
        "createGroup": earlier.group_id in draft.nodes,
        "addEdge": earlier.edge_id in draft.edges,
        "deleteNode": earlier.node_id not in draft.nodes,
        "ungroup": earlier.group_id not in draft.nodes,
        "deleteEdge": earlier.edge_id not in draft.edges,
    }
    return there.get(earlier.call.name, True)
