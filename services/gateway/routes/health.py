"""Is the process alive, can it serve, and what do its numbers say. No key is needed."""

from __future__ import annotations

from fastapi import Response
from pydantic import BaseModel
from sqlalchemy import text

from services.gateway.database import Db
from services.gateway.dependencies import Deps
from services.gateway.http.responses import Json
from services.gateway.http.rules import rules
from services.gateway.routes.capabilities import isolation_of
from services.gateway.routing import routes
from shared.contracts.capabilities import IsolationState
from shared.errors import DatabaseUnavailable
from shared.jobs import queries
from shared.kinds import KINDS

router = routes(tag="Health")


class Health(BaseModel):
    status: str


class Readiness(Health):
    isolation: IsolationState  #: the tier that the execution workers reached, ``none`` while none reports


@router.get("/healthz", summary="Is the process alive?", response_model=Health)
@rules(public=True)
async def healthz() -> Response:
    return Json({"status": "ok"})


@router.get("/readyz", summary="Can it serve: does Postgres answer?")
@rules(public=True)
async def readyz(db: Db, deps: Deps) -> Readiness:
    if deps.closing.is_set():
        raise DatabaseUnavailable("The gateway is stopping.")
    await db.execute(text("SELECT 1"))
    return Readiness(status="ok", isolation=isolation_of(await deps.workforce.all()))


_TEXT = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


@router.get("/metrics", summary="Numbers for Prometheus", response_class=Response, responses=_TEXT)  # type: ignore[arg-type]
@rules(public=True)
async def metrics(deps: Deps) -> Response:
    kinds = list(KINDS)
    try:
        async with deps.database.read() as db:
            rows = (await db.execute(queries.depth())).mappings().all()
    except DatabaseUnavailable:
        rows, kinds = (), []  # our own numbers still count
    return Response(deps.metrics.text(rows, kinds), media_type="text/plain; version=0.0.4; charset=utf-8")
