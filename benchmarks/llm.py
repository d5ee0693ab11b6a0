"""The LLM layer against the bare HTTP client, LiteLLM's Router and pydantic-ai's FallbackModel, on one scripted server.

``python -m benchmarks.llm``: the peers are installed from PyPI into an environment of their own (once, under the
folder for temporary files, or ``--peers FOLDER``). Rounds are interleaved, so that noise hits everyone alike.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.table import Line, show
from services.host.redis import Redis
from tests.support.scripted import ScriptedLlm, started

_HERE = Path(__file__).resolve().parent
_PEERS = {"litellm": "litellm", "litellm-no-retries": "litellm", "pydantic-ai": "pydantic-ai-slim[openai]"}
_OURS = ("bare", "bare-streamed", "assay", "assay-streamed")
_RULES = (
    {"when": {"model": "^down$"}, "fault": "server_error"},
    {"when": {"model": "^limited$"}, "fault": {"kind": "rate_limit", "headers": {"retry-after": "7"}}},
    {"reply": "hello there"},
)


class Client:
    """A client under measurement, in its own process."""

    def __init__(self, name: str, python: Path, url: str, redis_url: str) -> None:
        self.name = name
        environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        if name in _OURS:
            environment["PYTHONPATH"] = str(_HERE.parent)
        self._process = subprocess.Popen(
            [str(python), "-P", str(_HERE / "llm_clients.py"), name, url, *([redis_url] if name in _OURS else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def await_ready(self) -> None:
        assert self._process.stdout is not None
        while (line := self._process.stdout.readline()) != "ready\n":
            if not line:
                raise SystemExit(f"the client {self.name} did not start")

    def ask(self, scenario: str, count: int) -> list[float]:
        """Seconds of each call."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{scenario} {count}\n")
        self._process.stdin.flush()
        measured: list[float] = json.loads(self._process.stdout.readline())
        return measured

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.llm")
    parser.add_argument("--peers", type=Path, default=Path(tempfile.gettempdir()) / "assay-benchmark-peers")
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    pythons = {name: _environment(given.peers / package.partition("[")[0], package) for name, package in _PEERS.items()}
    pythons |= {name: Path(sys.executable) for name in _OURS}
    with ExitStack() as stack:
        server = stack.enter_context(_server())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        redis = stack.enter_context(Redis(folder / "redis", durable=False))
        clients = [Client(name, python, server.url, redis.url) for name, python in sorted(pythons.items())]
        for client in clients:
            stack.callback(client.close)
            client.await_ready()
        latency = _latency(clients, given.rounds)
        failing = _failing(clients, server, "down", 8)
        limited = _failing(clients, server, "limited", 2)
    _print(latency, failing, limited)
    imports = _imports(pythons)
    _print_imports(imports)
    _verdict(latency, failing, limited, imports)


