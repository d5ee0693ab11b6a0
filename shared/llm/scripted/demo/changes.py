"""Requests that rename, join, compute, fill or round columns."""

from __future__ import annotations

from dataclasses import replace

from shared.llm.scripted.demo import phrases
from shared.llm.scripted.demo.ordering import Ordering
from shared.llm.scripted.demo.query import Computed, NotUnderstood
from shared.llm.scripted.demo.tables_seen import ColumnSeen

_JOINS = frozenset("join joined merge merged combine combined match matched enrich link lookup vlookup".split())
_HOW = {"left": "left", "inner": "inner", "outer": "outer", "full": "outer"}


class Changes(Ordering):
    """What a request changes in columns."""

    def _rename(self, at: int) -> int:
        """``rename city to town, amount to total``."""
        if self.lower(at) not in {"rename", "call", "renamed"}:
            return at
        end = at + 1
        while True:
            end = self.skip(end, {"the", "column", "columns", ",", "and", "from", "rename", "field", "header"})
            column = self.column(end)
            to = self.skip(end + 1, {"to", "as", "into", "=", "-", ">", "column"})
            word = self.word(to)
            if column is None or word is None or (to == end + 1 and self.lower(at) != "call"):
                break
            text, to = self.phrase(to)
            self.query.rename.append((column, text))
            self._alias(text, column, to)
            end = to
            joint = self.skip(end, {",", "and", "the", "column", "rename"})
            if joint == end or self.column(joint) is None or self.lower(joint + 1) not in {"to", "as", "into", "="}:
                break
        return end if self.query.rename else at

    def phrase(self, at: int) -> tuple[str, int]:
        """Read a new name: quoted, or words up to the next joint."""
        word = self.word(at)
        assert word is not None
        if word.quoted:
            return word.text, at + 1
        texts: list[str] = []
        ends = {",", ";", ".", "and", "then", "=", "as", "to", "by", "with", "where", "("}
        while (word := self.word(at)) is not None and (not texts or (word.lower not in ends)):
            texts.append(word.text)
            at += 1
            if word.text.isidentifier() and self.lower(at) in {"sorted", "sort", "per", "for", "from"}:
                break
        return " ".join(texts), at

    def _join(self, at: int) -> int:
        """``join the places on city``, ``left join orders with customers by customer_id``."""
        how = _HOW.get(self.lower(at))
        end = at + 1 if how is not None else at
        if self.lower(end) == "look" and self.lower(end + 1) == "up":
            end += 1
        elif self.lower(end) not in _JOINS or self.column(end) is not None:
            return at
        if len(self.tables) < 2:
            raise NotUnderstood("There is one data set; add the second with --data NAME=FILE.")
        self.query.join, self.query.how = True, how or "left"  # type: ignore[assignment]
        end += 1
        while (word := self.word(end)) is not None and word.lower not in {"on", "by", "using", "via", ",", ";", "."}:
            if word.columns and word.table is None and self.lower(end - 1) != "the":
                break
            known = word.table is not None or word.lower in phrases.FILLERS | {"into", "both", "two", "onto", "up"}
            if not known and not (len(self.tables) == 2 and self.lower(end + 1) in {"with", "and", "to", "table"}):
                break
            end += 1
        if self.lower(end) in {"on", "by", "using", "via"}:
            columns, after = self.columns(
                self.skip(end + 1, {"the", "column", "columns", "shared", "common", "key"}), "="
            )
            self.query.on = tuple(columns)
            end = after if columns else self.skip(end + 1, {"the", "shared", "common", "column", "key"})
        return end

    def _assign(self, at: int) -> int:
        """``total = amount * 2``: before the words of the name are read otherwise."""
        return self._compute(at) if self.lower(at + 1) == "=" else at

    def _compute(self, at: int) -> int:
        """``add a column total = price * quantity``, ``profit = price minus cost``."""
        end = self.skip(
            at, {"add", "a", "an", "new", "column", "named", "called", "compute", "calculate", "create", "the"}
        )
        adds = end > at and self.lower(at) in {"add", "compute", "calculate", "create", "new", "column"}
        word = self.word(end)
        if word is None or not (adds or self.lower(end + 1) == "="):
            return at
        equals = next((i for i in range(end + 1, min(end + 6, len(self.words))) if self._is_assignment(i)), None)
        if equals is None:
            return at
        expression, after = self._expression(self.skip(equals + 1, {"the", "of", "being"}))
        if not any(isinstance(part, ColumnSeen) for part in expression):
            return at
        if len(expression) == 1 and not adds:
            return at
        name = word.text if word.quoted else "_".join(self.words[i].text for i in range(end, equals))
        self.query.computed.append(Computed(name, tuple(expression)))
        self._alias(name, ColumnSeen(self.tables[0].name, name, "float"), after)
        return after

    def _alias(self, name: str, column: ColumnSeen, start: int) -> None:
        """Let later words name a column as the task has called it."""
        self.words = [
            replace(word, columns=(column,), partial=False)
            if at >= start and word.lower == name.casefold() and not word.columns
            else word
            for at, word in enumerate(self.words)
        ]

    def _is_assignment(self, at: int) -> bool:
        return self.lower(at) in {"=", "as", "with", ":", "from", "is"}

    def _expression(self, at: int) -> tuple[list[ColumnSeen | float | int | str], int]:
        expression: list[ColumnSeen | float | int | str] = []
        end = at
        while True:
            word = self.word(end)
            if word is None or (word.column is None and word.number is None):
                return (expression[:-1], end - 1) if expression else ([], at)
            expression.append(word.column if word.column is not None else word.number or 0)
            end += 1
            percent = word.column is None and self.lower(end) in {"%", "percent"}
            if percent:
                expression[-1:] = [(word.number or 0) / 100]
                end = self.skip(end + 1, {"of"}) if self.lower(end + 1) == "of" else end + 1
                operator, length = ("*", 0) if self.lower(end - 1) == "of" else self._operator(end)
            else:
                operator, length = self._operator(end)
            if not operator:
                return expression, end
            expression.append(operator)
            end += length

    def _operator(self, at: int) -> tuple[str, int]:
        for length in (2, 1):
            key = tuple(self.lower(at + i) for i in range(length))
            if key in phrases.ARITHMETIC:
                return phrases.ARITHMETIC[key], length
        return "", 0

    def _fill(self, at: int) -> int:
        """``fill missing amounts with 0``, ``replace empty notes by 'none'``."""
        if self.lower(at) not in {"fill", "replace", "set"}:
            return at
        end = self.skip(
            at + 1,
            {
                "in",
                "the",
                "missing",
                "empty",
                "blank",
                "null",
                "values",
                "value",
                "of",
                "cells",
                "all",
                "nulls",
                "column",
            },
        )
        if (
            not any(self.lower(i) in {"missing", "empty", "blank", "null", "nulls"} for i in range(at, end))
            and self.lower(at) != "fill"
        ):
            return at
        column = self.column(end)
        to = self.skip(end + 1, {"with", "by", "to", "values", "value", "the", "in", "column"})
        word = self.word(to)
        if column is None or word is None:
            return at
        value: object = word.number if word.number is not None and not word.quoted else word.text
        if column.is_number and not isinstance(value, (int, float)):
            raise NotUnderstood(f"It fills {column.name} with a number only, not with {word.text!r}.")
        self.query.fill.append((column, value))
        return to + 1

    def _change(self, at: int) -> int:
        """``make city upper case``, ``uppercase the city``."""
        end = self.skip(at, {"make", "convert", "turn", "change", "put", "write", "the", "column"})
        column = self.column(end)
        if column is not None and end > at:
            change, after = self._text_change(self.skip(end + 1, {"to", "into", "in", "all"}))
        else:
            change, after = self._text_change(end)
            after = self.skip(after, {"the", "column"})
            column = self.column(after)
            after += 1
        if not change or column is None:
            return at
        self.query.changed.append((column, change))
        return after

    def _text_change(self, at: int) -> tuple[str, int]:
        for length in (2, 1):
            key = tuple(self.lower(at + i) for i in range(length))
            if key in phrases.TEXT_CHANGES:
                return phrases.TEXT_CHANGES[key], at + length
        return "", at

    def _round(self, at: int) -> int:
        if self.lower(at) not in {"round", "rounded"}:
            return at
        end = at + 1
        while self.column(end) is not None or self.lower(end) in {
            "the",
            "to",
            "it",
            "them",
            "all",
            "numbers",
            "result",
        }:
            end += 1
        word = self.word(end)
        if word is None or word.number is None:
            self.query.digits = 0
            return self.skip(end, {"integer", "integers", "whole", "nearest"})
        self.query.digits = int(word.number)
        return self.skip(end + 1, {"decimals", "decimal", "places", "digits", "place", "digit"})
