"""What a caller may assert about a result, parsed: ``rows >= 1``, ``unique(id)``, ``sum(amount) unchanged``, ...

assertion := rows OP number | rows unchanged | columns contain names | unique(names) | no_nulls(names)
           | sum(name) unchanged        OP := == | = | != | < | <= | > | >=
names     := name {"," name}            name := plain text | "quoted" | 'quoted' | `quoted`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Operator = Literal["==", "!=", "<", "<=", ">", ">="]
_OPERATORS: tuple[tuple[str, Operator], ...] = (
    ("==", "=="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("<", "<"),
    (">", ">"),
    ("=", "=="),
)
_QUOTES = "\"'`"
_FORMS = "rows, columns contain, unique(...), no_nulls(...) or sum(...) unchanged"


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


Assertion = RowCount | RowsUnchanged | ColumnsContain | Unique | NoNulls | SumUnchanged


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
            scan.keyword("contain", "contains")
            parsed = ColumnsContain(scan.names(closing=None))
        case "unique":
            parsed = Unique(scan.arguments())
        case "no_nulls":
            parsed = NoNulls(scan.arguments())
        case "sum":
            at = scan.at
            names = scan.arguments()
            if len(names) != 1:
                raise AssertionSyntax(text, at + 1, "one column name in parentheses")
            scan.keyword("unchanged")
            parsed = SumUnchanged(names[0])
        case _:
            raise AssertionSyntax(text, scan.word_at + 1, _FORMS)
    scan.end()
    return parsed


def _rows(scan: _Scan) -> RowCount | RowsUnchanged:
    for written, operator in _OPERATORS:
        if scan.take(written):
            return RowCount(operator, scan.number())
    scan.keyword("unchanged", expected="==, !=, <, <=, >, >= or unchanged")
    return RowsUnchanged()


class _Scan:
    """A cursor over the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.word_at = 0

    def skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def word(self) -> str:
        self.skip_blanks()
        self.word_at = start = self.at
        while self.at < len(self.text) and (self.text[self.at].isalpha() or self.text[self.at] == "_"):
            self.at += 1
        return self.text[start : self.at]

    def keyword(self, *words: str, expected: str = "") -> None:
        if self.word().lower() not in words:
            raise AssertionSyntax(self.text, self.word_at + 1, expected or f"'{words[0]}'")

    def take(self, token: str) -> bool:
        self.skip_blanks()
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def number(self) -> int:
        self.skip_blanks()
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in "0123456789_":
            self.at += 1
        digits = self.text[start : self.at].replace("_", "")
        if not 0 < len(digits) <= 18:
            raise AssertionSyntax(self.text, start + 1, "a whole number")
        return int(digits)

    def arguments(self) -> tuple[str, ...]:
        if not self.take("("):
            raise AssertionSyntax(self.text, self.at + 1, "'('")
        names = self.names(closing=")")
        if not self.take(")"):
            raise AssertionSyntax(self.text, self.at + 1, "')'")
        return names

    def names(self, closing: str | None) -> tuple[str, ...]:
        names = [self.name(closing)]
        while self.take(","):
            names.append(self.name(closing))
        return tuple(names)

    def name(self, closing: str | None) -> str:
        self.skip_blanks()
        start = self.at
        if start < len(self.text) and self.text[start] in _QUOTES:
            end = self.text.find(self.text[start], start + 1)
            if end < 0:
                raise AssertionSyntax(self.text, start + 1, f"a closing {self.text[start]}")
            self.at = end + 1
            return self.text[start + 1 : end]
        while self.at < len(self.text) and self.text[self.at] not in ("," + (closing or "")):
            self.at += 1
        name = self.text[start : self.at].strip()
        if not name:
            raise AssertionSyntax(self.text, start + 1, "a column name")
        return name

    def end(self) -> None:
        self.skip_blanks()
        if self.at < len(self.text):
            raise AssertionSyntax(self.text, self.at + 1, "the end of the assertion")
