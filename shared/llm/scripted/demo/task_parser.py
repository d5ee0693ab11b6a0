"""Read a request about tables word by word: a word that no rule reads makes the request not understood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches

from shared.llm.scripted.demo import phrases
from shared.llm.scripted.demo.query import Key, Measure, NotUnderstood, Predicate, Query
from shared.llm.scripted.demo.selection import Selection
from shared.llm.scripted.demo.tables_seen import ColumnSeen
from shared.llm.scripted.demo.words import Word, parts, stem

_SIMILAR = 0.78  #: difflib's ratio
_PUNCTUATION = frozenset(",;:.?!()")


class TaskParser(Selection):
    """One request; ``parse`` gives its query."""

    def parse(self) -> Query:
        """Raises: NotUnderstood."""
        at = 0
        unknown: list[Word] = []
        rules: Sequence[Callable[[int], int]] = (
            self._assign, self._cheapest, self._count, self._which, self._top, self._share, self._aggregate,
            self._group, self._sort, self._direction, self._rename, self._join, self._compute, self._fill, self._change,
            self._round, self._duplicates, self._distinct, self._statistics, self._missing, self._drop,
            self._add_columns, self._keep, self.condition, self._column,
        )  # fmt: skip
        while at < len(self.words):
            end = next((end for rule in rules if (end := rule(at)) > at), at)
            if end == at and not self._is_filler(self.words[at]):
                unknown.append(self.words[at])
            at = max(end, at + 1)
        if unknown:
            raise NotUnderstood(self._unread(unknown))
        self._settle_top()
        self._settle_bare()
        self._settle_rows()
        self._settle_selected()
        if self.query.is_empty:
            raise NotUnderstood("It finds no operation in this task.")
        return self.query

    def _unread(self, unknown: Sequence[Word]) -> str:
        """Name the words that no rule reads, with the words that were probably meant."""
        words = list(dict.fromkeys(word.text for word in unknown if word.lower not in phrases.GROUP))
        words = words or list(dict.fromkeys(word.text for word in unknown))
        columns = [column for table in self.tables for column in table.columns]
        values = [value for column in columns for value in column.values if isinstance(value, str)]
        known = {name.casefold(): name for name in [*phrases.AGGREGATES, *phrases.PERIODS, *values]}
        known |= {part: column.name for column in columns for part in (*parts(column.name), column.name.casefold())}
        near = [known[each] for word in words for each in get_close_matches(stem(word), known, 1, _SIMILAR)]
        near = [each for each in dict.fromkeys(near) if each not in words]
        meant = f" Did you mean {' and '.join(near)}?" if near else ""
        return f"It does not understand {', '.join(map(repr, words))} here.{meant}"

    def _is_filler(self, word: Word) -> bool:
        if word.quoted or word.columns or word.values or word.number is not None:
            return False
        named = word.table is not None or word.lower in phrases.FILLERS or word.lower in _PUNCTUATION
        return named or word.lower in phrases.ROWS

    def _column(self, at: int) -> int:
        """Note a column that is named without an operation."""
        word = self.word(at)
        if word is None or word.column is None:
            return at
        self.bare.append(word)
        return at + 1

    def _settle_bare(self) -> None:
        """Decide what columns that are only named mean."""
        query = self.query
        columns = [word.column for word in self.bare if word.column is not None]
        if not columns:
            return
        if query.measures and not query.keys and self.top is None:
            query.keys = [Key(column) for column in dict.fromkeys(columns) if not column.is_number]
            if len(query.keys) != len(set(columns)):
                raise NotUnderstood(f"It does not see what {', '.join(sorted({c.name for c in columns}))} is for here.")
            return
        numbers = [column for column in columns if column.is_number]
        if query.keys and not query.measures and len(numbers) == len(columns) and self.top is None:
            query.notes.append(f"added up {', '.join(column.name for column in numbers)}")
            query.measures = [Measure("sum", column) for column in dict.fromkeys(numbers)]
            return
        if query.measures or query.keys or query.select:
            fresh = [c.name for c in columns if c not in [*query.select, *(key.column for key in query.keys)]]
            measured = {measure.column.name for measure in query.measures if measure.column is not None}
            if fresh := [name for name in fresh if name not in measured]:
                raise NotUnderstood(f"It does not see what {', '.join(fresh)} is for here.")
            return
        plural = len(columns) == 1 and self.bare[0].plural
        if self._kept_with_bare(columns, plural=plural):
            return
        query.select = list(dict.fromkeys(columns))
        query.distinct = plural

    def _settle_rows(self) -> None:
        """Compute ``one row per month`` where nothing else says how: totals of the numbers, else a count."""
        query = self.query
        if not self.one_row or query.measures:
            return
        keys = {key.column.name for key in query.keys}
        numbers = [
            column
            for table in self.tables
            for column in table.columns
            if column.is_number and not column.is_id and column.name not in keys
        ]
        query.measures = [Measure("sum", column) for column in numbers] or [Measure("count", None)]
        names = ", ".join(column.name for column in numbers)
        query.notes.append(f"added up {names}" if names else "counted the rows")

    def _settle_selected(self) -> None:
        """Leave it at the groups where they are selected, as in SQL: ``select city, sum(amount) group by city``."""
        grouped = [key.column for key in self.query.keys]
        if self.query.measures and all(column in grouped for column in self.query.select):
            self.query.select = []

    def _kept_with_bare(self, columns: Sequence[ColumnSeen], *, plural: bool) -> bool:
        """Settle ``cities sorted``, ``products over 5`` and ``only active``; return whether that is all."""
        query = self.query
        if query.measures or query.keys:
            return False
        if len(columns) == 1 and columns[0].type == "bool" and not query.select:
            query.filters.append([Predicate(columns[0], "=", value=True)])
            return True
        if plural and query.sort and all(sort.column is None and sort.measure is None for sort in query.sort):
            query.sort = [replace(query.sort[0], column=columns[0])]
        if plural and (query.filters or query.sort or query.limit or query.complete or query.join):
            query.notes.append("kept all columns of these rows")
            return True
        return False
