"""The transform capability: data in, code by a model, run and checked until it is done, a table or a plot out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl
from pydantic import JsonValue

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.transform.checks import check, speaks_of_input
from services.execution.transform.dataset import DataRead
from services.execution.transform.drift import breaks, drift_of, in_words, there_are
from services.execution.transform.examples import matching_examples
from services.execution.transform.feedback import Feedback
from services.execution.transform.followup import Start, expected_schema, start_of
from services.execution.transform.loading import Loader
from services.execution.transform.masking import masked_columns, pseudonymise, redactor_of
from services.execution.transform.origin.origin import Sources, lineage_text
from services.execution.transform.origin.trace import Trace
from services.execution.transform.results import CodeRun, Entry, RunHistory
from services.execution.transform.retries import Plan
from services.execution.transform.runner import CodeRunner, TransformLimits
from services.execution.transform.skills import SHIPPED, Skill, load_skills, matching
from services.execution.transform.strategy import ROLE, Deterministic, Strategy
from services.execution.transform.tools import ToolCalling
from services.execution.transform.verification import Verification
from shared.contracts.transform import (
    AssertionCheck,
    Drift,
    Effect,
    InputSeen,
    Iteration,
    TransformInput,
    TransformResult,
    UnverifiedReason,
)
from shared.declarations.assertions import parse_assertion
from shared.errors import (
    BudgetSpentError,
    InternalError,
    InvalidData,
    InvalidRequest,
    LanguageUnavailable,
    ProvidersFailed,
    SchemaDrift,
    UserCodeFailed,
)
from shared.jobs.job import Context
from shared.llm.chat import ChainLink, ChatMessage, ChatRequest, KnowsModels, RenderedPrompt
from shared.loop import BudgetSpent

_NOT_CHECKED = (
    "The model is small, so it did not confirm the result, and no check confirms it: read the result, "
    "or give assertions."
)
_PARQUET = "application/vnd.apache.parquet"
_NOTHING_ANSWERED = "no model had answered when the budget of {what} was spent."
_NOTHING_GOOD = "no result was good when the budget of {what} was spent: read the iterations, then say more in the task"


@dataclass(frozen=True)
class Transform:
    """``Capability`` of the kind ``transform``."""

    sandbox: Sandbox
    limits: TransformLimits = field(default_factory=TransformLimits)
    skills: Sequence[Skill] = field(default_factory=lambda: load_skills([SHIPPED]))

    def __call__(self, context: Context, request: TransformInput) -> TransformResult:
        """Run the job. Raises: InvalidData, LanguageUnavailable, UserCodeFailed, BudgetSpentError, ProvidersFailed."""
        if self.sandbox.languages().get(request.language) is None:
            raise LanguageUnavailable(f"{request.language} is not installed on this server: choose another language")
        with self.sandbox.scratch() as folder, ExitStack() as held:
            try:
                return _Job(self, context, request, folder, held).run()
            except pl.exceptions.PanicException as panic:  # not an Exception: it would end the whole worker
                raise InternalError(f"The table library broke: {panic}") from panic


@dataclass
class _Job:
    """One job: its folder, its data, its progress."""

    transform: Transform
    context: Context
    request: TransformInput
    scratch: Path
    held: ExitStack
    progress: RunHistory = field(default_factory=RunHistory)
    drift: list[Drift] = field(default_factory=list)
    short: bool = False  #: the model had a short prompt, and did not confirm the result
    start: Start = field(default_factory=Start)
    skills: list[Skill] = field(default_factory=list)
    verification: Verification = field(init=False)

    def run(self) -> TransformResult:
        self.context.report.thinking("reading the data")
        self.start = start_of(self.context.results, self.request)
        runner = self._runner(self._read())
        if runner.is_lazy:
            self._demand_little_of(runner)
        expected = expected_schema(self.context.results, self.request)
        columns = {data.name: data.columns() for data in runner.data}
        self.drift = drift_of(expected, columns)
        if self.request.on_drift == "fail" and breaks(self.drift):
            raise SchemaDrift(f"The code was not run: {in_words(self.drift, columns)}.", drift=_as_json(self.drift))
        runner = self._masked(runner)
        further = [data.name for data in runner.data[1:]] if self.start.job_id is not None else []
        self.verification = Verification(runner, self.progress, self.scratch, optional=frozenset(further))
        if self.request.code is not None:
            return self._rerun(runner, self.request.code)
        status, question = self._ask(runner)
        return self._result(runner, status, question)

    def _read(self) -> list[DataRead]:
        loader = Loader(
            self.transform.sandbox,
            self.context.files,
            self.scratch,
            self.held.enter_context(ThreadPoolExecutor(2, "reading")),
            self.transform.limits,
            self.request.reader,
            self.request.preview.rows,
            self.context.cancelled,
        )
        first, *others = self.request.data
        data = [
            loader.load(0, first)
            if self.start.file_id is None
            else loader.load_result(first.name, self.start.file_id, self.start.masked)
        ]
        data += [loader.load(index, other) for index, other in enumerate(others, 1)]
        for each in data:
            for warning in each.warnings:
                self.context.report.warn(f"{each.name}: {warning}")
        return data if self.start.code is None else [self._branched(loader, data, self.start.code), *data[1:]]

    def _branched(self, loader: Loader, data: list[DataRead], code: str) -> DataRead:
        """Return the first data set after the code of the iteration that is continued."""
        before = self.request.model_copy(
            update={"language": self.start.language, "dataframe": self.start.dataframe, "output": "table"}
        )
        run = self._runner(data, before.model_copy(update={"assertions": []})).run(code)
        if run.table is None:
            why = f"the code of that iteration gives no table: {run.message}"
            raise InvalidRequest(f"cannot branch: {why}", [(["input", "branch", "iteration"], why)])
        if self.start.masked:  # any of its columns may hold what was masked
            self.start = replace(self.start, masked=tuple(run.table.frame.columns))
        target = self.scratch / "branch.parquet"
        run.table.write_parquet(target)
        file_id = self.context.files.save("branch.parquet", target, _PARQUET).id
        return loader.load_result(data[0].name, file_id, self.start.masked)

    def _demand_little_of(self, runner: CodeRunner) -> None:
        """Raise InvalidRequest for what would need all values of a table that is larger than memory."""
        request, preview = self.request, self.request.preview
        if preview.mask or self.start.masked or preview.rows == 0:
            why = "columns of a data set that is larger than memory cannot be masked: leave them out of the file"
            raise InvalidRequest(why, [(["input", "preview"], why)])
        for place, texts in (("assertions", request.assertions), ("observe", request.observe)):
            for index, text in enumerate(texts):
                if speaks_of_input(parse_assertion(text)):
                    why = f"{text!r} speaks of a data set that is larger than memory: say it of the result alone"
                    raise InvalidRequest(why, [(["input", place, index], why)])

    def _runner(self, data: Sequence[DataRead], request: TransformInput | None = None) -> CodeRunner:
        return CodeRunner(
            self.transform.sandbox,
            request or self.request,
            data,
            self.transform.limits,
            self.context.budget,
            self.context.cancelled,
        )

    def _masked(self, runner: CodeRunner) -> CodeRunner:
        """Return a runner with pseudonymised data too, when columns are masked.

        Raises: InvalidData for a column that no data set has.
        """
        preview = self.request.preview
        mask = [*preview.mask, *self.start.masked]
        known = {name for data in runner.data for name in data.types}
        unknown = [name for name in preview.mask if name not in known]
        if unknown and self.start.job_id is None:
            detail = f"no data set has a column {unknown[0]!r} to mask"
            raise InvalidData(detail, errors=[{"loc": ["input", "preview", "mask"], "msg": detail}])
        masked = masked_columns(runner.data, mask, schema_only=preview.rows == 0)
        if not any(masked.values()):
            return runner
        pseudonymised = [
            pseudonymise(data, masked[data.name], self.scratch, self.request.seed, preview.rows) for data in runner.data
        ]
        return replace(runner, pseudonymised=self._runner(pseudonymised))

    def _rerun(self, runner: CodeRunner, code: str) -> TransformResult:
        """Run the caller's own code, without a model."""
        self.context.report.thinking("running the given code")
        began = time.monotonic()
        try:
            run = runner.run(code)
        except BudgetSpent as spent:
            raise BudgetSpentError(f"the budget of {spent.what} was spent before the code ran") from None
        seconds = round(time.monotonic() - began, 4)
        self.progress.add(run, "")
        self.progress.iterations += [Entry(code, run.outcome, run.message, run).iteration(1, seconds)]
        if not run.good:
            columns = {data.name: data.columns() for data in runner.data}
            there = in_words(self.drift, columns) if self.drift else there_are(columns)
            why = f"{run.message}\n{there}"
            raise UserCodeFailed(why, iterations=_as_json(self.progress.iterations), drift=_as_json(self.drift))
        return self._result(runner, "done", None)

    def _ask(self, runner: CodeRunner) -> tuple[str, str | None]:
        """Status and question; a spent budget or a failed provider leaves the best so far."""
        context, budget, most = self.context, self.context.budget, self.request.max_iterations
        budget.turns = min(budget.turns or most, most)
        strategy = self._strategy(runner)
        self.verification.reads_checks = strategy.feedback.reads_checks
        self.verification.wants_proof = strategy.feedback.asks_for_checks
        context.report.thinking("requesting code")
        try:
            ending = strategy.run()
        except BudgetSpent as spent:
            if self.progress.best is None:
                unanswered = spent.failed is not None and not self.progress.iterations
                detail = (_NOTHING_ANSWERED if unanswered else _NOTHING_GOOD).format(what=spent.what) + spent.why
                iterations = _as_json(self.progress.iterations)
                raise BudgetSpentError(detail, iterations=iterations, attempts=spent.attempts) from None
            context.report.warn(f"the best result so far is given: {spent}.{spent.why}")
        except ProvidersFailed as failed:
            if self.progress.best is None:
                raise
            context.report.warn(f"the model could not be called again: this is the best result so far. {failed.tried}")
        else:
            self.short = strategy.feedback.short and self.request.confirm == "auto"
            return ending.status, ending.question
        return "best_so_far", None

    def _strategy(self, runner: CodeRunner) -> Strategy:
        request, data = self.request, runner.visible.data
        redactor = redactor_of(runner.data, {each.name: each.masked for each in data})
        remarks = [self.start.remark] if self.start.remark else []
        feedback = Feedback(
            self.context.prompts, request, self.transform.limits, self.progress, data, redactor, remarks=remarks
        )
        self.skills = matching(
            self.transform.skills, request.task, request.language, request.reader.name, request.output
        )
        tools = request.strategy == "tools"
        name = "tools_first" if tools else "first"

        def brief() -> tuple[RenderedPrompt, list[ChatMessage]]:
            feedback.short = True
            examples = matching_examples(request.task, request.reader.name, len(data))
            first = ChatMessage("user", feedback.first(remarks))
            return feedback.system(()), [*feedback.examples(examples), *self.context.history, first]

        self.progress.language = request.language
        links = self._links()
        short = not tools and bool(links) and links[0].prompting == "examples"
        if short:
            system, messages = brief()
        else:
            system = feedback.system(self.skills, "execution.transform_tools" if tools else "execution.transform")
            messages = [*self.context.history, ChatMessage("user", feedback.first(remarks, name))]
        return (ToolCalling if tools else Deterministic)(
            self.context, runner, feedback, self.progress, self.verification, system, messages,
            lambda tokens: feedback.first(remarks, name, tokens), Plan(tools, short, links[1:]), brief,
        )  # fmt: skip

    def _links(self) -> Sequence[ChainLink]:
        """Return the models that will be called; none where that is not known."""
        llm = self.context.llm
        return llm.links_of(ChatRequest(ROLE, ())) if isinstance(llm, KnowsModels) else ()

    def _result(self, runner: CodeRunner, status: str, question: str | None) -> TransformResult:
        best = self.progress.best
        trace = self.verification.trace(best) if best is not None else None
        reasons = self.verification.reasons(best) if best is not None else []
        self._warn_of_checks(reasons)
        lineage = trace.lineage() if trace is not None and best is not None and best.table is not None else {}
        if self.request.code is not None:
            for reason in reasons:
                self.context.report.warn(reason.message)
            reasons = []
        elif status == "done" and best is not None and not reasons and self._is_unchecked(best):
            reasons = [UnverifiedReason(code="not_checked", message=_NOT_CHECKED)]
        elif status == "best_so_far" and all(each.code == "not_checked" for each in reasons):
            reasons = []  # the status says already that the model did not come to its end
        if reasons and self.request.code is None and status != "question":
            status = "unverified"
            self.context.report.warn(f"the result is unverified: {' '.join(each.message for each in reasons)}")
        result = TransformResult.model_validate(
            {
                "status": status,
                "code": best.code if best is not None else "",
                "table": self._table(best),
                "plot_file_id": self._plot(best),
                "effect": _effect(best, lineage),
                "explanation": self.progress.explanation,
                "iterations": self.progress.iterations,
                "question": question,
                "probes": self.progress.probes,
                "assertions": best.checks if best is not None else [],
                "observed": self._observed(runner, best),
                "checks": self.progress.checks,
                "inputs": [_seen(data, trace) for data in runner.data],
                "drift": self.drift,
                "audit": self.progress.audit,
                "masked_columns": list(best.masked) if best is not None else [],
                "continues": self.start.job_id,
                "skills": [skill.name for skill in self.skills],
                "unverified_because": reasons if status == "unverified" else [],
                "lineage": lineage,
                "explained": trace.origin.explained if trace is not None else None,
            }
        )
        self._remember(best, question)
        return result

    def _warn_of_checks(self, reasons: Sequence[UnverifiedReason]) -> None:
        """Name the checks that do not hold and that no reason names: signs, and what could not be read."""
        named = " ".join(reason.message for reason in reasons)
        for each in self.progress.checks:
            if not each.held and each.from_ != "caller" and each.text not in named:
                why = "could not be verified" if each.from_ == "model" else "does not hold"
                self.context.report.warn(f"a check {why}: {each.text}")

    def _is_unchecked(self, best: CodeRun) -> bool:
        """Return whether neither a check nor the model confirmed the result."""
        return self.short and not best.checks and not self.verification.judge(best).proven

    def _observed(self, runner: CodeRunner, best: CodeRun | None) -> list[AssertionCheck]:
        if best is None or best.table is None:
            return []
        if runner.is_lazy:
            return check(self.request.observe, best.table.frame.clear(), best.table.frame)
        named = {data.name: data.frame for data in runner.data}
        return check(self.request.observe, runner.data[0].frame, best.table.frame, named)

    def _table(self, best: CodeRun | None) -> object:
        if best is None or best.table is None:
            return None
        target = self.scratch / "result.parquet"
        best.table.write_parquet(target)
        saved = self.context.files.save("result.parquet", target, _PARQUET)
        return best.table.table(max(self.transform.limits.table_rows, self.request.result_rows), saved.id)

    def _plot(self, best: CodeRun | None) -> str | None:
        if best is None or best.plot is None:
            return None
        name = "plot.svg" if "svg" in best.plot.media_type else "plot.png"
        return self.context.files.save(name, best.plot.content, best.plot.media_type).id

    def _remember(self, best: CodeRun | None, question: str | None) -> None:
        """Store the pair that a follow-up's model reads: only what a model may see."""
        answer = question or ""
        if not answer and best is not None:
            visible = best.visible
            effect = visible.effect.summary if visible.effect is not None else visible.message
            answer = f"```{self.request.language}\n{best.code}\n```\n{effect}"
        self.context.report.remember(self.request.task, answer)


def _effect(best: CodeRun | None, lineage: Mapping[str, Sources]) -> Effect | None:
    """Return the effect with the lineage in it."""
    if best is None or best.effect is None:
        return None
    return best.effect.model_copy(update={"lineage": lineage_text(lineage)})


def _seen(data: DataRead, trace: Trace | None) -> InputSeen:
    """Return the data set with what the accepted code did with it."""
    seen = data.seen()
    if trace is None or trace.origin.read.get(data.name) is None:
        return seen
    read, overwritten = trace.origin.read[data.name], data.name in trace.origin.overwritten
    return seen.model_copy(update={"read": read, "overwritten": overwritten})


def _as_json(models: Sequence[Iteration] | Sequence[Drift]) -> JsonValue:
    return [each.model_dump(mode="json") for each in models]
