"""The words of a request, with the columns, values and tables that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from shared.llm.scripted.demo.languages import english
from shared.llm.scripted.demo.tables_seen import ColumnSeen, TableSeen

_TOKEN = re.compile(
    r'"(?P<double>[^"]*)"|“(?P<curly>[^”]*)”|`(?P<tick>[^`]*)`|(?<!\w)\'(?P<single>[^\']*)\'(?!\w)'
    r"|(?P<date>\d{4}-\d{2}(?:-\d{2})?)(?!\d)"
    r"|(?P<number>(?:(?<=[\s(=<>])-|^-)?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![^\W\d_]))"
    r"|(?P<word>\w+(?:['’]\w+)?)"
    r"|(?P<sign>>=|<=|!=|<>|==|≥|≤|≠|[-=<>+*/×÷%(),;:?!.])",
)
_K = TypeVar("_K")
_V = TypeVar("_V")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9À-ɏ\u0370-\uffff]+")
_ALIKE = {"≥": ">=", "≤": "<=", "≠": "!=", "<>": "!=", "==": "=", "×": "*", "÷": "/"}
NUMBERS: Mapping[str, int] = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
    )
} | {"twenty": 20, "hundred": 100}
#: Words that join other words; a column of such a name has to be quoted.
_NEVER_COLUMNS = frozenset(
    (
        "a an and as at between by each every for from has have how if in is it of on only or per than that the then "
        "to top what where which with add all are be does do not show give me list rename sort remove keep count many "
        "first last most least more less over under above below no not or yes none without so"
    ).split()
)


@dataclass(frozen=True)
class Word:
    """One token, or several that name one column or value together."""

    text: str
    lower: str
    number: float | int | None = None
    quoted: bool = False
    date: bool = False
    columns: tuple[ColumnSeen, ...] = ()
    values: tuple[tuple[ColumnSeen, object], ...] = ()
    table: str | None = None
    partial: bool = field(default=False)  #: the columns have further words in their names

    @property
    def column(self) -> ColumnSeen | None:
        return self.columns[0] if self.columns else None

    @property
    def plural(self) -> bool:
        return self.lower != stem(self.lower)


def stem(word: str) -> str:
    """Return the singular of an English noun, in lower case."""
    word = word.casefold().removesuffix("'s").removesuffix("’s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and re.search(r"(?:ch|sh|x|ss|zz)es$", word):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not re.search(r"(?:ss|us|is)$", word):
        return word[:-1]
    return word


def parts(name: str) -> tuple[str, ...]:
    """Return the stems of a column's name: ``orderAmount`` and ``order_amount`` give ``order``, ``amount``."""
    return tuple(stem(part) for part in _CAMEL.split(name) if part)


def words_of(text: str, tables: Sequence[TableSeen]) -> list[Word]:
    """Split a request, and join the words that name a column, a value or a table."""
    meanings = english(text)
    plain = [_plain(match, meanings) for match in _TOKEN.finditer(text)]
    vocabulary = _Vocabulary(tables)
    joined: list[Word] = []
    at = 0
    while at < len(plain):
        word, length = vocabulary.longest(plain, at)
        joined.append(word)
        at += length
    return joined


def _plain(match: re.Match[str], meanings: Mapping[str, str] = _ALIKE) -> Word:
    text = match[0]
    if match.lastgroup in {"double", "curly", "tick", "single"}:
        inner = match[match.lastgroup]
        return Word(inner, inner.casefold(), quoted=True)
    if match.lastgroup == "number":
        digits = text.replace(",", "")
        return Word(text, text, number=float(digits) if "." in digits else int(digits))
    if match.lastgroup == "date":
        return Word(text, text, date=True)
    lower = _ALIKE.get(text, text.casefold())
    lower = meanings.get(lower, lower)
    return Word(text, lower, number=NUMBERS.get(lower))


class _Vocabulary:
    """The names and values of the tables, by their stems."""

    def __init__(self, tables: Sequence[TableSeen]) -> None:
        self._tables = {stem(table.name): table.name for table in tables}
        columns = [column for table in tables for column in table.columns]
        self._columns = _by_key((parts(column.name), column) for column in columns)
        self._heads = _by_key(((part,), column) for column in columns for part in set(parts(column.name)))
        self._quoted = _by_key((column.name.casefold(), column) for column in columns)
        texts = [
            (column, value) for column in columns if column.type == "string"
            for value in column.values if isinstance(value, str) and value.strip()
        ]  # fmt: skip
        self._values = _by_key((tuple(_value_parts(value)), (column, value)) for column, value in texts)
        self._longest = max((len(key) for key in [*self._columns, *self._values]), default=1)

    def longest(self, plain: Sequence[Word], at: int) -> tuple[Word, int]:
        first = plain[at]
        if first.quoted:
            return self._known(first), 1
        for length in range(min(self._longest, len(plain) - at), 0, -1):
            group = plain[at : at + length]
            if any(word.quoted for word in group):
                continue
            columns, values = self._named(group)
            if columns or values:
                text = " ".join(word.text for word in group)
                number = first.number if length == 1 else None
                return Word(text, text.casefold(), number, columns=columns, values=values, date=first.date), length
        return self._known(first), 1

    def _named(self, group: Sequence[Word]) -> tuple[tuple[ColumnSeen, ...], tuple[tuple[ColumnSeen, object], ...]]:
        if any(not parts(word.text) for word in (group[0], group[-1])) or any(w.lower in ",;:.?!()=<>" for w in group):
            return (), ()
        columns = self._columns.get(tuple(part for word in group for part in parts(word.text)), ())
        *before, last = (word.lower for word in group)
        values = self._values.get((*before, last)) or self._values.get((*before, stem(last))) or []
        if len(group) == 1 and group[0].lower in _NEVER_COLUMNS:  # only `IT` and `NO`, spelled as the value is
            text = group[0].text
            exact = [(column, value) for column, value in values if value == text and not text.islower()]
            return (), tuple(exact)
        return tuple(columns), tuple(values)

    def _known(self, word: Word) -> Word:
        """Return the word with the column whose name has it, when only one column does."""
        if word.quoted:
            columns = tuple(self._quoted.get(word.lower, ()))
            values = tuple(self._values.get(tuple(_value_parts(word.text)), ()))
            return Word(word.text, word.lower, quoted=True, columns=columns, values=values)
        table = self._tables.get(stem(word.lower))
        if word.number is not None or word.date or len(word.lower) < 3 or word.lower in _NEVER_COLUMNS:
            return word
        columns = tuple(self._heads.get((stem(word.lower),), ()))
        one = columns if len({column.name for column in columns}) == 1 else ()
        return Word(word.text, word.lower, table=table, columns=one, partial=bool(one))


def _value_parts(value: str) -> Iterable[str]:
    return (_plain(match).lower for match in _TOKEN.finditer(value))


def _by_key(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, list[_V]]:
    grouped: dict[_K, list[_V]] = {}
    for key, value in pairs:
        if key:
            grouped.setdefault(key, []).append(value)
    return grouped
