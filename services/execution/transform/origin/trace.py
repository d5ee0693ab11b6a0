"""Traces a result to its data: the code runs again without a data set, and on altered copies of all of them.

Only what the sandbox gives back counts, so the same holds for every language. The code's text decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from services.execution.languages.table import names_of
from services.execution.transform.origin.alterations import ALTERATIONS, OF_ROWS, OF_SCHEMA, other_values, shuffled
from services.execution.transform.origin.compare import Literals, changed, comparable, kept_rows
from services.execution.transform.origin.origin import Origin, Sources
from services.execution.transform.origin.reruns import Reruns, Tables, TimeIsUp, altered
from services.execution.transform.results import CodeRun
from services.execution.transform.runner import CodeRunner

_MAX_ALLOWED = 120.0
_ALLOWED, _TIMES_AS_LONG = 30.0, 6.0  #: seconds of all reruns of a code: a minimum, and a multiple of its run time
_MAX_SINGLE = 24  #: columns of the data that are altered one by one
_FAILS = (
    "The code fails when the values of the data are others, so nothing shows that its result comes from them: "
    "leave out conditions that only these values meet."
)
_TOO_LONG = "There was no time to run the code on altered data, so nothing shows that its result comes from the data."
_CANNOT_ALTER = "The data could not be altered, so nothing shows that the result comes from them."
#: What polars raises for values that it cannot compute with; a panic is not an ``Exception``.
_UNFIT = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OverflowError)


@dataclass
class _Evidence:
    """What the alterations did to the columns of the result."""

    by_values: set[str] = field(default_factory=set)
    by_rows: set[str] = field(default_factory=set)
    by_schema: set[str] = field(default_factory=set)
    kept: Counter[tuple[object, ...]] | None = None  #: rows that no alteration has changed
    varied: set[str] = field(default_factory=set)  #: columns that had more than one value in some result
    runs: int = 0
    tried_rows: bool = False  #: with another number of rows, on which a constant may depend

    @property
    def dependent(self) -> set[str]:
        return self.by_values | self.by_rows | self.by_schema


@dataclass
class Trace:
    """The origin of one run's result and, on request, the lineage of its columns."""

    runner: CodeRunner
    run: CodeRun
    scratch: Path
    optional: frozenset[str] = frozenset()
    origin: Origin = field(init=False, default_factory=Origin)
    _reruns: Reruns = field(init=False)
    _tables: Tables | None = field(init=False, default=None)
    _base: pl.DataFrame = field(init=False)
    _dependent: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        allowed = min(max(_ALLOWED, _TIMES_AS_LONG * self.run.seconds), _MAX_ALLOWED)
        self._reruns = Reruns(self.runner, self.run.code, self.run.seconds, self.scratch, allowed)
        self._base = comparable(self.run.content())
        read: dict[str, bool] = {}
        try:
            for data in self.runner.data:
                read[data.name] = self._needs(data.name)
            self.origin = self._traced(read)
        except (TimeIsUp, *_UNFIT) as fault:
            why = _TOO_LONG if isinstance(fault, TimeIsUp) else _CANNOT_ALTER
            self.origin = Origin(read, self._overwritten(read), unknown=why, optional=self.optional)

    def _needs(self, name: str) -> bool:
        """Return whether the code needs the data set. A result that varies from run to run does not show that it
        does.
        """
        without = self._reruns.without(name)
        return without is None or (not self._same(without) and self._is_steady())

    def _same(self, other: pl.DataFrame) -> bool:
        return (
            other.columns == self._base.columns and not changed(self._base, other) and other.height == self._base.height
        )

    def _is_steady(self) -> bool:
        again = self._reruns.without("")
        return again is not None and self._same(again)

    def _overwritten(self, read: Mapping[str, bool]) -> tuple[str, ...]:
        unread = [name for name, needed in read.items() if not needed]
        bound = names_of(self.runner.request.language, self.run.code).sets if unread else ()
        return tuple(name for name in unread if name in bound)

    def _traced(self, read: Mapping[str, bool]) -> Origin:
        overwritten = self._overwritten(read)
        if not any(read.values()):
            return Origin(read, overwritten, 0.0, tuple(self._base.columns), optional=self.optional)
        if not self._base.height or not self._base.width:
            return Origin(read, overwritten, optional=self.optional)
        evidence = self._evidence(read)
        if not evidence.runs:
            return Origin(read, overwritten, unknown=_FAILS, optional=self.optional)
        self._dependent = evidence.dependent & set(self._base.columns)
        literals = tuple(name for name in self._base.columns if name not in self._dependent)
        invented = self._is_invented(evidence, literals)
        return Origin(read, overwritten, self._explained(evidence), literals, invented, optional=self.optional)

    def _evidence(self, read: Mapping[str, bool]) -> _Evidence:
        """Gather evidence on a sample of large data, when the code gives rows on it; else on all of it."""
        sample = self._reruns.sampled()
        base = None if sample is None else self._reruns.on(sample)
        if sample is not None and base is not None and base.height and base.width:
            self._tables, self._base = sample, base
        else:
            self._tables = self._reruns.whole()
        return _Evidence() if self._tables is None else self._gathered(read, self._tables)

    def _gathered(self, read: Mapping[str, bool], tables: Tables) -> _Evidence:
        """Alter the data until every column that is not benign has changed, and most rows have."""
        evidence, literals = _Evidence(), self._known()
        for name, alter in ALTERATIONS.items():
            still = [column for column in self._base.iter_columns() if column.name not in evidence.dependent]
            counted = any(column.dtype.is_numeric() for column in still) and not evidence.tried_rows
            explained = evidence.by_values and not counted and all(literals.benign(column) for column in still)
            if explained and not self._are_rows_invented(evidence, literals):
                break
            try:
                result = self._reruns.on(altered(tables, read, alter))
            except TimeIsUp:
                if evidence.by_values:  # it has been seen that values come from the data, only not of which
                    break
                raise
            if result is None:
                continue
            columns = changed(self._base, result)
            if name == OF_SCHEMA:
                evidence.by_schema.update(columns)
                break
            evidence.runs += 1
            evidence.tried_rows |= name in OF_ROWS
            (evidence.by_rows if name in OF_ROWS else evidence.by_values).update(columns)
            if result.height:
                kept = kept_rows(self._base, result)
                evidence.kept = kept if evidence.kept is None else evidence.kept & kept
            evidence.varied.update(column.name for column in result.iter_columns() if column.n_unique() > 1)
        return evidence

    def _known(self) -> Literals:
        names = [data.name for data in self.runner.data]
        return Literals(self.runner.request.task, [*names, *(name for data in self.runner.data for name in data.types)])

    def _explained(self, evidence: _Evidence) -> float:
        kept = 0 if evidence.kept is None else evidence.kept.total()
        return round(len(self._dependent) * (self._base.height - kept) / (self._base.height * self._base.width), 4)

    def _is_invented(self, evidence: _Evidence, literals: Collection[str]) -> bool:
        base, known = self._base, self._known()
        if not self._dependent:
            return bool(literals) and not all(
                known.only_neutral(base[name]) or known.in_task(base[name]) for name in literals
            )
        if self._are_rows_invented(evidence, known):
            return True
        stated = [base[name] for name in literals if not known.benign(base[name])]
        numbers = [column for column in stated if column.dtype.is_numeric() or column.dtype.is_temporal()]
        varied = {*evidence.varied, *(column.name for column in base.iter_columns() if column.n_unique() > 1)}
        if base.height > 1 and not self._dependent & varied:  # what depends on the data only decorates the rest
            return bool(stated)
        only_rows = not evidence.by_values and not evidence.by_schema  # how many there are is all that counts
        return bool(numbers) and (only_rows or base.height == 1)

    def _are_rows_invented(self, evidence: _Evidence, known: Literals) -> bool:
        """Return whether most rows are the same whatever the data, with values in columns that otherwise depend on
        them.
        """
        if not evidence.kept:
            return False
        of_cells = evidence.by_values | evidence.by_rows
        positions = [at for at, name in enumerate(self._base.columns) if name in of_cells]
        filled = sum(
            times for row, times in evidence.kept.items() if not all(known.is_neutral(row[at]) for at in positions)
        )
        return 2 * filled > self._base.height

    def lineage(self) -> dict[str, Sources]:
        """Return, per column of the result, the columns of the data that its values come from."""
        if self._tables is None:
            return dict.fromkeys(self._base.columns, "literal") if self.origin.explained == 0.0 else {}
        sources = {name: self._copied_from(name) for name in self._base.columns}
        unresolved = {name for name in self._dependent if not sources[name]}
        sources.update(self._influences(unresolved) if unresolved else {})
        read = [name for name, needed in self.origin.read.items() if needed]
        literals = {name for name in self._base.columns if name not in self._dependent and not sources[name]}
        # A large result may have columns that the sample's has not: a pivot names them after values.
        names = self.run.content().columns
        return {name: "literal" if name in literals else sources.get(name) or read for name in names}

    def _copied_from(self, name: str) -> list[str]:
        """Return the columns of the same name that hold all of its values."""
        column = self._base[name]
        if name not in self._dependent and (not self._dependent or column.n_unique() != 1):
            return []
        values = column.drop_nulls().unique()
        sources = []
        for data, table in (self._tables or {}).items():
            if name in table.columns and self.origin.read.get(data, True) and values.len():
                known = comparable(table.select(name))[name].drop_nulls().unique()
                if known.dtype != values.dtype:
                    known, values = known.cast(pl.String, strict=False), values.cast(pl.String, strict=False)
                if values.is_in(known.implode()).all():
                    sources.append(f"{data}.{name}")
        return sources

    def _influences(self, unresolved: Collection[str]) -> dict[str, list[str]]:
        """Alter one column of the data after the other, and see what becomes another value."""
        direct: dict[str, list[str]] = {name: [] for name in unresolved}
        through: dict[str, list[str]] = {name: [] for name in unresolved}
        try:
            for column in self._candidates():
                names = [f"{data}.{column}" for data, table in (self._tables or {}).items() if column in table.columns]
                others, same_height = self._changed_by(column)
                for name in others & set(unresolved):
                    (direct if same_height else through)[name] += names
        except (TimeIsUp, *_UNFIT):
            pass
        return {name: direct[name] or through[name] for name in unresolved}

    def _candidates(self) -> list[str]:
        """Return the columns of the data, those that the code names first."""
        tables = [table for name, table in (self._tables or {}).items() if self.origin.read.get(name, True)]
        columns = list(dict.fromkeys(column for table in tables for column in table.columns))
        named = [column for column in columns if column in self.run.code]
        if named and len(columns) > _MAX_SINGLE:
            columns = named
        return sorted(columns, key=lambda column: column not in named)[:_MAX_SINGLE]

    def _changed_by(self, column: str) -> tuple[set[str], bool]:
        assert self._tables is not None
        for alter, ordered in ((other_values, False), (shuffled, True)):
            tables = {
                name: alter(table, [column]) if self.origin.read.get(name, True) else table
                for name, table in self._tables.items()
            }
            result = self._reruns.on(tables)
            if result is not None and result.height:
                return changed(self._base, result, ordered=ordered), result.height == self._base.height
        return set(), False
