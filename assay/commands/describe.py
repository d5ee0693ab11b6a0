"""A job's events in words: one line each, and under a turn its code: whole at first, then what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.events import JobEvent

_INDENT = "    "


def describe(event: JobEvent) -> str | None:
    """Return an event in words; None when it has nothing for a person."""
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
    """Summarize the tool calls of a turn: their errors, or the number that succeeded."""
    failed = [str(call.get("error")) for call in outcomes if isinstance(call, Mapping) and not call.get("success")]
    done = f"{len(outcomes) - len(failed)} of {len(outcomes)} calls done"
    return first_line(": ".join([done, "; ".join(failed)]) if failed else done)


def _pair(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if isinstance(value, Mapping):
        return f"{value.get('provider', '?')}/{value.get('model', '?')}"
    return str(value or "?")


def first_line(text: str, most: int = 160) -> str:
    """Return the most informative line, shortened: the first one, or the last one of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    line = lines[0]
    if "Traceback (most recent call last)" in line:
        line = f"{line.partition('Traceback')[0]}{lines[-1]}"
    return line if len(line) <= most else f"{line[: most - 1]}…"


class Attempts:
    """Remembers the last attempt of one job."""

    def __init__(self) -> None:
        self._last: list[str] | None = None

    def lines(self, event: JobEvent) -> list[str]:
        """Return the lines to show under a turn: its code, or the diff from the previous attempt; none without code."""
        proposal: Any = event.data.get("proposal") if event.type == "turn_taken" else None
        code = proposal.get("code") if isinstance(proposal, Mapping) else None
        if not code:
            return []
        new = str(code).rstrip().splitlines()
        last, self._last = self._last, new
        if last is None:
            return [_INDENT + line for line in new]
        changed = list(unified_diff(last, new, lineterm="", n=1))[2:]  # without the file names
        return [_INDENT + line for line in changed if not line.startswith("@@")]
