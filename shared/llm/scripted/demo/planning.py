"""Settle what a query leaves open: measures without a column, orders without a target, tables to join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shared.llm.scripted.demo.query import Bound, Join, Measure, NotUnderstood, Query, SortBy
from shared.llm.scripted.demo.tables_seen import ColumnSeen, TableSeen
from shared.llm.scripted.demo.task_parser import TaskParser
from shared.llm.scripted.demo.words import parts, stem

_WITH_NUMBERS = frozenset({"sum", "mean", "median", "std"})


def plan(task: str, tables: Sequence[TableSeen]) -> Query:
    """Return the query of a task. Raises: NotUnderstood."""
    parser = TaskParser(task, tables)
    query = parser.parse()
    query.measures = list(dict.fromkeys(_settled(measure, parser) for measure in query.measures))
    query.bounds = [Bound(_settled(b.measure, parser), b.operator, b.value) for b in query.bounds]
    query.sort = [_sorted_by(sort, query, parser) for sort in query.sort]
    if query.share and not query.measures:
        query.measures = [Measure("count", None)] if query.keys else [Measure("sum", parser.only_number())]
    _refuse_contradictions(query)
    _join(query, tables)
    return query


def _settled(measure: Measure, parser: TaskParser) -> Measure:
    """Return the measure with its column. Raises: NotUnderstood for the sum of a text."""
    if measure.column is None and measure.func != "count":
        measure = replace(measure, column=parser.only_number())
    column = measure.column
    if column is not None and measure.func in _WITH_NUMBERS and not (column.is_number or column.type == "bool"):
        raise NotUnderstood(f"The column {column.name} holds {_kind(column)}, so it has no {_NAMES[measure.func]}.")
    return measure


_NAMES = {"sum": "total", "mean": "average", "median": "median", "std": "standard deviation"}


def _kind(column: ColumnSeen) -> str:
    return "dates" if column.is_date else "text" if column.type == "string" else column.type


def _sorted_by(sort: SortBy, query: Query, parser: TaskParser) -> SortBy:
    """Return the order with a target that the result has."""
    measures = query.measures
    if sort.measure is not None:
        func, column = sort.measure.func, sort.measure.column
        same = [one for one in measures if one.func == func and column in (None, one.column)]
        if same:
            return replace(sort, measure=same[-1])
        if query.keys and (column is not None or func == "count"):
            measures.append(sort.measure)
            return sort
        if not query.keys and column is not None:
            return replace(sort, measure=None, column=column)
        raise NotUnderstood("It does not see what to sort by.")
    if sort.column is not None:
        of = [
            one for one in measures if one.column == sort.column and sort.column not in [k.column for k in query.keys]
        ]
        if of:
            return replace(sort, column=None, measure=of[-1])
        if measures and sort.column not in [key.column for key in query.keys]:
            raise NotUnderstood(f"The result has no column {sort.column.name} to sort by.")
        return sort
    if measures:
        return replace(sort, measure=measures[-1], descending=bool(sort.descending))
    if query.select:
        return replace(sort, column=query.select[-1])
    return replace(sort, column=parser.only_number())


def _refuse_contradictions(query: Query) -> None:
    """Raises: NotUnderstood for parts that cannot be in one result."""
    if query.statistics and (query.measures or query.keys):
        raise NotUnderstood("Summary statistics cannot be combined with totals or groups.")
    if query.keys and not query.measures and not (query.limit and query.sort):
        raise NotUnderstood("It does not see what to compute for each group: a total, a count, an average?")
    if query.measures and (query.select or query.drop):
        raise NotUnderstood("It cannot choose columns and compute groups in one task.")
    if query.bounds and not query.keys:
        raise NotUnderstood("A condition on a total needs groups, such as `by city`.")


# Tables


def _join(query: Query, tables: Sequence[TableSeen]) -> None:
    """Join the tables whose columns are used, or all when a join is asked for."""
    first, *others = tables
    used = {column.table for column in _used(query) if first.column(column.name) is None}
    wanted = [table for table in others if query.join or table.name in used]
    columns = {column.name: column for column in first.columns}
    for table in wanted:
        left, right = _shared(query, columns, first, table)
        if query.measures and _repeats(table, right):
            raise NotUnderstood(
                f"{table.name} holds values of {right} more than once, so a join would count rows twice."
            )
        query.joins.append(Join(table.name, left, right, query.how))
        columns |= {column.name: column for column in table.columns if column.name not in columns}


def _used(query: Query) -> Iterator[ColumnSeen]:
    yield from (key.column for key in query.keys)
    yield from (measure.column for measure in query.measures if measure.column is not None)
    yield from (predicate.column for group in query.filters for predicate in group)
    yield from (*query.select, *query.drop, *(query.unique_by or ()), *(query.complete or ()))
    yield from (sort.column for sort in query.sort if sort.column is not None)
    yield from (part for one in query.computed for part in one.expression if isinstance(part, ColumnSeen))


def _shared(query: Query, columns: dict[str, ColumnSeen], first: TableSeen, table: TableSeen) -> tuple[str, str]:
    """Return the columns to join on. Raises: NotUnderstood when that is not certain."""
    if len(query.on) == 2 and query.on[0].name != query.on[1].name:
        left, right = query.on if query.on[1].table == table.name else (query.on[1], query.on[0])
        return left.name, right.name
    if query.on:
        name = query.on[0].name
        if name in columns and table.column(name) is not None:
            return name, name
        raise NotUnderstood(f"{first.name} and {table.name} do not both have the column {name}.")
    shared = [column.name for column in table.columns if column.name in columns]
    if len(shared) == 1:
        return shared[0], shared[0]
    if len(shared) > 1:
        ids = [name for name in shared if columns[name].is_id]
        if len(ids) == 1:
            return ids[0], ids[0]
        raise NotUnderstood(f"Say on which column to join {first.name} and {table.name}: {', '.join(shared)}.")
    own = next((c.name for c in table.columns if parts(c.name) == ("id",)), None)
    foreign = next((name for name in columns if parts(name) == (stem(table.name), "id")), None)
    if own is not None and foreign is not None:
        return foreign, own
    raise NotUnderstood(f"{first.name} and {table.name} share no column; say `on COLUMN = COLUMN`.")


def _repeats(table: TableSeen, name: str) -> bool:
    column = table.column(name)
    return column is None or column.distinct is None or column.distinct < table.rows
