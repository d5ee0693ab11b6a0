"""Read a request about tables word by word: a word that no rule reads makes the request not understood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shared.llm.scripted.demo import phrases
from shared.llm.scripted.demo.query import Key, Measure, NotUnderstood, Predicate, Query
from shared.llm.scripted.demo.selection import Selection
from shared.llm.scripted.demo.tables_seen import ColumnSeen
from shared.llm.scripted.demo.words import Word

_PUNCTUATION = frozenset(",;:.?!()")


class TaskParser(Selection):
    """One request; ``parse`` gives its query."""

    def parse(self) -> Query:
        """Raises: NotUnderstood."""
        at, unknown = 0, []
        rules: Sequence[Callable[[int], int]] = (
            self._assign, self._cheapest, self._count, self._which, self._top, self._share, self._aggregate,
            self._group, self._sort, self._direction, self._rename, self._join, self._compute, self._fill, self._change,
            self._round, self._duplicates, self._distinct, self._statistics, self._missing, self._drop,
            self._add_columns, self._keep, self.condition, self._column,
        )  # fmt: skip
        while at < len(self.words):
            end = next((end for rule in rules if (end := rule(at)) > at), at)
            if end == at and not self._is_filler(self.words[at]):
                unknown.append(self.words[at].text)
            at = max(end, at + 1)
        if unknown:
            raise NotUnderstood(f"It does not understand {', '.join(map(repr, dict.fromkeys(unknown)))} here.")
        self._settle_top()
        self._settle_bare()
        self._settle_rows()
        if self.query.is_empty:
            raise NotUnderstood("It finds no operation in this task.")
        return self.query

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
