"""The model calls of a job: every attempt, at whom, why, and how it ended."""

from __future__ import annotations

from fastapi import Response

from services.gateway.database import Db
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.ids import Id
from services.gateway.http.responses import Json
from services.gateway.http.routing import routes
from shared.contracts.models import LlmCalls
from shared.errors import NotFound
from shared.jobs import queries
from shared.llm.ledger import as_call, calls_of

router = routes("/v1/jobs", "Jobs")


@router.get("/{id}/llm-calls", summary="List a job's model calls", response_model=LlmCalls)
async def list_job_llm_calls(id: Id, caller: CurrentCaller, db: Db) -> Response:
    """A provider that was passed over is listed as `skipped`; unknown tokens and prices are null."""
    if (await db.execute(queries.state(id, caller.tenant))).scalar_one_or_none() is None:
        raise NotFound(f"There is no job {id}.")
    rows = (await db.execute(calls_of(caller.tenant, id))).all()
    return Json(LlmCalls(items=[as_call({**row._mapping}) for row in rows]))
