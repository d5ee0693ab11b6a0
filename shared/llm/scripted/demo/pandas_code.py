"""Write a query as pandas code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from shared.llm.scripted.demo.query import Computed, Measure, Operator, Period, Predicate, Query, SortBy
from shared.llm.scripted.demo.tables_seen import ColumnSeen, TableSeen

_PERIODS: dict[Period, str] = {
    "year": ".dt.year", "quarter": '.dt.to_period("Q").astype(str)', "month": '.dt.strftime("%Y-%m")',
    "week": '.dt.strftime("%G-W%V")', "day": '.dt.strftime("%Y-%m-%d")', "weekday": ".dt.day_name()",
    "hour": ".dt.hour",
}  # fmt: skip
_PREFIX = {"mean": "average", "sum": "total", "std": "std", "nunique": "distinct"}
_AGGREGATES = {"std": "std", "nunique": "nunique"}


def code_of(query: Query, tables: Sequence[TableSeen]) -> str:
    """Return the code, which assigns ``result``."""
    return "\n".join(_Code(query, tables[0]).lines())


def measure_name(measure: Measure, measures: Sequence[Measure]) -> str:
    """Name a measure as the task does; a single one keeps the name of its column."""
    if measure.column is None:
        return _plural(measure.noun) or "count"
    if measure.func == "nunique":
        return f"distinct_{measure.column.name}"
    if measure.func == "count":
        return f"count_{measure.column.name}"
    same = [one for one in measures if one.column == measure.column]
    return measure.column.name if len(same) == 1 else f"{_PREFIX.get(measure.func, measure.func)}_{measure.column.name}"


def _plural(noun: str) -> str:
    if noun in {"", "people"} or noun.endswith("s"):
        return noun
    return {"entry": "entries", "person": "people"}.get(noun, f"{noun}s")


class _Code:
    def __init__(self, query: Query, first: TableSeen) -> None:
        self.query = query
        self.first = first

    def lines(self) -> Iterator[str]:
        query = self.query
        body = [
            *self._joins(), *self._repairs(), *map(_computed, query.computed), *self._filters(), *self._uniques(),
            *self._groups(), *self._order(), *self._choice(),
        ]  # fmt: skip
        if any(re.search(r"\bpd\.", line) for line in body):
            yield "import pandas as pd"
            yield ""
        yield f"result = {self.first.name}" if self.first.name.isidentifier() else "result = data"
        yield from body

    def _joins(self) -> Iterator[str]:
        for join in self.query.joins:
            on = f"on={_text(join.left)}"
            if join.left != join.right:
                on = f"left_on={_text(join.left)}, right_on={_text(join.right)}"
            suffixes = _text(f"_{join.table}")
            yield f'result = result.merge({join.table}, {on}, how="{join.how}", suffixes=("", {suffixes}))'

    def _repairs(self) -> Iterator[str]:
        for column, value in self.query.fill:
            name = _text(column.name)
            yield f"result = result.assign(**{{{name}: {_series(column)}.fillna({_literal(value)})}})"
        if self.query.complete is not None:
            names = _names(self.query.complete)
            yield f"result = result.dropna(subset={names})" if self.query.complete else "result = result.dropna()"
        for column, change in self.query.changed:
            name = _text(column.name)
            yield f"result = result.assign(**{{{name}: result[{name}].str.{change}()}})"

    def _filters(self) -> Iterator[str]:
        for group in self.query.filters:
            yield f"result = result[{_either(group)}]"

    def _uniques(self) -> Iterator[str]:
        if self.query.unique_by is not None:
            subset = f"subset={_names(self.query.unique_by)}" if self.query.unique_by else ""
            yield f"result = result.drop_duplicates({subset})"

    # Groups

    def _groups(self) -> Iterator[str]:
        query = self.query
        if query.statistics:
            yield 'result = result.describe().reset_index(names="statistic")'
            return
        if not query.measures:
            return
        if not query.keys:
            cells = ", ".join(f"{_text(self._name(m))}: [{_whole(m)}]" for m in query.measures)
            yield f"result = pd.DataFrame({{{cells}}})"
            return
        for key in query.keys:
            if key.period is not None:
                yield f"result = result.assign({key.period}={_date(key.column)}{_PERIODS[key.period]})"
        keys = "[" + ", ".join(_text(key.name) for key in query.keys) + "]"
        yield from self._aggregated(keys)
        for bound in query.bounds:
            name = self._name(bound.measure)
            yield f"result = result[result[{_text(name)}] {_SIGNS[bound.operator]} {_literal(bound.value)}]"
        if query.share:
            name = _text(self._name(query.measures[-1]))
            yield f"result = result.assign(percent=100 * result[{name}] / result[{name}].sum())"

    def _aggregated(self, keys: str) -> Iterator[str]:
        grouped = f"result.groupby({keys}, as_index=False, dropna=False)"
        measures = self.query.measures
        if len(measures) == 1 and (column := measures[0].column) is not None and self._name(measures[0]) == column.name:
            yield f"result = {grouped}[{_text(column.name)}].{measures[0].func}()"
            return
        if all(measure.counts_rows for measure in measures):
            name = self._name(measures[0])
            yield f"result = {grouped}.size()" + ('.rename(columns={"size": ' + _text(name) + "})")
            return
        first = self.query.keys[0].name
        pairs = ", ".join(
            f"{_text(self._name(m))}: "
            + (f'({_text(first)}, "size")' if m.column is None else f"({_text(m.column.name)}, {_text(m.func)})")
            for m in measures
        )
        yield f"result = {grouped}.agg(**{{{pairs}}})"

    def _name(self, measure: Measure) -> str:
        return measure_name(measure, self.query.measures)

    # Order

    def _order(self) -> Iterator[str]:
        query = self.query
        if query.sort:
            names = ", ".join(_text(self._sorted(sort)) for sort in query.sort)
            rising = ", ".join(str(not sort.descending) for sort in query.sort)
            yield f'result = result.sort_values([{names}], ascending=[{rising}], kind="stable")'
        if query.limit is None:
            return
        rows = query.limit.rows
        if query.keys and not query.measures:
            keys = "[" + ", ".join(_text(key.name) for key in query.keys) + "]"
            yield f"result = result.groupby({keys}, dropna=False).{'tail' if query.limit.last else 'head'}({rows})"
        elif query.ties and query.sort:
            name = _text(self._sorted(query.sort[0]))
            yield f"result = result[result[{name}] == result[{name}].{'max' if query.sort[0].descending else 'min'}()]"
        else:
            yield f"result = result.{'tail' if query.limit.last else 'head'}({rows})"

    def _sorted(self, sort: SortBy) -> str:
        if sort.measure is not None:
            return self._name(sort.measure)
        column = sort.column
        assert column is not None
        period = next((key.name for key in self.query.keys if key.column == column and self.query.measures), None)
        return period or column.name

    # Columns

    def _choice(self) -> Iterator[str]:
        query = self.query
        if query.select:
            yield f"result = result[{_names(query.select)}]" + (".drop_duplicates()" if query.distinct else "")
        if query.drop:
            yield f"result = result.drop(columns={_names(query.drop)})"
        if query.rename:
            pairs = ", ".join(f"{_text(column.name)}: {_text(name)}" for column, name in query.rename)
            yield f"result = result.rename(columns={{{pairs}}})"
        if query.digits is not None:
            yield f"result = result.round({query.digits})"
        yield "result = result.reset_index(drop=True)"


_SIGNS: dict[Operator, str] = {"=": "==", "!=": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<="}


def _either(group: Sequence[Predicate]) -> str:
    """Write alternatives; equal ones as ``isin``."""
    first = group[0]
    plain = all(p.operator == "=" and not p.negated and p.column == first.column for p in group)
    if len(group) > 1 and plain:
        return f"{_series(first.column)}.isin([{', '.join(_literal(p.value) for p in group)}])"
    if len(group) == 1:
        return _condition(first)
    return " | ".join(f"({_condition(predicate)})" for predicate in group)


def _condition(predicate: Predicate) -> str:
    text = _plain_condition(predicate)
    return f"~({text})" if predicate.negated else text


def _plain_condition(predicate: Predicate) -> str:
    column, operator, value = predicate.column, predicate.operator, predicate.value
    series = _series(column)
    match operator:
        case "missing":
            return f"{series}.isna()"
        case "present":
            return f"{series}.notna()"
        case "contains":
            return f"{series}.str.contains({_literal(value)}, case=False, regex=False, na=False)"
        case "starts":
            return f"{series}.str.lower().str.startswith({_literal(str(value).lower())}, na=False)"
        case "ends":
            return f"{series}.str.lower().str.endswith({_literal(str(value).lower())}, na=False)"
        case "in_year":
            return f"{_date(column)}.dt.year == {value}"
        case "in_month":
            text = str(value)
            if text.startswith("--"):
                return f"{_date(column)}.dt.month == {int(text[2:])}"
            return f'{_date(column)}.dt.strftime("%Y-%m") == {_text(text)}'
    if column.is_date:
        return _compared_dates(column, operator, str(value))
    if column.type == "string" and value not in column.values:
        return f"{series}.str.casefold() {_SIGNS[operator]} {_literal(str(value).casefold())}"
    return f"{series} {_SIGNS[operator]} {_literal(value)}"


def _compared_dates(column: ColumnSeen, operator: Operator, value: str) -> str:
    """Compare by the precision of the value: after 2024 is from 2025 on."""
    text = {len("2024"): '.dt.strftime("%Y")', len("2024-01"): '.dt.strftime("%Y-%m")'}.get(
        len(value), '.dt.strftime("%Y-%m-%d")'
    )
    return f"{_date(column)}{text} {_SIGNS[operator]} {_text(value)}"


def _series(column: ColumnSeen) -> str:
    return f"result[{_text(column.name)}]"


def _date(column: ColumnSeen) -> str:
    if column.type == "string":
        return f'pd.to_datetime({_series(column)}, format="mixed")'
    return _series(column) if column.type == "datetime" else f"pd.to_datetime({_series(column)})"


def _whole(measure: Measure) -> str:
    if measure.column is None:
        return "len(result)"
    return f"{_series(measure.column)}.{measure.func}()"


def _computed(computed: Computed) -> str:
    parts = [_series(part) if isinstance(part, ColumnSeen) else str(part) for part in computed.expression]
    return f"result = result.assign(**{{{_text(computed.name)}: {' '.join(parts)}}})"


def _names(columns: Sequence[ColumnSeen]) -> str:
    return "[" + ", ".join(_text(column.name) for column in columns) + "]"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _literal(value: object) -> str:
    return _text(value) if isinstance(value, str) else repr(value)
