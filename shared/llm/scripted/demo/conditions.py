"""Conditions on rows and groups: ``where amount > 3``, ``in Oslo``, ``since 2024-02-01``, ``with missing note``."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from shared.llm.scripted.demo import phrases
from shared.llm.scripted.demo.query import Bound, Func, Key, Measure, NotUnderstood, Operator, Predicate, Query
from shared.llm.scripted.demo.tables_seen import ColumnSeen, TableSeen
from shared.llm.scripted.demo.words import Word, parts

_TRUE, _FALSE = frozenset({"true", "yes", "1", "on"}), frozenset({"false", "no", "0", "off"})
_OF_AGE: dict[str, Operator] = {"older": ">", "younger": "<"}  #: of a date it is the other way round
_ORDERED = frozenset({">", ">=", "<", "<="})
_OPPOSITE: dict[Operator, Operator] = {"missing": "present", "present": "missing", "=": "!=", "!=": "="}


class Conditions:
    """The words of a request from left to right, and the query that they make."""

    def __init__(self, words: Sequence[Word], tables: Sequence[TableSeen]) -> None:
        self.words = words
        self.tables = tables
        self.query = Query()
        self.bare: list[Word] = []  #: columns that are only named

    # Reading words

    def word(self, at: int) -> Word | None:
        return self.words[at] if 0 <= at < len(self.words) else None

    def lower(self, at: int) -> str:
        word = self.word(at)
        if word is None or word.quoted or (word.values and not word.text.islower() and len(word.text) < 4):
            return ""
        return word.lower

    def column(self, at: int) -> ColumnSeen | None:
        word = self.word(at)
        return None if word is None else word.column

    def skip(self, at: int, words: Collection[str]) -> int:
        """Return the place after all of these words that follow, except those that name a column or a value."""
        while (word := self.word(at)) is not None and word.lower in words and not word.quoted:
            if word.columns or word.values:
                break
            at += 1
        return at

    def columns(self, at: int, *joints: str) -> tuple[list[ColumnSeen], int]:
        """Read ``city, amount and tax``."""
        columns: list[ColumnSeen] = []
        end = at
        while (column := self.column(end)) is not None:
            columns.append(column)
            end += 1
            joint = self.skip(end, {",", "and", "&", "or", "the", "column", *joints})
            if joint == end or self.column(joint) is None:
                break
            end = joint
        return columns, end

    def only_number(self) -> ColumnSeen:
        """Return the column that amounts are meant of. Raises: NotUnderstood when there are several or none."""
        columns = [column for table in self.tables for column in table.columns if column.is_number]
        own = [column for column in self.tables[0].columns if column.is_number and not column.is_id]
        if len(own) == 1:
            return own[0]
        measures = [column for column in columns if not column.is_id] or columns
        if len({column.name for column in measures}) == 1:
            return measures[0]
        if not measures:
            raise NotUnderstood("The data has no column of numbers to compute with.")
        raise NotUnderstood(f"Name the column of numbers: {', '.join(dict.fromkeys(c.name for c in measures))}.")

    def date_column(self) -> ColumnSeen:
        """Return the column that times are meant of. Raises: NotUnderstood when there are several or none."""
        dates = [column for table in self.tables for column in table.columns if column.is_date]
        if len(dates) == 1:
            return dates[0]
        if not dates:
            raise NotUnderstood("The data has no column of dates that it can read.")
        raise NotUnderstood(f"Name the column of dates: {', '.join(column.name for column in dates)}.")

    # Conditions

    def condition(self, at: int) -> int:
        groups, end = self._conditions(at)
        self.query.filters += groups
        return end

    def negated_condition(self, at: int) -> int:
        """``remove rows where ...``: the rows that do not fulfill it stay."""
        groups, end = self._conditions(at)
        if len(groups) > 1 and any(len(group) > 1 for group in groups):
            raise NotUnderstood("It cannot remove rows by conditions that mix `and` with `or`.")
        if len(groups) == 1:
            self.query.filters += [[_not(predicate)] for predicate in groups[0]]
        elif groups:
            self.query.filters.append([_not(group[0]) for group in groups])
        return end

    def _conditions(self, at: int) -> tuple[list[list[Predicate]], int]:
        groups: list[list[Predicate]] = []
        end = at
        while True:
            start = self._intro(end)
            predicates, after = self._predicate(start)
            if after == start:
                return groups, end if groups or end == at else at
            alternative = bool(groups) and self.lower(end) == "or"
            if predicates and (alternative or self._continues(groups, predicates, end)):
                groups[-1] += predicates
            else:
                groups += [[predicate] for predicate in predicates]
            end = after
            if self.lower(end) not in {"or", "and", ","} or not self._follows(end + 1):
                return groups, end

    def _follows(self, at: int) -> bool:
        """Return whether a condition continues here, without an effect on the query."""
        kept = replace(self.query, bounds=[*self.query.bounds], measures=[*self.query.measures])
        try:
            start = self._intro(at)
            return self._predicate(start)[1] > start
        except NotUnderstood:
            return False
        finally:
            self.query = kept

    def _continues(self, groups: Sequence[list[Predicate]], predicates: Sequence[Predicate], at: int) -> bool:
        """Tell ``Oslo and Rome`` (either one) from ``Oslo and over 3`` (both)."""
        if not groups or self.lower(at) not in {"and", ","}:
            return False
        last, new = groups[-1][-1], predicates[0]
        equal = last.operator == new.operator == "=" and not last.negated and not new.negated
        return equal and last.column == new.column

    def _intro(self, at: int) -> int:
        while (
            (word := self.word(at)) is not None
            and not word.quoted and not word.columns and not word.values
            and word.lower in phrases.CONDITION | {"or", "and", ","}
            and self.comparison(at)[0] is None
        ):  # fmt: skip
            at += 1
        return at

    def comparison(self, at: int) -> tuple[Operator | None, int]:
        """Read a comparison; return it and the place after it."""
        for length in range(phrases.MAX_COMPARISON, 0, -1):
            key = tuple(self.lower(at + i) for i in range(length))
            if key in phrases.COMPARISONS and "" not in key:
                return phrases.COMPARISONS[key], at + length
        return None, at

    def _predicate(self, at: int) -> tuple[list[Predicate], int]:
        """Read one condition; the place stays where there is none."""
        for rule in (self._of_group, self._of_column, self._of_value, self._of_missing, self._of_time, self._of_number):
            predicates, end = rule(at)
            if end > at:
                return predicates, end
        return [], at

    def _of_group(self, at: int) -> tuple[list[Predicate], int]:
        """``the total is over 5``, of groups."""
        if (read := self._function(at)) is None:
            return [], at
        func, end = read
        end = self.skip(end, {"of", "the"})
        column = self.column(end)
        end = self.skip(end + 1 if column is not None else end, phrases.IS | {"orders", "rows"})
        operator, end = self.comparison(end)
        value = self.word(end)
        if operator is None or value is None or value.number is None:
            return [], at
        self._bound(Measure(func, column), operator, value.number)
        return [], end + 1

    def _function(self, at: int) -> tuple[Func, int] | None:
        raise NotImplementedError

    def _bound(self, measure: Measure, operator: Operator, value: object) -> None:
        same = [one for one in self.query.measures if one.func == measure.func and measure.column in (None, one.column)]
        if not same:
            self.query.measures.append(measure)
        self.query.bounds.append(Bound((same or [measure])[-1], operator, value))

    def _of_column(self, at: int) -> tuple[list[Predicate], int]:
        """``city is Oslo``, ``amount > 3``, ``not active``."""
        negated = self.lower(at) in phrases.NOT
        start = at + 1 if negated else at
        word = self.word(start)
        if word is None or word.column is None:
            return [], at
        column = word.column
        end = self.skip(start + 1, phrases.IS - {"="} if self.comparison(start + 1)[0] else phrases.IS)
        if self.lower(end) in phrases.NOT and self.comparison(end)[0] is None:
            negated, end = not negated, end + 1
            end = self.skip(end, {"equal", "to", "be"})
        if self.lower(end) == "between":
            return self._between(column, end + 1, at)
        operator, after = self.comparison(end)
        if operator in _ORDERED and (self._names_rows(start) or (column.type == "string" and not column.is_date)):
            return [], at
        if operator in {"missing", "present"}:
            return [_signed(Predicate(column, operator), negated)], self.skip(after, {"value", "values"})
        said = operator is not None or end > start + 1
        values, stop = self._operands(column, operator or "=", after, said=said)
        if values:
            return self._compared(column, operator or "=", values, negated), stop
        if column.type == "bool":
            return [Predicate(column, "=", not negated)], self.skip(start + 1, {"ones", "is"})
        return [], at

    def _compared(
        self, column: ColumnSeen, operator: Operator, values: Sequence[object], negated: bool
    ) -> list[Predicate]:
        """Return the alternatives; all of them have to be false when they are negated."""
        return [_signed(Predicate(column, _of_dates(column, operator, value), value), negated) for value in values]

    def _between(self, column: ColumnSeen, at: int, start: int) -> tuple[list[Predicate], int]:
        low, end = self._operands(column, ">=", at, said=True)
        high, stop = self._operands(column, "<=", self.skip(end, {"and", "to", "-"}), said=True)
        if not low or not high:
            return [], start
        self.query.filters.append([Predicate(column, ">=", low[0])])
        return [Predicate(column, "<=", high[0])], stop

    def _operands(self, column: ColumnSeen, operator: Operator, at: int, *, said: bool) -> tuple[list[object], int]:
        """Read what a column is compared with: values joined by ``or`` or commas for ``=``."""
        values: list[object] = []
        end = self.skip(at, {"either", "the", "one", "of", "in", "to"} if said else ())
        while (value := self._operand(column, operator, end, said=said)) is not None:
            values.append(value[0])
            end = value[1]
            joint = self.skip(end, {"or", ",", "and", "nor"})
            if operator not in {"=", "!=", "contains"} or joint == end:
                break
            further = self._operand(column, operator, joint, said=False)
            if further is None:
                break
            end = joint
        return values, end

    def _operand(self, column: ColumnSeen, operator: Operator, at: int, *, said: bool) -> tuple[object, int] | None:
        word = self.word(at)
        if word is None:
            return None
        own = next((value for of, value in word.values if of.name == column.name), None)
        if own is not None and operator in {"=", "!="}:
            return own, at + 1
        if column.is_number:
            return (word.number, self.skip(at + 1, {"%", "percent"})) if word.number is not None else None
        if column.is_date:
            return self._time(word, at)
        if column.type == "bool":
            if word.lower in _TRUE | _FALSE and (said or word.quoted):
                return word.lower in _TRUE, at + 1
            return None
        if word.quoted or (said and word.lower[:1].isalnum() and word.lower not in phrases.IS | phrases.NOT):
            return self._text(column, operator, word, at)
        return None

    def _text(self, column: ColumnSeen, operator: Operator, word: Word, at: int) -> tuple[object, int]:
        if operator not in {"=", "!="}:
            return word.text, at + 1
        if operator == "=" and column.complete and word.text not in column.values:
            listed = ", ".join(str(value) for value in column.values[:12])
            raise NotUnderstood(f"The column {column.name} has no {word.text!r}; it has {listed}.")
        return word.text, at + 1

    def _time(self, word: Word, at: int) -> tuple[object, int] | None:
        """Read a date, a month with or without a year, or a year."""
        if word.date:
            return word.text, at + 1
        if word.lower in phrases.MONTHS:
            year = self.word(at + 1)
            month = phrases.MONTHS[word.lower]
            if year is not None and year.number is not None and _is_year(year.number):
                return f"{int(year.number)}-{month:02}", at + 2
            return f"--{month:02}", at + 1
        if word.number is not None and _is_year(word.number):
            return f"{int(word.number)}", at + 1
        return None

    def _of_value(self, at: int) -> tuple[list[Predicate], int]:
        """``Oslo``, ``not Oslo``, ``from Oslo``."""
        negated = self.lower(at) in phrases.NOT
        start = at + 1 if negated else at
        start = self.skip(start, {"from", "in", "for", "the"})
        word = self.word(start)
        if word is None or not word.values:
            return [], at
        names = {column.name for column, _ in word.values}
        if len(names) > 1:
            raise NotUnderstood(f"{word.text!r} is in several columns: {', '.join(sorted(names))}; say which.")
        column, value = word.values[0]
        predicates = [_signed(Predicate(column, "=", value), negated)]
        end = start + 1
        while negated and self.lower(end) in {"or", "and", ",", "nor"}:
            following = self.word(end + 1)
            own = [value for of, value in following.values if of == column] if following is not None else []
            if not own:
                break
            self.query.filters.append([_signed(Predicate(column, "=", own[0]), negated=True)])
            end += 2
        return predicates, end

    def _of_missing(self, at: int) -> tuple[list[Predicate], int]:
        """``with missing note``."""
        operator, end = self.comparison(at)
        if self.lower(at) in {"without", "no"}:
            operator, end = "missing", self.skip(at + 1, {"a", "an", "any", "the"})
        if operator != "missing":
            return [], at
        column = self.column(self.skip(end, {"value", "values", "in", "for", "the"}))
        if column is None:
            return [], at
        return [Predicate(column, "missing")], self.skip(end, {"value", "values", "in", "for", "the"}) + 1

    def _of_time(self, at: int) -> tuple[list[Predicate], int]:
        """``in 2024``, ``since 2024-02-01``, ``between January and March 2024``: of the only column of dates."""
        between = self.lower(at) == "between"
        operator, end = (None, at + 1) if between else self.comparison(at)
        word = self.word(end)
        if word is None or word.columns or word.values or not (word.date or self._names_time(word, at, operator)):
            return [], at
        column = self.date_column()
        if between:
            return self._between(column, end, at)
        value = self._time(word, end)
        if value is None:
            return [], at
        return [Predicate(column, _of_dates(column, operator or "=", value[0]), value[0])], value[1]

    def _names_time(self, word: Word, at: int, operator: Operator | None) -> bool:
        """Return whether the word is a month or a year here, and no plain number."""
        if word.lower in phrases.MONTHS and (word.lower != "may" or self.lower(at - 1) in {"in", "since", "of", "for"}):
            return True
        before = {"in", "since", "until", "before", "after", "from", "of", "for", "year", "during"}
        said = self.lower(at - 1) in before or (operator is not None and self.lower(at) in before)
        return word.number is not None and _is_year(word.number) and said

    def _of_number(self, at: int) -> tuple[list[Predicate], int]:
        """``over 100``, ``more than 3 units``: of the column that follows, else of the only column of numbers."""
        operator, end = self.comparison(at)
        word = self.word(end)
        if operator is None or word is None or word.number is None or word.quoted:
            return [], at
        after = self.skip(end + 1, {"in", "of", "%", "the"})
        column = self.column(after)
        names_rows = self._names_rows(after)
        if column is not None and column.is_number and not names_rows:
            return [Predicate(column, operator, word.number)], after + 1
        if names_rows and (self.query.keys or self.bare):
            if not self.query.keys:
                self.query.keys, self.bare = [Key(named.column) for named in self.bare if named.column], []
            self._bound(Measure("count", None, self.lower(after)), operator, word.number)
            return [], after + 1
        if self.query.keys and self.query.measures:
            self._bound(self.query.measures[-1], operator, word.number)
            return [], end + 1
        if self.lower(at) in _OF_AGE:
            column, operator = self._age(), _OF_AGE[self.lower(at)]
        else:
            column = self.only_number()
        self.query.notes.append(f"compared {column.name}")
        return [Predicate(column, operator, word.number)], end + 1

    def _age(self) -> ColumnSeen:
        """Return the column of ages. Raises: NotUnderstood when there are several or none."""
        ages = [each for table in self.tables for each in table.columns if each.is_number and "age" in parts(each.name)]
        if len(ages) != 1:
            raise NotUnderstood("It does not see which column is the age.")
        return ages[0]

    def _names_rows(self, at: int) -> bool:
        """Return whether a word names rows: ``orders over 500`` has nothing to do with the column ``order_id``."""
        column = self.column(at)
        if column is None:
            return self.lower(at) in phrases.ROWS
        return column.is_id and _letters(self.lower(at)) != _letters(column.name)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _is_year(number: float) -> bool:
    return number == int(number) and 1900 <= number <= 2100


def _of_dates(column: ColumnSeen, operator: Operator, value: object) -> Operator:
    """Return the operator for dates that are only a year or a month."""
    if column.is_date and operator == "=" and isinstance(value, str):
        if value.startswith("--") or len(value) == len("2024-01"):
            return "in_month"
        if len(value) == len("2024"):
            return "in_year"
    return operator


def _signed(predicate: Predicate, negated: bool) -> Predicate:
    return _not(predicate) if negated else predicate


def _not(predicate: Predicate) -> Predicate:
    opposite = _OPPOSITE.get(predicate.operator)
    if opposite is not None and not predicate.negated and not (opposite == "=" and predicate.column.is_date):
        return replace(predicate, operator=opposite)
    return replace(predicate, negated=not predicate.negated)
