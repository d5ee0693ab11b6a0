"""How a run ended, in words that a model can act on."""

from __future__ import annotations

from services.execution.sandbox.run import Outcome
from shared.contracts.execute import Limits, Verdict


def explain(outcome: Outcome, limits: Limits) -> str:
    """The error of the code, or the limit that it met."""
    stopped = {
        Verdict.TIMEOUT_WALL: f"it ran longer than {limits.wall_seconds:g} seconds",
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
    first = f"{error.type}: {error.message}".strip()
    trace = error.traceback.strip()
    return trace if first and trace.endswith(first) else f"{first}\n{trace}".strip()
