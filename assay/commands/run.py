"""Submit a job and see it through: what `execute`, `transform` and their kin have in common."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from cyclopts import Parameter, validators

from assay.calls import jobs
from assay.commands.describe import Attempts, describe
from assay.commands.session import (
    ASKED,
    DONE,
    FAILED,
    NOT_FOUND,
    UNVERIFIED,
    CommandLine,
    UsageError,
    current,
)

POSITIVE = validators.Number(gt=0)


@Parameter(name="*")
@dataclass(frozen=True)
class Sending:
    """How a job is sent and waited for."""

    timeout: Annotated[
        float | None, Parameter(help="Seconds to wait; the job continues afterwards", validator=POSITIVE)
    ] = None
    wait: Annotated[bool, Parameter(help="--no-wait prints the job's id at once")] = True
    label: Annotated[Sequence[str], Parameter(help="KEY=VALUE; may be repeated", negative="")] = ()
    priority: Annotated[int | None, Parameter(help="0 to 9, 9 first")] = None
    conversation: Annotated[str | None, Parameter(help="The conversation that the model is given")] = None
    turns: Annotated[int | None, Parameter(help="Most turns that the job may take")] = None
    seconds: Annotated[float | None, Parameter(help="Most seconds that the job may run")] = None
    reproducible: Annotated[bool, Parameter(help="Call models with temperature 0 and a fixed seed", negative="")] = (
        False
    )

    def options(self) -> jobs.SubmitOptions:
        options: jobs.SubmitOptions = {}
        if self.label:
            options["labels"] = dict(pair(label) for label in self.label)
        if self.priority is not None:
            options["priority"] = self.priority
        if self.conversation is not None:
            options["conversation_id"] = self.conversation
        if self.reproducible:
            options["reproducible"] = True
        budget: dict[str, float | None] = {}
        if self.turns is not None:
            budget["turns"] = self.turns
        if self.seconds is not None:
            budget["seconds"] = self.seconds
        if budget:
            options["budget"] = budget
        return options


@Parameter(name="*")
@dataclass(frozen=True)
class Asking(Sending):
    """The same of a kind that calls models."""

    model: Annotated[str | None, Parameter(help="PROVIDER/MODEL instead of the role's models")] = None

    def options(self) -> jobs.SubmitOptions:
        options = super().options()
        if self.model is not None:
            options["model"] = self.model
        return options


_PLAIN = Sending()
#: How Python, JavaScript, R and DuckDB name a file that does not exist.
_NOT_FOUND = re.compile(
    r"No such file or directory: '([^']+)'|ENOENT: [^']*'([^']+)'|cannot open file '([^']+)'"
    r'|match the pattern "([^"]+)"'
)
#: How Python, JavaScript, R and DuckDB report a host that they do not reach.
_AWAY = re.compile(
    r"Name or service not known|name resolution|Network is unreachable|ENOTFOUND|EAI_AGAIN|ENETUNREACH"
    r"|[Cc]ould not resolve host|Could not establish connection|cannot open URL"
)
_STATUSES = {"question": ASKED, "unverified": UNVERIFIED}  #: of a result that falls short of done


def run(
    kind: str,
    input: Mapping[str, Any],
    sending: Sending,
    tell: Callable[[CommandLine, dict[str, Any]], None],
    *,
    keep: Callable[[CommandLine, dict[str, Any]], None] | None = None,
    warn: bool = True,
    printed: Printed | None = None,
) -> int:
    """Submit, follow, and hand the finished job to ``tell``; the exit code.

    ``keep`` does with a job that succeeded what has to be done however it is shown, such as saving files; ``warn``
    false: ``tell`` shows the job's warnings in its own way; ``printed`` shows what the program prints while it runs.
    """
    session = current()
    job = session.client.fetch(jobs.create(kind, input, sending.options()))
    for warning in job.get("warnings") or []:
        session.say(f"warning: {warning}")
    if not sending.wait:
        session.show(job, lambda job: str(job["id"]))
        return 0
    finished = follow(session, job, sending.timeout, None if session.json else printed)
    if keep is not None and finished["state"] == "succeeded":
        keep(session, finished)
    return end(session, finished, tell, warn=warn)


def end(
    session: CommandLine, job: dict[str, Any], tell: Callable[[CommandLine, dict[str, Any]], None], *, warn: bool = True
) -> int:
    """Print a finished job; its exit status."""
    if session.json:
        session.show(job, lambda job: None)
    elif job["state"] == "succeeded":
        for warning in (job.get("warnings") or []) if warn else []:
            session.say(f"warning: {warning}")
        tell(session, job)
    if job["state"] != "succeeded" and not session.json:
        error = job.get("error") or {}
        session.warn(
            f"job {job['id']} {job['state']}: {error.get('detail') or error.get('title') or 'no reason given'}"
        )
    return status_of(job)


def status_of(job: Mapping[str, Any]) -> int:
    """Return the exit status for a finished job."""
    if job["state"] == "succeeded":
        result = job.get("result") or {}
        if result.get("success") is False:  # a model that wanted no valid change
            return FAILED
        return _STATUSES.get(str(result.get("status")), DONE)
    return NOT_FOUND if (job.get("error") or {}).get("code") in ("not_found", "unknown_collection") else FAILED


def submitting(kind: KindSpec[Any]) -> Callable[..., int]:
    """Return a command for a kind without a hand-written one: an option for each input field; it prints the result."""
    sent = Asking() if kind.roles and "model" not in kind.input.model_fields else _PLAIN

    def submit(input: Any, *, sending: Sending = sent) -> int:
        fields = input.model_dump(mode="json", exclude_unset=True)
        return run(kind.name, fields, sending, lambda session, job: session.out(json.dumps(job["result"], indent=2)))

    submit.__doc__ = f"{kind.example.summary}."
    submit.__annotations__ |= {"input": Annotated[kind.input, Parameter(name="*")], "sending": type(sent)}
    return submit


def pair(text: str, form: str = "KEY=VALUE") -> tuple[str, str]:
    """Split a text of this form. Raises: UsageError."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"{text!r} is not {form}")
    return key, value


