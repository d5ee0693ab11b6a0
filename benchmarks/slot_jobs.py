"""200 jobs of 20 tenants through the gateway and a worker, whose only model answers one call at a time.

``python -m benchmarks.slot_jobs``: Postgres, Redis, a gateway, an execution worker, and a scripted server with one slot
that takes 0.5 s for an answer. One tenant submits 105 documents with an instruction each, then 19 others 5 each; the
peer is the same server asked by nobody else, one call after the other, before and after.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime

import httpx
from sqlalchemy import Engine, text

from benchmarks.installation import Installation, installation
from benchmarks.table import Line, at_least, at_most, show
from shared import keys
from shared.db import connect
from tests.support.scripted import ScriptedLlm, started
from tests.support.wait import until

_ALONE, _LATENCY_MS, _PATIENCE = 10, 500, 900.0
_WORKERS = 2


@dataclass(frozen=True)
class Load:
    heavy: int = 105  #: jobs of one tenant, which come first
    calm: int = 5  #: of each other one
    others: int = 19

    @property
    def jobs(self) -> int:
        return self.heavy + self.calm * self.others

    @property
    def tenants(self) -> list[str]:
        return ["heavy", *(f"calm-{number:02}" for number in range(self.others))]


@dataclass(frozen=True)
class Seen:
    """What came of the jobs: tenants in the order in which they ended, and what came of the calls."""

    order: Sequence[str]
    states: Mapping[str, int]
    outcomes: Mapping[str, int]
    seconds: float  #: from the beginning of the first call to the end of the last one


def main() -> None:
    load = Load()
    with installation() as here, scripted() as model:
        before = one_by_one(model)
        seen = measured(here, model, load)
        alone = (before + one_by_one(model)) / 2
    show(f"A model with one slot, {load.jobs} jobs of {len(load.tenants)} tenants", lines(alone, seen, load))


def lines(alone: float, seen: Seen, load: Load) -> list[Line]:
    while_calm = seen.order[: max(at for at, tenant in enumerate(seen.order) if tenant != "heavy") + 1]
    heavy = sum(tenant == "heavy" for tenant in while_calm)
    return [
        at_least("calls a second, from the first to the last", load.jobs / seen.seconds, 1 / alone, "/s", 0.95),
        at_least("jobs that succeeded", seen.states.get("succeeded", 0), load.jobs, "jobs", 1),
        at_least("calls answered at once, none timed out or busy", seen.outcomes.get("ok", 0), load.jobs, "calls", 1),
        at_most("jobs of the busy tenant while others waited, beside theirs", heavy, load.calm, "jobs", 2),
    ]


def measured(here: Installation, model: ScriptedLlm, load: Load) -> Seen:
    """Submit all of them to a gateway whose workers ask the model; wait for the end of the last one."""
    named = {"OPENAI_BASE_URL": model.base_url("openai")}
    engine = connect(here.stores.database_url)
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        port = stack.enter_context(here.gateway(**named))
        issued = _keys(engine, load.tenants)
        _submit(port, issued, load)
        for _ in range(_WORKERS):
            stack.enter_context(here.process("services.execution", **named))
        until(lambda: _left(engine) == 0, "the end of every job", _PATIENCE)
        return _seen(engine)


def _submit(port: int, issued: Mapping[str, str], load: Load) -> None:
    """All jobs wait before the worker begins, those of the busy tenant first."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:

        def send(tenant: str, number: int) -> None:
            given = {"kind": "document", "input": {"markdown": f"::: describe Say hello, {tenant} {number} :::\n"}}
            headers = {"Authorization": f"Bearer {issued[tenant]}"}
            client.post("/v1/jobs", json=given, headers=headers).raise_for_status()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: send("heavy", number), range(load.heavy)))
            calm = [(tenant, number) for number in range(load.calm) for tenant in load.tenants[1:]]
            list(pool.map(lambda each: send(*each), calm))


def _keys(engine: Engine, tenants: Sequence[str]) -> dict[str, str]:
    with engine.begin() as connection:
        return {tenant: keys.create(connection, tenant, "bench", ["read", "write"])[1] for tenant in tenants}


def _left(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.scalar(text("SELECT count(*) FROM jobs WHERE finished_at IS NULL")) or 0)


def _seen(engine: Engine) -> Seen:
    with engine.connect() as connection:
        jobs = connection.execute(text("SELECT tenant_id, state FROM jobs ORDER BY finished_at")).all()
        calls = connection.execute(text("SELECT at, seconds, outcome FROM llm_calls")).all()
    ended: list[datetime] = [at for at, _, _ in calls]
    first = min(at.timestamp() - seconds for at, seconds, _ in calls)
    return Seen(
        [tenant for tenant, _ in jobs],
        Counter(state for _, state in jobs),
        Counter(outcome for _, _, outcome in calls),
        max(ended).timestamp() - first,
    )


def one_by_one(model: ScriptedLlm) -> float:
    """Seconds of a call of a server that is asked by nobody else, without Assay."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Say hello"}]}
    with httpx.Client(timeout=60) as client:
        url = f"{model.base_url('openai')}/chat/completions"
        began = time.monotonic()
        for _ in range(_ALONE):
            client.post(url, json=body).raise_for_status()
        return (time.monotonic() - began) / _ALONE


@contextmanager
def scripted(latency_ms: int = _LATENCY_MS) -> Iterator[ScriptedLlm]:
    """A server with one slot, which tells that."""
    process, url = started()
    try:
        model = ScriptedLlm(url)
        served = {"kind": "llama.cpp", "models": ["m"], "window": 8192, "slots": 1}
        model.play({"reply": "Hello."}, latency_ms=latency_ms, server=served)
        yield model
    finally:
        process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()


if __name__ == "__main__":
    main()
