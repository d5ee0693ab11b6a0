"""The workbench: runs a piece of code on the data and judges what came out of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event as Flag
from typing import Literal

from services.execution.sandbox.run import Frame, Outcome, Run, Sandbox
from services.execution.transform.checks import check
from services.execution.transform.dataset import DataRead
from services.execution.transform.effect import equal, measure, summarise
from services.execution.transform.limits import TransformLimits
from services.execution.transform.masking import error_name
from services.execution.transform.results import ResultTable, read_result
from services.execution.transform.verdicts import explain
from shared.contracts.execute import Limits, Verdict
from shared.contracts.transform import AssertionCheck, Effect, TransformInput
from shared.loop import Budget, BudgetSpent

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
    shown: Attempt | None = None  #: as the model may see it, when columns are masked
    masked: tuple[str, ...] = ()  #: columns of the result that depend on masked values

    @property
    def visible(self) -> Attempt:
        """What may be shown to the model."""
        return self.shown or self

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
    cancelled: Flag
    stand_ins: Bench | None = None  #: the same with other values in masked columns: all that a model may see

    def attempt(self, code: str) -> Attempt:
        """Run the code and judge the result. Raises: SandboxUnavailable, JobCancelled, BudgetSpent."""
        attempt = self._attempt(code)
        return attempt if self.stand_ins is None else veiled(attempt, self.stand_ins._attempt(code))

    def _attempt(self, code: str) -> Attempt:
        take: Literal["table", "plot"] = self.wanted.output
        limits = self.within_budget(self.limits.code)
        with self.run(code, take, limits) as outcome:
            if outcome.verdict is not Verdict.OK:
                return Attempt(code, "error", explain(outcome, limits), outcome.stdout)
            return self._judged(code, take, outcome)

    def _judged(self, code: str, take: Literal["table", "plot"], outcome: Outcome) -> Attempt:
        stdout = outcome.stdout
        if take == "plot":
            return self._plot(code, outcome)
        if outcome.table is None:
            return Attempt(code, "not_a_table", _not_a("table", outcome, self.wanted.language), stdout)
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
        if self.stand_ins is not None:
            return self.stand_ins.look(code)
        limits = self.within_budget(self.limits.look)
        with self.run(code, "view", limits) as outcome:
            if outcome.verdict is not Verdict.OK:
                return False, explain(outcome, limits)
            value = outcome.value.text if outcome.value is not None else ""
            return True, "\n".join(part for part in (outcome.stdout.strip(), value) if part)

    def within_budget(self, limits: Limits) -> Limits:
        """No longer than the job may still take. Raises: BudgetSpent when there is nothing left."""
        if self.budget.seconds_left <= 0:  # tokens that are spent have bought this code: it is run
            raise BudgetSpent("seconds")
        seconds = min(limits.wall_seconds, max(self.budget.seconds_left, 0.1))
        return limits.model_copy(update={"wall_seconds": seconds})

    def run(self, code: str, take: Literal["view", "table", "plot"], limits: Limits) -> AbstractContextManager[Outcome]:
        frames = {data.name: Frame(data.arrow, self.wanted.dataframe) for data in self.data}
        run = Run(
            self.wanted.language,
            code,
            frames=frames,
            limits=limits,
            seed=self.wanted.seed,
            take=take,
            collect=take == "plot",
            until="table" if take == "table" else "end",
        )
        return self.sandbox.run(run, self.cancelled)

    def _plot(self, code: str, outcome: Outcome) -> Attempt:
        plot = _content(outcome)
        if plot is None:
            return Attempt(code, "not_a_table", _not_a("plot", outcome, self.wanted.language), outcome.stdout)
        return Attempt(
            code, "result", f"a plot ({plot.media_type}, {len(plot.content):,} bytes)", outcome.stdout, plot=plot
        )


def veiled(real: Attempt, stand_in: Attempt) -> Attempt:
    """The real attempt, with the one over stand-ins in its place wherever the model looks."""
    return replace(real, shown=_shown(real, stand_in), masked=_depending(real.table, stand_in.table))


def _shown(real: Attempt, stand_in: Attempt) -> Attempt:
    if not real.good and real.outcome != "assertion_failed":
        if stand_in.outcome == real.outcome:
            return replace(real, message=stand_in.message, stdout=stand_in.stdout)
        told = error_name(real.message) if real.outcome == "error" else "the result is of another kind"
        return replace(real, message=f"{told}; the message is hidden because it arose on hidden values", stdout="")
    checks = [
        one.model_copy(update={"detail": "" if one.text.startswith("sum") else one.detail}) for one in real.checks
    ]
    message = real.message if real.plot is not None else ""
    if stand_in.table is None or stand_in.effect is None or real.effect is None:
        return replace(real, message=message, stdout=stand_in.stdout, table=None, effect=None, checks=checks)
    # How many rows there are is real; which columns and cells is not.
    effect = stand_in.effect.model_copy(update={"rows": real.effect.rows, "sums": {}, "nulls": {}})
    effect = effect.model_copy(update={"summary": summarise(effect)})
    return replace(
        real, message=effect.summary, stdout=stand_in.stdout, table=stand_in.table, effect=effect, checks=checks
    )


def _depending(real: ResultTable | None, stand_in: ResultTable | None) -> tuple[str, ...]:
    """The columns that came out differently over stand-ins; all of them when the rows cannot be compared."""
    if real is None:
        return ()
    frame = real.frame
    if stand_in is None or stand_in.frame.height != frame.height:
        return tuple(frame.columns)
    others = {column.name: column for column in stand_in.frame.iter_columns()}
    return tuple(
        column.name
        for column in frame.iter_columns()
        if column.name not in others or not equal(column, others[column.name])
    )


def _content(outcome: Outcome) -> Plot | None:
    shown = outcome.plot
    if shown is None:
        return None
    content = shown.content.read_bytes() if isinstance(shown.content, Path) else (shown.text or "").encode()
    return Plot(shown.media_type, content)


def _not_a(what: str, outcome: Outcome, language: str) -> str:
    why = f" ({'; '.join(outcome.refused)})" if outcome.refused else ""
    if outcome.result_class in (None, "NoneType", "NULL"):
        how = "end with a query" if language == "sql" else "assign it to the variable result, or end with it"
        return f"the code ran but gave no {what}{why}: {how}"
    if why and what == "table":
        return f"the code ran but its result cannot be taken out{why}"
    return f"the code ran but its result is of class {outcome.result_class}, not a {what}{why}"
