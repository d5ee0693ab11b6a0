"""What speaks against a result: checks of the model that do not hold, and values that do not come from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from services.execution.transform.cross_check import Computation, computation_in, difference
from services.execution.transform.dataset import DataRead
from services.execution.transform.normal_form import normalised
from services.execution.transform.origin.trace import Trace
from services.execution.transform.results import CodeRun, RunHistory
from services.execution.transform.runner import CodeRunner
from services.execution.transform.self_checks import Judgement, judge, stated_in
from shared.contracts.transform import Check, UnverifiedReason
from shared.languages import LANGUAGES

_DIFFERS = "The second computation of the model, {text}, gives another result: {difference}."


@dataclass
class Verification:
    """The traces and judgements of a job's good results."""

    runner: CodeRunner
    progress: RunHistory
    scratch: Path
    optional: frozenset[str] = frozenset()  #: data sets that the code may leave alone
    reads_checks: bool = False  #: whether checks that the model states are verified
    stated: list[str] = field(default_factory=list, init=False)  #: the checks that the model stated last
    second: Computation | None = field(default=None, init=False)  #: of the result, as the model wrote it last
    _judged: tuple[CodeRun, list[str], Computation | None, Judgement] | None = field(default=None, init=False)
    _traces: dict[int, Trace] = field(default_factory=dict, init=False)
    _reported: set[str] = field(default_factory=set, init=False)

    def read(self, reply: str, *, same_code: bool, in_code: Sequence[str] = ()) -> None:
        """Take the checks of a reply and of its code; those stated before with the same code still count."""
        if not self.reads_checks:
            return
        stated = [*stated_in(reply), *in_code]
        second = computation_in(reply, self.runner.request.language)
        if stated:
            self.stated = list(dict.fromkeys([*(self.stated if same_code else ()), *stated]))
        if second is not None and not (same_code and self.second is not None):
            self.second = second

    def trace(self, run: CodeRun) -> Trace:
        """Return where the result came from."""
        if id(run) not in self._traces:  # the history keeps the best run, and with it its id
            self._traces = {id(run): Trace(self.runner, run, self.scratch, self.optional)}
        return self._traces[id(run)]

    def judge(self, run: CodeRun) -> Judgement:
        """Verify what the model stated last of the right result."""
        if self._judged is not None and self._judged[0] is run and self._judged[1:3] == (self.stated, self.second):
            return self._judged[3]
        judgement = Judgement([], False)
        if self.stated or self.second is not None:
            named = {data.name: data.frame for data in self.runner.data}
            judgement = self._compared(run, judge(self.stated, run, list(named.values()), named))
            self.progress.judged = (run, judgement.checks)
        self._judged = (run, self.stated, self.second, judgement)
        return judgement

    def _compared(self, run: CodeRun, judgement: Judgement) -> Judgement:
        """Include the second computation, which is sufficient when it gives the same rows."""
        if self.second is None or run.table is None:
            return judgement
        language = self.second.language
        tables = {data.name: self._table_for(language, data) for data in self.runner.data}
        table = self.runner.compute(language, self.second.code, tables)
        if table is None:
            return judgement
        differs = difference(run.table.frame, table, self.second.code)
        checks = [Check(text=self.second.text, held=differs is None, from_="model"), *judgement.checks]
        if differs is not None:
            message = _DIFFERS.format(text=self.second.text, difference=differs)
            return replace(judgement, checks=checks, sufficient=False, different=message)
        sufficient = not judgement.failing and all(each.held for each in checks if each.from_ == "assay")
        return replace(judgement, checks=checks, sufficient=sufficient, empty=False)

    def _table_for(self, language: str, data: DataRead) -> Path:
        """Return the table's file as the language gets it: pandas has timestamps where the others have dates."""
        has_dates, wants_dates = self.runner.request.reader.dates, LANGUAGES[language].readers[0].dates
        days = [name for name, kind in data.types.items() if kind == "date"]
        if has_dates == wants_dates or not days:
            return data.arrow
        path = self.scratch / f"second-{data.name}.arrow"
        if not path.exists():
            frame = data.frame if wants_dates else data.frame.with_columns(pl.col(days).cast(pl.Datetime("us")))
            frame.write_ipc(path, compression="uncompressed")
        return path

    def reasons(self, run: CodeRun) -> list[UnverifiedReason]:
        """Return all that speaks against the result."""
        return [*self.judge(run).reasons, *self.trace(run).origin.reasons]

    def unreported(self, run: CodeRun) -> list[UnverifiedReason]:
        """Return what contradicts the result, once per code: a model that insists is not called again."""
        reasons, code = self.reasons(run), normalised(run.code, self.runner.request.language)
        self.progress.doubted = bool(reasons)
        if code in self._reported:
            return []
        if reasons:
            self._reported.add(code)
        return reasons
