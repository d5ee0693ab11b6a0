"""A request about tables in a form that code can be written from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from shared.llm.scripted.demo.tables_seen import ColumnSeen

Func = Literal["sum", "mean", "median", "min", "max", "std", "count", "nunique"]
Period = Literal["year", "quarter", "month", "week", "day", "weekday", "hour"]
Operator = Literal[
    "=", "!=", ">", ">=", "<", "<=", "contains", "starts", "ends", "missing", "present", "in_year", "in_month"
]


class NotUnderstood(Exception):
    """The request is outside of the rules; the text says what is missing, in one sentence."""


@dataclass(frozen=True)
class Predicate:
    column: ColumnSeen
    operator: Operator
    value: object = None
    negated: bool = False


@dataclass(frozen=True)
class Key:
    column: ColumnSeen
    period: Period | None = None

    @property
    def name(self) -> str:
        return self.period or self.column.name


@dataclass(frozen=True)
class Measure:
    func: Func
    column: ColumnSeen | None  #: None counts rows, or is still open
    noun: str = ""  #: what the person calls the rows

    @property
    def counts_rows(self) -> bool:
        return self.func == "count" and self.column is None


@dataclass(frozen=True)
class SortBy:
    """A column, a measure, or (with neither) the last measure."""

    column: ColumnSeen | None = None
    measure: Measure | None = None
    descending: bool | None = None


@dataclass(frozen=True)
class Bound:
    """A condition on a measure of a group, such as more than 3 rows."""

    measure: Measure
    operator: Operator
    value: object


@dataclass(frozen=True)
class Limit:
    rows: int
    last: bool = False


@dataclass(frozen=True)
class Join:
    table: str
    left: str
    right: str
    how: Literal["left", "inner", "outer"] = "left"


@dataclass(frozen=True)
class Computed:
    """A new column: operands and operators in turn, ``price * 2``."""

    name: str
    expression: tuple[ColumnSeen | float | int | str, ...]


@dataclass
class Query:
    """What to do, in the order of the fields."""

    join: bool = False  #: whether it is requested, or follows from the columns
    how: Literal["left", "inner", "outer"] = "left"
    on: tuple[ColumnSeen, ...] = ()
    joins: list[Join] = field(default_factory=list)
    fill: list[tuple[ColumnSeen, object]] = field(default_factory=list)
    complete: list[ColumnSeen] | None = None  #: drop rows where one of them is missing; empty: any column
    computed: list[Computed] = field(default_factory=list)
    changed: list[tuple[ColumnSeen, str]] = field(default_factory=list)  #: column, name of a text function
    filters: list[list[Predicate]] = field(default_factory=list)  #: all of them, and of each at least one
    unique_by: list[ColumnSeen] | None = None  #: drop duplicate rows; empty: of all columns
    keys: list[Key] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    share: bool = False
    statistics: bool = False
    sort: list[SortBy] = field(default_factory=list)
    limit: Limit | None = None
    ties: bool = False  #: the limit keeps rows that are as good as its last one
    select: list[ColumnSeen] = field(default_factory=list)
    distinct: bool = False  #: of the selected columns
    drop: list[ColumnSeen] = field(default_factory=list)
    rename: list[tuple[ColumnSeen, str]] = field(default_factory=list)
    digits: int | None = None  #: decimals to round to
    notes: list[str] = field(default_factory=list)  #: how doubtful words were read

    @property
    def is_empty(self) -> bool:
        return self == Query(notes=self.notes)
