"""The transform capability: data in, code by a model, run and checked until it is done, a table or a plot out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl
from pydantic import JsonValue

from services.execution.sandbox.run import Sandbox
from services.execution.transform.attempts import Progress
from services.execution.transform.dataset import DataRead
from services.execution.transform.deterministic import Deterministic
from services.execution.transform.feedback import Telling
from services.execution.transform.followup import Start, drift_of, expected_schema, start_of
from services.execution.transform.limits import TransformLimits
from services.execution.transform.loading import Loader
from services.execution.transform.masking import masked_columns, stand_in, veil_of
from services.execution.transform.runner import Attempt, Bench
from services.execution.transform.skills import SHIPPED, Skill, load_skills, matching
from services.execution.transform.strategy import Strategy
from services.execution.transform.tools import ToolCalling
from shared.contracts.transform import Drift, Iteration, TransformInput, TransformResult
from shared.errors import (
    BudgetSpentError,
    InternalError,
    InvalidData,
    InvalidRequest,
    LanguageUnavailable,
    ProvidersFailed,
    UserCodeFailed,
)
from shared.jobs.job import Context
from shared.llm.chat import ChatMessage
from shared.loop import BudgetSpent

_PARQUET = "application/vnd.apache.parquet"
_NOTHING_GOOD = "no result was good when the budget of {what} was spent: read the iterations, then say more in the task"


@dataclass(frozen=True)
class Transform:
    """``Capability`` of the kind ``transform``."""

    sandbox: Sandbox
    limits: TransformLimits = field(default_factory=TransformLimits)
    skills: Sequence[Skill] = field(default_factory=lambda: load_skills([SHIPPED]))

    def __call__(self, context: Context, wanted: TransformInput) -> TransformResult:
        """Raises: InvalidData, LanguageUnavailable, UserCodeFailed, BudgetSpentError, ProvidersFailed."""
        if self.sandbox.languages().get(wanted.language) is None:
            raise LanguageUnavailable(f"{wanted.language} is not installed on this server: choose another language")
        with self.sandbox.scratch() as folder, ExitStack() as held:
            try:
                return _Job(self, context, wanted, folder, held).run()
            except pl.exceptions.PanicException as panic:  # no Exception: it would take the whole worker with it
                raise InternalError(f"The table library broke: {panic}") from panic


@dataclass
class _Job:
    """One job: its folder, its data, its progress."""

    transform: Transform
    context: Context
    wanted: TransformInput
    scratch: Path
    held: ExitStack
    progress: Progress = field(default_factory=Progress)
    drift: list[Drift] = field(default_factory=list)
    start: Start = field(default_factory=Start)
    skills: list[Skill] = field(default_factory=list)

    def run(self) -> TransformResult:
        self.context.report.thinking("reading the data")
        self.start = start_of(self.context.results, self.wanted)
        bench = self._bench(self._read())
        expected = expected_schema(self.context.results, self.wanted)
        self.drift = drift_of(expected, {data.name: data.columns() for data in bench.data})
        bench = self._veiled(bench)
        if self.wanted.code is not None:
            return self._rerun(bench, self.wanted.code)
        status, question = self._ask(bench)
        return self._result(bench, status, question)

    def _read(self) -> list[DataRead]:
        loader = Loader(
            self.transform.sandbox,
            self.context.files,
            self.scratch,
            self.held.enter_context(ThreadPoolExecutor(2, "reading")),
            self.transform.limits,
            _reader(self.wanted),
            self.wanted.preview.rows,
            self.context.cancelled,
        )
        first, *others = self.wanted.data
        data = [
            loader.load(0, first)
            if self.start.file_id is None
            else loader.load_result(first.name, self.start.file_id, self.start.masked)
        ]
        data += [loader.load(index, one) for index, one in enumerate(others, 1)]
        return data if self.start.code is None else [self._branched(loader, data, self.start.code), *data[1:]]

    def _branched(self, loader: Loader, data: list[DataRead], code: str) -> DataRead:
        """The first data set after the code of the iteration that is continued from."""
        before = self.wanted.model_copy(
            update={"language": self.start.language, "dataframe": self.start.dataframe, "output": "table"}
        )
        bench = self._bench(data, before.model_copy(update={"assertions": []}))
        attempt = bench.attempt(code)
        if attempt.table is None:
            why = f"the code of that iteration gives no table: {attempt.message}"
            raise InvalidRequest(f"cannot branch: {why}", [(["input", "branch", "iteration"], why)])
        if self.start.masked:  # any of its columns may hold what was masked
            self.start = replace(self.start, masked=tuple(attempt.table.frame.columns))
        target = self.scratch / "branch.parquet"
        attempt.table.write_parquet(target)
        file_id = self.context.files.save("branch.parquet", target, _PARQUET).id
        return loader.load_result(data[0].name, file_id, self.start.masked)

    def _bench(self, data: Sequence[DataRead], wanted: TransformInput | None = None) -> Bench:
        return Bench(
            self.transform.sandbox,
            wanted or self.wanted,
            data,
            self.transform.limits,
            self.context.budget,
            self.context.cancelled,
        )

    def _veiled(self, bench: Bench) -> Bench:
        """With stand-ins beside the data when columns are masked. Raises: InvalidData for a column that nobody has."""
        preview = self.wanted.preview
        mask = [*preview.mask, *self.start.masked]
        known = {name for data in bench.data for name in data.types}
        unknown = [name for name in preview.mask if name not in known]
        if unknown and self.start.job_id is None:
            detail = f"no data set has a column {unknown[0]!r} to mask"
            raise InvalidData(detail, errors=[{"loc": ["input", "preview", "mask"], "msg": detail}])
        masked = masked_columns(bench.data, mask, schema_only=preview.rows == 0)
        if not any(masked.values()):
            return bench
        stand_ins = [
            stand_in(one, masked[one.name], self.scratch, self.wanted.seed, preview.rows) for one in bench.data
        ]
        return replace(bench, stand_ins=self._bench(stand_ins))

    def _rerun(self, bench: Bench, code: str) -> TransformResult:
        """The caller's own code: no model is asked."""
        self.context.report.thinking("running the given code")
        began = time.monotonic()
        try:
            attempt = bench.attempt(code)
        except BudgetSpent as spent:
            raise BudgetSpentError(f"the budget of {spent.what} was spent before the code ran") from None
        self.progress.tried(attempt, "")
        seconds = round(time.monotonic() - began, 4)
        self.progress.iterations.append(
            Iteration(number=1, code=code, outcome=attempt.outcome, message=attempt.message, seconds=seconds)
        )
        if not attempt.good:
            drift: JsonValue = [one.model_dump(mode="json") for one in self.drift]
            raise UserCodeFailed(attempt.message, iterations=_as_json(self.progress.iterations), drift=drift)
        return self._result(bench, "done", None)

    def _ask(self, bench: Bench) -> tuple[str, str | None]:
        """Status and question; a spent budget or a failed provider leaves the best so far."""
        context, wanted, budget = self.context, self.wanted, self.context.budget
        budget.turns = min(budget.turns or wanted.max_iterations, wanted.max_iterations)
        visible = bench if bench.stand_ins is None else bench.stand_ins
        masked = {one.name: one.masked for one in visible.data}
        veil = veil_of(bench.data, masked)
        telling = Telling(context.prompts, wanted, self.transform.limits, self.progress, visible.data, veil)
        self.skills = matching(self.transform.skills, wanted.task, wanted.language, wanted.dataframe, wanted.output)
        strategy = self._strategy(bench, telling)
        context.report.thinking("asking for code")
        try:
            ending = strategy.run()
        except BudgetSpent as spent:
            if self.progress.best is None:
                detail = _NOTHING_GOOD.format(what=spent.what)
                raise BudgetSpentError(detail, iterations=_as_json(self.progress.iterations)) from None
        except ProvidersFailed:
            if self.progress.best is None:
                raise
            context.report.warn("the model could not be asked again: the best result so far is given")
        else:
            return ending.status, ending.question
        return "best_so_far", None

    def _strategy(self, bench: Bench, telling: Telling) -> Strategy:
        tools = self.wanted.strategy == "tools"
        system = telling.system(self.skills, "execution.transform_tools" if tools else "execution.transform")
        remarks = [self.start.remark] if self.start.remark else []
        first = ChatMessage("user", telling.first(remarks, "tools_first" if tools else "first"))
        kind = ToolCalling if tools else Deterministic
        messages = [*self.context.history, first]
        return kind(self.context, bench, telling, self.progress, system.text, system.version, messages)

    def _result(self, bench: Bench, status: str, question: str | None) -> TransformResult:
        best = self.progress.best
        result = TransformResult.model_validate(
            {
                "status": status,
                "code": best.code if best is not None else "",
                "table": self._table(best),
                "plot_file_id": self._plot(best),
                "effect": best.effect if best is not None else None,
                "explanation": self.progress.explanation,
                "iterations": self.progress.iterations,
                "question": question,
                "probes": self.progress.probes,
                "assertions": best.checks if best is not None else [],
                "inputs": [data.seen() for data in bench.data],
                "drift": self.drift,
                "audit": self.progress.audit,
                "masked_columns": list(best.masked) if best is not None else [],
                "continues": self.start.job_id,
                "skills": [skill.name for skill in self.skills],
            }
        )
        self._remember(best, question)
        return result

    def _table(self, best: Attempt | None) -> object:
        if best is None or best.table is None:
            return None
        target = self.scratch / "result.parquet"
        best.table.write_parquet(target)
        saved = self.context.files.save("result.parquet", target, _PARQUET)
        return best.table.table(self.transform.limits.table_rows, saved.id)

    def _plot(self, best: Attempt | None) -> str | None:
        if best is None or best.plot is None:
            return None
        name = "plot.svg" if "svg" in best.plot.media_type else "plot.png"
        return self.context.files.save(name, best.plot.content, best.plot.media_type).id

    def _remember(self, best: Attempt | None, question: str | None) -> None:
        """The pair that a follow-up's model reads: what a model may see, nothing else."""
        answer = question or ""
        if not answer and best is not None:
            visible = best.visible
            effect = visible.effect.summary if visible.effect is not None else visible.message
            answer = f"```{self.wanted.language}\n{best.code}\n```\n{effect}"
        self.context.report.remember(self.wanted.task, answer)


def _reader(wanted: TransformInput) -> str:
    return wanted.dataframe if wanted.language == "python" else wanted.language


def _as_json(iterations: Sequence[Iteration]) -> JsonValue:
    return [one.model_dump(mode="json") for one in iterations]
