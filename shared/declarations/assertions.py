"""What a caller or a model may assert about a result, parsed: ``rows >= 1``, ``unique(id)``, ``sum(a) unchanged``, ...

assertion := rows OP (number | input | distinct(names) | count(conditions)) | rows unchanged
           | columns contain names | columns are names | unique(names) | no_nulls(names)
           | sum(name) unchanged | sum(name) == (sum(name) | input | count(conditions)) | type(name) is word
           | sorted(name [desc] {"," name [desc]})
conditions := name OP value {and name OP value}     value := number | quoted text | plain text | missing
OP    := == | = | != | < | <= | > | >=
names := name {"," name}                name := plain text | "quoted" | 'quoted' | `quoted`

``input`` is the number of rows of the first data set; ``distinct``, ``count`` and what a sum is compared with speak of
its columns, everything else of the result's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

Operator = Literal["==", "!=", "<", "<=", ">", ">="]
_QUOTES = "\"'`"
_BLANKS, _WORD, _DIGITS = re.compile(r"\s*"), re.compile(r"[^\W\d]+"), re.compile(r"[0-9_]+")
_OPEN, _CLOSE, _COMMA, _AND = re.compile(r"\("), re.compile(r"\)"), re.compile(","), re.compile(r"and\b", re.I)
_OPERATOR = re.compile(r"[=!<>]=|[<>=]")
_QUOTED = re.compile("|".join(f"{quote}[^{quote}]*{quote}?" for quote in _QUOTES))
_PLAIN, _UP_TO_CLOSE = re.compile("[^,]*"), re.compile("[^,)]*")
_UP_TO_OPERATOR, _VALUE = re.compile("[^=!<>)]*"), re.compile(r"(?:(?!\sand\b)[^)])*")
_ORDER = re.compile(r"\b(?:desc|asc)\b", re.I)
_FORMS = "rows, columns contain, unique(...), no_nulls(...), sum(...) unchanged, type(...) is or sorted(...)"
#: So many conditions, or keys of an order.
_MOST_PARTS = 20


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
class Condition:
    """Of a row of the first data set; ``value`` is None for a missing one."""

    name: str
    operator: Operator
    value: int | float | str | None


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
class SumAgainstInput:
    """The sum of another column of the first data set, or None for its rows (that fulfil all of ``conditions``)."""

    name: str
    other: str | None
    conditions: tuple[Condition, ...] = ()


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
    | SumAgainstInput | TypeIs | Sorted
)  # fmt: skip


class AssertionSyntax(ValueError):
    """The text is no assertion; ``position`` counts characters from 1."""

    def __init__(self, text: str, position: int, expected: str) -> None:
        super().__init__(f"assertion {text!r} does not parse at position {position}: expected {expected}")
        self.position = position


def parse_assertion(text: str) -> Assertion:
    """Raises: AssertionSyntax with the position."""
    scan = _Scan(text)
    parsed: Assertion
    match scan.word().lower():
        case "rows":
            parsed = _rows(scan)
        case "columns":
            kind = scan.keyword("contain", "contains", "are")
            parsed = (ColumnsAre if kind == "are" else ColumnsContain)(scan.names(_PLAIN))
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
        case _:
            raise scan.fault(scan.word_at, _FORMS)
    scan.end()
    return parsed


def _rows(scan: _Scan) -> RowCount | RowsUnchanged | RowsAgainstInput:
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


def _sum(scan: _Scan) -> SumUnchanged | SumAgainstInput:
    name = scan.argument()
    at = scan.at
    if scan.operator() != "==":
        scan.at = at
        scan.keyword("unchanged")
        return SumUnchanged(name)
    match scan.keyword("sum", "input", "count"):
        case "sum":
            return SumAgainstInput(name, scan.argument())
        case "count":
            return SumAgainstInput(name, None, scan.conditions())
        case _:
            return SumAgainstInput(name, None)


class _Scan:
    """A cursor over the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.word_at = 0

    def match(self, pattern: re.Pattern[str]) -> str:
        """What matches here, behind blanks."""
        self.at = _BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match[0] if match else ""

    def word(self) -> str:
        word = self.match(_WORD)
        self.word_at = self.at - len(word)
        return word

    def keyword(self, *words: str, expected: str = "") -> str:
        word = self.word().lower()
        if word not in words:
            raise self.fault(self.word_at, expected or f"'{words[0]}'")
        return word

    def operator(self) -> Operator | None:
        written = self.match(_OPERATOR)
        return cast("Operator", "==" if written == "=" else written) if written else None

    def number(self) -> int:
        written = self.match(_DIGITS)
        digits = written.replace("_", "")
        if not 0 < len(digits) <= 18:
            raise self.fault(self.at - len(written), "a whole number")
        return int(digits)

    def arguments(self) -> tuple[str, ...]:
        self.expect(_OPEN, "'('")
        names = self.names(_UP_TO_CLOSE)
        self.expect(_CLOSE, "')'")
        return names

    def argument(self) -> str:
        """One name in parentheses."""
        at = self.at
        names = self.arguments()
        if len(names) != 1:
            raise self.fault(at, "one column name in parentheses")
        return names[0]

    def order(self) -> tuple[tuple[str, bool], ...]:
        """Names in parentheses, each with ``desc`` or without."""
        self.expect(_OPEN, "'('")
        keys: list[tuple[str, bool]] = []
        while not keys or self.match(_COMMA):
            quoted = self.text[self.at :].lstrip()[:1] in tuple(_QUOTES)
            name = self.name(_UP_TO_CLOSE)
            word = self.match(_ORDER) if quoted else ""
            if not quoted and _ORDER.fullmatch(name.rpartition(" ")[2]):
                name, _, word = name.rpartition(" ")
            keys.append((name.strip(), word.lower() == "desc"))
            self.bounded(keys)
        self.expect(_CLOSE, "')'")
        return tuple(keys)

    def conditions(self) -> tuple[Condition, ...]:
        """``name OP value`` joined by ``and``, in parentheses."""
        self.expect(_OPEN, "'('")
        conditions: list[Condition] = []
        while not conditions or self.match(_AND):
            name = self.name(_UP_TO_OPERATOR)
            compare = self.operator()
            if compare is None:
                raise self.fault(self.at, "==, !=, <, <=, > or >=")
            conditions.append(Condition(name, compare, self.value()))
            self.bounded(conditions)
        self.expect(_CLOSE, "')'")
        return tuple(conditions)

    def value(self) -> int | float | str | None:
        quoted = self.text[self.at :].lstrip()[:1] in tuple(_QUOTES)
        text = self.name(_VALUE)
        if quoted:
            return text
        if text.lower() in ("missing", "null"):
            return None
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text

    def bounded(self, parts: list[tuple[str, bool]] | list[Condition]) -> None:
        if len(parts) > _MOST_PARTS:
            raise self.fault(self.at, f"at most {_MOST_PARTS} of them")

    def expect(self, pattern: re.Pattern[str], what: str) -> None:
        if not self.match(pattern):
            raise self.fault(self.at, what)

    def names(self, plain: re.Pattern[str]) -> tuple[str, ...]:
        names = [self.name(plain)]
        while self.match(_COMMA):
            names.append(self.name(plain))
        return tuple(names)

    def name(self, plain: re.Pattern[str]) -> str:
        """A quoted name, or a plain one."""
        written = self.match(_QUOTED) or self.match(plain)
        start = self.at - len(written)
        if written[:1] and written[0] in _QUOTES:
            if len(written) < 2 or written[-1] != written[0]:
                raise self.fault(start, f"a closing {written[0]}")
            return written[1:-1]
        if not written.strip():
            raise self.fault(start, "a column name")
        return written.strip()

    def end(self) -> None:
        self.match(_BLANKS)
        if self.at < len(self.text):
            raise self.fault(self.at, "the end of the assertion")

    def fault(self, at: int, expected: str) -> AssertionSyntax:
        return AssertionSyntax(self.text, at + 1, expected)
