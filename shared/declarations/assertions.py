"""What a caller or a model may assert about a result, parsed: ``rows >= 1``, ``unique(id)``, ``sum(a) unchanged``, ...

assertion := rows OP (number | input | distinct(names) | count(conditions)) | rows unchanged
           | columns contain names | columns are names | unique(names) | no_nulls(names)
           | sum(name) unchanged [tolerance] | sum(name) == (sum(name) [tolerance] | input | count(conditions))
           | type(name) is word | sorted(name [desc] {"," name [desc]})
           | condition {and condition} | between(name, number, number) | matches(name, quoted text)
           | references(name, name "." name)
tolerance  := within number | within number %
conditions := condition {and condition}     condition := name OP value
value := number | quoted text | plain text | missing
OP    := == | = | != | < | <= | > | >=
names := name {"," name}                name := plain text | "quoted" | 'quoted' | `quoted`

``input`` is the number of rows of the first data set; ``distinct``, ``count`` and what a sum is compared with speak of
its columns, everything else of the result's. A bare condition, ``between`` and ``matches`` must hold of every row where
the values are not missing (``no_nulls`` forbids missing ones); ``references`` says that each value stands in a column
of another data set: ``references(customer, customers.id)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from shared.declarations.scan import (
    CLOSE,
    COMMA,
    OPEN,
    PERCENT,
    PLAIN,
    UP_TO_CLOSE,
    AssertionSyntax,
    Condition,
    Operator,
    Scan,
)

_FORMS = (
    "rows, columns contain, unique(...), no_nulls(...), sum(...) unchanged, type(...) is, sorted(...), between(...), "
    "matches(...), references(...) or a condition such as amount > 0"
)


@dataclass(frozen=True)
class RowCount:
    operator: Operator
    count: int


@dataclass(frozen=True)
class RowsUnchanged:
    pass


@dataclass(frozen=True)
class ColumnsContain:
    names: tuple[str, ...]


@dataclass(frozen=True)
class Unique:
    names: tuple[str, ...]


@dataclass(frozen=True)
class NoNulls:
    names: tuple[str, ...]


@dataclass(frozen=True)
class SumUnchanged:
    name: str


@dataclass(frozen=True)
class RowsAgainstInput:
    """Its rows, those that differ in ``distinct``, or those that fulfil all of ``conditions``."""

    operator: Operator
    distinct: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class ColumnsAre:
    names: tuple[str, ...]


@dataclass(frozen=True)
class Tolerance:
    """How far two sums may be apart; ``relative``: as a share of the input's."""

    amount: float
    relative: bool


