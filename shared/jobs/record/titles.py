"""What a job is called in lists, and how its result calls itself: read from its input and result in the statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy import ColumnElement, Text, case, cast, func, null

from shared.jobs.record.tables import jobs
from shared.kinds import KINDS

_LONGEST = 120


def title() -> ColumnElement[str]:
    """Return the job's title: the first line of the field that its kind declares."""
    return _title(tuple((kind.name, tuple(kind.title)) for kind in KINDS.values() if kind.title))


@lru_cache(maxsize=8)
def _title(told: tuple[tuple[str, tuple[str, ...]], ...]) -> ColumnElement[str]:
    """Return the title by kind and path; cached, because building it takes longer than the query."""
    said = case(*[(jobs.c.kind == kind, _said(paths)) for kind, paths in told], else_=null())
    line = func.split_part(func.btrim(cast(said, Text), " \t\r\n"), "\n", 1)
    return func.left(line, _LONGEST)


def _said(paths: Sequence[str]) -> ColumnElement[str]:
    return func.coalesce(*[jobs.c.input[tuple(path.split("."))].astext for path in paths], "")


@lru_cache(maxsize=1)
def verdict() -> ColumnElement[str]:
    """Return the result's own verdict: a verdict, a status, or whether it succeeded."""
    result = jobs.c.result
    success = case((result["success"].astext == "false", "failed"), (result["success"].astext == "true", "ok"))
    return func.coalesce(result["verdict"].astext, result["status"].astext, success)
