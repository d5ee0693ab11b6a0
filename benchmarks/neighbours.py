"""``python -m benchmarks.neighbours [--seconds N] [--operations] [ATTACK ...]``: what one tenant notices of another's
attacks.

Tenant B requests ``/healthz`` and submits small jobs, each 25 times a second, however long the last one took.
Meanwhile tenant A attacks, from a process of its own. The goal: B's 99th percentile is at most three times that of a
quiet server, and no request of B is refused.

``--operations`` calls each operation of the API document and each tool of `/mcp` twelve at a time, with the heaviest
inputs that they allow: all of them, or those whose names hold one of the words, such as `POST` or `/v1/flows`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx2 as httpx
import psycopg
from rich.console import Console
from rich.table import Table

from benchmarks.attacks.attacker import Attacker
from benchmarks.attacks.operations import described
from benchmarks.attacks.table import ATTACKS
from benchmarks.load import post
from tests.support.wait import until

_ROOT = Path(__file__).resolve().parent.parent
_FOREIGN = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_", "BLOB_URL", "ANTHROPIC_", "GROQ_", "CEREBRAS_", "OPENAI_")
_EVERY_SECONDS = 0.04
_LATE_SECONDS = 20.0  #: a request that takes longer counts as this
_GOAL = 3.0
_JOB = b'{"kind": "execute", "input": {"language": "sql", "code": "SELECT 1"}}'
_SCRIPT = "rules:\n  - {reply: DONE}\n"


@dataclass
class Latencies:
    """The milliseconds that B's requests of one kind took, and the number with an unexpected status."""

    expected: int
    times: list[float] = field(default_factory=list)
    refused: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def p99(self) -> float:
        return statistics.quantiles(self.times, n=100)[98]