def _latency(clients: Sequence[Client], rounds: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {client.name: [] for client in clients}
    for _ in range(rounds):
        for client in clients:
            taken[client.name] += client.ask("up", 25)
    return taken


def _failing(
    clients: Sequence[Client], server: ScriptedLlm, scenario: str, count: int
) -> dict[str, tuple[list[float], int]]:
    """Return the seconds of each call, and how often the primary was called."""
    measured = {}
    for client in clients:
        if not client.name.startswith("bare"):
            server.play(*_RULES)
            taken = client.ask(scenario, count)
            hits = sum(request["model"] == scenario for request in server.requests())
            measured[client.name] = (taken, hits)
    return measured


def _imports(pythons: dict[str, Path]) -> dict[str, float]:
    """Seconds that an import adds to a bare interpreter, the best of seven."""
    layer = "import shared.llm.failover, shared.llm.vendors.table"
    statements = {
        "assay": layer,
        "assay, with registries and ledger": "import shared.llm.layer",
        "litellm": "from litellm import Router",
        "pydantic-ai": "import pydantic_ai.models.fallback, pydantic_ai.models.openai, pydantic_ai.direct",
    }
    measured = {}
    for name, statement in statements.items():
        python = pythons[name.partition(",")[0]]
        measured[name] = _best(python, statement) - _best(python, "pass")
    shared = "import sqlalchemy, sqlalchemy.ext.asyncio, redis, pydantic_settings, prometheus_client"
    measured["assay, on top of what every process loads"] = _best(
        pythons["assay"], f"{shared}; import shared.llm.layer"
    ) - _best(pythons["assay"], shared)
    return measured


def _best(python: Path, statement: str) -> float:
    taken = []
    for _ in range(7):
        began = time.perf_counter()
        local = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        subprocess.run([str(python), "-c", statement], check=True, cwd=_HERE.parent, env=local)
        taken.append(time.perf_counter() - began)
    return min(taken)


def _print(
    latency: dict[str, list[float]],
    failing: dict[str, tuple[list[float], int]],
    limited: dict[str, tuple[list[float], int]],
) -> None:
    table = Table(title="Calls on one scripted server (milliseconds; median / most, primary hits)")
    for heading in (
        "client",
        "up: p10",
        "p50",
        "p95",
        "added p10",
        "added p50",
        "primary 500",
        "hits of 8",
        "primary 429",
        "hits of 2",
    ):
        table.add_column(heading)
    for name, taken in latency.items():
        row = [name, _ms(_quick(taken)), _ms(statistics.median(taken)), _ms(statistics.quantiles(taken, n=20)[18])]
        row += [_ms(_added(latency, name, _quick)), _ms(_added(latency, name))]
        for measured in (failing, limited):
            seconds, hits = measured.get(name, ([], 0))
            row += [f"{_ms(statistics.median(seconds))} / {_ms(max(seconds))}", str(hits)] if seconds else ["", ""]
        table.add_row(*row)
    Console(width=140).print(table)


def _print_imports(imports: dict[str, float]) -> None:
    table = Table(title="Import cost (seconds over a bare interpreter)")
    table.add_column("what")
    table.add_column("seconds")
    for name, seconds in imports.items():
        table.add_row(name, f"{seconds:.2f}")
    Console(width=120).print(table)


def _verdict(
    latency: dict[str, list[float]],
    failing: dict[str, tuple[list[float], int]],
    limited: dict[str, tuple[list[float], int]],
    imports: dict[str, float],
) -> None:
    added = {name: _added(latency, name) * 1e3 for name in latency}
    best_peer = min(added["litellm"], added["litellm-no-retries"], added["pydantic-ai"])
    lines = [
        _line("added median latency, whole answers, against the better peer", added["assay"], best_peer, "ms", 1.0),
        _line("added median latency, streamed, against the better peer", added["assay-streamed"], best_peer, "ms", 1.0),
        _line("primary 500: median to the fallback's answer", _p50(failing, "assay"), _peer(failing), "ms", 50),
        _line("primary 429: median to the fallback's answer", _p50(limited, "assay"), _peer(limited), "ms", 50),
        _line("primary asked again before its reset (times)", limited["assay"][1] - 1, _least_hits(limited), "", 0),
        _line("import of the layer", imports["assay"], min(imports["litellm"], imports["pydantic-ai"]), "s", 0.3),
    ]
    show("Targets", lines)


def _added(
    latency: dict[str, list[float]], name: str, of: Callable[[Sequence[float]], float] = statistics.median
) -> float:
    """Seconds over the bare client that reads answers in the same way."""
    return of(latency[name]) - of(latency["bare-streamed" if name.endswith("-streamed") else "bare"])


def _quick(taken: Sequence[float]) -> float:
    """Return the 10th percentile: what a call takes when it has the processor for itself."""
    return statistics.quantiles(taken, n=10)[0]


def _line(what: str, ours: float, peer: float, unit: str, most: float) -> Line:
    ratio = ours / peer if peer else 0.0
    return Line(what, f"{ours:.2f} {unit}", f"{peer:.2f} {unit}", ratio, f"<= {most:g} {unit}", ours <= most)


def _p50(measured: dict[str, tuple[list[float], int]], name: str) -> float:
    return statistics.median(measured[name][0]) * 1e3


def _peer(measured: dict[str, tuple[list[float], int]]) -> float:
    return min(_p50(measured, name) for name in _PEERS)


def _least_hits(measured: dict[str, tuple[list[float], int]]) -> float:
    return min(measured[name][1] for name in _PEERS) - 1


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f}"


@contextmanager
def _server() -> Iterator[ScriptedLlm]:
    process, url = started()
    try:
        server = ScriptedLlm(url)
        server.play(*_RULES)
        yield server
    finally:
        process.terminate()
        process.wait(10)


def _environment(folder: Path, package: str) -> Path:
    """Return a virtual environment with the package in it; made when it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        Console().print(f"installing {package} into {folder}")
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", package, "httpx"], check=True)
    return python


if __name__ == "__main__":
    main()
