"""Watch a job: its turns as they happen, drawn for a person, told line by line otherwise."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from assay.calls import jobs
from assay.commands.attempts import Attempts

if TYPE_CHECKING:
    from assay.commands.session import Session
    from assay.events import JobEvent

#: So long a job may wait while no worker for its kind is alive, before we stop waiting with it.
_NO_WORKER_SECONDS = 6.0


class NoWorker(Exception):
    """The job is queued and nobody is there to take it."""


def follow(session: Session, job: Mapping[str, Any], timeout: float | None) -> dict[str, Any]:
    """Tell what happens until the job has ended; answers the finished job.

    Raises: JobTimeout, NoWorker; either way the job goes on.
    """
    from assay.errors import JobTimeout  # noqa: PLC0415

    id = str(job["id"])
    deadline = None if timeout is None else time.monotonic() + timeout
    after, known = 0, dict(job)
    with _teller(session, id) as teller:
        while known["state"] in ("queued", "running"):
            left = _NO_WORKER_SECONDS if deadline is None else min(_NO_WORKER_SECONDS, deadline - time.monotonic())
            for event in _events(session, id, after, left, patient=known["state"] == "running", deadline=deadline):
                after = event.seq
                teller.tell(event)
            known = session.client.fetch(jobs.get(id))
            if (known.get("waiting") or {}).get("reason") == "no_worker":
                raise NoWorker(f"no live worker takes {known['kind']} jobs; job {id} stays queued")
            if deadline is not None and time.monotonic() >= deadline and known["state"] in ("queued", "running"):
                raise JobTimeout(id, timeout or 0)
    return known


def _events(
    session: Session, id: str, after: int, left: float, *, patient: bool, deadline: float | None
) -> Iterator[JobEvent]:
    """Events until the end, or for as long as it makes sense to listen before looking at the job again."""
    if patient:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        yield from session.client.events(id, after, wait)
        return
    for event in session.client.events(id, after, max(0.0, left)):
        yield event
        if event.type == "job_started":
            return


class _Teller(Protocol):
    def tell(self, event: JobEvent) -> None: ...


def _teller(session: Session, id: str) -> AbstractContextManager[_Teller]:
    if session.lively:
        from assay.commands.live import Live  # noqa: PLC0415 - rich

        return Live(id)
    return nullcontext(_Lines(session))


class _Lines:
    """One line per event; JSON with ``--json``. Program output is left to the result."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._attempts = Attempts()

    def tell(self, event: JobEvent) -> None:
        if self._session.json:
            self._session.say(json.dumps(event.data, ensure_ascii=False))
            return
        for line in filter(None, (describe(event), *self._attempts.lines(event))):
            self._session.say(line)


def describe(event: JobEvent) -> str | None:
    """An event in words; None when there is nothing to tell a person."""
    data = event.data
    line: str | None
    match event.type:
        case "turn_taken":
            line = f"turn {data.get('number', '?')}: {_outcome(data.get('outcome'))}".rstrip(": ")
        case "thinking":
            line = f"  {data.get('message', '')}"
        case "llm_call" | "output" | "block_started":
            return None
        case "block_finished":
            line = _block(data)
        case "failover" | "progress":
            line = _aside(event.type, data)
        case "job_queued" | "job_started" | "job_succeeded" | "job_cancelled":
            line = f"{event.type.removeprefix('job_')} {event.job_id}"
        case "job_failed" | "job_dead":
            detail = data.get("detail") or (data.get("error") or {}).get("detail") or data.get("code") or ""
            line = f"{event.type.removeprefix('job_')} {event.job_id}: {detail}".rstrip(": ")
        case _:
            line = _aside(event.type, data) or f"  {event.type.replace('_', ' ')}"
    return line


def _block(data: Mapping[str, Any]) -> str:
    lines = data.get("lines")
    place = f" line {lines[0]}" if isinstance(lines, list) and lines else ""
    said = f": {first_line(str(data['message']))}" if data.get("message") else ""
    return f"  {data.get('status', '?')}{place} {data.get('block_id', '?')} {data.get('seconds', 0):.2f} s{said}"


def _aside(type: str, data: Mapping[str, Any]) -> str | None:
    if type == "failover":
        return f"  failover: {_pair(data, 'from')} -> {_pair(data, 'to')} {data.get('cause') or ''}".rstrip()
    if "done" in data:
        return f"  {data['done']} of {data.get('total', '?')}"
    said = next((data[name] for name in ("message", "text", "step", "phase", "stage") if data.get(name)), None)
    return f"  {first_line(str(said))}" if said else None


def _outcome(outcome: object) -> str:
    if isinstance(outcome, Mapping):
        kind = str(outcome.get("kind") or outcome.get("outcome") or outcome.get("status") or "")
        message = str(outcome.get("message") or outcome.get("summary") or outcome.get("feedback") or "")
        return first_line(f"{kind}: {message}" if kind and message else kind or message)
    if isinstance(outcome, Sequence) and not isinstance(outcome, str):
        return _calls(outcome)
    return first_line(str(outcome or ""))


def _calls(outcomes: Sequence[Any]) -> str:
    """What became of the tool calls of a turn: what went wrong, or how many were done."""
    failed = [str(call.get("error")) for call in outcomes if isinstance(call, Mapping) and not call.get("success")]
    done = f"{len(outcomes) - len(failed)} of {len(outcomes)} calls done"
    return first_line(": ".join([done, "; ".join(failed)]) if failed else done)


def _pair(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if isinstance(value, Mapping):
        return f"{value.get('provider', '?')}/{value.get('model', '?')}"
    return str(value or "?")


def first_line(text: str, most: int = 160) -> str:
    """The line that says most, cut to a readable length: the first one, of a traceback the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    line = lines[0]
    if "Traceback (most recent call last)" in line:
        line = f"{line.partition('Traceback')[0]}{lines[-1]}"
    return line if len(line) <= most else f"{line[: most - 1]}…"
