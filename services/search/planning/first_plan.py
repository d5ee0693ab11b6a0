"""The first plan: the caller's own, a model's, or the question itself in every table that can hold it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from pydantic import JsonValue

from services.search.llm.chat import StructuredChat
from services.search.llm.replies import PlanReply, ProposedQuery, ReplannedQuery
from services.search.planning import follow_up
from services.search.queries.filters import as_meant, conditions, names
from services.search.queries.query import LONGEST_TEXT, MAX_HITS, Label, Mode, Query, combined
from services.search.retrieval.engine import SearchEngine
from services.search.tables.field_values import FieldValues
from services.search.tables.library import OpenTable
from shared.contracts.search import Filters, PlannedQuery, SearchInput
from shared.errors import InvalidRequest, UnknownField
from shared.llm.chat import ChatMessage

MAX_QUERIES = 20
_HISTORY = 5
_EXACT: Label = "exact"
_RELAXED: Label = "relaxed"


class KnownTables(Protocol):
    """What a plan is made with: the tables of the collection, and what they hold."""

    @property
    def names(self) -> Collection[str]: ...

    def values(self, table: str) -> FieldValues: ...

    def sampled(self, tables: Mapping[str, OpenTable]) -> JsonValue: ...


@dataclass(frozen=True)
class Plan:
    """What is searched first."""

    queries: tuple[Query, ...]
    deliberate: bool  #: the tables were chosen, so each of them should give hits
    warnings: tuple[str, ...] = ()


def from_caller(request: SearchInput, plan: Sequence[PlannedQuery]) -> Plan:
    """Return the plan as given; its filters are checked when it is searched."""
    queries = []
    for planned in plan:
        if not planned.query_text.strip():
            raise InvalidRequest("a query of the plan has no text", [(["plan"], "query_text is empty")])
        filters = combined(request.filters, planned.filters)
        mode, threshold = planned.search_mode, planned.score_threshold
        cut = threshold is not None
        hard = () if request.relax_filters else filters
        queries.append(
            Query(planned.table, mode, planned.query_text, planned.limit, threshold, filters, cut=cut, hard=hard)
        )
    return Plan(tuple(queries), deliberate=True)


def from_model(
    request: SearchInput,
    tables: Mapping[str, OpenTable],
    chat: StructuredChat,
    history: Sequence[ChatMessage],
    known: KnownTables,
    warn: Callable[[str], None],
) -> Plan | None:
    """Return None when no model has a plan that can be run; ``warn`` receives what was ignored of the model's plan."""
    question: dict[str, JsonValue] = {
        "question": request.question,
        "history": recent(history),
        "filters_in_force": request.filters,
        "profile": dict(request.profile),
        "tables": known.sampled(tables),
    }
    shown, named = described(tables), tuple(tables)
    reply = chat.ask("search.plan", question, PlanReply, among=named, tables=shown, limit=request.limit)
    if reply is None:
        return None
    warnings: list[str] = []
    queries: dict[str, Query] = {}
    for proposed in reply.queries:
        query = query_of(proposed, tables, request, warnings, known.names)
        if query is not None:
            query = _as_written(query, known, request, warnings)
            queries.setdefault(query.identity, query)
    if len(reply.queries) > MAX_QUERIES:
        warnings.append(too_many(len(reply.queries)))
    for warning in dict.fromkeys(warnings):
        warn(warning)
    planned = tuple(queries.values())[:MAX_QUERIES]
    return Plan(planned, deliberate=True) if planned else None


def recent(history: Sequence[ChatMessage]) -> list[JsonValue]:
    """Return the latest messages, as a model is shown them."""
    return [{"role": message.role, "content": message.content[:2000]} for message in history[-_HISTORY:]]


def _as_written(query: Query, known: KnownTables, request: SearchInput, warnings: list[str]) -> Query:
    """Return the query with the values of its filters as the records write them; the caller's stay as they are."""
    callers = combined(request.filters)
    filters = [
        part if part in callers else (part[0], known.values(query.table).meant({part[0]: part[1]}, warnings)[part[0]])
        for part in query.filters
    ]
    return replace(query, filters=tuple(filters))


