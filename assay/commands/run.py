"""Submit a job and see it through: what `execute`, `transform` and their kin have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from assay.calls import jobs
from assay.commands.follow import follow
from assay.commands.session import Session, UsageError, current


@Parameter(name="*")
@dataclass(frozen=True)
class Sending:
    """How a job is sent and waited for."""

    timeout: Annotated[float | None, Parameter(help="Seconds to wait; the job goes on afterwards")] = None
    wait: Annotated[bool, Parameter(help="--no-wait prints the job's id at once")] = True
    label: Annotated[Sequence[str], Parameter(help="KEY=VALUE; may be repeated", negative="")] = ()
    priority: Annotated[int | None, Parameter(help="0 to 9, 9 first")] = None
    conversation: Annotated[str | None, Parameter(help="The conversation that the model shall know")] = None
    turns: Annotated[int | None, Parameter(help="Most turns that the job may take")] = None
    seconds: Annotated[float | None, Parameter(help="Most seconds that the job may run")] = None

    def options(self) -> jobs.Options:
        options: jobs.Options = {}
        if self.label:
            options["labels"] = dict(pair(label) for label in self.label)
        if self.priority is not None:
            options["priority"] = self.priority
        if self.conversation is not None:
            options["conversation_id"] = self.conversation
        budget: dict[str, float | None] = {}
        if self.turns is not None:
            budget["turns"] = self.turns
        if self.seconds is not None:
            budget["seconds"] = self.seconds
        if budget:
            options["budget"] = budget
        return options


def run(
    kind: str,
    input: Mapping[str, Any],
    sending: Sending,
    tell: Callable[[Session, dict[str, Any]], None],
    *,
    warn: bool = True,
) -> int:
    """Submit, follow, and hand the finished job to ``tell``; the exit code.

    ``warn`` false: ``tell`` shows the job's warnings in its own way.
    """
    session = current()
    job = session.client.fetch(jobs.create(kind, input, sending.options()))
    for warning in job.get("warnings") or []:
        session.say(f"warning: {warning}")
    if not sending.wait:
        session.show(job, lambda job: str(job["id"]))
        return 0
    finished = follow(session, job, sending.timeout)
    return end(session, finished, tell, warn=warn)


def end(
    session: Session, job: dict[str, Any], tell: Callable[[Session, dict[str, Any]], None], *, warn: bool = True
) -> int:
    """Print a finished job; 1 when it did not succeed."""
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
    return 0 if job["state"] == "succeeded" else 1


def pair(text: str) -> tuple[str, str]:
    """KEY=VALUE. Raises: UsageError."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"{text!r} is not KEY=VALUE")
    return key, value


def readable(path: Path) -> Path:
    """Raises: UsageError when there is no such file."""
    if not path.exists():
        raise UsageError(f"there is no file {path}")
    return path


def text_of(path: Path) -> str:
    """Raises: UsageError when there is no such file, or no text in it."""
    try:
        return readable(path).read_text("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a file") from None


def given(**fields: object) -> dict[str, Any]:
    """The options that were set; the server knows the defaults."""
    return {name: value for name, value in fields.items() if value is not None and value != ()}
