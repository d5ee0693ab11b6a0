"""The transform capability: data in, code by a model, run and checked until it is done, a table or a plot out."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from services.execution.sandbox.run import Sandbox
from services.execution.transform.bench import Attempt, Bench
from services.execution.transform.dataset import DataRead
from services.execution.transform.deterministic import Deterministic, Ending
from services.execution.transform.limits import TransformLimits
from services.execution.transform.loading import Loader
from services.execution.transform.progress import Progress
from services.execution.transform.telling import Telling
from shared.contracts.transform import Iteration, TransformInput, TransformResult
from shared.errors import BudgetSpentError, LanguageUnavailable, ProvidersFailed, UserCodeFailed
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

    def __call__(self, context: Context, wanted: TransformInput) -> TransformResult:
        """Raises: InvalidData, LanguageUnavailable, UserCodeFailed, BudgetSpentError, ProvidersFailed."""
        if self.sandbox.languages().get(wanted.language) is None:
            raise LanguageUnavailable(f"{wanted.language} is not installed on this server: choose another language")
        with tempfile.TemporaryDirectory(prefix="transform-") as folder, ExitStack() as held:
            return _Job(self, context, wanted, Path(folder), held).run()


@dataclass
class _Job:
    """One job: its folder, its data, its progress."""

    transform: Transform
    context: Context
    wanted: TransformInput
    scratch: Path
    held: ExitStack
    progress: Progress = field(default_factory=Progress)

    def run(self) -> TransformResult:
        self.context.report.thinking("reading the data")
        data = self._read()
        bench = Bench(
            self.transform.sandbox,
            self.wanted,
            data,
            self.transform.limits,
            self.context.budget,
            self.held,
            self.context.cancelled,
        )
        if self.wanted.code is not None:
            return self._rerun(bench, self.wanted.code)
        status, ending = self._ask(bench)
        result = self._result(bench, status, ending.question)
        self._remember(result)
        return result

    def _read(self) -> list[DataRead]:
        wanted = self.wanted
        loader = Loader(
            self.transform.sandbox,
            self.context.files,
            self.scratch,
            self.held,
            self.transform.limits,
            wanted.dataframe if wanted.language == "python" else wanted.language,
            self.context.cancelled,
        )
        return [loader.load(index, data) for index, data in enumerate(wanted.data)]

    def _rerun(self, bench: Bench, code: str) -> TransformResult:
        """The caller's own code: no model is asked."""
        self.context.report.thinking("running the given code")
        attempt = bench.attempt(code)
        self.progress.tried(attempt, "")
        self.progress.iterations.append(
            Iteration(number=1, code=code, outcome=attempt.outcome, message=attempt.message, seconds=0)
        )
        if not attempt.good:
            raise UserCodeFailed(attempt.message, iterations=_as_json(self.progress.iterations))
        result = self._result(bench, "done", None)
        self._remember(result)
        return result

    def _ask(self, bench: Bench) -> tuple[str, Ending]:
        """The loop's ending; a spent budget or a failed provider leaves the best so far."""
        context, wanted = self.context, self.wanted
        budget = context.budget
        budget.turns = min(budget.turns or wanted.max_iterations, wanted.max_iterations)
        telling = Telling(context.prompts, wanted, self.transform.limits, self.progress)
        system = telling.system([])
        first = ChatMessage("user", telling.first(bench.data))
        strategy = Deterministic(
            context, bench, telling, self.progress, system.text, system.version, [*context.history, first]
        )
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
            context.report.warn("the model could not be asked to confirm the result: the best so far is given")
        else:
            return ending.status, ending
        return "best_so_far", Ending("done")

    def _result(self, bench: Bench, status: str, question: str | None) -> TransformResult:
        best = self.progress.best
        return TransformResult.model_validate(
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
                "audit": self.progress.audit,
            }
        )

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

    def _remember(self, result: TransformResult) -> None:
        if result.question is not None:
            answer = result.question
        else:
            effect = result.effect.summary if result.effect is not None else "a plot"
            answer = f"```{self.wanted.language}\n{result.code}\n```\n{effect}"
        self.context.report.remember(self.wanted.task, answer)


def _as_json(iterations: Sequence[Iteration]) -> JsonValue:
    return [one.model_dump(mode="json") for one in iterations]
