"""Calls run one after the other on one draft; a batch is one change, whatever calls, attempts and undos it holds."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass, replace

from shared.flows.calls import Call, CallOutcome
from shared.flows.document import Document, random_id
from shared.flows.draft import Draft, JournalEntry
from shared.flows.operations import DoesNotApply, Operation
from shared.flows.suggestions import suggest
from shared.flows.tools.arguments import Arguments, CallFailed, ToolResult
from shared.flows.tools.placement import make_room
from shared.flows.tools.subtrees import Held, held, settle
from shared.flows.tools.table import TOOLS

#: The calls that go along the history instead of changing the draft.
HISTORY_CALLS = frozenset(tool.name for tool in TOOLS.values() if tool.run is None)


@dataclass(frozen=True)
class HistoryEntry:
    """An entry of the history as a batch sees it."""

    seq: int
    forward: tuple[Operation, ...]
    inverse: tuple[Operation, ...]


@dataclass(frozen=True)
class HistoryWindow:
    """The newest entries of the history: the newest applied one is last, and so is the next one to redo."""

    applied: tuple[HistoryEntry, ...] = ()
    undone: tuple[HistoryEntry, ...] = ()


@dataclass(frozen=True)
class Move:
    """An undo or redo of one entry of the history."""

    seq: int
    undone: bool


class Batch:
    """A draft and its place in the history.

    The line of states is the history as far as it is applied, then this batch's own calls on top of it. A call cuts
    off whatever could have been redone before it; undo goes down the line, redo up again.
    """

    def __init__(
        self, document: Document, history: HistoryWindow | None = None, new_id: Callable[[], str] = random_id
    ) -> None:
        self.draft = Draft(document, new_id)
        self.moves: list[Move] = []
        self._applied = list(history.applied) if history else []
        self._undone = list(history.undone) if history else []
        self._steps: list[int] = []  #: where each own call begins in the draft's journal
        self._own_undone: list[list[JournalEntry]] = []
        self._held, self._held_at = Held(), -1  #: what is collapsed away, and the draft's revision of which that is so

    @property
    def only_moves(self) -> bool:
        """Whether none of the batch's own calls is left, so that it is at most undos and redos."""
        return not self._steps

    def run(
        self, calls: Sequence[Call], atomic: bool = False, earlier: Sequence[CallOutcome] = ()
    ) -> list[CallOutcome]:
        """Run the calls in order; a failed one changes nothing and the rest continues, unless the batch is atomic.

        ``earlier`` are the outcomes of earlier attempts at the same message: what they did is not repeated.
        """
        mark, applied, undone = self.draft.mark(), list(self._applied), list(self._undone)
        steps, moves = list(self._steps), list(self.moves)
        done_before = [outcome for outcome in earlier if outcome.success and not outcome.rolled_back]
        outcomes = [_repeated(self.draft, call, done_before) or self._run(call) for call in calls]
        if atomic and not all(outcome.success for outcome in outcomes):
            self.draft.roll_back(mark)
            self._applied, self._undone, self._steps, self.moves = applied, undone, steps, moves
            self._own_undone = []
            outcomes = [replace(outcome, rolled_back=outcome.success) for outcome in outcomes]
        return suggest(self.draft, outcomes)

    def take_over(self, operations: Sequence[Operation]) -> None:
        """Take over what another batch did, as one own step. Raises: DoesNotApply."""
        if operations:
            mark = self.draft.mark()
            self.draft.apply(operations)
            self._steps.append(mark)

    def _run(self, call: Call) -> CallOutcome:
        mark = self.draft.mark()
        try:
            result = self._do(call, mark)
        except CallFailed as failed:
            if self.draft.mark() > mark:
                self.draft.roll_back(mark)
            return CallOutcome(call, str(failed), wanted=failed.wanted)
        return CallOutcome(call, None, result.node_id, result.edge_id, result.group_id, result.did_change)

    def _do(self, call: Call, mark: int) -> ToolResult:
        if call.name in HISTORY_CALLS:
            Arguments(call.params).no_more()
            return self._undo() if call.name == "undo" else self._redo()
        tool = TOOLS.get(call.name)
        if tool is None or tool.run is None:
            raise CallFailed(f"Unknown tool: {call.name}")
        before = self._held if self._held_at == self.draft.revision else held(self.draft)
        result = tool.run(self.draft, Arguments(call.params))
        self._held = settle(self.draft, before, mark)
        make_room(self.draft, self.draft.shown_since(mark))
        self._held_at = self.draft.revision
        self._steps.append(mark)
        self._own_undone.clear()
        self._undone.clear()
        return result

    def _undo(self) -> ToolResult:
        if self._steps:
            self._own_undone.append(self.draft.roll_back(self._steps.pop()))
        elif self._applied:
            entry = self._applied[-1]
            self._move(entry, entry.inverse, undone=True)
            self._undone.append(self._applied.pop())
        else:
            raise CallFailed("Nothing to undo")
        return ToolResult()

    def _redo(self) -> ToolResult:
        if self._undone:
            entry = self._undone[-1]
            self._move(entry, entry.forward, undone=False)
            self._applied.append(self._undone.pop())
        elif self._own_undone:
            self._steps.append(self.draft.mark())
            self.draft.reapply(self._own_undone.pop())
        else:
            raise CallFailed("Nothing to redo")
        return ToolResult()

    def _move(self, entry: HistoryEntry, operations: tuple[Operation, ...], undone: bool) -> None:
        try:
            self.draft.apply(operations)
        except DoesNotApply as refused:
            raise CallFailed(f"Later changes conflict with it: {refused}") from None
        self.moves.append(Move(entry.seq, undone))


def _repeated(draft: Draft, call: Call, done_before: MutableSequence[CallOutcome]) -> CallOutcome | None:
    """Return the earlier outcome of an equal call, at most once; None when the call has to run.

    A retry often sends again what its first attempt had done.
    """
    tool = TOOLS.get(call.name)
    if tool is None or not tool.once:
        return None
    for index, earlier in enumerate(done_before):
        if (earlier.call.name, earlier.call.params) == (call.name, call.params) and _stands(draft, earlier):
            del done_before[index]
            return replace(earlier, call=call, repeated=True)
    return None


def _stands(draft: Draft, earlier: CallOutcome) -> bool:
    """Return whether the call's effect is still in the draft."""
    there = {
        "addNode": earlier.node_id in draft.nodes,
        "createGroup": earlier.group_id in draft.nodes,
        "addEdge": earlier.edge_id in draft.edges,
        "deleteNode": earlier.node_id not in draft.nodes,
        "ungroup": earlier.group_id not in draft.nodes,
        "deleteEdge": earlier.edge_id not in draft.edges,
    }
    return there.get(earlier.call.name, True)
