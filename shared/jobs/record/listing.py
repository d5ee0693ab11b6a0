"""The list of a tenant's jobs: titles, outcomes, and filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    CompoundSelect,
    Executable,
    Select,
    Table,
    Text,
    TextClause,
    and_,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    text,
    true,
    tuple_,
    union,
    union_all,
)
from sqlalchemy.dialects.postgresql import JSONB, aggregate_order_by

from shared.contracts.jobs import JobState
from shared.jobs.record.marks import marks
from shared.jobs.record.tables import jobs
from shared.jobs.record.titles import outcome, source, title, verdict
from shared.llm.tables import llm_calls

_HEAVY = ("input", "result")
#: The upper limit of a count.
MAX_COUNTED = 10_000
#: Of each state no more are counted.
MAX_OF_A_STATE = 1_000
#: How many jobs of the index are inspected for one page; few of them may match, then the client requests the next page.
MAX_INSPECTED = 2_000
#: A job's position in the list: the time of submission, and its id.
Place = tuple[datetime, str]


@dataclass(frozen=True)
class JobFilter:
    """What the jobs of a list have in common; empty means any."""

    kinds: Sequence[str] = ()
    states: Sequence[str] = ()
    labels: Sequence[Sequence[tuple[str, str]]] = ()  #: one of each must hold
    created_after: datetime | None = None
    created_before: datetime | None = None
    conversation_id: str | None = None
    batch_id: str | None = None
    replayed_from: str | None = None
    provider: str | None = None
    model: str | None = None
    prompt: tuple[str, int] | None = None
    error_code: str | None = None
    failed_over: bool | None = None
    warned: bool | None = None  #: has warnings, or has none
    words: str | None = None  #: in the title
    outcomes: Sequence[str] = ()  #: states, error codes, or what results say of themselves; any of these

    def conditions(self, tenant: str) -> list[ColumnElement[bool]]:
        """Return all conditions except those on kinds, states and the time of submission."""
        columns = jobs.c
        exact = (
            (columns.conversation_id, self.conversation_id),
            (columns.batch_id, self.batch_id),
            (columns.replayed_from, self.replayed_from),
            (columns.error["code"].astext, self.error_code),
        )
        conditions = [columns.tenant_id == tenant, *(column == value for column, value in exact if value is not None)]
        conditions += [or_(*(columns.labels.contains({key: value}) for key, value in either)) for either in self.labels]
        if self.words:
            # The text first: most jobs do not have the words, and a title costs ten times as much to make.
            conditions += [read.icontains(self.words, autoescape=True) for read in (source(), title())]
        if self.outcomes:
            conditions.append(or_(columns.state.in_(self.outcomes), outcome().in_(self.outcomes)))
        if self.warned is not None:
            none = columns.warnings == literal([], JSONB)
            conditions.append(~none if self.warned else none)
        return [*conditions, *self._of_calls()]

    def marks(self) -> list[tuple[str, str]]:
        """Return the marks of which a job must have one: of several filters, those that are likely the most
        selective.
        """
        if self.conversation_id or self.batch_id or self.replayed_from:
            return []  # these columns have their own indexes
        if self.error_code is not None:
            return [("error", self.error_code)]
        if self.labels:
            return list(dict.fromkeys(("label", f"{key}={value}") for key, value in self.labels[0]))
        single = (
            ("prompt", None if self.prompt is None else f"{self.prompt[0]}@{self.prompt[1]}"),
            ("failed_over", "" if self.failed_over else None),
            ("warned", "" if self.warned else None),
            ("model", self.model),
            ("provider", self.provider),
        )
        return [(name, value) for name, value in single if value is not None][:1]

    def is_loose(self) -> bool:
        """Return whether many jobs of the index may not match."""
        if self.words or self.outcomes or self.failed_over is False or self.warned is False:
            return True
        fixed = (self.error_code, self.provider, self.model, self.prompt, self.failed_over, self.warned, *self.labels)
        return sum(value is not None for value in fixed) + bool(self.kinds or self.states) > 1

    def _of_calls(self) -> list[ColumnElement[bool]]:
        calls = llm_calls.c
        wanted: list[ColumnElement[bool]] = []
        if self.provider is not None:
            wanted.append(_called(calls.served_provider == self.provider))
        if self.model is not None:
            wanted.append(_called(calls.served_model == self.model))
        if self.prompt is not None:
            wanted.append(_called(and_(calls.prompt_key == self.prompt[0], calls.prompt_version == self.prompt[1])))
        if self.failed_over is not None:
            other = _called(_FAILED_OVER)
            wanted.append(other if self.failed_over else ~other)
        return wanted


_FAILED_OVER = and_(llm_calls.c.reason == "failover", llm_calls.c.outcome == "ok")


def end_of_look(tenant: str, wanted: JobFilter, before: Place | None, most: int = MAX_INSPECTED) -> Select[Any] | None:
    """Select where an inspection of ``most`` jobs of the index ends: ``created_at, id``, no row when there are fewer.

    None when nearly every job of the index matches, so that a page is full earlier.
    """
    if not wanted.is_loose():
        return None
    if named := wanted.marks():
        parts = [_places_of_mark(tenant, wanted, mark, before) for mark in named]
    else:
        of_tenant = jobs.c.tenant_id == tenant
        indexed = [(of_tenant, *place, *_between(wanted, jobs, before)) for place in _places(wanted)]
        parts = [_newest(select(jobs.c.created_at, jobs.c.id).where(*fixed), jobs) for fixed in indexed]
    skipped = max(most // len(parts), 1) - 1
    ends = union_all(*[select(part.offset(_literal(skipped)).limit(_literal(1)).subquery()) for part in parts])
    last = ends.subquery()
    return select(last).order_by(last.c.created_at.desc(), last.c.id.desc()).limit(_literal(1))


def page(
    tenant: str, wanted: JobFilter, limit: int, before: Place | None = None, end: Place | None = None
) -> Select[Any]:
    """Select jobs without inputs and results, newest first; ``before``: the last one seen, ``end``: the last to
    inspect.
    """
    columns = [column for column in jobs.c if column.name not in _HEAVY]
    query = select(*columns, title().label("title"), verdict().label("verdict"))
    return _page(query, tenant, wanted, limit, before, end)


def page_of_ids(
    tenant: str, wanted: JobFilter, limit: int, before: Place | None = None, end: Place | None = None
) -> Select[Any]:
    """Select the same jobs by id and time alone, without reading inputs and results."""
    return _page(select(jobs.c.id, jobs.c.created_at), tenant, wanted, limit, before, end)


def _page(
    query: Select[Any], tenant: str, wanted: JobFilter, limit: int, before: Place | None, end: Place | None
) -> Select[Any]:
    ordered = _newest(query, jobs).limit(_literal(limit))
    places = _places(wanted)
    if not wanted.marks() and len(places) == 1:
        return ordered.where(*wanted.conditions(tenant), *places[0], *_between(wanted, jobs, before, end))
    # Each by its key, whatever the statistics say.
    page = _by_key(tenant, query, _ids(tenant, wanted, limit, before, end))
    columns = page.selected_columns
    return page.order_by(columns.created_at.desc(), columns.id.desc()).limit(_literal(limit))


def changed(tenant: str, since: datetime, limit: int) -> Select[Any]:
    """Select jobs submitted, started or ended after ``since``, as ``page`` does, with the time as ``changed_at``.

    The oldest change comes first. Each part scans an index from ``since`` on.
    """
    of_tenant = jobs.c.tenant_id == tenant
    moments = {
        jobs.c.created_at: of_tenant,
        jobs.c.started_at: and_(of_tenant, jobs.c.state == "running"),
        jobs.c.finished_at: of_tenant,
    }
    parts = [
        select(jobs.c.id.label("id"), moment.label("at"))
        .where(condition, moment > since)
        .order_by(moment)
        .limit(_literal(limit))
        for moment, condition in moments.items()
    ]
    each = union_all(*[select(part.subquery()) for part in parts]).subquery()
    latest = select(each.c.id, func.max(each.c.at).label("changed_at")).group_by(each.c.id).subquery()
    columns = [column for column in jobs.c if column.name not in _HEAVY]
    query = select(*columns, title().label("title"), verdict().label("verdict"), latest.c.changed_at)
    mine = and_(latest.c.id == jobs.c.id, of_tenant)
    return query.join(latest, mine).order_by(latest.c.changed_at, jobs.c.id).limit(_literal(limit))


def total(tenant: str, wanted: JobFilter, end: Place | None = None) -> Select[Any]:
    """Select the number of matching jobs, up to ``MAX_COUNTED`` and ``end``."""
    counted = _ids(tenant, wanted, MAX_COUNTED, end=end).subquery()
    return select(func.least(func.count(), MAX_COUNTED)).select_from(counted)


def is_counted_by_state(wanted: JobFilter) -> bool:
    """Return whether an index groups the jobs by state, so that each state is counted separately."""
    return not wanted.marks() and not wanted.is_loose()


def by_state(tenant: str, wanted: JobFilter, end: Place | None = None) -> Executable:
    """Select ``state, jobs``: per state at most one more than ``MAX_OF_A_STATE``, else among the inspected jobs."""
    if is_counted_by_state(wanted):
        states = wanted.states or [str(state) for state in JobState]
        return union_all(*[_of_state(tenant, replace(wanted, states=[state])) for state in states])
    newest = _by_key(tenant, select(jobs.c.state), _ids(tenant, wanted, MAX_INSPECTED + 1, end=end)).subquery()
    return select(newest.c.state, func.count().label("jobs")).group_by(newest.c.state)


def by_outcome(tenant: str, wanted: JobFilter, end: Place | None = None) -> Select[str, int]:
    """Select ``outcome, jobs`` of the newest ``MAX_INSPECTED`` matching jobs: results are large."""
    newest = _ids(tenant, wanted, MAX_INSPECTED, end=end)
    rows = _by_key(tenant, select(outcome().label("outcome")), newest).subquery()
    return select(rows.c.outcome, func.count().label("jobs")).group_by(rows.c.outcome)


def _of_state(tenant: str, wanted: JobFilter) -> Select[str, int]:
    """Select without an order, so that the most selective index is used."""
    conditions = [*wanted.conditions(tenant), *_between(wanted, jobs, None)]
    most = _literal(MAX_OF_A_STATE + 1)
    parts = [select(literal(1).label("one")).where(*conditions, *place).limit(most) for place in _places(wanted)]
    rows = select(union_all(*[select(part.subquery()) for part in parts]).subquery()).limit(most).subquery()
    return select(literal(wanted.states[0]).label("state"), func.count().label("jobs")).select_from(rows)


def _by_key(tenant: str, query: Select[Any], ids: CompoundSelect[Any]) -> Select[Any]:
    """Select the columns of ``query`` for each of these jobs."""
    given = func.unnest(func.array(ids.scalar_subquery())).table_valued("id", name="wanted").render_derived()
    row = query.where(jobs.c.tenant_id == tenant, jobs.c.id == given.c.id).limit(_literal(1)).lateral("found")
    return select(*row.c).select_from(given.join(row, true()))


def _ids(
    tenant: str, wanted: JobFilter, limit: int, before: Place | None = None, end: Place | None = None
) -> CompoundSelect[Any]:
    """Select the newest ids per mark or position, in the order of its index: together they would have to be sorted."""
    if named := wanted.marks():
        parts = [_marked(tenant, wanted, mark, before, end) for mark in named]
    else:
        conditions = [*wanted.conditions(tenant), *_between(wanted, jobs, before, end)]
        parts = [_newest(select(jobs.c.id).where(*conditions, *place), jobs) for place in _places(wanted)]
    return union(*[select(part.limit(_literal(limit)).subquery().c.id) for part in parts])


def _marked(
    tenant: str, wanted: JobFilter, mark: tuple[str, str], before: Place | None, end: Place | None
) -> Select[Any]:
    """Select the ids of the jobs with the mark, newest first; OFFSET makes each mark look up its job, never the
    reverse.
    """
    kept = [jobs.c.kind.in_(wanted.kinds)] if wanted.kinds else []
    kept += [jobs.c.state.in_(wanted.states)] if wanted.states else []
    its_job = (jobs.c.tenant_id == marks.c.tenant_id, jobs.c.id == marks.c.job_id)
    of_mark = select(jobs.c.id).where(*its_job, *wanted.conditions(tenant), *kept)
    job = of_mark.offset(_literal(0)).lateral()
    marked = select(job.c.id).select_from(marks.join(job, true()))
    return _newest(marked.where(*_has(tenant, mark), *_between(wanted, marks, before, end)), marks)


def _places_of_mark(tenant: str, wanted: JobFilter, mark: tuple[str, str], before: Place | None) -> Select[Any]:
    places = select(marks.c.created_at, marks.c.job_id.label("id"))
    return _newest(places.where(*_has(tenant, mark), *_between(wanted, marks, before)), marks)


def _has(tenant: str, mark: tuple[str, str]) -> list[ColumnElement[bool]]:
    return [marks.c.tenant_id == tenant, marks.c.mark == func.job_mark(*mark)]


def _newest(query: Select[Any], rows: Table) -> Select[Any]:
    return query.order_by(rows.c.created_at.desc(), _id_in(rows).desc())


def _id_in(rows: Table) -> ColumnElement[str]:
    return rows.c.id if rows is jobs else rows.c.job_id


def _between(
    wanted: JobFilter, rows: Table, before: Place | None, end: Place | None = None
) -> list[ColumnElement[bool]]:
    """Return the conditions on the time of submission, on columns that are in the index of ``rows``."""
    created_at, id = rows.c.created_at, _id_in(rows)
    conditions: list[ColumnElement[bool]] = []
    if wanted.created_after is not None:
        conditions.append(created_at > wanted.created_after)
    if wanted.created_before is not None:
        conditions.append(created_at < wanted.created_before)
    if before is not None:
        conditions.append(tuple_(created_at, id) < tuple_(before[0], before[1]))
    if end is not None:
        conditions.append(tuple_(created_at, id) >= tuple_(end[0], end[1]))
    return conditions


def _literal(number: int) -> ColumnElement[int]:
    """Return a literal: for a parameter, the planner of a generic plan would assume a tenth of all rows."""
    return literal_column(f"{number:d}")


def _places(wanted: JobFilter) -> list[list[ColumnElement[bool]]]:
    """Return the requested kinds and states, each with all columns of one index fixed."""
    if wanted.kinds:
        states = wanted.states or [str(state) for state in JobState]
        return [[jobs.c.kind == kind, jobs.c.state == state] for kind in wanted.kinds for state in states]
    return [[jobs.c.state == state] for state in wanted.states] or [[]]


def calls_of(tenant: str, ids: Sequence[str]) -> TextClause:
    """Select per job that called a model: ``turns``, whether it ``failed_over``, and the last model that served it."""
    return text(
        """
        SELECT job_id, count(DISTINCT turn) AS turns,
               coalesce(bool_or(reason = 'failover' AND outcome = 'ok'), false) AS failed_over,
               (array_agg(served_provider ORDER BY id DESC) FILTER (WHERE outcome = 'ok'))[1] AS provider,
               (array_agg(served_model ORDER BY id DESC) FILTER (WHERE outcome = 'ok'))[1] AS model
        FROM llm_calls WHERE tenant_id = :tenant AND job_id = ANY(:ids) GROUP BY job_id
        """
    ).bindparams(bindparam("tenant", tenant), bindparam("ids", list(ids), type_=ARRAY(Text)))


def of_conversations(tenant: str, ids: Sequence[str]) -> Select[Any]:
    """Per conversation: the ``title`` of its first job, and the ``kinds`` of all."""
    first = func.array_agg(aggregate_order_by(title(), jobs.c.id))
    kinds = func.array_agg(jobs.c.kind.distinct())
    return (
        select(jobs.c.conversation_id, first[1].label("title"), kinds.label("kinds"))
        .where(jobs.c.tenant_id == tenant, jobs.c.conversation_id.in_(ids))
        .group_by(jobs.c.conversation_id)
    )


def _called(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(llm_calls.c.tenant_id == jobs.c.tenant_id, llm_calls.c.job_id == jobs.c.id, condition)
