"""Interpreters that live on between jobs: what one job's code defined, the job that continues it finds.

An interpreter waits in the worker that ran the last job, for a while. When it is gone, or another worker has the next
job, the code of the earlier jobs runs again first: they had no network and no clock to depend on but their own.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from services.execution.inputs import fetch_files
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.host.scratch import TemporaryFolder
from services.execution.sandbox.host.session import Session
from services.execution.sandbox.run import KernelError, Outcome
from shared.contracts.execute import ExecuteInput, Limits, SessionState, Verdict
from shared.errors import InvalidRequest, UserCodeFailed
from shared.jobs.job import Context, FinishedJob

#: Jobs of one session: that many runs would have to be repeated.
_MAX_CALLS = 200
_LEAST_SECONDS = 0.1
_LIVED = (Verdict.OK.value, Verdict.USER_ERROR.value)


@dataclass(frozen=True)
class _Waiting:
    """An interpreter between two jobs; its language and limits are those of its session's first."""

    tenant_id: str
    session: Session
    stack: ExitStack


class Interpreters:
    """Those of one worker, by the last job that ran in each."""

    def __init__(self, sandbox: Sandbox, most: int) -> None:
        self._sandbox = sandbox
        self._most = most
        self._waiting: dict[tuple[str, str], _Waiting] = {}  #: the one that waits longest comes first
        self._changing = threading.Lock()

    def __enter__(self) -> Interpreters:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._changing:
            waiting, self._waiting = list(self._waiting.values()), {}
        for each in waiting:
            each.stack.close()

    @contextmanager
    def run(self, context: Context, request: ExecuteInput, folder: Path) -> Iterator[tuple[Outcome, SessionState]]:
        """Run a job of a session; the outcome's files live until the context ends.

        Raises: InvalidRequest, UserCodeFailed, NotFound, JobCancelled, LanguageUnavailable, SandboxUnavailable.
        """
        earlier = _earlier(context, request)
        with ExitStack() as stack:
            session, repeated = self._opened(context, request, earlier, folder, stack)
            _place(session, context, request, folder / "new")
            _limit(session, context, request)
            try:
                outcome = _executed(session, context, request, folder)
            except KernelError:
                session, outcome = self._executed_anew(context, request, folder, stack)
                repeated = 0
            alive = session.alive and outcome.verdict.value in _LIVED
            if not session.alive and outcome.verdict.value in _LIVED:
                context.report.warn("The code ended the interpreter of its session; the next job begins in a new one.")
            yield outcome, SessionState(calls=len(earlier) + 1, repeated=repeated, alive=alive)
            if alive:
                self._keep(context, _Waiting(context.job.tenant_id, session, stack.pop_all()))

    def _opened(
        self, context: Context, request: ExecuteInput, earlier: Sequence[FinishedJob], folder: Path, stack: ExitStack
    ) -> tuple[Session, int]:
        """Return the interpreter that ran the earlier jobs, or a new one, and how many of them it has rerun."""
        if request.continues is not None:
            waiting = self._taken(context.job.tenant_id, request.continues)
            if waiting is not None:
                stack.push(waiting.stack)
                return waiting.session, 0
        session = self._new(request, earlier, stack)
        repeated = 0
        for job in earlier:
            if _left_it_alive(job):
                with TemporaryFolder(folder, "earlier") as again:
                    _repeat(session, context, _input(job), again.path)
                repeated += 1
        if earlier and not _left_it_alive(earlier[-1]):
            context.report.warn("The job before this one ended the interpreter of the session: this one is new.")
        if repeated:
            context.report.warn(f"The interpreter of this session was gone: its {repeated} earlier jobs ran again.")
        return session, repeated

    def _new(self, request: ExecuteInput, earlier: Sequence[FinishedJob], stack: ExitStack) -> Session:
        limits = request.limits if not earlier else _input(earlier[0]).limits
        return stack.enter_context(self._sandbox.session(request.language, limits, {}))

    def _executed_anew(
        self, context: Context, request: ExecuteInput, folder: Path, stack: ExitStack
    ) -> tuple[Session, Outcome]:
        """Run a job in an interpreter that knows nothing: that of its session ended by itself, and would do so again.

        Raises: UserCodeFailed, JobCancelled, NotFound, LanguageUnavailable, SandboxUnavailable.
        """
        context.report.warn(
            "The interpreter of this session ended by itself between two jobs; this one is new and has nothing of them."
        )
        session = self._new(request, _earlier(context, request), stack)
        _place(session, context, request, folder / "new")
        _limit(session, context, request)
        try:
            return session, _executed(session, context, request, folder)
        except KernelError as error:
            raise UserCodeFailed(f"The interpreter of the session ended: {error}") from None

    def _taken(self, tenant_id: str, job_id: str) -> _Waiting | None:
        with self._changing:
            waiting = self._waiting.pop((tenant_id, job_id), None)
        if waiting is not None and not waiting.session.alive:
            waiting.stack.close()
            return None
        return waiting

    def _keep(self, context: Context, waiting: _Waiting) -> None:
        with self._changing:
            self._waiting[waiting.tenant_id, context.job.id] = waiting
            surplus = [self._waiting.pop(self._next_to_end()) for _ in range(len(self._waiting) - self._most)]
        for each in surplus:
            each.stack.close()

    def _next_to_end(self) -> tuple[str, str]:
        """Return one that has ended already, else the oldest of the tenant with the most."""
        ended = next((key for key, waiting in self._waiting.items() if not waiting.session.alive), None)
        if ended is not None:
            return ended
        tenants = Counter(waiting.tenant_id for waiting in self._waiting.values())
        most = max(tenants.values())
        return next(key for key, waiting in self._waiting.items() if tenants[waiting.tenant_id] == most)


