"""What this installation can do right now, and why not the rest; whether it is alive; and its numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from fastapi import Response
from pydantic import ValidationError

from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.rules import EndpointRules
from services.gateway.routing import routes
from services.gateway.workers import LiveWorker
from shared import VERSION
from shared.contracts.capabilities import (
    Capabilities,
    Health,
    IsolationState,
    KindState,
    LanguageState,
    Readiness,
)
from shared.errors import DatabaseUnavailable
from shared.kinds import KINDS, KindSpec
from shared.languages import LANGUAGES

router = routes("/v1/capabilities", "Capabilities")
_NO_PROVIDER = "No model provider has a key."


@router.get("", summary="See what can be done here")
async def get_capabilities(caller: CurrentCaller, deps: Deps) -> Capabilities:
    workers = await deps.workforce.all()
    with_model = await deps.llm.configured()
    missing = next((each.reason for each in (await deps.health.states()).values() if each.state != "ok"), None)
    kinds = {
        name: _kind(kind, workers, with_model, deps.workforce.absence(name), missing) for name, kind in KINDS.items()
    }
    models = await deps.llm.ask(deps.llm.layer.models.asked)
    return Capabilities(
        version=VERSION, kinds=kinds, languages=_languages(workers), isolation=isolation_of(workers), models=models
    )


def _kind(
    kind: KindSpec[Any], workers: Sequence[LiveWorker], with_model: bool, absence: str, missing: str | None
) -> KindState:
    serving = [worker for worker in workers if kind.name in worker.kinds]
    if not serving:
        return KindState(state="no_worker", reason=absence)
    if missing:
        return KindState(state="degraded", reason=missing)
    degraded = next((str(reason) for worker in serving if (reason := _of_kind(worker.facts, kind.name))), None)
    if degraded:
        return KindState(state="degraded", reason=degraded)
    if not with_model and any(role.required for role in kind.roles):
        return KindState(state="needs_provider", reason=_NO_PROVIDER)
    if not with_model and kind.roles:
        return KindState(state="degraded", reason=f"{_NO_PROVIDER} What needs none works.")
    return KindState(state="ready")


def _of_kind(facts: Mapping[str, Any], kind: str) -> object:
    """Return why a worker reports that it serves the kind only in part."""
    reported = facts.get("degraded")
    return reported.get(kind) if isinstance(reported, Mapping) else reported


def _languages(workers: Sequence[LiveWorker]) -> dict[str, LanguageState]:
    states = {name: LanguageState(available=False, reason="No execution worker is running.") for name in LANGUAGES}
    for worker in workers:
        reported = worker.facts.get("languages")
        for name, state in reported.items() if isinstance(reported, Mapping) else ():
            known = states.get(name)
            with suppress(ValidationError):  # a worker of another version; what else it says still counts
                if known is None or not known.available:
                    states[name] = LanguageState.model_validate(state)
    return states


def isolation_of(workers: Sequence[LiveWorker]) -> IsolationState:
    """Return the isolation of the execution workers; ``none`` while none reports."""
    for worker in workers:
        reported = worker.facts.get("isolation")
        if isinstance(reported, Mapping):
            claimed = reported.get("claimed")
            return IsolationState(
                tier=str(reported.get("tier", "none")),
                minimum=str(reported.get("minimum", "none")),
                claimed=None if claimed is None else str(claimed),
            )
    return IsolationState(tier="none", minimum="none")


health_router = routes(tag="Health")


@health_router.get("/healthz", summary="Is the process alive?")
@EndpointRules(public=True)
async def healthz() -> Health:
    return Health(status="ok")


@health_router.get("/readyz", summary="Can it serve, and does everything it needs answer?")
@EndpointRules(public=True)
async def readyz(deps: Deps) -> Readiness:
    """503 while Postgres does not answer. `degraded`: some of what the gateway needs does not, and `dependencies` says
    which and why, at most five seconds after it began; what does not need it still works."""
    if deps.closing.is_set():
        raise DatabaseUnavailable("The gateway is stopping.")
    await deps.health.ask_postgres()
    states = await deps.health.states()
    degraded = any(state.state != "ok" for state in states.values())
    return Readiness(
        status="degraded" if degraded else "ok",
        isolation=isolation_of(await deps.workforce.all()),
        dependencies=states,
    )


_TEXT = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


@health_router.get("/metrics", summary="Numbers for Prometheus", response_class=Response, responses=_TEXT)  # type: ignore[arg-type]
@EndpointRules(scope="admin")
async def metrics(deps: Deps) -> Response:
    """Return the same as `ASSAY_METRICS_PORT`, which needs no key and should be reachable by Prometheus only."""
    text = await asyncio.to_thread(deps.metrics.text)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
