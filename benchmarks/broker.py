"""What it costs to ask models through the broker instead of asking them oneself, with ledger, registries and breakers.

``python -m benchmarks.broker``: one scripted server, one Postgres, one Redis; jobs of both kinds take turns, as workers
run them. The broker is a process of its own.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from redis import Redis as RedisClient
from sqlalchemy import Engine

from benchmarks.table import Line, show
from migrations.upgrade import upgrade
from services.host.installation import free_port
from services.host.postgres import Postgres
from services.host.redis import Redis
from shared import db
from shared.jobs import statements, submission
from shared.jobs.leases import Lease, LeasedWriter
from shared.jobs.models import BrokeredJobModels, JobModels
from shared.jobs.notifier import Notifier
from shared.jobs.report import JobReport
from shared.jobs.runner import ModelAccess, claimed_job
from shared.llm.broker_client import BrokerClient, digest_of
from shared.llm.chat import ChatMessage, ChatRequest, Provider
from shared.llm.layer import LlmLayer
from shared.llm.prompts import PromptRegistry
from shared.llm.settings import CallSettings, ProviderSettings
from shared.loop import Budget
from tests.support.rows import job_row
from tests.support.scripted import ScriptedLlm, started

ROUNDS, CALLS = 40, 10  #: a job asks so often
MOST_MS = 1.0
_ROLE = "execution.transform"


def main() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        postgres = stack.enter_context(Postgres(folder / "postgres", durable=False))
        redis = stack.enter_context(Redis(folder / "redis", durable=False))
        with psycopg.connect(postgres.url_of("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE assay")
        upgrade(postgres.url)
        scripted = stack.enter_context(_scripted())
        variables = {**scripted.environment(("groq",)), "DATABASE_URL": postgres.url, "REDIS_URL": redis.url}
        url = stack.enter_context(_broker(folder, variables))
        engine = db.connect(postgres.url, 4)
        stack.callback(engine.dispose)
        client = stack.enter_context(RedisClient.from_url(redis.url))
        layer = LlmLayer(ProviderSettings(variables), CallSettings(), engine, redis.url)
        stack.callback(layer.close)
        accesses: dict[str, ModelAccess] = {
            "own": JobModels(layer),
            "brokered": BrokeredJobModels(BrokerClient(url), PromptRegistry(engine)),
        }
        taken: dict[str, list[float]] = {name: [] for name in accesses}
        first: dict[str, list[float]] = {name: [] for name in accesses}
        for number in range(ROUNDS + 2):
            for name, access in accesses.items():
                seconds = _job(engine, client, access)
                if number >= 2:  # the first ones load and connect
                    first[name] += seconds[:1]
                    taken[name] += seconds[1:]
    _print(taken, first)


def _job(engine: Engine, redis: RedisClient, access: ModelAccess) -> list[float]:
    """Seconds of each call of one job."""
    secret = os.urandom(12).hex()
    with engine.begin() as connection:
        connection.execute(submission.submit(job_row(kind="transform")))
        claim = statements.claim("transform", "benchmark", 60, 0, digest_of(secret)).clause
        claimed = connection.execute(claim).mappings().one()
    job = claimed_job(claimed)
    lease = Lease(statements.Held.of(job), f"{job.id}.{secret}")
    models, _ = access.for_job(job, Budget(seconds=60), JobReport(LeasedWriter(engine), Notifier(redis), lease), {})
    return [_call(models, number) for number in range(1, CALLS + 1)]


def _call(models: Provider, turn: int) -> float:
    request = ChatRequest(_ROLE, (ChatMessage("system", "Be brief. " * 100), ChatMessage("user", "hello")), turn=turn)
    began = time.perf_counter()
    models.complete(request)
    return time.perf_counter() - began


def _print(taken: dict[str, list[float]], first: dict[str, list[float]]) -> None:
    own, brokered = (statistics.median(taken[name]) * 1e3 for name in ("own", "brokered"))
    tails = [statistics.quantiles(taken[name], n=20)[18] * 1e3 for name in ("own", "brokered")]
    added = brokered - own
    median = Line(
        "median call through the broker, peer: asked by oneself",
        f"{brokered:.2f} ms",
        f"{own:.2f} ms",
        brokered / own,
        f"<= {MOST_MS:g} ms more",
        added <= MOST_MS,
    )
    tail = Line("the same, 95th percentile", f"{tails[1]:.2f} ms", f"{tails[0]:.2f} ms", tails[1] / tails[0], "", True)
    looked_up = [statistics.median(first[name]) * 1e3 for name in ("own", "brokered")]
    lookup = Line(
        "the first call of a run, which is looked up",
        f"{looked_up[1]:.2f} ms",
        f"{looked_up[0]:.2f} ms",
        looked_up[1] / looked_up[0],
        "",
        True,
    )
    print(f"added at the median: {added:.2f} ms over {len(taken['own'])} calls each")
    show("Models through the broker", [median, tail, lookup])


@contextmanager
def _scripted() -> Iterator[ScriptedLlm]:
    process, url = started()
    try:
        server = ScriptedLlm(url)
        server.play({"reply": {"text": "hello there", "input_tokens": 300, "output_tokens": 3}})
        yield server
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def _broker(folder: Path, variables: dict[str, str]) -> Iterator[str]:
    address = f"127.0.0.1:{free_port('127.0.0.1', 0)}"
    ready = folder / "broker.ready"
    own = {"ASSAY_BROKER_LISTEN": address, "ASSAY_READY_FILE": str(ready), "BLOB_URL": folder.as_uri()}
    command = [sys.executable, "-m", "services.broker"]
    process = subprocess.Popen(command, env={**os.environ, **variables, **own}, stdout=subprocess.DEVNULL)
    try:
        while not ready.exists():
            if process.poll() is not None:
                raise SystemExit("the broker did not start")
            time.sleep(0.05)
        yield f"tcp://{address}"
    finally:
        process.terminate()
        process.wait(10)


if __name__ == "__main__":
    main()
