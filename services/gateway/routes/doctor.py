"""What the gateway can check of its installation, each check with what to do: the server's part of `assay doctor`."""

from __future__ import annotations

import asyncio
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import cast
from urllib.parse import unquote, urlsplit

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from migrations.upgrade import heads
from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.rules import EndpointRules
from services.gateway.jobs.submit import new_id
from services.gateway.routes.capabilities import isolation_of
from services.gateway.routing import routes
from services.gateway.workers import LiveWorker
from shared import VERSION
from shared.bounded_process import BoundExceeded, Bounds, TaskLost, call_async
from shared.contracts.models import ProviderState
from shared.contracts.operations import Doctor, DoctorCheck
from shared.db import reason_of
from shared.disk import disk_of
from shared.errors import AssayError
from shared.jobs.record import submission
from shared.kinds import KINDS

router = routes("/v1", "Operations")

_STARTED_AT = datetime.now(UTC)
_MAX_DRIFT_SECONDS = 1.0
_FULL = 0.9  #: of Postgres' connections
_ASK = text(
    "SELECT array(SELECT version_num FROM alembic_version) AS revisions, extract(epoch FROM clock_timestamp()) AS now, "
    "(SELECT sum(numbackends) FROM pg_stat_database) AS connections, "
    "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most"
)
#: A job that is inserted to see whether that works, and rolled back.
_TRIED: Mapping[str, object] = {
    "kind": "execute", "priority": 0, "input": {}, "labels": {}, "budget": {}, "overrides": {}, "warnings": [],
    "actor": "doctor",
}  # fmt: skip
_OPTIONAL = ("replayed_from", "batch_id", "request_id", "trace_context", "webhook")
_REMEDIES = {
    "postgres": "Check its log and its disk; nothing is lost, and jobs continue once it answers.",
    "redis": "Start it again: nothing is lost with it, and the reconciler sends what was missed.",
    "large_bodies": "Read the gateway's log: memory, processes, or space in its temporary folder may be too few.",
    "files": "Free some space, or move the files to a larger disk or a bucket (BLOB_URL).",
    "qdrant": "Restart it, or check QDRANT_URL.",
}


@router.get("/doctor", summary="Check the installation")
@EndpointRules(scope="admin")
async def check_installation(caller: CurrentCaller, deps: Deps) -> Doctor:
    """Check the servers that the gateway needs, the tables, the clocks, the disk, the workers of each kind and the
    model providers; each problem has a remedy. A job is inserted and rolled back; nothing else is changed.
    """
    workers = await deps.workforce.all()
    items = [
        *await _dependencies(deps),
        *await _record(deps),
        await _write(deps, caller.tenant),
        *_disk(deps.settings.stores.blob_url),
        *_workers(deps, workers),
        _isolation(workers),
        await _parsers(),
        *_providers(await deps.llm.ask(deps.llm.layer.providers)),
    ]
    return Doctor(version=VERSION, python=platform.python_version(), started_at=_STARTED_AT, items=items)


async def _dependencies(deps: Dependencies) -> list[DoctorCheck]:
    states = await deps.health.states()
    return [
        DoctorCheck(
            name=name,
            ok=state.state == "ok",
            finding=state.reason or "answers",
            remedy=None if state.state == "ok" else _REMEDIES[name],
        )
        for name, state in states.items()
    ]


async def _record(deps: Dependencies) -> list[DoctorCheck]:
    """Check the revision of the tables, the database's clock against this machine's, and its connections."""
    async with deps.database.read() as connection:
        before = time.time()
        row = (await connection.execute(_ASK)).one()
        drift = float(row.now) - (before + time.time()) / 2
    return [
        _revision(set(row.revisions), await asyncio.to_thread(heads)),
        _check(
            "clock",
            abs(drift) <= _MAX_DRIFT_SECONDS,
            f"{abs(drift):.2f} s {'ahead of' if drift > 0 else 'behind'} the gateway's, at Postgres",
            "Let NTP set the clocks of both machines: leases and ages are of the database's clock.",
            grave=False,
        ),
        _check(
            "connections",
            row.connections < _FULL * row.most,
            f"{row.connections} of {row.most} of Postgres are in use",
            "Raise max_connections of Postgres, put a pooler before it, or run fewer processes.",
            grave=False,
        ),
    ]


