"""Write a query as SQL: what the demo model computes a second time, to check the result of its pandas code."""

# ruff: noqa: S608 - the query runs in the sandbox

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shared.llm.scripted.demo.pandas_code import measure_name
from shared.llm.scripted.demo.query import Bound, Computed, Join, Measure, Operator, Period, Predicate, Query, SortBy
from shared.llm.scripted.demo.tables_seen import ColumnSeen, TableSeen

_PERIODS: dict[Period, str] = {
    "year": "year({})", "quarter": "year({0}) || 'Q' || quarter({0})", "month": "strftime({}, '%Y-%m')",
    "week": "strftime({}, '%G-W%V')", "day": "strftime({}, '%Y-%m-%d')", "weekday": "dayname({})",
    "hour": "hour({})",
}  # fmt: skip
_AGGREGATES = {
    "sum": "coalesce(sum({}), 0)", "mean": "avg({})", "median": "median({})", "min": "min({})", "max": "max({})",
    "std": "stddev_samp({})", "count": "count({})", "nunique": "count(DISTINCT {})",
}  # fmt: skip
_CHANGES = {"upper": "upper({})", "lower": "lower({})", "strip": "trim({})"}
_SIGNS: dict[Operator, str] = {"=": "=", "!=": "IS DISTINCT FROM", ">": ">", ">=": ">=", "<": "<", "<=": "<="}
_ROW = "_row"  #: of each step: the position of a row


class NotWritten(Exception):
    """The query has a part that is not written in SQL."""


def sql_of(query: Query, tables: Sequence[TableSeen]) -> str | None:
    """Return the query in SQL; none when a part of it is not written so."""
    try:
        return _Sql(query, tables).text()
    except NotWritten:
        return None


