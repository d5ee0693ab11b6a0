"""Ids of jobs as a person gives them: whole, the beginning of one, or `@last`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter, Token

from assay.calls import jobs
from assay.commands.session import UsageError, current

LAST = "@last"
#: Number of the newest jobs that are searched for an id prefix.
_NEWEST = 200
_SHORT = re.compile(r"[0-9a-f-]{4,35}")


def whole_job_id(given: str) -> str:
    """Return the full id; a text that cannot be an id prefix is returned unchanged. Raises: UsageError."""
    if given == LAST:
        newest = current().client.fetch(jobs.page(limit=1))["items"]
        if not newest:
            raise UsageError("there is no job yet")
        return str(newest[0]["id"])
    if given.startswith("@"):
        raise UsageError(f"{given!r} is not the id of a job; the newest job is {LAST}")
    if not _SHORT.fullmatch(given):
        return given
    page = current().client.fetch(jobs.page(limit=_NEWEST))["items"]
    fitting = [str(job["id"]) for job in page if str(job["id"]).startswith(given)]
    if len(fitting) > 1:
        shown = ", ".join(fitting[:3])
        raise UsageError(f"{given} is the beginning of {len(fitting)} jobs ({shown} ...): give more of it")
    return fitting[0] if fitting else given


def job_id_of(_type: object, tokens: Sequence[Token]) -> str:
    """Convert what a person gives for a job, for options with a help of their own. Raises: UsageError."""
    return whole_job_id(tokens[0].value)


JobId = Annotated[str, Parameter(converter=job_id_of, help="The id of a job, the beginning of one, or @last")]