@dataclass(frozen=True)
class EachRow:
    """All conditions, of every row of the result."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class Matches:
    """Every text matches the whole pattern."""

    name: str
    pattern: str


@dataclass(frozen=True)
class References:
    """Every value occurs in a column of another data set."""

    name: str
    data: str
    column: str


@dataclass(frozen=True)
class SumAgainstInput:
    """The sum of another column of the first data set, or None for its rows (that fulfil all of ``conditions``)."""

    name: str
    other: str | None
    conditions: tuple[Condition, ...] = ()
    within: Tolerance | None = None


@dataclass(frozen=True)
class TypeIs:
    name: str
    type: str


@dataclass(frozen=True)
class Sorted:
    """By these columns; the second of each pair says whether it descends."""

    keys: tuple[tuple[str, bool], ...]


Assertion = (
    RowCount | RowsUnchanged | RowsAgainstInput | ColumnsContain | ColumnsAre | Unique | NoNulls | SumUnchanged
    | SumAgainstInput | TypeIs | Sorted | EachRow | Matches | References
)  # fmt: skip


def parse_assertion(text: str) -> Assertion:
    """Parse an assertion. Raises: AssertionSyntax with the position."""
    scan = Scan(text)
    parsed: Assertion
    match scan.word().lower():
        case "rows":
            parsed = _rows(scan)
        case "columns":
            kind = scan.keyword("contain", "contains", "are")
            parsed = (ColumnsAre if kind == "are" else ColumnsContain)(scan.names(PLAIN))
        case "unique":
            parsed = Unique(scan.arguments())
        case "no_nulls":
            parsed = NoNulls(scan.arguments())
        case "sum":
            parsed = _sum(scan)
        case "type":
            name = scan.argument()
            scan.keyword("is")
            parsed = TypeIs(name, scan.word().lower())
            if not parsed.type:
                raise scan.fault(scan.at, "a type, such as int or string")
        case "sorted":
            parsed = Sorted(scan.order())
        case word:
            parsed = _of_rows(scan, word)
    scan.end()
    return parsed


def _of_rows(scan: Scan, word: str) -> EachRow | Matches | References:
    match word if scan.opens() else "":
        case "between":
            return EachRow(_between(scan))
        case "matches":
            return Matches(*_pattern(scan))
        case "references":
            return References(*_reference(scan))
    return _each_row(scan)


def _each_row(scan: Scan) -> EachRow:
    start = scan.word_at
    scan.at = 0
    name = scan.text.split(maxsplit=1)[0] if scan.text.strip() else ""
    if name[:1] not in ('"', "'", "`") and get_close_matches(name.lower(), ("rows", "columns"), cutoff=0.75):  # a slip
        raise scan.fault(start, _FORMS)
    try:
        return EachRow(scan.joined())
    except AssertionSyntax:
        raise scan.fault(start, _FORMS) from None


def _between(scan: Scan) -> tuple[Condition, ...]:
    scan.expect(OPEN, "'('")
    name = scan.name(UP_TO_CLOSE)
    scan.expect(COMMA, "','")
    low = scan.decimal()
    scan.expect(COMMA, "','")
    high = scan.decimal()
    scan.expect(CLOSE, "')'")
    return Condition(name, ">=", low), Condition(name, "<=", high)


def _pattern(scan: Scan) -> tuple[str, str]:
    scan.expect(OPEN, "'('")
    name = scan.name(UP_TO_CLOSE)
    scan.expect(COMMA, "','")
    at = scan.at
    pattern = scan.quoted("a pattern in quotes")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        raise scan.fault(at, "a regular expression") from None
    scan.expect(CLOSE, "')'")
    return name, pattern


def _reference(scan: Scan) -> tuple[str, str, str]:
    scan.expect(OPEN, "'('")
    name = scan.name(UP_TO_CLOSE)
    scan.expect(COMMA, "','")
    at = scan.at
    data, dot, column = scan.name(UP_TO_CLOSE).partition(".")
    if not dot or not data or not column:
        raise scan.fault(at, "DATA.COLUMN of another data set")
    scan.expect(CLOSE, "')'")
    return name, data, column


def _tolerance(scan: Scan) -> Tolerance | None:
    if not scan.follows("within"):
        return None
    amount = scan.decimal()
    relative = bool(scan.match(PERCENT))
    return Tolerance(amount / 100 if relative else amount, relative)


def _rows(scan: Scan) -> RowCount | RowsUnchanged | RowsAgainstInput:
    compare = scan.operator()
    if compare is None:
        scan.keyword("unchanged", expected="==, !=, <, <=, >, >= or unchanged")
        return RowsUnchanged()
    match scan.word().lower():
        case "input":
            return RowsAgainstInput(compare)
        case "distinct":
            return RowsAgainstInput(compare, distinct=scan.arguments())
        case "count":
            return RowsAgainstInput(compare, conditions=scan.conditions())
    scan.at = scan.word_at
    return RowCount(compare, scan.number())


def _sum(scan: Scan) -> SumUnchanged | SumAgainstInput:
    name = scan.argument()
    at = scan.at
    if scan.operator() != "==":
        scan.at = at
        scan.keyword("unchanged")
        within = _tolerance(scan)
        return SumUnchanged(name) if within is None else SumAgainstInput(name, name, within=within)
    match scan.keyword("sum", "input", "count"):
        case "sum":
            return SumAgainstInput(name, scan.argument(), within=_tolerance(scan))
        case "count":
            return SumAgainstInput(name, None, scan.conditions())
        case _:
            return SumAgainstInput(name, None)