class _Sql:
    def __init__(self, query: Query, tables: Sequence[TableSeen]) -> None:
        self.query = query
        self.tables = {table.name: table for table in tables}
        first = tables[0]
        self.columns = {column.name: column.is_number for column in first.columns}  #: whether they hold numbers
        self.steps: list[str] = []
        self._add(f"SELECT *, row_number() OVER () AS {_ROW} FROM {_name(first.name)}")

    def text(self) -> str:
        query = self.query
        for join in query.joins:
            self._join(join)
        self._repair()
        for computed in query.computed:
            self._set(computed.name, _expression(computed), is_number=True)
        for group in query.filters:
            self._keep(" OR ".join(f"({_condition(each)})" for each in group))
        if query.unique_by is not None:
            self._first_of([column.name for column in query.unique_by] or list(self.columns))
        if query.statistics:
            raise NotWritten
        if query.measures:
            self._measure()
        self._order()
        self._choose()
        steps = ",\n".join(f"step{number} AS ({step})" for number, step in enumerate(self.steps))
        order = ", ".join([*self._shown_order(), _ROW])
        return f"WITH {steps}\nSELECT {self._listed()} FROM {self._last} ORDER BY {order}"

    # Steps

    @property
    def _last(self) -> str:
        return f"step{len(self.steps) - 1}"

    def _add(self, select: str) -> None:
        self.steps.append(select)

    def _listed(self) -> str:
        return ", ".join(map(_name, self.columns))

    def _keep(self, condition: str) -> None:
        self._add(f"FROM {self._last} WHERE {condition}")

    def _set(self, name: str, value: str, *, is_number: bool) -> None:
        cells = {each: _name(each) for each in self.columns} | {name: f"{value} AS {_name(name)}"}
        self._add(f"SELECT {', '.join(cells.values())}, {_ROW} FROM {self._last}")
        self.columns[name] = is_number

    def _first_of(self, names: Iterable[str]) -> None:
        keys = ", ".join(map(_name, names))
        self._add(f"FROM {self._last} QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY {_ROW}) = 1")

    def _join(self, join: Join) -> None:
        other = self.tables.get(join.table)
        if other is None:
            raise NotWritten
        cells = [f"a.{_name(name)}" for name in self.columns]
        if join.left == join.right:
            key = f"coalesce(a.{_name(join.left)}, b.{_name(join.left)}) AS {_name(join.left)}"
            cells[list(self.columns).index(join.left)] = key
        for column in other.columns:
            if column.name == join.left == join.right:
                continue
            name = f"{column.name}_{join.table}" if column.name in self.columns else column.name
            self.columns[name] = column.is_number
            cells.append(f"b.{_name(column.name)} AS {_name(name)}")
        kinds = {"left": "LEFT", "inner": "INNER", "outer": "FULL"}
        order = "a._row, b._row" if join.how != "outer" else f"coalesce(a.{_name(join.left)}, b.{_name(join.right)})"
        self._add(
            f"SELECT {', '.join(cells)}, row_number() OVER (ORDER BY {order} NULLS LAST) AS {_ROW} FROM {self._last} a"
            f" {kinds[join.how]} JOIN (SELECT *, row_number() OVER () AS {_ROW} FROM {_name(join.table)}) b"
            f" ON a.{_name(join.left)} IS NOT DISTINCT FROM b.{_name(join.right)}"
        )

    def _repair(self) -> None:
        query = self.query
        for column, value in query.fill:
            self._set(column.name, f"coalesce({_name(column.name)}, {_literal(value)})", is_number=column.is_number)
        if query.complete is not None:
            names = [column.name for column in query.complete] or list(self.columns)
            self._keep(" AND ".join(f"{_name(name)} IS NOT NULL" for name in names))
        for column, change in query.changed:
            if change not in _CHANGES:
                raise NotWritten
            self._set(column.name, _CHANGES[change].format(_name(column.name)), is_number=False)

    # Groups

    def _measure(self) -> None:
        query = self.query
        for key in query.keys:
            if key.period is not None:
                self._set(key.period, _PERIODS[key.period].format(_date(key.column)), is_number=False)
        keys = [key.name for key in query.keys]
        measured = {self._measured(measure): measure for measure in query.measures}
        cells = [*map(_name, keys), *(f"{_aggregate(each)} AS {_name(name)}" for name, each in measured.items())]
        order = ", ".join(f"{_name(key)} NULLS LAST" for key in keys)
        rows = f"row_number() OVER (ORDER BY {order})" if keys else "1"
        grouped = f" GROUP BY {', '.join(map(_name, keys))}" if keys else ""
        self._add(f"SELECT {', '.join(cells)}, {rows} AS {_ROW} FROM {self._last}{grouped}")
        self.columns = {key.name: key.period is None and key.column.is_number for key in query.keys}
        self.columns |= {name: _is_number(each) for name, each in measured.items()}
        for bound in query.bounds:
            self._keep(self._bounded(bound))
        if query.share and keys:
            name = _name(self._measured(query.measures[-1]))
            self._set("percent", f"100 * {name} / sum({name}) OVER ()", is_number=True)

    def _bounded(self, bound: Bound) -> str:
        return f"{_name(self._measured(bound.measure))} {_SIGNS[bound.operator]} {_literal(bound.value)}"

    def _measured(self, measure: Measure) -> str:
        return measure_name(measure, self.query.measures)

    # Order

    def _order(self) -> None:
        """Sort and limit the rows."""
        query = self.query
        if query.sort:
            order = ", ".join(_by(self._sorted(each), each.descending) for each in query.sort)
            rows = f"row_number() OVER (ORDER BY {order}, {_ROW})"
            self._add(f"SELECT {self._listed()}, {rows} AS {_ROW} FROM {self._last}")
        if query.limit is None:
            return
        down = f"{_ROW} DESC" if query.limit.last else _ROW
        if query.keys and not query.measures:
            if any(key.period is not None for key in query.keys):
                raise NotWritten
            keys = ", ".join(_name(key.name) for key in query.keys)
            numbers = f"row_number() OVER (PARTITION BY {keys} ORDER BY {down})"
            self._add(f"FROM {self._last} QUALIFY {numbers} <= {query.limit.rows}")
        elif query.ties and query.sort:
            name = _name(self._sorted(query.sort[0]))
            best = "max" if query.sort[0].descending else "min"
            self._keep(f"{name} = (SELECT {best}({name}) FROM {self._last})")
        else:
            self._add(f"FROM {self._last} QUALIFY row_number() OVER (ORDER BY {down}) <= {query.limit.rows}")

    def _shown_order(self) -> list[str]:
        """Return the order of the rows by columns of the result, as far as it has them."""
        names = {column.name: name for column, name in self.query.rename}
        order = []
        for each in self.query.sort:
            name = names.get(self._sorted(each), self._sorted(each))
            if name not in self.columns:
                break
            order.append(_by(name, each.descending))
        return order

    def _sorted(self, sort: SortBy) -> str:
        if sort.measure is not None:
            return self._measured(sort.measure)
        column = sort.column
        if column is None:
            raise NotWritten
        period = next((key.name for key in self.query.keys if key.column == column and self.query.measures), None)
        return period or column.name

    # Columns

    def _choose(self) -> None:
        query = self.query
        if query.select:
            self.columns = {column.name: self.columns[column.name] for column in query.select}
            if query.distinct:
                self._first_of(self.columns)
        for column in query.drop:
            self.columns.pop(column.name, None)
        if query.rename:
            names = {column.name: name for column, name in query.rename}
            cells = ", ".join(f"{_name(name)} AS {_name(names.get(name, name))}" for name in self.columns)
            self._add(f"SELECT {cells}, {_ROW} FROM {self._last}")
            self.columns = {names.get(name, name): is_number for name, is_number in self.columns.items()}
        if query.digits is not None:
            for name in [name for name, is_number in self.columns.items() if is_number]:
                self._set(name, f"round_even({_name(name)}, {query.digits})", is_number=True)


