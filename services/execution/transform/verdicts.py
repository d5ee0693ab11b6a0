"""How a run ended, in words that a model can act on."""

from __future__ import annotations

from services.execution.sandbox.run import Outcome
from shared.contracts.execute import Limits, Verdict

_MOST_LINES, _MOST_CALLS = 12, 4


def explain(outcome: Outcome, limits: Limits) -> str:
    """The error of the code, or the limit that it met."""
    stopped = {
        Verdict.TIMEOUT_WALL: f"it ran longer than {limits.wall_seconds:.3g} seconds",
        Verdict.TIMEOUT_CPU: f"it used more than {limits.cpu_seconds:g} seconds of processor time",
        Verdict.MEMORY: f"it needed more than {limits.memory_mb} MB of memory",
        Verdict.OUTPUT: "it printed too much",
        Verdict.DISK: f"it wrote more than {limits.disk_mb} MB",
        Verdict.PROCESSES: "it started too many processes or threads",
        Verdict.SIGNAL: "it crashed its interpreter",
    }.get(outcome.verdict)
    return _error(outcome) if stopped is None else f"the code was stopped: {stopped}"


def _error(outcome: Outcome) -> str:
    error = outcome.error
    if error is None:
        return outcome.stderr.strip() or "the code failed without saying why"
    if error.exit_code is not None:
        return f"the code ended itself with exit status {error.exit_code}"
    return "\n".join([f"{error.type}: {error.message}".strip(), *_own_frames(error.traceback)])


def _own_frames(trace: str) -> list[str]:
    """Where in the code it happened; the frames of libraries say nothing to its author."""
    lines = trace.splitlines()
    kept: list[str] = []
    for at, line in enumerate(lines):
        if line.lstrip().startswith('File "/code/'):
            kept.append(line)
            shown = (after for after in lines[at + 1 : at + 3] if after.startswith(" "))  # what it says stands above
            kept += [after for after in shown if not after.lstrip().startswith("File ")]
    return kept[:_MOST_LINES] or [line for line in lines if line.lstrip().startswith("at ")][:_MOST_CALLS]
