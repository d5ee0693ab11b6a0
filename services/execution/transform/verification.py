"""What speaks against a result: checks of the model that do not hold, and values that do not come from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from services.execution.transform.cross_check import (
    Computation,
    computation_in,
    difference,
    has_open_order,
    is_too_large,
)
from services.execution.transform.dataset import DataRead
from services.execution.transform.normal_form import normalised
from services.execution.transform.origin.alterations import equal_values, fewer_rows, other_values
from services.execution.transform.origin.compare import Literals
from services.execution.transform.origin.trace import Trace
from services.execution.transform.results import CodeRun, RunHistory
from services.execution.transform.runner import CodeRunner
from services.execution.transform.self_checks import Judgement, judge, stated_in
from shared.contracts.transform import Check, UnverifiedReason
from shared.languages import LANGUAGES, second_language
from shared.reading.portable import read_portable, write_portable

_DIFFERS = "The second computation of the model, {text}, gives another result: {difference}."
_NOTHING_STATED = "Nothing checks this result: no check was stated, and it was not computed a second time."
_NOT_PROVEN = "The stated checks do not show that this result is right{missed}."
_MISSED = ": they hold of wrong results as well ({})"
_FAILED = "Nothing checks this result: the second computation, {text}, gave no table: {error}"
_COPIED = "Nothing checks this result: its second computation gives the same rows whatever the data hold."
_TOO_LARGE = "Nothing checks this result: it is too large to compare with its second computation."
_UNORDERED = (
    "Nothing checks the order of the rows: the second computation, {text}, does not sort by columns of its result."
)
_MAX_ERROR = 500  #: characters
_MAX_ALTERED = 100_000  #: rows of a data set that a second computation is tried on


@dataclass
class Verification:
    """The traces and judgements of a job's good results."""

    runner: CodeRunner
    progress: RunHistory
    scratch: Path
    optional: frozenset[str] = frozenset()  #: data sets that the code may leave alone
    reads_checks: bool = False  #: whether checks that the model states are verified
    wants_proof: bool = False  #: whether a result without checks that say enough is unverified
    stated: list[str] = field(default_factory=list, init=False)  #: the checks that the model stated last
    second: Computation | None = field(default=None, init=False)  #: of the result, as the model wrote it last
    _has_run: bool = field(default=False, init=False)  #: whether it gave a table
    _judged: tuple[CodeRun, list[str], Computation | None, Judgement] | None = field(default=None, init=False)
    _traces: dict[int, Trace] = field(default_factory=dict, init=False)
    _reported: set[tuple[str, ...]] = field(default_factory=set, init=False)

    def read(self, reply: str, *, same_code: bool, in_code: Sequence[str] = ()) -> bool:
        """Take the checks of a reply and of its code; those stated before with the same code still count.

        Return whether there are any, taken or not.
        """
        stated = [*stated_in(reply), *in_code]
        second = computation_in(reply, self.runner.request.language)
        if self.reads_checks:
            if stated:
                self.stated = list(dict.fromkeys([*(self.stated if same_code else ()), *stated]))
            self._compute(second, same_code=same_code)
        return bool(stated) or second is not None

    def compute_again(self, code: str) -> None:
        """Take the second computation of the best result, without its language."""
        if self.reads_checks and code.strip():
            self._compute(Computation(second_language(self.runner.request.language), code), same_code=True)

    def _compute(self, second: Computation | None, *, same_code: bool) -> None:
        """Take a second computation, unless it would replace one of the same code that gave a result."""
        if second is not None and not (same_code and self.second is not None and self._has_run):
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
        judgement = Judgement([], proven=False, plain=False)
        if self.stated or self.second is not None:
            named = {data.name: data.frame for data in self.runner.data}
            judgement = self._compared(run, judge(self.stated, run, list(named.values()), named))
            self.progress.judged = (run, judgement.checks)
        self._judged = (run, self.stated, self.second, judgement)
        return judgement

    def _compared(self, run: CodeRun, judgement: Judgement) -> Judgement:
        """Include the second computation, which proves the result when it gives the same rows."""
        if self.second is None or run.table is None:
            return judgement
        language = self.second.language
        tables = {data.name: self._table_for(language, data) for data in self.runner.data}
        table = self.runner.compute(language, self.second.code, tables)
        self._has_run = isinstance(table, pl.DataFrame)
        if isinstance(table, str):
            error = " ".join(table.split())[:_MAX_ERROR]
            return replace(judgement, unproven=_FAILED.format(text=self.second.text, error=error))
        if is_too_large(run.table.frame, table):
            return replace(judgement, unproven=_TOO_LARGE)
        differs = difference(run.table.frame, table, self.second.code)
        checks = [Check(text=self.second.text, held=differs is None, from_="model"), *judgement.checks]
        if differs is not None:
            message = _DIFFERS.format(text=self.second.text, difference=differs)
            return replace(judgement, checks=checks, proven=False, different=message)
        if unproven := self._says_nothing(run.table.frame, run.code, table, self.second):
            self._has_run = False
            return replace(judgement, unproven=unproven)
        return replace(judgement, checks=checks, proven=not judgement.failing, empty=False)

    def _says_nothing(self, result: pl.DataFrame, code: str, table: pl.DataFrame, second: Computation) -> str:
        """Return why a second computation that gives the same rows says nothing of them, or of their order."""
        if self._is_stated(result, second):
            return _COPIED
        request = self.runner.request
        first = Computation(request.language, code)
        return _UNORDERED.format(text=second.text) if has_open_order(result, table, first, second, request.task) else ""

    def _is_stated(self, result: pl.DataFrame, second: Computation) -> bool:
        """Return whether a second computation states the rows instead of computing them from the data."""
        known = Literals(self.runner.request.task, ())
        if all(known.only_neutral(column) for column in result.iter_columns()):
            return False
        for kind, alter in (("values", other_values), ("rows", fewer_rows), ("equal", equal_values)):
            tables = {data.name: self.scratch / f"second-{kind}-{data.name}.arrow" for data in self.runner.data}
            try:
                for data in self.runner.data:
                    altered = alter(read_portable(self._table_for(second.language, data)).head(_MAX_ALTERED))
                    write_portable(altered, tables[data.name])
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OverflowError):
                return False
            table = self.runner.compute(second.language, second.code, tables)
            if isinstance(table, str) or difference(result, table, second.code) is not None:
                return False
        return True

    def _table_for(self, language: str, data: DataRead) -> Path:
        """Return the table's file as the language gets it: pandas has timestamps where the others have dates."""
        has_dates, wants_dates = self.runner.request.reader.dates, LANGUAGES[language].readers[0].dates
        days = [name for name, kind in data.types.items() if kind == "date"]
        if has_dates == wants_dates or not days:
            return data.arrow
        path = self.scratch / f"second-{data.name}.arrow"
        if not path.exists():
            frame = data.frame if wants_dates else data.frame.with_columns(pl.col(days).cast(pl.Datetime("us")))
            write_portable(frame, path)
        return path

    def reasons(self, run: CodeRun) -> list[UnverifiedReason]:
        """Return all that speaks against the result, and that nothing speaks for it."""
        judgement = self.judge(run)
        reasons = [*judgement.reasons, *self.trace(run).origin.reasons]
        if self.wants_proof and run.table is not None and not judgement.proven and not reasons:
            reasons.append(UnverifiedReason(code="not_checked", message=self._unproven(judgement)))
        return reasons

    def _unproven(self, judgement: Judgement) -> str:
        """Return why the checks do not prove the result."""
        if judgement.unproven or not self.stated:
            return judgement.unproven or _NOTHING_STATED
        missed = _MISSED.format(", ".join(judgement.missed)) if judgement.missed else ""
        return _NOT_PROVEN.format(missed=missed)

    def unreported(self, run: CodeRun) -> list[UnverifiedReason]:
        """Return what is wrong with the result, once for each code: a model that insists is not called again."""
        reasons = self.reasons(run)
        self.progress.doubted = any(each.code != "not_checked" for each in reasons)
        said = (normalised(run.code, self.runner.request.language), *(each.message for each in reasons))
        if said in self._reported:
            return []
        self._reported.add(said)
        return reasons