def _by(name: str, descending: bool | None) -> str:
    return f"{_name(name)} {'DESC' if descending else 'ASC'} NULLS LAST"


def _aggregate(measure: Measure) -> str:
    if measure.column is None:
        return "count(*)"
    name = _name(measure.column.name)
    is_sum_of_truth = measure.column.type == "bool" and measure.func not in ("count", "nunique")
    return _AGGREGATES[measure.func].format(f"{name}::INT" if is_sum_of_truth else name)


def _is_number(measure: Measure) -> bool:
    return measure.func not in ("min", "max") or measure.column is None or measure.column.is_number


def _expression(computed: Computed) -> str:
    return " ".join(_name(part.name) if isinstance(part, ColumnSeen) else str(part) for part in computed.expression)


def _condition(predicate: Predicate) -> str:
    text = f"coalesce({_plain_condition(predicate)}, false)"
    return f"NOT {text}" if predicate.negated else text


def _plain_condition(predicate: Predicate) -> str:
    column, operator, value = predicate.column, predicate.operator, predicate.value
    name, text = _name(column.name), _literal(str(value).lower())
    match operator:
        case "missing":
            return f"{name} IS NULL"
        case "present":
            return f"{name} IS NOT NULL"
        case "contains":
            return f"contains(lower({name}), {text})"
        case "starts":
            return f"starts_with(lower({name}), {text})"
        case "ends":
            return f"ends_with(lower({name}), {text})"
        case "in_year":
            return f"year({_date(column)}) = {value}"
        case "in_month":
            month = str(value)
            if month.startswith("--"):
                return f"month({_date(column)}) = {int(month[2:])}"
            return f"strftime({_date(column)}, '%Y-%m') = {_literal(month)}"
    if column.is_date:
        form = {len("2024"): "%Y", len("2024-01"): "%Y-%m"}.get(len(str(value)), "%Y-%m-%d")
        return f"strftime({_date(column)}, '{form}') {_SIGNS[operator]} {_literal(str(value))}"
    if column.type == "string" and value not in column.values:
        return f"lower({name}) {_SIGNS[operator]} {text}"
    return f"{name} {_SIGNS[operator]} {_literal(value)}"


def _date(column: ColumnSeen) -> str:
    return _name(column.name) if column.type in ("date", "datetime") else f"{_name(column.name)}::TIMESTAMP"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)
