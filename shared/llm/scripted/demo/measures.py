"""Requests for figures: counts, aggregates, shares, and the groups that they are of."""

from __future__ import annotations

from collections.abc import Sequence

from shared.llm.scripted.demo import phrases
from shared.llm.scripted.demo.conditions import Conditions
from shared.llm.scripted.demo.query import Func, Key, Measure, NotUnderstood
from shared.llm.scripted.demo.tables_seen import ColumnSeen, TableSeen
from shared.llm.scripted.demo.words import Word, words_of

_UNIQUE = frozenset(["distinct", "unique", "different"])
_COUNTED_BY = frozenset({"per", "each", "every"})  #: after a word for rows: ``orders by city`` may be an order
_BEFORE_COLUMN = frozenset({"of", "the", "for", "all", "value", "values", "in", "("})
_SHARES = frozenset("share shares percentage percentages percent proportion proportions fraction".split())


class Measures(Conditions):
    """What a request measures, and by which groups."""

    def __init__(self, task: str, tables: Sequence[TableSeen]) -> None:
        super().__init__(words_of(task, tables), tables)
        self.top: tuple[int, bool, Measure | ColumnSeen | None] | None = None  #: rows, whether the highest, of what
        self.one_row = False  #: one row per group is requested, and not how it is computed
        self.entity: ColumnSeen | None = None  #: whose groups or rows the top ones are
        self.bare: list[Word] = []  #: columns that are only named

    def _count(self, at: int) -> int:
        """``how many orders``, ``number of distinct customers``, ``count rows``."""
        if self.lower(at) == "how" and self.lower(at + 1) == "many":
            end = at + 2
        elif self.lower(at) in {"number", "count", "counts"} and not self._is_exact_column(at):
            end = at + 1
        else:
            return at
        end = self.skip(end, {"of", "the", "all", "up"})
        distinct = self.lower(end) in _UNIQUE
        end = self.skip(end, _UNIQUE)
        word = self.word(end)
        column = self.column(end)
        if column is not None and not self._names_group(end):
            self.query.measures.append(self._count_of(column, word, distinct=distinct))
            return end + 1
        if word is not None and (word.lower in phrases.ROWS or word.table is not None):
            self.query.measures.append(Measure("count", None, word.lower))
            return end + 1
        if distinct:
            raise NotUnderstood("It does not see what is to be counted once.")
        self.query.measures.append(Measure("count", None))
        return end

    def _count_of(self, column: ColumnSeen, word: Word | None, *, distinct: bool) -> Measure:
        plural = word is not None and word.plural
        if distinct or (plural and not column.is_number):
            self.query.notes.append(f"counted each {column.name} once")
            return Measure("nunique", column)
        return Measure("count", column)

    def _names_group(self, at: int) -> bool:
        return self.lower(at - 1) in phrases.GROUP

    def _aggregate(self, at: int) -> int:
        """``total amount and tax``, ``min, max of price``, ``highest amount``."""
        functions, end = self._functions(at)
        if not functions:
            return at
        end = self.skip(end, _BEFORE_COLUMN) if self._leads_to_column(end) else end
        columns, end = self.columns(end)
        for func in functions:
            if func == "count" and not columns:
                self.query.measures.append(Measure("count", None))
            else:
                self.query.measures += [Measure(func, column) for column in columns or [None]]  # type: ignore[list-item]
        return end

    def _leads_to_column(self, at: int) -> bool:
        return self.column(self.skip(at, _BEFORE_COLUMN)) is not None

    def _functions(self, at: int) -> tuple[list[Func], int]:
        functions: list[Func] = []
        end = at
        while (func := self._function(end)) is not None:
            functions.append(func[0])
            end = self.skip(func[1], {"up"} if func[0] == "sum" else ())
            joint = self.skip(end, {",", "and", "&", "/"})
            if joint == end or self._function(joint) is None:
                break
            end = joint
        return functions, end

    def _function(self, at: int) -> tuple[Func, int] | None:
        word = self.word(at)
        if word is None or word.quoted or self._is_exact_column(at):
            return None
        if word.lower == "standard" and self.lower(at + 1) == "deviation":
            return "std", at + 2
        if word.lower in phrases.AGGREGATES:
            return phrases.AGGREGATES[word.lower], at + 1
        if word.lower in phrases.HIGH | phrases.LOW and self._leads_to_column(at + 1):
            column = self.column(self.skip(at + 1, {"of", "the", "all", "value", "values"}))
            if column is not None and (column.is_number_of_things or (column.type == "string" and not column.is_date)):
                return None
            return ("max" if self._is_high(word.lower, column) else "min"), at + 1
        return None

    def _is_exact_column(self, at: int) -> bool:
        """Return whether the word names a column, and the next word is not the column that it works on."""
        word = self.word(at)
        if word is None or word.column is None or word.partial:
            return False
        following = self.word(self.skip(at + 1, {"of", "the"}))
        return following is None or following.column is None

    @staticmethod
    def _is_high(word: str, column: ColumnSeen | None) -> bool:
        if column is not None and column.is_date and word in phrases.DATE_LOW:
            return False
        return word in phrases.HIGH or word in phrases.DATE_HIGH or word == "last"

    def _share(self, at: int) -> int:
        if self.lower(at) not in _SHARES or self.column(at) is not None:
            return at
        self.query.share = True
        end = self.skip(at + 1, {"of", "the", "each", "all", "in", "as", "a"})
        column = self.column(end)
        if column is not None and column.is_number and not column.is_number_of_things:
            self.query.measures.append(Measure("sum", column))
            return end + 1
        if (column is None or column.is_number_of_things) and self.lower(end) in phrases.ROWS:
            self.query.measures.append(Measure("count", None, self.lower(end)))
            return end + 1
        return at + 1 if column is None else self._shared_by(end)

    def _shared_by(self, at: int) -> int:
        column = self.column(at)
        assert column is not None
        self.query.keys.append(Key(column))
        return at + 1

    def _group(self, at: int) -> int:
        """``by city and month``, ``for each city``, ``monthly``, ``orders per city``."""
        word = self.lower(at)
        if (
            word in phrases.ROWS
            and self.lower(self.skip(at + 1, {"in", "for"})) in _COUNTED_BY
            and not self.query.measures
        ):
            end = self._group(at + 1)
            if end > at + 1:
                self.query.measures.append(Measure("count", None, word))
                return end
        if word in {"one", "a", "single"} and self.lower(at + 1) in {"row", "line", "record"}:
            end = self.skip(at + 2, {"for"})
            self.one_row = self.lower(end) in phrases.GROUP
            return end if self.one_row else at
        if word in phrases.PERIODS and word.endswith("ly") and self.column(at) is None:
            self._add_key(Key(self.date_column(), phrases.PERIODS[word]))
            return at + 1
        end = self.skip(at, {"group", "grouped", "broken", "down", "split", "separately"})
        start = end
        end = self.skip(end, {"for", "in", "of"}) if self.lower(end + 1) in {"each", "every"} else end
        if self.lower(end) not in phrases.GROUP:
            return at if start == at else start
        end = self.skip(end + 1, {"each", "every", "the", "column"})
        keys, end = self._keys(end)
        for key in keys:
            self._add_key(key)
        return end if keys else at

    def _add_key(self, key: Key) -> None:
        if key not in self.query.keys:
            self.query.keys.append(key)

    def _keys(self, at: int) -> tuple[list[Key], int]:
        keys: list[Key] = []
        end = at
        while (key := self._key(end)) is not None:
            keys.append(key[0])
            end = key[1]
            joint = self.skip(end, {",", "and", "&", "then", "by", "per", "each", "the"})
            if joint == end or self._key(joint) is None or self._function(joint) is not None:
                break
            end = joint
        return keys, end

    def _key(self, at: int) -> tuple[Key, int] | None:
        word = self.word(at)
        if word is None:
            return None
        if word.lower in phrases.PERIODS and (word.column is None or word.partial or word.column.is_date):
            period = phrases.PERIODS[word.lower]
            end = self.skip(at + 1, {"of", "the"})
            column = self.column(end)
            if column is not None and column.is_date and end > at:
                return Key(column, period), end + 1
            return Key(self.date_column(), period), at + 1
        if word.column is not None and word.column.is_date:  # `order month`, `month` of the order date
            following = self.skip(at + 1, {"date", "s"})
            if self.lower(following) in phrases.PERIODS and self.column(following) is None:
                return Key(word.column, phrases.PERIODS[self.lower(following)]), following + 1
        return (Key(word.column), at + 1) if word.column is not None else None
