"""The list of a tenant's jobs: what each was about, how it went, and what one may ask the list for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Select,
    Text,
    TextClause,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    null,
    or_,
    select,
    text,
    tuple_,
    union_all,
)

from shared.contracts.jobs import JobState
from shared.jobs.tables import jobs
from shared.kinds import KINDS
from shared.llm.tables import llm_calls

_HEAVY = ("input", "result")
#: A count goes no further: nobody looks through more.
MOST_COUNTED = 10_000
_TITLE = 120


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
    words: str | None = None  #: in the title

    def conditions(self, tenant: str) -> list[ColumnElement[bool]]:
        columns = jobs.c
        exact = (
            (columns.conversation_id, self.conversation_id),
            (columns.batch_id, self.batch_id),
            (columns.replayed_from, self.replayed_from),
            (columns.error["code"].astext, self.error_code),
        )
        found = [columns.tenant_id == tenant, *(column == value for column, value in exact if value is not None)]
        if self.kinds:
            found.append(columns.kind.in_(self.kinds))
        if self.states:
            found.append(columns.state.in_(self.states))
        found += [or_(*(columns.labels.contains({key: value}) for key, value in either)) for either in self.labels]
        if self.created_after is not None:
            found.append(columns.created_at > self.created_after)
        if self.created_before is not None:
            found.append(columns.created_at < self.created_before)
        if self.words:
            found.append(title().icontains(self.words, autoescape=True))
        return [*found, *self._of_calls()]

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


def page(tenant: str, wanted: JobFilter, limit: int, before: tuple[datetime, str] | None = None) -> Select[Any]:
    """Jobs without inputs and results, newest first; ``before``: (created_at, id) of the last one seen."""
    columns = [column for column in jobs.c if column.name not in _HEAVY]
    query = select(*columns, title().label("title"), _VERDICT.label("verdict"))
    newest = (jobs.c.created_at.desc(), jobs.c.id.desc())
    conditions = wanted.conditions(tenant)
    if before is not None:
        conditions.append(tuple_(jobs.c.created_at, jobs.c.id) < tuple_(before[0], before[1]))
    places = _places(wanted)
    if len(places) == 1:
        return query.where(*conditions, *places[0]).order_by(*newest).limit(limit)
    # Of each place the newest, in the order of its index: together they would all have to be sorted.
    parts = [
        select(jobs.c.id.label("id")).where(*conditions, *place).order_by(*newest).limit(limit).subquery()
        for place in places
    ]
    ids = union_all(*[select(part.c.id) for part in parts]).subquery()
    return query.where(jobs.c.id.in_(select(ids.c.id))).order_by(*newest).limit(limit)


def changed(tenant: str, since: datetime, limit: int) -> Select[Any]:
    """Jobs submitted, begun or ended after that moment, as ``page`` gives them, with the moment as ``changed_at``.

    The oldest change first. Each part is a scan of an index from ``since`` on.
    """
    of_tenant = jobs.c.tenant_id == tenant
    moments = {
        jobs.c.created_at: of_tenant,
        jobs.c.started_at: and_(of_tenant, jobs.c.state == "running"),
        jobs.c.finished_at: of_tenant,
    }
    parts = [
        select(jobs.c.id.label("id"), moment.label("at")).where(condition, moment > since).order_by(moment).limit(limit)
        for moment, condition in moments.items()
    ]
    each = union_all(*[select(part.subquery()) for part in parts]).subquery()
    latest = select(each.c.id, func.max(each.c.at).label("changed_at")).group_by(each.c.id).subquery()
    columns = [column for column in jobs.c if column.name not in _HEAVY]
    query = select(*columns, title().label("title"), _VERDICT.label("verdict"), latest.c.changed_at)
    return query.join(latest, latest.c.id == jobs.c.id).order_by(latest.c.changed_at, jobs.c.id).limit(limit)


def _places(wanted: JobFilter) -> list[list[ColumnElement[bool]]]:
    """The kinds and states that are asked for, each with the columns of one index all fixed."""
    if wanted.kinds:
        states = wanted.states or [str(state) for state in JobState]
        return [[jobs.c.kind == kind, jobs.c.state == state] for kind in wanted.kinds for state in states]
    return [[jobs.c.state == state] for state in wanted.states] or [[]]


def total(tenant: str, wanted: JobFilter) -> Select[Any]:
    """How many there are, counted no further than ``MOST_COUNTED``."""
    found = select(jobs.c.id).where(*wanted.conditions(tenant)).limit(MOST_COUNTED).subquery()
    return select(func.count()).select_from(found)


def calls_of(ids: Sequence[str]) -> TextClause:
    """Per job that asked a model: ``turns``, whether it ``failed_over``, and who served it last."""
    return text(
        """
        SELECT job_id, count(DISTINCT turn) AS turns,
               coalesce(bool_or(reason = 'failover' AND outcome = 'ok'), false) AS failed_over,
               (array_agg(served_provider ORDER BY id DESC) FILTER (WHERE outcome = 'ok'))[1] AS provider,
               (array_agg(served_model ORDER BY id DESC) FILTER (WHERE outcome = 'ok'))[1] AS model
        FROM llm_calls WHERE job_id = ANY(:ids) GROUP BY job_id
        """
    ).bindparams(bindparam("ids", list(ids), type_=ARRAY(Text)))


def title() -> ColumnElement[str]:
    """The first line of what the job was about, as its kind says."""
    return _title(tuple((kind.name, tuple(kind.title)) for kind in KINDS.values() if kind.title))


@lru_cache(maxsize=8)
def _title(told: tuple[tuple[str, tuple[str, ...]], ...]) -> ColumnElement[str]:
    """Of kinds and the paths that tell it; made once, as making it takes longer than the query."""
    said = case(*[(jobs.c.kind == kind, _said(paths)) for kind, paths in told], else_=null())
    line = func.split_part(func.btrim(cast(said, Text), " \t\r\n"), "\n", 1)
    return func.left(line, _TITLE)


def _said(paths: Sequence[str]) -> ColumnElement[str]:
    return func.coalesce(*[jobs.c.input[tuple(path.split("."))].astext for path in paths], "")


def _verdict() -> ColumnElement[str]:
    """How the result calls itself: a verdict, a status, or whether it succeeded."""
    result = jobs.c.result
    success = case((result["success"].astext == "false", "failed"), (result["success"].astext == "true", "ok"))
    return func.coalesce(result["verdict"].astext, result["status"].astext, success)


_VERDICT = _verdict()


def _called(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(llm_calls.c.job_id == jobs.c.id, condition)
