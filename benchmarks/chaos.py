"""Processes die, Redis forgets, Postgres fails over; the history says whether a job was lost or done twice.

``python -m benchmarks chaos [--jobs 2000] [--tenants 50] [--gateways 2] [--workers 4] [--kills 25] [--redis-restarts 3]
[--failover]``: clients submit over HTTP, with an idempotency key for each job, and retry until they have an answer.
Each finished job has one effect, a row written in the transaction of its end. Status 1 says that something is wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event

import httpx2 as httpx
import psycopg
from sqlalchemy import text

from migrations.upgrade import upgrade
from services.host.postgres import DATABASE, Postgres
from services.host.prefork import PreforkedProcess
from services.host.redis import Redis
from shared import keys
from shared.settings import StoreSettings
from tests.support.platform import Platform, check_history, wait_for
from tests.support.ports import free_port
from tests.support.standby import Standby, either

_CLIENTS = 12
_SECONDS = 900.0  #: for each wait
_RECONCILERS = 2
_WEIGHTS = {"reconciler": 1, "worker": 3, "gateway": 2}  #: how often one of them is killed


@dataclass(frozen=True)
class Plan:
    jobs: int
    tenants: int
    gateways: int
    workers: int
    kills: int
    redis_restarts: int
    failover: bool
    seed: int


@dataclass
class Scene:
    """What runs, and what has been done to it."""

    plan: Plan
    platform: Platform
    redis: Redis
    primary: Postgres
    standby: Standby | None
    ports: Sequence[int]
    processes: list[tuple[str, PreforkedProcess]] = field(default_factory=list)
    killed: dict[str, int] = field(default_factory=dict)
    failover_seconds: float | None = None  #: from the promotion until the gateway is ready again

    def begin(self, name: str) -> PreforkedProcess:
        kind, _, number = name.partition("-")
        if kind == "gateway":
            return self.platform.gateway(self.ports[int(number)])
        return self.platform.worker() if kind == "worker" else self.platform.reconciler()

    def kill(self, at: int) -> None:
        name, victim = self.processes[at]
        victim.kill()
        victim.wait()
        kind = name.partition("-")[0]
        self.killed[kind] = self.killed.get(kind, 0) + 1
        self.processes[at] = (name, self.begin(name))

    def restart_redis(self) -> None:
        """It comes back empty."""
        self.redis.kill()
        self.redis.start()

    def fail_over(self) -> None:
        assert self.standby is not None
        self.primary.kill()
        self.standby.promote()
        promoted = time.monotonic()
        wait_for(self._is_ready, _SECONDS, "a gateway that has found the new primary")
        self.failover_seconds = time.monotonic() - promoted

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.ports[0]}/readyz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False


@contextmanager
def opened(plan: Plan) -> Iterator[Scene]:
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="assay-chaos-")))
        folder.chmod(0o755)
        primary = held.enter_context(Postgres(folder / "a"))
        with psycopg.connect(primary.url_of("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}".encode())
        upgrade(primary.url)
        standby = held.enter_context(Standby(folder / "b", primary)) if plan.failover else None
        url = primary.url
        if standby is not None:
            standby.follow()
            url = either(DATABASE, primary, standby)
        redis = held.enter_context(Redis(folder / "redis", durable=False))
        blobs = (folder / "blobs").as_uri()
        stores = StoreSettings(database_url=url, redis_url=redis.url, blob_url=blobs, qdrant_url=None)
        platform = Platform(stores)
        held.callback(platform.stop)
        scene = Scene(plan, platform, redis, primary, standby, [free_port() for _ in range(plan.gateways)])
        counts = {"reconciler": _RECONCILERS, "worker": plan.workers, "gateway": plan.gateways}
        names = [f"{kind}-{number}" for kind, count in counts.items() for number in range(count)]
        scene.processes = [(name, scene.begin(name)) for name in names]
        yield scene


def submit(scene: Scene, api_keys: Sequence[str], over: Event, number: int) -> str:
    """Send the request to each gateway in turn until one answers, always with the same idempotency key."""
    headers = {"Authorization": f"Bearer {api_keys[number % len(api_keys)]}", "Idempotency-Key": f"key-{number}"}
    body = {"kind": "execute", "input": {"language": "python", "code": f"effect sleep 0.0{number % 5}"}}
    tries = number
    while not over.is_set():
        port = scene.ports[tries % len(scene.ports)]
        tries += 1
        try:
            answer = httpx.post(f"http://127.0.0.1:{port}/v1/jobs", json=body, headers=headers, timeout=10)
        except httpx.HTTPError:
            over.wait(0.05)
            continue
        if answer.status_code == 202:
            return str(answer.json()["id"])
        if answer.status_code not in (409, 503):  # 409: the one before is still under way at a connection that died
            raise AssertionError(answer.text)
        over.wait(0.05)
    raise AssertionError("nobody answered in time")


def disturb(scene: Scene) -> None:
    """Do everything of the plan, each thing once a share of the jobs has ended that chance has drawn."""
    dice = random.Random(scene.plan.seed)
    weights = [_WEIGHTS[name.partition("-")[0]] for name, _ in scene.processes]
    victims = dice.choices(range(len(scene.processes)), weights, k=scene.plan.kills)
    acts: list[Callable[[], None]] = [partial(scene.kill, victim) for victim in victims]
    acts += [scene.restart_redis] * scene.plan.redis_restarts
    dice.shuffle(acts)
    if scene.plan.failover:
        acts.insert(len(acts) // 2, scene.fail_over)
    shares = sorted(dice.uniform(0.02, 0.9) for _ in acts)
    for share, act in zip(shares, acts, strict=True):
        wait_for(partial(_have_ended, scene, share * scene.plan.jobs), _SECONDS, f"{share:.0%} of the jobs")
        act()


def _have_ended(scene: Scene, least: float) -> bool:
    time.sleep(0.2)  # counting costs the servers something
    query = text("SELECT count(*) FROM jobs WHERE actor <> 'test' AND finished_at IS NOT NULL")
    with scene.platform.engine.connect() as connection:
        return int(connection.execute(query).scalar_one()) >= least


def _counted(scene: Scene) -> tuple[int, int]:
    """Return how many jobs there are, and how many effects there are too many."""
    with scene.platform.engine.connect() as connection:
        kept = int(connection.execute(text("SELECT count(*) FROM jobs WHERE actor <> 'test'")).scalar_one())
        twice = text("SELECT count(*) - count(DISTINCT job_id) FROM effects")
        return kept, int(connection.execute(twice).scalar_one())


def run(plan: Plan) -> bool:
    with opened(plan) as scene, ThreadPoolExecutor(_CLIENTS) as clients, ThreadPoolExecutor(1) as aside:
        with scene.platform.engine.begin() as connection:
            api_keys = [
                keys.create(connection, tenant=f"t{n}", name="chaos", scopes=["read", "write"])[1]
                for n in range(plan.tenants)
            ]
        over, begun = Event(), time.monotonic()
        try:
            submitted = [clients.submit(submit, scene, api_keys, over, number) for number in range(plan.jobs)]
            disturbing = aside.submit(disturb, scene)
            ids = [each.result(_SECONDS) for each in submitted]
            disturbing.result(_SECONDS)
        finally:
            over.set()
        wait_for(partial(_have_ended, scene, len(ids)), _SECONDS, "the end of all jobs")
        seconds = time.monotonic() - begun
        kept, doubled = _counted(scene)
        unfinished = sum(job["state"] != "succeeded" for job, _ in scene.platform.histories(ids))
        print(f"{plan.jobs} jobs of {plan.tenants} tenants in {seconds:.0f} s; killed: {scene.killed}")
        print(f"Redis restarted empty {plan.redis_restarts} times; failover: {_seconds(scene.failover_seconds)}")
        lost, unanswered = plan.jobs - len(set(ids)) + unfinished, kept - plan.jobs
        print(f"lost {lost}, doubled {doubled}, kept without an answer {unanswered}")
        check_history(scene.platform, ids)
        return kept == len(set(ids)) == plan.jobs


def _seconds(seconds: float | None) -> str:
    return "none" if seconds is None else f"ready {seconds:.1f} s after the promotion"


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m benchmarks chaos")
    defaults = {"jobs": 2000, "tenants": 50, "gateways": 2, "workers": 4, "kills": 25, "redis-restarts": 3, "seed": 7}
    for name, default in defaults.items():
        words.add_argument(f"--{name}", type=int, default=default)
    words.add_argument("--failover", action="store_true")
    return 0 if run(Plan(**vars(words.parse_args()))) else 1


if __name__ == "__main__":
    sys.exit(main())
