"""Requests that keep or leave out rows and columns."""

from __future__ import annotations

from shared.llm.scripted.demo import phrases
from shared.llm.scripted.demo.changes import Changes
from shared.llm.scripted.demo.query import NotUnderstood

_DROPS = frozenset(["drop", "remove", "delete", "exclude", "omit", "without", "discard"])
_KEEPS = frozenset("keep only select show columns column list display".split())
_UNIQUE = frozenset(["distinct", "unique", "different"])
_DUPLICATES = frozenset(["duplicate", "duplicates", "duplicated", "repeated", "deduplicate", "dedupe", "dedup"])


class Selection(Changes):
    """Which rows and columns a request keeps."""

    def _duplicates(self, at: int) -> int:
        end = self.skip(at, _DROPS | {"the", "all", "rows", "exact"})
        if self.lower(end) not in _DUPLICATES:
            return at
        if end == at and not self.lower(at).startswith("dedup"):
            raise NotUnderstood("It can remove duplicates; it cannot list them.")
        end = self.skip(
            end + 1,
            {"rows", "row", "records", "entries", "values", "of", "by", "on", "in", "the", "based", "orders", "all"},
        )
        columns, end = self.columns(end)
        self.query.unique_by = columns
        return end

    def _distinct(self, at: int) -> int:
        """``distinct cities``, ``which cities are there``."""
        word = self.lower(at)
        if word in _UNIQUE:
            end = self.skip(at + 1, {"values", "of", "the", "in", "combinations", "value", "column"})
            columns, end = self.columns(end)
            if not columns and self.lower(end) in phrases.ROWS:
                self.query.unique_by, end = [], end + 1
            elif not columns:
                return at
            self.query.select += [column for column in columns if column not in self.query.select]
            self.query.distinct = bool(columns)
            return end
        column, verb = self.column(at + 1), self.lower(at + 2)
        there = self.lower(at + 3) in {"there", "in", "exist", ""} or verb == "exist"
        if word in {"which", "what"} and column is not None and verb in {"are", "exist", "do"} and there:
            self.query.select.append(column)
            self.query.distinct = True
            return self.skip(at + 2, {"are", "there", "exist", "do", "we", "have", "in", "the", "data"})
        return at

    def _statistics(self, at: int) -> int:
        end = self.skip(at, {"summary", "descriptive", "basic"})
        if self.lower(end) in {"statistics", "stats", "describe", "summarize", "summarise", "summary"} or end > at:
            self.query.statistics = True
            return max(end, at) + (self.lower(end) in {"statistics", "stats", "describe", "summarize", "summarise"})
        return at

    def _missing(self, at: int) -> int:
        """``drop rows with missing note``, ``remove empty rows``."""
        if self.lower(at) not in _DROPS:
            return at
        end = self.skip(
            at + 1,
            {
                "all",
                "the",
                "rows",
                "row",
                "records",
                "with",
                "where",
                "having",
                "that",
                "have",
                "any",
                "a",
                "in",
                "which",
                "are",
                "is",
                "orders",
            },
        )
        before = self.columns(end)[0]
        ends = self.columns(end)[1] if before else end
        ends = self.skip(ends, {"is", "are", "has", "no"}) if before else ends
        if self.lower(ends) not in {"missing", "empty", "null", "nulls", "blank", "nan", "blanks"}:
            return at
        end = self.skip(
            ends + 1, {"value", "values", "cells", "in", "for", "of", "the", "rows", "row", "data", "any", "column"}
        )
        columns, end = (before, end) if before else self.columns(end)
        self.query.complete = [*(self.query.complete or []), *columns]
        return end

    def _drop(self, at: int) -> int:
        """``drop the column note``; ``remove rows where`` is a condition."""
        if self.lower(at) not in _DROPS:
            return at
        end = self.skip(at + 1, {"the", "column", "columns", "field", "fields"})
        rows = self.lower(end) in phrases.ROWS | {"all"} and self.column(end) is None
        if rows:
            return self.negated_condition(self.skip(end, phrases.ROWS | {"all", "the"}))
        columns, after = self.columns(end)
        names_rows = self.word(end) is not None and self.words[end].values and not self._says_column(at, end)
        if not columns or names_rows or self.comparison(after)[0] is not None:
            return self.negated_condition(end)
        self.query.drop += columns
        return self.skip(after, {"column", "columns"})

    def _says_column(self, start: int, end: int) -> bool:
        return any(self.lower(i) in {"column", "columns", "field", "fields"} for i in range(start, end))

    def _add_columns(self, at: int) -> int:
        """``add the country from places``: columns of another table beside those of the first."""
        if self.lower(at) not in {"add", "append", "attach", "include", "bring", "lookup", "get"}:
            return at
        end = self.skip(at + 1, {"the", "in", "column", "columns", "up", "a", "each", "its"})
        columns, after = self.columns(end)
        first = self.tables[0]
        if not columns or any(first.column(column.name) is not None for column in columns):
            return at
        self.query.join = True
        self.query.select += [*first.columns, *columns]
        while (word := self.word(after)) is not None and (
            word.table or word.lower in {"from", "in", "to", "the", "of"}
        ):
            after += 1
        return after

    def _keep(self, at: int) -> int:
        """``keep only city and amount``, ``show the columns city, amount``."""
        end = self.skip(at, _KEEPS | {"the", "me"})
        if end == at or not ({self.lower(i) for i in range(at, end)} & _KEEPS):
            return at
        columns, after = self.columns(end)
        if not columns or self.comparison(after)[0] is not None or self._is_condition(end, after):
            return at
        if len(columns) == 1 and not self._says_column(at, end) and self.lower(at) not in {"keep", "only", "select"}:
            return at
        self.query.select += [column for column in columns if column not in self.query.select]
        return self.skip(after, {"column", "columns"})

    def _is_condition(self, start: int, end: int) -> bool:
        """Return whether the column is followed by what it must be."""
        following = self.word(self.skip(end, phrases.IS))
        if following is None or start + 1 != end:
            return bool(self.words[start].values)
        return bool(following.values) or following.quoted or self.lower(end) in phrases.IS
