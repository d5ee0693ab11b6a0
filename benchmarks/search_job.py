"""Search as a client meets it: through the gateway, Postgres, Redis and the worker process, without any model."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.golden import corpus
from benchmarks.installation import Installation, installation
from benchmarks.table import Line
from tests.support.wait import until

_QUESTIONS = 40
_STARTS = 2


def lines() -> list[Line]:
    with installation() as assay:
        with _worker(assay):
            pass  # writes the model's graph, as the first start of an installation does
        starts = []
        for _ in range(_STARTS):
            with _worker(assay) as start:
                starts.append(start)
        with _worker(assay), assay.gateway() as port:
            jobs = _jobs(_Client(port, assay.authorization))
    wall, cpu = min(start.seconds for start in starts), min(start.cpu for start in starts)
    return [
        *jobs,
        Line("worker started until it takes jobs", f"{wall:.2f} s", f"{cpu:.2f} s CPU", wall / 2, "<= 2 s", wall <= 2),
    ]


def _jobs(assay: _Client) -> list[Line]:
    assay.post("/v1/collections", {"name": "python", "tables": {"modules": corpus.TABLES["modules"]}})
    records = list(corpus.modules())
    began = time.perf_counter()
    done = assay.job("ingest", {"collection": "python", "table": "modules", "records": records})
    took = time.perf_counter() - began
    assert done["state"] == "succeeded", done
    found, fresh, refused, nothing = [], [], [], []
    for number in range(_QUESTIONS):
        nothing.append(_empty(assay))
        fresh.append(_timed(assay, f"compress data {number}"))
        found.append(_timed(assay, "compress data"))
        refused.append(_timed(assay, f"quarterly dividends of cattle farms {number}"))
    rate = f"{len(records) / took:.0f} records/s"
    return [
        _ms("job, gateway to result, found, p50", median(found), 60, f"idle job {median(nothing):.1f} ms"),
        _ms("job, gateway to result, found, p95", _p95(found), 150),
        _ms("job, a question never asked before, p50", median(fresh), 60),
        _ms("job, not found after every retry, p50", median(refused), 60),
        Line(f"ingest job of {len(records)} records, embedded", f"{took:.2f} s", rate, took, "", True),
    ]


def _empty(assay: _Client) -> float:
    """An ingest of nothing: what the platform takes for any job."""
    began = time.perf_counter()
    assay.job("ingest", {"collection": "python", "table": "modules", "records": []})
    return (time.perf_counter() - began) * 1e3


def _timed(assay: _Client, question: str) -> float:
    began = time.perf_counter()
    done = assay.job("search", {"collection": "python", "question": question})
    assert done["state"] == "succeeded", done
    return (time.perf_counter() - began) * 1e3


class _Client:
    """One connection that is kept."""

    def __init__(self, port: int, authorization: Mapping[str, str]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._headers = {**authorization, "Content-Type": "application/json", "Prefer": "wait=60"}

    def post(self, path: str, body: Mapping[str, object]) -> dict[str, object]:
        self._connection.request("POST", path, json.dumps(body), self._headers)
        answer: dict[str, object] = json.loads(self._connection.getresponse().read())
        return answer

    def job(self, kind: str, given: Mapping[str, object]) -> dict[str, object]:
        return self.post("/v1/jobs", {"kind": kind, "input": given})


@dataclass(frozen=True)
class _Start:
    seconds: float
    cpu: float


@contextmanager
def _worker(assay: Installation) -> Iterator[_Start]:
    ready = assay.folder / f"ready-{time.monotonic_ns()}"
    began = time.perf_counter()
    with assay.process("services.search", ASSAY_READY_FILE=str(ready)) as process:
        until(ready.exists, "a search worker", 60)
        seconds = time.perf_counter() - began
        ticks = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        yield _Start(seconds, (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK"))


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _ms(what: str, value: float, target: float, beside: str = "") -> Line:
    return Line(what, f"{value:.1f} ms", beside, value / target, f"<= {target:g} ms", value <= target)
