"""What has happened so far in one transform: iterations, the best result, and what has been tried in vain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from services.execution.transform.runner import Attempt
from shared.contracts.transform import CellsSent, Iteration, Probe

IterationOutcome = Literal["result", "error", "no_code", "not_a_table", "assertion_failed", "no_op"]


@dataclass(frozen=True)
class Entry:
    """What a turn adds to the iterations."""

    code: str
    outcome: IterationOutcome
    message: str


@dataclass
class Progress:
    iterations: list[Iteration] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    audit: list[CellsSent] = field(default_factory=list)
    best: Attempt | None = None  #: the last good result; one that changes something beats one that does not
    latest: Attempt | None = None
    explanation: str = ""  #: what the model said beside the best code
    failures: int = 0  #: attempts running that came to nothing
    nudges: int = 0
    prose: int = 0  #: replies running without code

    def tried(self, attempt: Attempt, said: str) -> None:
        """Count the attempt and keep it when it is the best so far."""
        self.latest = attempt
        self.prose = 0
        self.failures = 0 if attempt.good else self.failures + 1
        if attempt.outcome == "no_op":
            self.nudges += 1
        if attempt.good and (attempt.outcome == "result" or self.best is None or self.best.outcome == "no_op"):
            self.best, self.explanation = attempt, said

    def repeats_best(self, code: str) -> bool:
        return self.best is not None and normalised(code) == normalised(self.best.code)


def normalised(code: str) -> str:
    """Code without what does not change its meaning: blank lines, trailing blanks, whole-line comments."""
    lines = (line.rstrip() for line in code.splitlines())
    return "\n".join(line for line in lines if line and not line.lstrip().startswith(("#", "--")))
