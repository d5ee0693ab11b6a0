"""Calls run one after the other on one draft; a batch is one change, whatever calls, attempts and undos it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shared.flows.calls import Call, Outcome
from shared.flows.changes import DoesNotApply, Operation
from shared.flows.document import Document
from shared.flows.draft import Change, Draft
from shared.flows.ids import random_id
from shared.flows.repeats import repeated
from shared.flows.suggestions import suggest
from shared.flows.tools.arguments import Arguments, CallFailed, Made
from shared.flows.tools.registry import TOOLS


@dataclass(frozen=True)
class Past:
    """An entry of the history as a batch sees it."""

    seq: int
    forward: tuple[Operation, ...]
    inverse: tuple[Operation, ...]


@dataclass(frozen=True)
class History:
    """As far as a batch may want to go: of the applied the newest last, of the undone the next to redo last."""

    applied: tuple[Past, ...] = ()
    undone: tuple[Past, ...] = ()


@dataclass(frozen=True)
class Move:
    """A walk over one entry of the history."""

    seq: int
    undone: bool


class Batch:
    """A draft and its place in the history.

    The line of states is the history as far as it is applied, then this batch's own calls on top of it. A call cuts
    off whatever could have been redone before it; undo walks down the line, redo walks up again.
    """

    def __init__(
        self, document: Document, history: History | None = None, new_id: Callable[[], str] = random_id
    ) -> None:
        self.draft = Draft(document, new_id)
        self.moves: list[Move] = []
        self._applied = list(history.applied) if history else []
        self._undone = list(history.undone) if history else []
        self._steps: list[int] = []  #: where each own call begins in the draft's journal
        self._taken_back: list[list[Change]] = []

    @property
    def only_moves(self) -> bool:
        """Whether none of the batch's own calls is left, so that it is at most a walk along the history."""
        return not self._steps

    def run(self, calls: Sequence[Call], atomic: bool = False, earlier: Sequence[Outcome] = ()) -> list[Outcome]:
        """Run the calls in order; a failed one changes nothing and the rest goes on, unless the batch is atomic.

        ``earlier`` are the outcomes of the same turn's earlier attempts: what they did is not done twice.
        """
        mark, applied, undone = self.draft.mark(), list(self._applied), list(self._undone)
        steps, moves = list(self._steps), list(self.moves)
        done_before = [outcome for outcome in earlier if outcome.success and not outcome.rolled_back]
        outcomes = [repeated(self.draft, call, done_before) or self._run(call) for call in calls]
        if atomic and not all(outcome.success for outcome in outcomes):
            self.draft.take_back(mark)
            self._applied, self._undone, self._steps, self.moves = applied, undone, steps, moves
            self._taken_back = []
            outcomes = [replace(outcome, rolled_back=outcome.success) for outcome in outcomes]
        return suggest(self.draft, outcomes)

    def carry(self, operations: Sequence[Operation]) -> None:
        """Take over what another batch did, as one own step. Raises: DoesNotApply."""
        if operations:
            mark = self.draft.mark()
            self.draft.apply(operations)
            self._steps.append(mark)

    def _run(self, call: Call) -> Outcome:
        mark = self.draft.mark()
        try:
            made = self._do(call, mark)
        except CallFailed as failed:
            if self.draft.mark() > mark:
                self.draft.take_back(mark)
            return Outcome(call, str(failed), wanted=failed.wanted)
        return Outcome(call, None, made.node_id, made.edge_id, made.group_id, made.did_change)

    def _do(self, call: Call, mark: int) -> Made:
        if call.name in ("undo", "redo"):
            Arguments(call.params).no_more()
            return self._undo() if call.name == "undo" else self._redo()
        tool = TOOLS.get(call.name)
        if tool is None:
            raise CallFailed(f"Unknown tool: {call.name}")
        made = tool(self.draft, Arguments(call.params))
        self._steps.append(mark)
        self._taken_back.clear()
        self._undone.clear()
        return made

    def _undo(self) -> Made:
        if self._steps:
            self._taken_back.append(self.draft.take_back(self._steps.pop()))
        elif self._applied:
            past = self._applied[-1]
            self._walk(past, past.inverse, undone=True)
            self._undone.append(self._applied.pop())
        else:
            raise CallFailed("Nothing to undo")
        return Made()

    def _redo(self) -> Made:
        if self._undone:
            past = self._undone[-1]
            self._walk(past, past.forward, undone=False)
            self._applied.append(self._undone.pop())
        elif self._taken_back:
            self._steps.append(self.draft.mark())
            self.draft.repeat(self._taken_back.pop())
        else:
            raise CallFailed("Nothing to redo")
        return Made()

    def _walk(self, past: Past, operations: tuple[Operation, ...], undone: bool) -> None:
        try:
            self.draft.apply(operations)
        except DoesNotApply as refused:
            raise CallFailed(f"Later changes stand in the way: {refused}") from None
        self.moves.append(Move(past.seq, undone))
