"""An edit by messages: attempts on one draft that follows the current version, written once, at the very end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue
from sqlalchemy import Connection, Engine

from shared.flows import editing, proposals
from shared.flows.batch import HISTORY_CALLS, Batch, HistoryWindow
from shared.flows.calls import Call, CallOutcome
from shared.flows.document import Document, random_id
from shared.flows.errors import UndoConflict
from shared.flows.history import left_dangling
from shared.flows.operations import Operation, apply, conflicts
from shared.flows.statements import FlowKey
from shared.flows.store import Author, Flow, FlowStore

#: See ``shared.jobs.job.Report.effect``.
Effect = Callable[[Connection], Mapping[str, JsonValue] | None]


class FlowEditor:
    """Opens sessions on the flows of a database."""

    def __init__(self, engine: Engine, store: FlowStore) -> None:
        self._engine = engine
        self.store = store

    def begin(self, tenant: str, flow_id: str, author: Author, atomic: bool = False) -> EditSession:
        """Begin a session on the current version. Raises: NotFound."""
        return EditSession(self, self.current(tenant, flow_id), author, atomic)

    def current(self, tenant: str, flow_id: str) -> Flow:
        """Return the current flow. Raises: NotFound."""
        with self._engine.connect() as connection:
            return self.store.read(connection, tenant, flow_id)

    def history(self, flow: FlowKey, steps: int) -> HistoryWindow:
        if not steps:
            return HistoryWindow()
        with self._engine.connect() as connection:
            return self.store.history(connection, flow, steps)


class EditSession:
    """One user's message, however many attempts it takes."""

    def __init__(self, editor: FlowEditor, flow: Flow, author: Author, atomic: bool) -> None:
        self._editor = editor
        self._author = author
        self._atomic = atomic
        self._attempts: list[Sequence[Call]] = []
        self._outcomes: list[list[CallOutcome]] = []
        self._ids = _RepeatableIds()
        self._rebased = False  #: the draft's operations were taken over as they are, because they undid something
        self.flow = flow  #: the version that the draft is based on
        self.batch = Batch(flow.document, new_id=self._ids)

    def attempt(self, calls: Sequence[Call]) -> list[CallOutcome]:
        """Run the calls on top of the earlier attempts, on the flow as it is now. Raises: NotFound."""
        self.catch_up()
        self._attempts.append(calls)
        if any(call.name in HISTORY_CALLS for call in calls) and not self._rebased:
            self._start_again(self._editor.history(self.flow.key, self._steps()))
        else:
            self._run(calls)
        return self._outcomes[-1]

    def catch_up(self) -> None:
        """Rebase on the current version if the flow has changed in the meantime. Raises: NotFound, UndoConflict."""
        current = self._editor.current(self.flow.tenant, self.flow.id)
        if current.version != self.flow.version:
            self._move_to(current, lambda: self._editor.history(current.key, self._steps()))

    def effective(self) -> list[CallOutcome]:
        """Return the outcomes that count: all successes, and the failures of the last attempt."""
        worked = [
            outcome
            for outcomes in self._outcomes[:-1]
            for outcome in outcomes
            if outcome.success and not outcome.rolled_back and not outcome.repeated
        ]
        last = self._outcomes[-1] if self._outcomes else []
        return worked + [outcome for outcome in last if not (outcome.repeated and outcome.success)]

    def result(self) -> Flow:
        """Return the flow as the session will write it."""
        moves = len(editing.net(self.batch.moves))
        written = moves if self.batch.only_moves else int(bool(self.operations()))
        return replace(self.flow, version=self.flow.version + written, document=self.draft)

    @property
    def draft(self) -> Document:
        return self.batch.draft.document()

    def operations(self) -> list[Operation]:
        """Return all operations of the session."""
        return self.batch.draft.operations()[0]

    def commit(self, summary: str, moved: Callable[[], Mapping[str, JsonValue]]) -> Effect:
        """Return an effect that writes the session as one change set, on the version that is current then.

        When that is newer than the session's version, ``moved`` returns the parts of the answer that differ.
        """

        def write(connection: Connection) -> Mapping[str, JsonValue] | None:
            store, stood_on = self._editor.store, self.flow.version
            flow = store.lock(connection, self.flow.tenant, self.flow.id)
            if flow.version != stood_on:
                self._move_to(flow, lambda: store.history(connection, flow.key, self._steps()))
            editing.write_batch(store, connection, flow, self.batch, self._author, summary)
            return None if flow.version == stood_on else moved()

        return write

    def propose(self, summary: str) -> tuple[str, Effect]:
        """Return the id of a proposal of the session, which is that of its job, and the effect that writes it."""
        proposal_id, flow, forward = self._author.job or proposals.new_id(), self.flow, self.operations()

        def write(connection: Connection) -> None:
            proposals.propose(connection, proposal_id, flow, self._author.actor, summary, forward)

        return proposal_id, write

    def _move_to(self, flow: Flow, history: Callable[[], HistoryWindow]) -> None:
        """Rebase on a newer version: the attempts run again, unless they undid a step, which must stay the same.

        Raises: UndoConflict when that is not possible.
        """
        self.flow = flow
        if not self.batch.moves and not self._rebased:
            self._start_again(history())
            return
        forward, inverse = self.batch.draft.operations()
        in_the_way = conflicts(flow.document, inverse)
        in_the_way = in_the_way or left_dangling(flow.document, apply(flow.document, forward), forward)
        if in_the_way:
            raise UndoConflict([(kind.value, key) for kind, key in in_the_way])
        self.batch = Batch(flow.document, new_id=self._ids)
        self.batch.take_over(forward)
        self._rebased = True

    def _steps(self) -> int:
        """Return how many steps of the history the attempts may use."""
        return sum(call.name in HISTORY_CALLS for calls in self._attempts for call in calls)

    def _start_again(self, history: HistoryWindow) -> None:
        self._ids.rewind()
        self.batch = Batch(self.flow.document, history, self._ids)
        self._outcomes = []
        for calls in self._attempts:
            self._run(calls)

    def _run(self, calls: Sequence[Call]) -> None:
        earlier = [outcome for outcomes in self._outcomes for outcome in outcomes]
        self._outcomes.append(self.batch.run(calls, self._atomic, earlier))


class _RepeatableIds:
    """Random ids, and the same ones in the same order after ``rewind``: the model has seen them already."""

    def __init__(self) -> None:
        self._made: list[str] = []
        self._next = 0

    def __call__(self) -> str:
        if self._next == len(self._made):
            self._made.append(random_id())
        self._next += 1
        return self._made[self._next - 1]

    def rewind(self) -> None:
        self._next = 0