def _earlier(context: Context, request: ExecuteInput) -> list[FinishedJob]:
    """Return the jobs that this one continues, the first one first. Raises: InvalidRequest."""
    jobs: list[FinishedJob] = []
    wanted = request.continues
    while wanted is not None:
        job = context.results.of(wanted)
        if job is None or job.kind != "execute" or not job.input.get("session"):
            raise _unfit(f"job {wanted} does not belong to a session, or did not succeed")
        if job.input.get("language") != request.language:
            raise _unfit(f"that session is in {job.input.get('language')}")
        if len(jobs) >= _MAX_CALLS:
            raise _unfit(f"a session has at most {_MAX_CALLS} jobs; begin a new one")
        jobs.append(job)
        following = job.input.get("continues")
        wanted = following if isinstance(following, str) else None
    return jobs[::-1]


def _unfit(why: str) -> InvalidRequest:
    return InvalidRequest(f"It cannot be continued: {why}.", [(["input", "continues"], why)])


def _input(job: FinishedJob) -> ExecuteInput:
    return ExecuteInput.model_validate(job.input)


def _left_it_alive(job: FinishedJob) -> bool:
    """Return whether the interpreter lived on after this job; what ended it must not run again."""
    state = job.result.get("session")
    ended = isinstance(state, dict) and state.get("alive") is False
    return job.result.get("verdict") in _LIVED and not ended


def wall_seconds(context: Context, limits: Limits) -> float:
    """Return the wall time that code may take: its limit, or the rest of the job's budget if that is less."""
    return max(_LEAST_SECONDS, min(limits.wall_seconds, context.budget.seconds_left))


def _limit(session: Session, context: Context, request: ExecuteInput) -> None:
    session.within(wall_seconds(context, request.limits), request.limits.cpu_seconds)


def _place(session: Session, context: Context, request: ExecuteInput, folder: Path) -> None:
    """Place the files. Raises: UserCodeFailed when the code has made that impossible, NotFound."""
    try:
        session.place(fetch_files(context.files, request.files, folder))
    except KernelError:
        detail = (
            "A file could not be put where the session's code has a folder, a link or the like; the interpreter ended."
        )
        raise UserCodeFailed(detail) from None


def _repeat(session: Session, context: Context, request: ExecuteInput, folder: Path) -> None:
    """Rerun an earlier job. Raises: UserCodeFailed when the code does not end as it did, JobCancelled, NotFound."""
    _place(session, context, request, folder)
    _limit(session, context, request)
    try:
        outcome = session.execute(request.code, cancelled=context.cancelled, collect=folder)
    except KernelError as error:
        raise UserCodeFailed(f"Earlier code of the session could not be run again: {error}") from None
    if outcome.verdict.value not in _LIVED:
        detail = f"Earlier code of the session was run again, and ended as {outcome.verdict.value}."
        raise UserCodeFailed(f"{detail} Begin a new session.")


def _executed(session: Session, context: Context, request: ExecuteInput, folder: Path) -> Outcome:
    """Run the code. Raises: KernelError when the interpreter is gone, JobCancelled."""
    return session.execute(request.code, context.report.output, context.cancelled, collect=folder)
