"""A cursor over the text of an assertion: words, names, operators, values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

Operator = Literal["==", "!=", "<", "<=", ">", ">="]
_QUOTES = "\"'`"
_BLANKS, _WORD, _DIGITS = re.compile(r"\s*"), re.compile(r"[^\W\d]+"), re.compile(r"[0-9_]+")
OPEN, CLOSE, COMMA, AND = re.compile(r"\("), re.compile(r"\)"), re.compile(","), re.compile(r"and\b", re.I)
_OPERATOR = re.compile(r"[=!<>]=|[<>=]")
_QUOTED = re.compile("|".join(f"{quote}[^{quote}]*{quote}?" for quote in _QUOTES))
PLAIN, UP_TO_CLOSE = re.compile("[^,]*"), re.compile("[^,)]*")
_UP_TO_OPERATOR, _VALUE = re.compile("[^=!<>)]*"), re.compile(r"(?:(?!\sand\b)[^)])*")
_DECIMAL, PERCENT = re.compile(r"[+-]?(?:\d{1,30}\.?\d{0,30}|\.\d{1,30})(?:[eE][+-]?\d{1,3})?"), re.compile("%")
_ORDER = re.compile(r"\b(?:desc|asc)\b", re.I)
#: Maximum number of conditions, or of keys of an order.
_MAX_PARTS = 20


@dataclass(frozen=True)
class Condition:
    """A condition on a row of the first data set; ``value`` is None for a missing one."""

    name: str
    operator: Operator
    value: int | float | str | None


class AssertionSyntax(ValueError):
    """The text is not an assertion; ``position`` counts characters from 1."""

    def __init__(self, text: str, position: int, expected: str) -> None:
        super().__init__(f"assertion {text!r} does not parse at position {position}: expected {expected}")
        self.position = position


class Scan:
    """A cursor over the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.word_at = 0

    def match(self, pattern: re.Pattern[str]) -> str:
        """Return the match at this position, after blanks; empty without one."""
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

    def decimal(self) -> float:
        written = self.match(_DECIMAL)
        if not written:
            raise self.fault(self.at, "a number")
        return float(written)

    def quoted(self, expected: str) -> str:
        written = self.match(_QUOTED)
        if len(written) < 2 or written[-1] != written[0]:
            raise self.fault(self.at - len(written), expected)
        return written[1:-1]

    def opens(self) -> bool:
        """Return whether a parenthesis comes next."""
        return self.text[self.at :].lstrip().startswith("(")

    def follows(self, word: str) -> bool:
        """Return whether this word comes next, and consume it if so."""
        at = self.at
        if self.word().lower() == word:
            return True
        self.at = at
        return False

    def arguments(self) -> tuple[str, ...]:
        self.expect(OPEN, "'('")
        names = self.names(UP_TO_CLOSE)
        self.expect(CLOSE, "')'")
        return names

    def argument(self) -> str:
        """Read one name in parentheses."""
        at = self.at
        names = self.arguments()
        if len(names) != 1:
            raise self.fault(at, "one column name in parentheses")
        return names[0]

    def order(self) -> tuple[tuple[str, bool], ...]:
        """Read names in parentheses, each with or without ``desc``."""
        self.expect(OPEN, "'('")
        keys: list[tuple[str, bool]] = []
        while not keys or self.match(COMMA):
            quoted = self.text[self.at :].lstrip()[:1] in tuple(_QUOTES)
            name = self.name(UP_TO_CLOSE)
            word = self.match(_ORDER) if quoted else ""
            if not quoted and _ORDER.fullmatch(name.rpartition(" ")[2]):
                name, _, word = name.rpartition(" ")
            keys.append((name.strip(), word.lower() == "desc"))
            self.bounded(keys)
        self.expect(CLOSE, "')'")
        return tuple(keys)

    def conditions(self) -> tuple[Condition, ...]:
        """``name OP value`` joined by ``and``, in parentheses."""
        self.expect(OPEN, "'('")
        conditions = self.joined()
        self.expect(CLOSE, "')'")
        return conditions

    def joined(self) -> tuple[Condition, ...]:
        """``name OP value`` joined by ``and``."""
        conditions: list[Condition] = []
        while not conditions or self.match(AND):
            name = self.name(_UP_TO_OPERATOR)
            compare = self.operator()
            if compare is None:
                raise self.fault(self.at, "==, !=, <, <=, > or >=")
            conditions.append(Condition(name, compare, self.value()))
            self.bounded(conditions)
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
        if len(parts) > _MAX_PARTS:
            raise self.fault(self.at, f"at most {_MAX_PARTS} of them")

    def expect(self, pattern: re.Pattern[str], what: str) -> None:
        if not self.match(pattern):
            raise self.fault(self.at, what)

    def names(self, plain: re.Pattern[str]) -> tuple[str, ...]:
        names = [self.name(plain)]
        while self.match(COMMA):
            names.append(self.name(plain))
        return tuple(names)

    def name(self, plain: re.Pattern[str]) -> str:
        """Read a quoted or plain name."""
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