@dataclass(frozen=True)
class Neighbour:
    """Tenant B: requests on schedule, each on a connection that is free, else on a new one."""

    host: str
    port: int
    key: str

    async def measured(self, seconds: float) -> tuple[Latencies, Latencies]:
        """Measure submits and ``/healthz`` during these seconds."""
        submits, health = Latencies(202), Latencies(200)
        requests = (
            (submits, post("/v1/jobs", _JOB, {"Authorization": f"Bearer {self.key}"})),
            (health, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        )
        idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(int(seconds / _EVERY_SECONDS)):
                await asyncio.sleep(max(0.0, began + number * _EVERY_SECONDS - time.monotonic()))
                for latencies, request in requests:
                    group.create_task(self._send(latencies, request, idle))
        for _, writer in idle:
            writer.close()
        return submits, health

    async def _send(
        self, latencies: Latencies, request: bytes, idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
    ) -> None:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(_LATE_SECONDS):
                reader, writer = idle.pop() if idle else await asyncio.open_connection(self.host, self.port)
                writer.write(request)
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = next(int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
                await reader.readexactly(length)
        except (TimeoutError, OSError, EOFError):
            latencies.refused += 1
            latencies.times.append(_LATE_SECONDS * 1e3)
            return
        latencies.times.append((time.perf_counter() - began) * 1e3)
        latencies.refused += int(head.split(b" ", 2)[1]) != latencies.expected
        idle.append((reader, writer))


@dataclass(frozen=True)
class Installation:
    """A whole installation, with scripted models."""

    env: dict[str, str]
    host: str
    port: int
    database_url: str

    def key(self, tenant: str) -> str:
        words = ["keys", "create", "--tenant", tenant, "--name", "n", "--scope", "read", "--scope", "write", "--json"]
        key: str = json.loads(_assay(self.env, *words))["key"]
        return key

    @contextmanager
    def attacked(self, name: str, seconds: float) -> Iterator[dict[str, int]]:
        """Run the block during an attack by a tenant of its own; then give the answers that the attack got."""
        key = self.key(_tenant(name))
        command = [sys.executable, "-m", "benchmarks.attacks", name, self.host, str(self.port), key, str(seconds + 1)]
        outcomes: dict[str, int] = {}
        with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as attack:
            time.sleep(1)  # until it is in progress
            yield outcomes
            attack.wait(seconds + 120)
            assert attack.stdout is not None
            outcomes.update(json.loads(attack.stdout.read() or "{}"))
        self._forget(_tenant(name))

    def _forget(self, tenant: str) -> None:
        """Delete the tenant's queued jobs, and cancel those that run."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:

            def idle() -> bool:  # a request that was read late still submits
                connection.execute("DELETE FROM jobs WHERE tenant_id = %s AND state = 'queued'", [tenant])
                connection.execute(
                    "UPDATE jobs SET cancel_requested_at = clock_timestamp() "
                    "WHERE tenant_id = %s AND state = 'running' AND cancel_requested_at IS NULL",
                    [tenant],
                )
                query = "SELECT count(*) FROM jobs WHERE tenant_id = %s AND finished_at IS NULL"
                row = connection.execute(query, [tenant]).fetchone()
                return row == (0,)

            until(idle, "the end of the attacker's jobs", 120)


def _tenant(attack: str) -> str:
    """Return the name of the attacker's tenant."""
    return re.sub(r"[^a-z0-9]+", "-", attack.lower()).strip("-")


@contextmanager
def installation() -> Iterator[Installation]:
    home = Path(tempfile.mkdtemp(prefix="assay-bench-", dir="/tmp"))
    home.chmod(0o755)
    script = home / "script.yaml"
    script.write_text(_SCRIPT)
    env = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    env |= {"ASSAY_HOME": str(home / "home"), "ASSAY_PORT": "0", "PYTHONPATH": str(_ROOT)}
    try:
        _assay(env, "up", "-d", "--script", str(script))
        status = json.loads(_assay(env, "status", "-o", "json"))
        url = urlsplit(status["url"])
        assert url.hostname is not None
        assert url.port is not None
        yield Installation(env, url.hostname, url.port, status["database_url"])
    finally:
        _assay(env, "down")
        shutil.rmtree(home, ignore_errors=True)


def _assay(env: dict[str, str], *words: str) -> str:
    command = [sys.executable, "-P", "-m", "assay", *words]
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout


async def _operations(here: Installation) -> list[str]:
    """Return the names of all that the server describes."""
    async with httpx.AsyncClient(base_url=f"http://{here.host}:{here.port}", timeout=60) as client:
        _, known = await described(Attacker(here.host, here.port, here.key("reader"), client))
    return list(known)


def measure(here: Installation, names: Sequence[str], seconds: float) -> Table:
    """Measure each attack and a quiet time just before it: other work on the machine counts in both."""
    neighbour = Neighbour(here.host, here.port, here.key("neighbour"))
    asyncio.run(neighbour.measured(seconds))  # warm
    title = f"Latency of B during A's attacks, in ms; goal: the 99th percentile at most {_GOAL:g}x of quiet"
    table = Table(title=f"{title}; {os.cpu_count()} processors")
    headings = ("A", "submit p50", "p99", "quiet", "x", "/healthz p50", "p99", "quiet", "x", "B refused", "", "load")
    for heading in (*headings, "A was answered"):
        table.add_column(heading)
    for name in names:
        before = asyncio.run(neighbour.measured(2 * seconds))
        with here.attacked(name, seconds) as outcomes:
            latencies = asyncio.run(neighbour.measured(seconds))
        _row(table, name, latencies, before, outcomes)
        line = ", ".join(
            f"{now.p99:.0f} ms after {quiet.p99:.0f}" for now, quiet in zip(latencies, before, strict=True)
        )
        print(f"{name}: {line}", file=sys.stderr, flush=True)
    return table


def _row(
    table: Table,
    name: str,
    latencies: tuple[Latencies, Latencies],
    quiet: tuple[Latencies, Latencies],
    outcomes: dict[str, int],
) -> None:
    pairs = list(zip(latencies, quiet, strict=True))
    ratios = [now.p99 / before.p99 for now, before in pairs]
    cells = [
        f"{value:.1f}"
        for (now, before), ratio in zip(pairs, ratios, strict=True)
        for value in (now.median, now.p99, before.p99, ratio)
    ]
    refused = sum(each.refused for each in latencies)
    mark = "met" if max(ratios) <= _GOAL and not refused else "MISSED"
    answered = ", ".join(f"{outcome} {count}" for outcome, count in sorted(outcomes.items()))
    table.add_row(name, *cells, str(refused), mark, f"{os.getloadavg()[0]:.0f}", answered)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbours")
    parser.add_argument("names", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--operations", action="store_true", help="attack every operation that the server describes")
    parser.add_argument("--seconds", type=float, default=6.0, help="duration of each attack")
    given = parser.parse_args()
    if not given.operations and (unknown := sorted(set(given.names) - set(ATTACKS))):
        parser.error(f"there is no attack {unknown[0]!r}")
    with installation() as here:
        names = given.names or list(ATTACKS)
        if given.operations:
            words = given.names or [""]
            names = [name for name in asyncio.run(_operations(here)) if any(word in name for word in words)]
        table = measure(here, names, given.seconds)
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
