"""Jobs of every kind whose answers are known, and what their histories have to say."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay import Client
from assay._sync.job import Job
from assay.calls import flows, rest
from benchmarks.containers.podman import Failed

PATIENCE = 180.0  #: seconds for one job on a machine that does other things as well
_SALES = "region,amount\nnorth,2\nsouth,3\nnorth,4\nwest,1\n"
_TALKS = [
    {"id": "1", "text": "Queues in Postgres: SKIP LOCKED and advisory locks"},
    {"id": "2", "text": "Baking bread with rye"},
    {"id": "3", "text": "Rate limits for web servers"},
]
SHOP = {"main.py": "import fastapi\napp = fastapi.FastAPI()\n", "requirements.txt": "fastapi==0.115.0\nredis==5.2.0\n"}
_ENDS = {"job_succeeded", "job_failed", "job_cancelled", "job_dead"}
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    name: str
    submit: Callable[[Client], Job[Any]]
    fits: Callable[[Json], bool]

    @property
    def needs_sandbox(self) -> bool:
        return self.name.startswith(("execute", "transform", "document"))


def _code(language: str, code: str, stdout: str) -> Case:
    return Case(
        f"execute, {language}",
        lambda client: client.execute(code, language=language),
        lambda result: result["verdict"] == "ok" and result["stdout"].strip() == stdout,
    )


def _transform(client: Client) -> Job[Any]:
    input = {"task": "Total amount by region, largest first", "data": [{"name": "data", "csv": _SALES}]}
    return client.submit("transform", input)


def _document(client: Client) -> Job[Any]:
    words = "```python exec\nx = 6 * 7\n```\n\n::: describe Say what forty-two is, which is {{ x }}. :::\n"
    return client.document(markdown=words)


def _flow(client: Client) -> Job[Any]:
    nodes = [{"id": name, "position": {"x": 0, "y": 0}, "data": {"label": name}} for name in ("cart", "payment")]
    edges = [{"id": "e1", "source": "cart", "target": "payment"}]
    made = client.send(flows.create({"nodes": nodes, "edges": edges}))
    return client.edit_flow(str(made["id"]), "Put a review after the cart")


def _detect(client: Client) -> Job[Any]:
    with TemporaryDirectory() as name:
        for file, text in SHOP.items():
            (Path(name) / file).write_text(text)
        return client.detect(name, mode="static")


def _ingest(client: Client) -> Job[Any]:
    client.send(rest.create_collection("talks", {"talks": {}}))
    return client.ingest("talks", "talks", records=_TALKS)


def _names(result: Json) -> str:
    return str(result["services"]).lower()


CASES: Sequence[Case] = (
    _code("python", "print(6 * 7)", "42"),
    _code("r", "cat(6 * 7)", "42"),
    _code("javascript", "console.log(6 * 7)", "42"),
    Case(
        "execute, sql",
        lambda client: client.execute("SELECT 6 * 7 AS n", language="sql"),
        lambda r: r["verdict"] == "ok",
    ),
    Case(
        "transform, repaired once",
        _transform,
        lambda r: (
            r["status"] == "done" and [row[1] for row in r["table"]["rows"]] == [6, 3, 1] and len(r["iterations"]) > 1
        ),
    ),
    Case("document", _document, lambda r: "Six times seven is 42." in r["markdown"]),
    Case("flow", _flow, lambda r: r["success"] and "review" in str(r["flow"])),
    Case("detect, a folder", _detect, lambda r: "fastapi" in _names(r) and "redis" in _names(r)),
    Case("ingest", _ingest, lambda r: r["ingested"] == len(_TALKS) and not r["errors"]),
    Case(
        "search",
        lambda client: client.search("talks", "Which talk is about queues?"),
        lambda r: r["verdict"] == "found" and [each["id"] for each in r["citations"]] == ["1"],
    ),
)


def repository(url: str) -> Case:
    """Return the same files in a repository that git fetches."""
    return Case(
        "detect, a repository", lambda client: client.detect(url, mode="static"), lambda r: "fastapi" in _names(r)
    )


def check(client: Client, case: Case) -> float:
    """Submit and compare. Returns: seconds to the result. Raises: Failed."""
    began = time.monotonic()
    job = case.submit(client)
    view = job.wait(PATIENCE)
    if view.state.value != "succeeded" or view.result is None:
        raise Failed(f"{case.name}: {view.state.value}, {view.error}")
    if not case.fits(view.result):
        raise Failed(f"{case.name}: another result than it should be: {str(view.result)[:1500]}")
    return time.monotonic() - began


def sleepers(client: Client, numbers: Iterable[int], seconds: float) -> list[Job[Any]]:
    """Jobs that run for a while and print their number; a request that is repeated has the same key."""
    code = "import time\ntime.sleep({seconds})\nprint({n})"
    return [
        client.execute(code.format(seconds=seconds, n=n), idempotency_key=f"sleeper-{time.monotonic_ns()}-{n}")
        for n in numbers
    ]


def running(jobs: Sequence[Job[Any]]) -> int:
    return sum(job.refresh().state.value == "running" for job in jobs)


def ended_once(jobs: Sequence[Job[Any]]) -> Iterator[int]:
    """Yield the attempts of each job, which succeeded with its own answer and ended exactly once. Raises: Failed."""
    for n, job in enumerate(jobs):
        view = job.wait(PATIENCE)
        if view.state.value != "succeeded" or view.result is None or view.result["stdout"] != f"{n}\n":
            raise Failed(f"job {n}: {view.state.value}, {view.error or view.result}")
        events = job.events_page().items
        ends = [event.type for event in events if event.type in _ENDS]
        if ends != ["job_succeeded"] or [event.seq for event in events] != list(range(1, len(events) + 1)):
            raise Failed(f"job {n} ended as {ends}, in the events {[event.seq for event in events]}")
        yield view.attempt
