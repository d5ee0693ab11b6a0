"""Files larger than memory through whole transforms: seconds and peak memory of every process.

    python -m benchmarks.larger_than_memory [--gb 5] [--csv-gb 1] [--memory-mb 1024]

Parquet is read where it stands; a CSV file becomes one in the sandbox, whose files are memory too.

The model is scripted with the code; ``--memory-mb`` is the limit of the sandbox that it runs in, which ends what takes
more. Pages of the file, which the kernel can take back, count in what is resident and not in that limit.
What polars takes for the same aggregate without a sandbox stands beside it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Thread
from threading import Event as Flag

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.transform import Replies, Stored
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import OnOutput, Outcome, Run
from services.execution.sandbox.settings import SandboxSettings
from services.execution.transform.runner import TransformLimits
from services.execution.transform.transform import Transform
from services.execution.wiring import open_sandbox
from shared import blobs
from shared.contracts.execute import Limits
from shared.contracts.transform import TransformInput
from tests.support.context import MemoryContext

_GROUP_ROWS = 500_000
_SCHEMA = pa.schema({"id": pa.int64(), "k": pa.int32(), "v": pa.float64(), "w": pa.float64(), "s": pa.string()})
_POLARS = (
    "import polars as pl\n"
    "result = data.filter(pl.col('w') > 0.1).group_by('k').agg(v=pl.col('v').sum(), n=pl.len()).sort('k')"
)
_SQL = "SELECT k, sum(v) AS v, count(*) AS n FROM data WHERE w > 0.1 GROUP BY k ORDER BY k"
_DISTINCT = "SELECT k, count(DISTINCT s) AS names, max(length(s)) AS longest FROM data GROUP BY k ORDER BY k"
_ALONE = f"import polars as pl, sys\ndata = pl.scan_parquet(sys.argv[1])\n{_POLARS}.collect(engine='streaming')\n"


@dataclass
class Metered:
    """The sandbox, with what each run has used."""

    inner: Sandbox
    peaks: list[float] = field(default_factory=list)  #: megabytes, by the run's own meter

    @contextmanager
    def run(self, run: Run, cancelled: Flag | None = None, on_output: OnOutput | None = None) -> Iterator[Outcome]:
        to_its_end = replace(run, until="end")  # what is ended with its table tells no figures
        with self.inner.run(to_its_end, cancelled, on_output) as outcome:
            self.peaks.append(outcome.usage.peak_memory_mb)
            yield outcome

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


def write_table(path: Path, gigabytes: float) -> int:
    """Random values, which do not compress: the file takes what it holds. The number of rows."""
    rows = 0
    random = np.random.default_rng(7)
    names = pa.array([f"customer {number:05}" for number in range(20_000)])
    with pq.ParquetWriter(path, _SCHEMA, use_dictionary=False, compression="none") as writer:
        while not path.exists() or path.stat().st_size < gigabytes * 1e9:
            columns = [
                pa.array(np.arange(rows, rows + _GROUP_ROWS)),
                pa.array(random.integers(0, 100, _GROUP_ROWS, dtype=np.int32)),
                pa.array(random.random(_GROUP_ROWS)),
                pa.array(random.random(_GROUP_ROWS)),
                names.take(pa.array(random.integers(0, len(names), _GROUP_ROWS))),
            ]
            writer.write_table(pa.table(columns, schema=_SCHEMA))
            rows += _GROUP_ROWS
    return rows


def write_csv(path: Path, gigabytes: float) -> int:
    """Numbers of all lengths, dates and names. The number of rows."""
    rows = 0
    random = np.random.default_rng(7)
    with path.open("wb") as file:
        while file.tell() < gigabytes * 1e9:
            columns = {
                "id": np.arange(rows, rows + _GROUP_ROWS),
                "k": random.integers(0, 100, _GROUP_ROWS),
                "day": np.datetime64("2020-01-01") + random.integers(0, 1500, _GROUP_ROWS),
                "v": random.random(_GROUP_ROWS).round(6),
                "w": random.random(_GROUP_ROWS),
                "s": [f"customer {number:05}" for number in random.integers(0, 20_000, _GROUP_ROWS)],
            }
            pl.DataFrame(columns).write_csv(file, include_header=rows == 0)
            rows += _GROUP_ROWS
    return rows


class SharedMemory:
    """The most that files in memory have taken meanwhile, in megabytes: those of sandboxes among them."""

    def __init__(self) -> None:
        self.peak, self._before, self._over = 0.0, self._now(), Event()
        self._watch = Thread(target=self._look, daemon=True)

    def __enter__(self) -> SharedMemory:
        self._watch.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self.peak = max(self.peak, self._now() - self._before)

    @staticmethod
    def _now() -> float:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("Shmem:"))


def measure(sandbox: Sandbox, files: Stored, file_id: str, code: str, wanted: dict[str, str], memory_mb: int) -> str:
    metered = Metered(sandbox)
    tag = wanted.get("language", "python")
    context = replace(MemoryContext().context("transform"), files=files, llm=Replies([f"```{tag}\n{code}\n```"]))
    limits = TransformLimits(code=Limits(wall_seconds=120, cpu_seconds=120, memory_mb=memory_mb, disk_mb=256))
    body = {"task": "t", "data": [{"name": "data", "file_id": file_id}], "confirm": "never", **wanted}
    began = time.perf_counter()
    with SharedMemory() as shared:
        result = Transform(metered, limits)(context, TransformInput.model_validate(body))  # type: ignore[arg-type]
    seconds = time.perf_counter() - began
    rows = result.table.row_count if result.table is not None else 0
    reading, running, *_ = metered.peaks
    held = f"{reading:>12.0f} MB{running:>12.0f} MB{shared.peak:>12.0f} MB"
    return f"{result.status:>6}{rows:>6} rows{seconds:>8.1f} s{held}"


def show(kind: str, path: Path, rows: int, alone: str, sandbox: Sandbox, files: Stored, memory_mb: int) -> None:
    """One table: the jobs, and the same aggregate without a sandbox."""
    file_id = files.upload(f"large.{kind}", path)
    print(f"\n{rows:,} rows, {path.stat().st_size / 1e9:.1f} GB of {kind}; code may use {memory_mb} MB\n")
    print(f"{'':<26}{'status':>6}{'':>11}{'whole job':>10}{'reading':>15}{'code, resident':>15}{'files':>15}")
    for name, code, wanted in (
        ("sql, sums of groups", _SQL, {"language": "sql"}),
        ("sql, distinct text", _DISTINCT, {"language": "sql"}),
        ("polars, sums of groups", _POLARS, {"dataframe": "polars"}),
    ):
        print(f"{name:<26}{measure(sandbox, files, file_id, code, wanted, memory_mb)}", flush=True)
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", alone, path], check=True)
    print(f"{'polars, without a sandbox':<26}{'':>17}{time.perf_counter() - began:>8.1f} s")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=5, help="of Parquet; 0 for none")
    parser.add_argument("--csv-gb", type=float, default=1, help="of CSV; 0 for none")
    parser.add_argument("--memory-mb", type=int, default=1024)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, open_sandbox(SandboxSettings(slots=2)) as sandbox:
        files = Stored(store=blobs.open_store((Path(folder) / "blobs").as_uri()))
        sandbox.wait_ready()
        for kind, gigabytes, write, alone in (
            ("parquet", asked.gb, write_table, _ALONE),
            ("csv", asked.csv_gb, write_csv, _ALONE.replace("scan_parquet", "scan_csv")),
        ):
            if gigabytes:
                path = Path(folder) / f"large.{kind}"
                show(kind, path, write(path, gigabytes), alone, sandbox, files, asked.memory_mb)
                path.unlink()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{'this process, at most':<26}{peak:>25} MB, which also wrote the files")


if __name__ == "__main__":
    main(sys.argv[1:])
