"""Runs proposed code on the data in the sandbox, and judges what comes out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event as Flag
from typing import Literal

import polars as pl

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Frame, Outcome, Run
from services.execution.transform.checks import check
from services.execution.transform.dataset import DataRead
from services.execution.transform.effect import measure, measure_shape
from services.execution.transform.masking import masked_run
from services.execution.transform.results import CodeRun, Plot, ResultTable, RunOutcome, read_result
from shared.contracts.execute import Limits, Verdict
from shared.contracts.transform import AssertionCheck, Effect, TransformInput
from shared.languages import LANGUAGES
from shared.loop import Budget, BudgetSpent
from shared.reading.portable import read_portable

_MAX_LINES, _MAX_CALLS = 12, 4
#: Classes of plots in matplotlib, and in R.
_PLOTS = frozenset({"Figure", "Axes", "gg", "ggplot", "recordedplot", "trellis", "grob"})


def _reading() -> Limits:
    return Limits(wall_seconds=120, cpu_seconds=120, memory_mb=4096, disk_mb=2048, output_bytes=4_000_000)


def _code() -> Limits:
    return Limits(wall_seconds=60, cpu_seconds=60, memory_mb=2048, disk_mb=1024)


def _look() -> Limits:
    return Limits(wall_seconds=20, cpu_seconds=20, memory_mb=2048)


@dataclass(frozen=True)
class TransformLimits:
    """Bounds of the parts of a transform."""

    read: Limits = field(default_factory=_reading)
    code: Limits = field(default_factory=_code)
    look: Limits = field(default_factory=_look)
    input_bytes: int = 1_000_000_000  #: of one file
    streamed_bytes: int = 2 << 30  #: of one text table that SQL or polars reads
    probes: int = 8
    nudges: int = 3
    feedback_characters: int = 4000  #: of an error or of printed output in a message to the model
    table_rows: int = 50  #: of the result that the answer includes


@dataclass(frozen=True)
class CodeRunner:
    """The data sets, and the sandbox that code runs in."""

    sandbox: Sandbox
    request: TransformInput
    data: Sequence[DataRead]  #: the first one is what effects are measured against
    limits: TransformLimits
    budget: Budget
    cancelled: Flag
    pseudonymised: CodeRunner | None = None  #: the same with pseudonyms in masked columns: all that a model may see

    @property
    def visible(self) -> CodeRunner:
        """The runner whose values the model may see."""
        return self.pseudonymised or self

    def run(self, code: str) -> CodeRun:
        """Run the code and judge the result. Raises: SandboxUnavailable, JobCancelled, BudgetSpent."""
        run = self._run(code)
        return run if self.pseudonymised is None else masked_run(run, self.pseudonymised._run(code))

    def look(self, code: str) -> tuple[bool, str]:
        """Run code for what it prints and its last value; nothing of it is kept."""
        if self.pseudonymised is not None:
            return self.pseudonymised.look(code)
        limits = self._within_budget(self.limits.look)
        with self._execute(code, "view", limits) as outcome:
            if outcome.verdict is not Verdict.OK:
                return False, explain(outcome, limits)
            value = outcome.value.text if outcome.value is not None else ""
            return True, "\n".join(part for part in (outcome.stdout.strip(), value) if part)

    def _run(self, code: str) -> CodeRun:
        limits, began = self._within_budget(self.limits.code), time.monotonic()
        with self._execute(code, self.request.output, limits) as outcome:
            seconds = time.monotonic() - began
            if outcome.verdict is not Verdict.OK:
                return CodeRun(code, "error", explain(outcome, limits), outcome.stdout)
            if self.request.output == "plot":
                return replace(self._plot(code, outcome), seconds=seconds)
            if outcome.table is None:
                missing, given = self._missing("table", outcome), outcome.result_class or ""
                return CodeRun(code, "not_a_table", missing, outcome.stdout, result_class=given)
            table = read_result(outcome.table, self.data, self.request.reader)
            return replace(self._judged(code, table, outcome.stdout), seconds=seconds)

    def rerun(self, code: str, frames: Mapping[str, Frame], seconds: float) -> pl.DataFrame | None:
        """Return what the code gives on other data; ``None`` when it fails. Raises: BudgetSpent, JobCancelled."""
        limits = self._within_budget(self.limits.code)
        limits = limits.model_copy(update={"wall_seconds": min(limits.wall_seconds, seconds)})
        with self._execute(code, self.request.output, limits, frames) as outcome:
            if outcome.verdict is not Verdict.OK:
                return None
            if self.request.output == "plot":
                return self._plot(code, outcome).content()
            return None if outcome.table is None else read_result(outcome.table, self.data, self.request.reader).frame

    def compute(self, language: str, code: str, tables: Mapping[str, Path]) -> pl.DataFrame | str:
        """Return the table that code of another language gives on the tables, or why it gives none."""
        if self.sandbox.languages().get(language) is None or self.is_lazy:
            return f"{LANGUAGES[language].title} is not available for these data"
        limits = self._within_budget(self.limits.code)
        run = Run(
            language,
            code,
            frames={name: Frame(path) for name, path in tables.items()},
            limits=limits,
            seed=self.request.seed,
            take="table",
            collect=False,
            until="table",
        )
        with self.sandbox.run(run, self.cancelled) as outcome:
            if outcome.verdict is not Verdict.OK:
                return explain(outcome, limits)
            return self._missing("table", outcome) if outcome.table is None else read_portable(outcome.table)

    def frame_of(self, data: DataRead, path: Path | None = None) -> Frame:
        """Return the data set, or another table in its stead, as the code gets it."""
        return Frame(path or data.arrow, "parquet" if data.lazy else self.request.dataframe)

    def first_rows(self, data: DataRead, count: int) -> pl.DataFrame | None:
        """Return the first rows of a data set that only the sandbox reads."""
        run = Run(
            "sql",
            f'FROM "{data.name}" LIMIT {count}',
            frames={data.name: self.frame_of(data)},
            limits=self._within_budget(self.limits.look),
            take="table",
            collect=False,
            until="table",
        )
        with self.sandbox.run(run, self.cancelled) as outcome:
            return None if outcome.table is None else read_portable(outcome.table)

    def _judged(self, code: str, table: ResultTable, stdout: str) -> CodeRun:
        effect, checks = self._measured(table)
        failing = [each for each in checks if not each.holds]
        outcome: RunOutcome = "assertion_failed" if failing else "no_op" if effect.no_op else "result"
        message = effect.summary
        if failing:
            message = "; ".join(f"assertion {each.text!r} does not hold: {each.detail}" for each in failing)
        return CodeRun(code, outcome, message, stdout, table, effect=effect, checks=checks)

    def _measured(self, table: ResultTable) -> tuple[Effect, list[AssertionCheck]]:
        if self.is_lazy:  # assertions speak of the result alone: others were refused
            nothing = table.frame.clear()
            effect = measure_shape(self.data[0].summary.height, self.data[0].types, table.frame)
            return effect, check(self.request.assertions, nothing, table.frame)
        first, *others = [data.frame for data in self.data]
        named = {data.name: data.frame for data in self.data} if self.request.assertions else {}
        return measure(first, table.frame, others), check(self.request.assertions, first, table.frame, named)

    @property
    def is_lazy(self) -> bool:
        """Whether a data set is larger than memory."""
        return any(data.lazy for data in self.data)

    def _within_budget(self, limits: Limits) -> Limits:
        """Limit the run to the rest of the job's time. Raises: BudgetSpent when there is nothing left."""
        if self.budget.seconds_left <= 0:  # spent tokens do not count here: they have paid for this code
            raise BudgetSpent("seconds")
        seconds = min(limits.wall_seconds, max(self.budget.seconds_left, 0.1))
        return limits.model_copy(update={"wall_seconds": seconds})

    def _execute(
        self,
        code: str,
        take: Literal["view", "table", "plot"],
        limits: Limits,
        frames: Mapping[str, Frame] | None = None,
    ) -> AbstractContextManager[Outcome]:
        if frames is None:
            frames = {data.name: self.frame_of(data) for data in self.data}
        run = Run(
            self.request.language,
            code,
            frames=frames,
            limits=limits,
            seed=self.request.seed,
            take=take,
            collect=take == "plot",
            until="table" if take == "table" else "end",
        )
        return self.sandbox.run(run, self.cancelled)

    def _plot(self, code: str, outcome: Outcome) -> CodeRun:
        shown = outcome.plot
        if shown is None:
            return CodeRun(code, "not_a_table", self._missing("plot", outcome), outcome.stdout)
        content = shown.content.read_bytes() if isinstance(shown.content, Path) else (shown.text or "").encode()
        message = f"a plot ({shown.media_type}, {len(content):,} bytes)"
        return CodeRun(code, "result", message, outcome.stdout, plot=Plot(shown.media_type, content))

    def _missing(self, what: str, outcome: Outcome) -> str:
        """Return why there is no table or plot, and how to give one."""
        why = f" ({'; '.join(outcome.refused)})" if outcome.refused else ""
        if outcome.result_class in (None, "NoneType", "NULL"):
            is_query = LANGUAGES[self.request.language].result == "query"
            how = "end with a query" if is_query else "assign it to the variable result, or end with it"
            return f"the code ran but gave no {what}{why}: {how}"
        if why and what == "table":
            return f"the code ran but its result cannot be taken out{why}"
        drawn = what == "table" and outcome.result_class in _PLOTS
        how = ": for a plot set output to plot (--output plot), else assign a table to result" if drawn else ""
        return f"the code ran but its result is of class {outcome.result_class}, not a {what}{why}{how}"


def explain(outcome: Outcome, limits: Limits) -> str:
    """Return the error of the code, or the limit that it met."""
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
    """Return the code's own frames; those of libraries do not help its author."""
    lines = trace.splitlines()
    kept: list[str] = []
    for at, line in enumerate(lines):
        if line.lstrip().startswith('File "/code/'):
            kept.append(line)
            shown = (after for after in lines[at + 1 : at + 3] if after.startswith(" "))  # the message is above
            kept += [after for after in shown if not after.lstrip().startswith("File ")]
    return kept[:_MAX_LINES] or [line for line in lines if line.lstrip().startswith("at ")][:_MAX_CALLS]
