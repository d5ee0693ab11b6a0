"""What one run of proposed code came to, and what has happened so far in one transform."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from services.execution.transform.results import ResultTable
from shared.contracts.transform import AssertionCheck, CellsSent, Effect, Iteration, Probe

RunOutcome = Literal["result", "error", "not_a_table", "assertion_failed", "no_op"]


@dataclass(frozen=True)
class Plot:
    media_type: str
    content: bytes


@dataclass(frozen=True)
class CodeRun:
    """What one run of the code came to."""

    code: str
    outcome: RunOutcome
    message: str  #: for the caller, who may see every value
    stdout: str = ""
    table: ResultTable | None = None
    plot: Plot | None = None
    effect: Effect | None = None
    checks: list[AssertionCheck] = field(default_factory=list)
    masked_view: CodeRun | None = None  #: as the model may see it, when columns are masked
    masked: tuple[str, ...] = ()  #: columns of the result that depend on masked values

    @property
    def visible(self) -> CodeRun:
        """What may be shown to the model."""
        return self.masked_view or self

    @property
    def good(self) -> bool:
        """A result whose assertions hold; it may still change nothing."""
        return self.outcome in ("result", "no_op")


@dataclass(frozen=True)
class Entry:
    """What a turn adds to the iterations."""

    code: str
    outcome: RunOutcome | Literal["no_code"]
    message: str


@dataclass
class Progress:
    iterations: list[Iteration] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    audit: list[CellsSent] = field(default_factory=list)
    best: CodeRun | None = None  #: the last good result; one that changes something beats one that does not
    latest: CodeRun | None = None
    explanation: str = ""  #: what the model said beside the best code
    failures: int = 0  #: consecutive runs without a good result
    nudges: int = 0
    prose: int = 0  #: consecutive replies without code

    def add(self, run: CodeRun, explanation: str) -> None:
        """Count the run and keep it when it is the best so far."""
        self.latest = run
        self.prose = 0
        self.failures = 0 if run.good else self.failures + 1
        if run.outcome == "no_op":
            self.nudges += 1
        if run.good and (run.outcome == "result" or self.best is None or self.best.outcome == "no_op"):
            self.best, self.explanation = run, explanation

    def repeats_best(self, code: str) -> bool:
        return self.best is not None and normalised(code) == normalised(self.best.code)


def normalised(code: str) -> str:
    """Code without what does not change its meaning: blank lines, trailing blanks, whole-line comments."""
    lines = (line.rstrip() for line in code.splitlines())
    return "\n".join(line for line in lines if line and not line.lstrip().startswith(("#", "--")))