def readable(path: Path) -> Path:
    """Return the path if the file exists. Raises: UsageError."""
    try:
        there = path.exists()
    except OSError:  # longer than a name can be
        there = False
    if not there:
        raise UsageError(missing_file(path))
    return path


def unsent_file(error: str) -> str:
    """Return how to send the file that a program did not find, if it is on this machine; else an empty text."""
    match = _NOT_FOUND.search(error)
    name = match[match.lastindex or 0] if match is not None else ""
    is_here = bool(name) and not os.path.isabs(name) and os.path.isfile(name)
    return f"the sandbox has no files of this machine: add --file {shlex.quote(name)}" if is_here else ""


def no_network(error: str) -> str:
    """Return that the sandbox has no network, if a program did not reach a server; else an empty text."""
    return "the sandbox has no network: fetch the data first, and send it with --file" if _AWAY.search(error) else ""


def missing_file(path: Path) -> str:
    """Return a message that a file is missing, with the most similar name in the folder."""
    from difflib import get_close_matches  # noqa: PLC0415

    if address := re.match(r"(?:https?|ftp|s3):/|[\w.-]+@[\w.-]+:", str(path)):
        what = "an address, not a file: download it first (curl -O URL)"
        what = "not an https address of a repository" if "@" in address[0] else what
        return f"{str(path)[:200].replace(':/', '://', 1)} is {what}"
    there: list[str] = []
    with suppress(OSError):
        there = [each.name for each in path.parent.iterdir()]
    near = get_close_matches(path.name, there, 1, 0.75)
    return f"there is no file {str(path)[:200]}" + (f"; did you mean {path.with_name(near[0])}?" if near else "")


def text_of(path: Path) -> str:
    """Read a text file. Raises: UsageError when it is missing or not text."""
    try:
        return readable(path).read_text("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8: save it as UTF-8") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a file") from None


def endings(languages: Iterable[Language]) -> str:
    """List the file extensions of these languages, for a message."""
    return ", ".join(f"{ending} ({row.title})" for row in languages for ending in row.extensions)


def given(**fields: object) -> dict[str, Any]:
    """Return the options that were set; the server knows the defaults."""
    return {name: value for name, value in fields.items() if value is not None and value != ()}


if TYPE_CHECKING:
    from assay.commands.program_output import Printed
    from assay.commands.session import CommandLine
    from assay.events import JobEvent
    from shared.kinds import KindSpec
    from shared.languages import Language

#: So long a job may wait while no worker for its kind is alive, before we stop waiting with it.
_NO_WORKER_SECONDS = 6.0


class NoWorker(Exception):
    """The job is queued, but no worker can take it."""


def follow(
    session: CommandLine, job: Mapping[str, Any], timeout: float | None, printed: Printed | None = None
) -> dict[str, Any]:
    """Report the job's events until it has ended, and return the finished job.

    Raises: JobTimeout, NoWorker; either way the job goes on.
    """
    from assay.errors import JobTimeout  # noqa: PLC0415

    session.job = id = str(job["id"])
    deadline = None if timeout is None else time.monotonic() + timeout
    after, known = 0, dict(job)
    with _teller(session, id) as teller:
        while known["state"] in ("queued", "running"):
            left = _NO_WORKER_SECONDS if deadline is None else min(_NO_WORKER_SECONDS, deadline - time.monotonic())
            for event in _events(session, id, after, left, patient=known["state"] == "running", deadline=deadline):
                after = event.seq
                _tell(teller, event, printed)
            known = session.client.fetch(jobs.get(id))
            if (known.get("waiting") or {}).get("reason") == "no_worker":
                raise NoWorker(f"no live worker takes {known['kind']} jobs; job {id} stays queued")
            if deadline is not None and time.monotonic() >= deadline and known["state"] in ("queued", "running"):
                raise JobTimeout(id, timeout or 0)
    return known


def _tell(teller: _Teller, event: JobEvent, printed: Printed | None) -> None:
    if printed is None:
        teller.tell(event)
        return
    if event.type == "output":
        teller.pause()
    elif event.terminal:
        printed.end_line()
    if not printed.take(event):
        teller.tell(event)


def _events(
    session: CommandLine, id: str, after: int, left: float, *, patient: bool, deadline: float | None
) -> Iterator[JobEvent]:
    """Yield events until the end, or until it is time to poll the job again."""
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
    def pause(self) -> None: ...


def _teller(session: CommandLine, id: str) -> AbstractContextManager[_Teller]:
    if session.lively:
        from assay.commands.live import Live  # noqa: PLC0415 - rich

        return Live(id)
    return nullcontext(_Lines(session))


class _Lines:
    """One line per event; JSON with ``--json``. Program output is left to the result."""

    def __init__(self, session: CommandLine) -> None:
        self._session = session
        self._attempts = Attempts()

    def pause(self) -> None:
        """Do nothing: nothing is drawn."""

    def tell(self, event: JobEvent) -> None:
        if self._session.json:
            self._session.say(json.dumps(event.data, ensure_ascii=False))
            return
        for line in filter(None, (describe(event), *self._attempts.lines(event))):
            self._session.say(line)
