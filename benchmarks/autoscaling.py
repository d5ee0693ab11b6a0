"""Which autoscaler settings keep the oldest job waiting for less than 10 s, at the least cost.

    python -m benchmarks.autoscaling [--picture FILE.svg] [--measured SECONDS]

Service times and the start of a worker are measured first (``--measured`` skips that and takes this start and the
service times of an earlier run); then an hour of arrivals is simulated, event by event, under each combination of
settings. The autoscaler is that of Kubernetes as its documentation describes it: every 15 s it wants a pod for each
``jobsPerPod`` jobs, queued and running (within 10 % nothing changes), grows by at most four pods or five times within
15 s, and shrinks to the most that it has wanted within ``cooldownSeconds``. Without a pod KEDA looks, every 5 s.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import random
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import httpx2 as httpx

from benchmarks.installation import Installation, installation
from tests.support.wait import until

HOUR = 3600.0
SLOTS = 4  #: of a pod: ASSAY_CONCURRENCY
SYNC, POLL = 15.0, 5.0  #: seconds between two looks: of the autoscaler, and of KEDA while there is no pod
WANTED_WAIT = 10.0
_MEASURED_BEFORE = (0.07, 0.08, 0.08, 0.09, 0.1, 0.11, 0.13, 0.16, 0.35, 0.6)  #: deciles of `execute` on four cores


@dataclass(frozen=True)
class Settings:
    jobs_per_pod: float
    cooldown: float
    least: int
    most: int = 40


@dataclass
class Pod:
    ready_at: float
    free: int = SLOTS
    leaving: bool = False


@dataclass
class Outcome:
    waits: list[float] = field(default_factory=list)
    oldest: list[tuple[float, float]] = field(
        default_factory=list
    )  #: time, and how long the oldest queued job has waited
    pods: list[tuple[float, int]] = field(default_factory=list)
    pod_seconds: float = 0.0
    busy_seconds: float = 0.0

    @property
    def worst(self) -> float:
        return max(self.waits, default=0.0)


class Simulation:
    """Jobs in the order of their arrival, for pods of four slots."""

    def __init__(
        self, settings: Settings, arrivals: Iterator[float], service: Callable[[], float], start: float
    ) -> None:
        self._settings, self._service, self._start = settings, service, start
        self._numbers = itertools.count()
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._queue: deque[float] = deque()
        self._pods = [Pod(0.0) for _ in range(settings.least)]
        self._wanted: deque[tuple[float, int]] = deque()
        self._running = 0
        self._arrivals = arrivals
        self._seen_at = 0.0
        self.outcome = Outcome()

    def run(self) -> Outcome:
        self._next_arrival()
        self._at(0.0, self._tick)
        while self._events:
            now, _, event = heapq.heappop(self._events)
            alive = sum(1 for pod in self._pods if pod.free >= 0)
            self.outcome.pod_seconds += alive * (now - self._seen_at)
            self._seen_at = now
            event(now)
        return self.outcome

    def _at(self, when: float, event: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (when, next(self._numbers), event))

    def _next_arrival(self) -> None:
        when = next(self._arrivals, None)
        if when is not None and when < HOUR:
            self._at(when, self._arrive)

    def _arrive(self, now: float) -> None:
        self._queue.append(now)
        self._assign(now)
        self._next_arrival()

    def _assign(self, now: float) -> None:
        for pod in self._pods:
            while self._queue and pod.free and not pod.leaving and pod.ready_at <= now:
                self.outcome.waits.append(now - self._queue.popleft())
                pod.free -= 1
                self._running += 1
                seconds = self._service()
                self.outcome.busy_seconds += seconds
                self._at(now + seconds, lambda at, pod=pod: self._end(at, pod))  # type: ignore[misc]

    def _end(self, now: float, pod: Pod) -> None:
        pod.free += 1
        self._running -= 1
        self._forget_empty()
        self._assign(now)

    def _tick(self, now: float) -> None:
        jobs, current = len(self._queue) + self._running, sum(not pod.leaving for pod in self._pods)
        self._scale(now, jobs, current)
        self.outcome.oldest.append((now, now - self._queue[0] if self._queue else 0.0))
        self.outcome.pods.append((now, len(self._pods)))
        if now < HOUR or jobs:
            self._at(now + (SYNC if self._pods else POLL), self._tick)

    def _scale(self, now: float, jobs: int, current: int) -> None:
        settings = self._settings
        wanted = math.ceil(jobs / settings.jobs_per_pod)
        if current and abs(jobs / settings.jobs_per_pod / current - 1) <= 0.1:
            wanted = current
        if current == 0:
            wanted = min(wanted, 1)  # KEDA takes the first step, the autoscaler the others
        wanted = min(max(wanted, settings.least), settings.most, max(current * 5, current + 4))
        self._wanted.append((now, wanted))
        while self._wanted[0][0] < now - settings.cooldown:
            self._wanted.popleft()
        if wanted < current:
            wanted = min(current, max(each for _, each in self._wanted))
        for _ in range(wanted - current):
            pod = Pod(now + self._start)
            self._pods.append(pod)
            self._at(pod.ready_at, self._assign)
        for pod in sorted(self._pods, key=lambda pod: -pod.free)[: max(0, current - wanted)]:
            pod.leaving = True
        self._forget_empty()

    def _forget_empty(self) -> None:
        self._pods = [pod for pod in self._pods if not (pod.leaving and pod.free == SLOTS)]


def steady(chance: random.Random) -> Iterator[float]:
    """Ten jobs a second."""
    return _poisson(chance, lambda now: 10.0, 10.0)


def surges(chance: random.Random) -> Iterator[float]:
    """Four jobs a second, and every ten minutes, for two, five times as many."""
    return _poisson(chance, lambda now: 20.0 if now % 600 > 480 else 4.0, 20.0)


def tenants(chance: random.Random) -> Iterator[float]:
    """A hundred tenants, each at work for two minutes of ten, with half a job a second."""
    phases = [chance.random() * 600 for _ in range(100)]
    return _poisson(chance, lambda now: 0.5 * sum((now + phase) % 600 < 120 for phase in phases), 50.0)


def from_zero(chance: random.Random) -> Iterator[float]:
    """Nothing for twenty minutes, then 60 jobs at once, three times."""
    return iter(sorted(20 * 60.0 * (1 + n // 60) - 30 + chance.random() for n in range(180)))


def _poisson(chance: random.Random, rate: Callable[[float], float], most: float) -> Iterator[float]:
    """By thinning (Lewis and Shedler, 1979)."""
    now = 0.0
    while True:
        now += chance.expovariate(most)
        if chance.random() < rate(now) / most:
            yield now


SCENARIOS = (steady, surges, tenants, from_zero)


def service_of(measured: Sequence[float], chance: random.Random) -> Callable[[], float]:
    """Seven of ten jobs run code, as measured; the others wait for a model: by assumption 4 s, at worst 15 s."""
    return lambda: (
        chance.choice(measured)
        if chance.random() < 0.7
        else chance.choice(measured) + min(15, chance.lognormvariate(math.log(4), 0.6))
    )


def simulate(
    settings: Settings, scenario: Callable[[random.Random], Iterator[float]], measured: Sequence[float], start: float
) -> Outcome:
    chance = random.Random(11)
    return Simulation(settings, scenario(random.Random(7)), service_of(measured, chance), start).run()


def measure() -> tuple[Sequence[float], float]:
    """Seconds that `execute` jobs run, one after the other and four at once, and seconds until a worker takes jobs."""
    with installation() as place, place.gateway() as port, place.process("services.reconciler"):
        ready = place.folder / "ready"
        began = time.perf_counter()
        with place.process("services.execution", ASSAY_READY_FILE=str(ready)):
            until(ready.exists, "a worker", 120)
            start = time.perf_counter() - began
            return _jobs(place, port), start


def _jobs(place: Installation, port: int) -> list[float]:
    codes = (
        "6 * 7",
        "sum(i * i for i in range(10**6))",
        "import pandas as pd; pd.DataFrame({'a': range(10**5)}).describe()",
    )
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=place.authorization, timeout=60) as client:
        for count in (1, 4):
            ids = []
            for number in range(30):
                body = {"kind": "execute", "input": {"language": "python", "code": codes[number % 3]}}
                prefer = {"Prefer": "wait=30"} if count == 1 or number % count == count - 1 else {}
                ids.append(client.post("/v1/jobs", json=body, headers=prefer).raise_for_status().json()["id"])
            jobs = [client.get(f"/v1/jobs/{id}", headers={"Prefer": "wait=30"}).json() for id in ids]
    return [_seconds(job["started_at"], job["finished_at"]) for job in jobs if job["finished_at"]]


def _seconds(began: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()


def best(measured: Sequence[float], start: float) -> tuple[Settings | None, list[str]]:
    """The cheapest settings under which no job waits too long, and a line for each combination."""
    table: list[str] = []
    chosen: Settings | None = None
    least_paid = math.inf
    for jobs, cooldown, least in itertools.product((2.0, 2.5, 3.0, 4.0, 8.0), (60.0, 300.0), (0, 1, 2, 4, 6)):
        settings = Settings(jobs, cooldown, least)
        outcomes = [simulate(settings, each, measured, start) for each in SCENARIOS]
        paid = sum(each.pod_seconds for each in outcomes) / HOUR
        busy = sum(each.busy_seconds for each in outcomes) / HOUR / SLOTS
        waits = " | ".join(f"{each.worst:.1f}" for each in outcomes)
        table.append(f"| {jobs:g} | {cooldown:g} | {least} | {waits} | {paid:.1f} | {busy / paid:.0%} |")
        if paid < least_paid and max(each.worst for each in outcomes) < WANTED_WAIT:
            chosen, least_paid = settings, paid
    return chosen, table


def lines(shown: Sequence[tuple[str, Sequence[float]]]) -> str:
    """A panel for each series over the same time, an SVG for light and dark pages."""
    width, height, left, top = 640, 120, 20, 26
    panels = []
    for row, (name, values) in enumerate(shown):
        base, most = row * (height + 2 * top) + top, max(*values, 1e-9)
        step = width / max(1, len(values) - 1)
        points = " ".join(
            f"{left + step * at:.1f},{base + height * (1 - value / most):.1f}" for at, value in enumerate(values)
        )
        panels.append(
            f'<text x="{left}" y="{base - 6}" fill="currentColor">{name}: {most:.3g} at most</text>'
            f'<path d="M{left} {base}V{base + height}H{left + width}" stroke="#888" fill="none"/>'
            f'<polyline points="{points}" fill="none" stroke="#0072b2"/>'
        )
    size = len(shown) * (height + 2 * top)
    style = "<style>svg{color:#333}@media(prefers-color-scheme:dark){svg{color:#ddd}}</style>"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 2 * left} {size}" font-family="sans-serif" '
    return f'{head}font-size="13">{style}{"".join(panels)}</svg>\n'


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--measured", type=float)
    asked = parser.parse_args(arguments)
    measured, start = (_MEASURED_BEFORE, asked.measured) if asked.measured else measure()
    print(
        f"code runs {statistics.median(measured):.2f} s (median of {len(measured)}), a worker starts in {start:.1f} s\n"
    )
    waits = " | ".join(f"{each.__name__}: worst wait, s" for each in SCENARIOS)
    print(f"| jobs for a pod | cooldown, s | least | {waits} | pod-hours | of them busy |")
    print("|" + "---|" * (len(SCENARIOS) + 5))
    chosen, table = best(measured, start)
    print("\n".join(table))
    print(f"\nthe cheapest below {WANTED_WAIT:.0f} s: {chosen or 'none'}")
    if asked.picture and chosen is not None:
        series: list[tuple[str, Sequence[float]]] = []
        for settings in (Settings(4.0, 60.0, 1), chosen):
            outcome = simulate(settings, surges, measured, start)
            name = f"{settings.jobs_per_pod:g} jobs for a pod, {settings.least} at least"
            series.append((f"{name}: wait of the oldest job, s", [wait for _, wait in outcome.oldest]))
            series.append((f"{name}: pods", [count for _, count in outcome.pods]))
        asked.picture.write_text(lines(series))


if __name__ == "__main__":
    main(sys.argv[1:])