def mechanical(
    request: SearchInput, tables: Mapping[str, OpenTable], engine: SearchEngine, history: Sequence[ChatMessage] = ()
) -> Plan:
    """Return the question itself in each of the tables, with what it refers to; paired facets where the profile
    fits.
    """
    text, warnings = request.question, []
    if (referring := follow_up.resolved(request.question, history)) is not None:
        text, earlier = referring[0][:LONGEST_TEXT], referring[1][:200]
        warnings.append(f"The question refers to an earlier one, so it was searched with its words too: {earlier!r}.")
    queries = []
    for name, table in tables.items():
        mode: Mode = "faceted" if engine.paired(table) and engine.has_facets(name) else "master"
        filters, hard = combined(request.filters), hard_filters(request)
        queries.append(Query(name, mode, text, request.limit, None, filters, hard=hard))
    kept = tuple(queries[:MAX_QUERIES])
    if len(queries) > len(kept):
        warnings.append(f"Only the first {MAX_QUERIES} tables were searched; name some.")
    return Plan(kept, deliberate=False, warnings=tuple(warnings))


def query_of(
    proposed: ReplannedQuery,
    tables: Mapping[str, OpenTable],
    request: SearchInput,
    warnings: list[str],
    names: Collection[str] = (),
) -> Query | None:
    """Return a model's query made safe: unknown tables refused, numbers clamped, filters that do not fit left out.

    ``names``: of all tables of the collection, also of those that this search may not go to.
    """
    text = " ".join(proposed.query_text.split())[:LONGEST_TEXT]
    if proposed.table not in tables:
        if proposed.table in names:
            warnings.append(
                f"The model named the table {proposed.table}, which was not to be searched; it was ignored."
            )
        else:
            warnings.append("The model named a table that the collection does not have; it was ignored.")
        return None
    if not text:
        warnings.append("The model planned a query without a text; it was ignored.")
        return None
    table = tables[proposed.table]
    limit = request.limit if proposed.limit is None else proposed.limit
    if not 1 <= limit <= MAX_HITS:
        warnings.append(f"The model requested more or fewer hits than a query gives (1 to {MAX_HITS}).")
        limit = min(max(limit, 1), MAX_HITS)
    threshold, own, label = None, {}, _EXACT
    if isinstance(proposed, ProposedQuery):
        threshold = proposed.score_threshold
        own = fitting(proposed.filters, table)
        if len(own) < len(proposed.filters):
            left_out = ", ".join(name[:100] for name in proposed.filters if name not in own)
            warnings.append(
                f"The model used a filter that does not fit the table {proposed.table} ({left_out}); it was ignored, "
                "so its hits are called relaxed."
            )
            label = _RELAXED
    filters = combined(fitting(request.filters, table) if request.relax_filters else request.filters, own)
    cut = threshold is not None
    hard = hard_filters(request)
    return Query(
        proposed.table,
        proposed.search_mode,
        text,
        limit,
        threshold,
        filters,
        label=label,
        cut=cut,
        hard=hard,
        by_model=True,
    )


def hard_filters(request: SearchInput) -> tuple[tuple[str, JsonValue], ...]:
    """Return the caller's filters, of which no retry drops one; none when the caller lets them be relaxed."""
    return () if request.relax_filters else combined(request.filters)


def filters_elsewhere(request: SearchInput) -> tuple[tuple[str, JsonValue], ...]:
    """Return what has to hold in tables that the caller did not plan: also the filters of the caller's own plan."""
    planned = [query.filters for query in request.plan or []]
    return () if request.relax_filters else combined(request.filters, *planned)


def has_fields(table: OpenTable, filters: Sequence[tuple[str, JsonValue]]) -> bool:
    """Return whether records of the table can be within the filters at all."""
    return all(
        field in table.spec.fields for name, value in filters for field in names({name: value}, table.spec.fields)
    )


def too_many(queries: int) -> str:
    return f"The model planned {queries} queries; at most {MAX_QUERIES} are run."


def fitting(filters: Filters, table: OpenTable) -> Filters:
    """Return the filters whose field the table has, with a value that fits it or clearly means one that does."""
    kept: Filters = {}
    for name, value in as_meant(filters, table.spec.fields).items():
        with suppress(UnknownField, InvalidRequest):
            conditions({name: value}, table.spec.fields, table.name)
            kept[name] = value
    return kept


def described(tables: Mapping[str, OpenTable]) -> str:
    """Return the tables as a prompt shows them."""
    lines = []
    for name, table in tables.items():
        facets = ", ".join(f"{facet} ({weight:g})" for facet, weight in table.spec.facets.items()) or "none"
        fields = ", ".join(f"{field}: {kind}" for field, kind in table.spec.fields.items()) or "none"
        lines.append(f"- {name}. Facets: {facets}. Fields: {fields}.")
    return "\n".join(lines)