async def _parsers() -> DoctorCheck:
    """Run a task that tries to cross the boundaries of the processes that read untrusted input."""
    try:
        held = cast(dict[str, int], await call_async("shared.confinement:tried", None, Bounds()))
    except (BoundExceeded, TaskLost) as fault:
        return _check("parsers", False, f"none runs: {fault}", "Read the gateway's log, and that of the parsers.")
    user = "as a user of their own" if held.pop("user") != os.geteuid() else "as the gateway's user"
    open_ways = [name for name, is_closed in held.items() if not is_closed]
    return _check(
        "parsers",
        not open_ways,
        f"{user}; not confined: {', '.join(open_ways)}" if open_ways else f"confined by the kernel, {user}",
        "Use a kernel with Landlock (Linux 5.13) and seccomp: what a taken-over parser reaches is what its user may.",
        grave=False,
    )


async def _write(deps: Dependencies, tenant: str) -> DoctorCheck:
    """Insert a job as a submit does, with the same rights and triggers, and roll it back."""
    id = new_id()
    row = {**dict.fromkeys(_OPTIONAL), **_TRIED, "id": id, "tenant_id": tenant, "conversation_id": id}
    fault: str | None = None
    try:
        async with deps.database.write(tenant) as connection:
            await connection.execute(submission.SUBMIT, row)
            await connection.exec_driver_sql("ROLLBACK")
    except AssayError as error:
        fault = error.detail
    except DBAPIError as error:
        fault = f"a job cannot be inserted: {reason_of(error)}"
    remedy = "Check the logs of the gateway and of Postgres: both have the error's message."
    return _check("write", fault is None, fault or "a job can be inserted", remedy)


def _revision(there: set[str], newest: set[str]) -> DoctorCheck:
    return _check(
        "schema",
        there == newest,
        f"revision {', '.join(sorted(there)) or 'none'}"
        + ("" if there == newest else f"; this version has {', '.join(sorted(newest))}"),
        "Run `python -m migrations` of the newest version that runs here; older versions work with it in the meantime.",
        grave=False,
    )


def _disk(blob_url: str) -> Iterator[DoctorCheck]:
    """Check the disk of the files, if they are in a folder; a bucket is its owner's to watch."""
    parts = urlsplit(blob_url)
    if parts.scheme != "file":
        return
    try:
        disk = disk_of(unquote(parts.path))
    except OSError:  # which the check `files` reports
        return
    yield _check(
        "disk",
        disk.warning is None,
        disk.warning or f"{disk.free / 1e9:.1f} GB free for files",
        "Free space: `assay files ls --unfinished` and `assay files rm` give it back at once; old jobs go with a "
        "shorter ASSAY_RETENTION_DAYS. A part of the disk stays reserved for Postgres.",
        grave=not disk.takes(0),
    )


def _workers(deps: Dependencies, workers: Sequence[LiveWorker]) -> Iterator[DoctorCheck]:
    for kind in KINDS:
        count = sum(kind in worker.kinds for worker in workers)
        remedy = "Start its worker: `assay status` says which process does not run, and its log says why."
        yield _check(f"worker {kind}", count > 0, f"{count} alive" if count else deps.workforce.absence(kind), remedy)
    others = sorted({f"{worker.service} {worker.version}" for worker in workers if worker.version != VERSION})
    yield _check(
        "version",
        not others,
        f"all of {VERSION}" if not others else f"the gateway is {VERSION}; {', '.join(others)}",
        "Bring all to one version once the rollout is over; neighbouring versions work together meanwhile.",
        grave=False,
    )


def _isolation(workers: Sequence[LiveWorker]) -> DoctorCheck:
    isolation = isolation_of(workers)
    finding = f"{isolation.tier}, at least {isolation.minimum}"
    return _check("isolation", isolation.tier != "none", finding, "No code runs: the execution worker's log says why.")


def _providers(providers: Sequence[ProviderState]) -> Iterator[DoctorCheck]:
    """Check the providers that have a key; report it when none has one."""
    configured = [provider for provider in providers if provider.configured]
    if not configured:
        remedy = "Set the key of one (GROQ_API_KEY, CEREBRAS_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY ...)."
        yield _check("providers", False, "none has a key: what needs a model is refused", remedy, grave=False)
    for provider in configured:
        well = provider.state in ("closed", "half_open") and provider.reachable is not False
        finding: str = "called when needed" if well else provider.state
        if provider.reachable is False:
            finding = "did not answer the last check"
        if provider.last_error:
            finding += f"; the last error: {provider.last_error}"
        remedy = "Others of the chain answer meanwhile; the page Models shows each provider's last error, and tests it."
        yield _check(f"provider {provider.name}", well, finding, remedy, grave=False)


def _check(name: str, ok: bool, finding: str, remedy: str, *, grave: bool = True) -> DoctorCheck:
    return DoctorCheck(name=name, ok=ok, finding=finding, remedy=None if ok else remedy, grave=grave)
