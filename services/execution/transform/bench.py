"""The workbench: runs a piece of code on the data and judges what came out of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag
from typing import Literal

from services.execution.sandbox.run import Frame, Outcome, Run, Sandbox
from services.execution.transform.checks import check
from services.execution.transform.dataset import DataRead
from services.execution.transform.effect import measure
from services.execution.transform.limits import TransformLimits
from services.execution.transform.results import ResultTable, read_result
from services.execution.transform.verdicts import explain
from shared.contracts.execute import Limits, Verdict
from shared.contracts.transform import AssertionCheck, Effect, TransformInput
from shared.loop import Budget

OutcomeName = Literal["result", "error", "not_a_table", "assertion_failed", "no_op"]


@dataclass(frozen=True)
class Plot:
    media_type: str
    content: bytes


@dataclass(frozen=True)
class Attempt:
    """What one run of the code came to."""

    code: str
    outcome: OutcomeName
    message: str  #: for the caller, who may see every value
    stdout: str = ""
    table: ResultTable | None = None
    plot: Plot | None = None
    effect: Effect | None = None
    checks: list[AssertionCheck] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """A result whose assertions hold; it may still change nothing."""
        return self.outcome in ("result", "no_op")


@dataclass(frozen=True)
class Bench:
    """The data sets on the table, and the machine that code runs on."""

    sandbox: Sandbox
    wanted: TransformInput
    data: Sequence[DataRead]  #: the first one is what effects are measured against
    limits: TransformLimits
    budget: Budget
    held: ExitStack  #: keeps results until the job ends
    cancelled: Flag

    def attempt(self, code: str) -> Attempt:
        """Run the code and judge the result. Raises: SandboxUnavailable, JobCancelled, BudgetSpent."""
        take: Literal["table", "plot"] = self.wanted.output
        outcome = self.held.enter_context(self.run(code, take, self.limits.code))
        stdout = outcome.stdout
        if outcome.verdict is not Verdict.OK:
            return Attempt(code, "error", explain(outcome, self.limits.code), stdout)
        if take == "plot":
            return self._plot(code, outcome)
        if outcome.table is None:
            return Attempt(code, "not_a_table", _not_a("table", outcome), stdout)
        table = read_result(outcome.table, self.data, self.wanted.language, self.wanted.dataframe)
        return self.judge(code, table, stdout)

    def judge(self, code: str, table: ResultTable, stdout: str) -> Attempt:
        first, *others = [data.frame for data in self.data]
        effect = measure(first, table.frame, others)
        checks = check(self.wanted.assertions, first, table.frame)
        failing = [one for one in checks if not one.holds]
        name: OutcomeName = "assertion_failed" if failing else "no_op" if effect.no_op else "result"
        message = effect.summary
        if failing:
            message = "; ".join(f"assertion {one.text!r} does not hold: {one.detail}" for one in failing)
        return Attempt(code, name, message, stdout, table, effect=effect, checks=checks)

    def look(self, code: str) -> tuple[bool, str]:
        """Run code for what it prints and its last value; nothing of it is kept."""
        with self.run(code, "view", self.limits.look) as outcome:
            if outcome.verdict is not Verdict.OK:
                return False, explain(outcome, self.limits.look)
            value = outcome.value.text if outcome.value is not None else ""
            return True, "\n".join(part for part in (outcome.stdout.strip(), value) if part)

    def run(self, code: str, take: Literal["view", "table", "plot"], limits: Limits) -> AbstractContextManager[Outcome]:
        self.budget.check()
        seconds = min(limits.wall_seconds, max(self.budget.seconds_left, 0.1))
        frames = {data.name: Frame(data.arrow, self.wanted.dataframe) for data in self.data}
        run = Run(
            self.wanted.language,
            code,
            frames=frames,
            limits=limits.model_copy(update={"wall_seconds": seconds}),
            seed=self.wanted.seed,
            take=take,
            collect=take == "plot",
        )
        return self.sandbox.run(run, self.cancelled)

    def _plot(self, code: str, outcome: Outcome) -> Attempt:
        plot = _content(outcome)
        if plot is None:
            return Attempt(code, "not_a_table", _not_a("plot", outcome), outcome.stdout)
        return Attempt(
            code, "result", f"a plot ({plot.media_type}, {len(plot.content):,} bytes)", outcome.stdout, plot=plot
        )


def _content(outcome: Outcome) -> Plot | None:
    shown = outcome.plot
    if shown is None:
        return None
    content = shown.content.read_bytes() if isinstance(shown.content, Path) else (shown.text or "").encode()
    return Plot(shown.media_type, content)


def _not_a(what: str, outcome: Outcome) -> str:
    why = f" ({'; '.join(outcome.refused)})" if outcome.refused else ""
    if outcome.result_class in (None, "NoneType", "NULL"):
        return f"the code ran but gave no {what}{why}: assign it to the variable result, or end with it"
    return f"the code ran but its result is of class {outcome.result_class}, not a {what}{why}"
