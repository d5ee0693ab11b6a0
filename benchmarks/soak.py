"""An installation under a steady mix of jobs for an hour: ``python -m benchmarks.soak [--minutes 60] [--clients 4]``.

Four clients submit jobs of every kind that needs no model, one after the other, and read their results; a fifth looks
at queues and lists. Each minute's line reports what was done, what failed, how long jobs took, the memory (PSS) of each
process and the size of the folder. It ends with 1 when a job fails, or a process has grown by more than a quarter in
the second half. ``--picture FILE.svg`` draws memory and times.
"""

from __future__ import annotations

import argparse
import io
import itertools
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import httpx2 as httpx

from benchmarks.memory import memory_of
from services.host.folder import InstallationFolder

_CSV = "city,n\n" + "\n".join(f"town {number % 7},{number}" for number in range(500)) + "\n"
_RECORDS = [{"id": str(n), "name": f"talk {n}", "text": f"A talk about subject {n} of many."} for n in range(60)]
_GROWTH = 1.25


@dataclass
class Minute:
    seconds: list[float] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)


class Soak:
    """What the clients share."""

    def __init__(self, url: str, key: str) -> None:
        self.headers = {"Authorization": f"Bearer {key}"}
        self.url, self.over, self.lock = url, Event(), Lock()
        self.minute = Minute()
        with self.client() as client:
            collection = {"name": "soak", "tables": {"talks": {"facets": {}, "fields": {}}}}
            client.post("/v1/collections", json=collection).raise_for_status()
            self._job(client, "ingest", {"collection": "soak", "table": "talks", "records": _RECORDS})
            archive = {"file": ("source.tar.gz", _archive())}
            self.archive = client.post("/v1/files", files=archive).raise_for_status().json()["id"]

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=self.headers, timeout=120)

    def work(self) -> None:
        with self.client() as client:
            for number in itertools.count():
                if self.over.is_set():
                    return
                kind, input = self._next(number)
                began = time.perf_counter()
                state = self._job(client, kind, input)
                with self.lock:
                    self.minute.seconds.append(time.perf_counter() - began)
                    if state != "succeeded":
                        self.minute.failed[f"{kind}: {state}"] += 1

    def look(self) -> None:
        with self.client() as client:
            while not self.over.wait(1):
                for path in ("/v1/jobs?limit=50", "/v1/capabilities", "/readyz"):
                    answer = client.get(path)
                    if answer.status_code != 200:
                        with self.lock:
                            self.minute.failed[f"{path}: {answer.status_code}"] += 1

    def _next(self, number: int) -> tuple[str, Mapping[str, Any]]:
        data = [{"name": "data", "csv": _CSV}]
        return (
            ("execute", {"language": "python", "code": f"sum(range({number}))"}),
            (
                "transform",
                {"task": "t", "data": data, "language": "sql", "code": "SELECT city, sum(n) n FROM data GROUP BY 1"},
            ),
            (
                "execute",
                {"language": "python", "code": "import pandas as pd\npd.DataFrame({'a': range(1000)}).describe()"},
            ),
            ("search", {"collection": "soak", "question": f"Which talk is about subject {number % 60}?"}),
            ("document", {"markdown": "# Soak\n\n```python exec\nx = 6 * 7\nprint(x)\n```\n\nIt is {{ x }}.\n"}),
            ("detect", {"source": {"file_id": self.archive}, "mode": "static"}),
            ("execute", {"language": "sql", "code": "SELECT 42 AS answer"}),
        )[number % 7]

    def _job(self, client: httpx.Client, kind: str, input: Mapping[str, Any]) -> str:
        try:
            answer = client.post("/v1/jobs", json={"kind": kind, "input": input}, headers={"Prefer": "wait=60"})
            return str(answer.json().get("state", answer.status_code))
        except httpx.HTTPError as error:
            return type(error).__name__


def _archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in {"package.json": '{"dependencies": {"express": "4"}}', "index.js": "1\n" * 50}.items():
            member = tarfile.TarInfo(f"app/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def run(home: Path, minutes: int, clients: int, picture: Path | None) -> int:
    folder = InstallationFolder(home)
    status = folder.read_status()
    supervisor = folder.holder()
    assert status is not None
    assert supervisor is not None
    soak = Soak(status.url, status.api_key or "")
    threads = [Thread(target=soak.work, daemon=True) for _ in range(clients)] + [Thread(target=soak.look, daemon=True)]
    for thread in threads:
        thread.start()
    memory: list[Mapping[str, float]] = []
    times: list[float] = []
    done, failed = 0, Counter[str]()
    print("minute | jobs | failed | median s | 95 % s | folder MB | memory of processes, MB")
    for minute in range(1, minutes + 1):
        time.sleep(60)
        with soak.lock:
            now, soak.minute = soak.minute, Minute()
        memory.append(memory_of(supervisor))
        times.append(statistics.median(now.seconds or [0.0]))
        done, failed = done + len(now.seconds), failed + now.failed
        late = statistics.quantiles(now.seconds, n=20)[-1] if len(now.seconds) > 1 else 0.0
        held = ", ".join(f"{name} {size:.0f}" for name, size in memory[-1].items())
        print(
            f"{minute:>6} | {len(now.seconds):>4} | {now.failed.total():>6} | {times[-1]:.3f} | {late:.3f} |"
            f" {_size(home) / 1e6:.0f} | {held}",
            flush=True,
        )
    soak.over.set()
    for thread in threads:
        thread.join(130)
    grown = _grown(memory)
    print(
        f"\n{done} jobs, {failed.total()} failures {dict(failed) or ''}; grown in the second half: {grown or 'nothing'}"
    )
    if picture is not None:
        served = ("gateway", "execution", "search")
        series = [
            ("memory of all processes, MB", [sum(each.values()) for each in memory]),
            ("gateway, execution and search, MB", [sum(each.get(name, 0) for name in served) for each in memory]),
            ("median of jobs, s", times),
        ]
        picture.write_text(_picture(series))
    return 1 if failed or grown else 0


def _picture(shown: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Draw a panel for each series over the same time, an SVG for light and dark pages."""
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


def _grown(memory: Sequence[Mapping[str, float]]) -> dict[str, str]:
    """Processes that took more at the end than in the middle, by more than a quarter and 20 MB."""
    if len(memory) < 4:
        return {}
    middle, end = memory[len(memory) // 2], memory[-1]
    both = ((name, middle[name], end[name]) for name in middle.keys() & end.keys())
    return {name: f"{old:.0f} -> {new:.0f} MB" for name, old, new in both if new > max(old * _GROWTH, old + 20)}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--picture", type=Path)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="assay-soak-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        foreign = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_URL", "BLOB_URL")
        env = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        env |= {"ASSAY_HOME": name, "ASSAY_PORT": "0", "ASSAY_REQUESTS_PER_MINUTE": "0"}
        command = [sys.executable, "-P", "-m", "assay"]
        subprocess.run([*command, "up", "-d"], env=env, check=True, capture_output=True)
        try:
            return run(Path(name), asked.minutes, asked.clients, asked.picture)
        finally:
            subprocess.run([*command, "down"], env=env, check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
