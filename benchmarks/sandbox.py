"""The sandbox compared with a bare interpreter, in one run: ``python -m benchmarks.sandbox [--jobs 1000]``.

``over HTTP`` is the whole way: one client on the gateway, the execution worker, Postgres and Redis behind it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pyarrow
import pyarrow.ipc

from benchmarks.installation import installation
from benchmarks.load import drive, post
from benchmarks.memory import descendants, pss_mb
from benchmarks.table import at_least, at_most, show, within
from services.execution.sandbox.host.request import PreparedRun
from services.execution.sandbox.host.runtime import describe_runtime
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.host.scratch import TemporaryFolder
from services.execution.sandbox.host.supervise import Supervision
from services.execution.sandbox.host.zygote import bubblewrap_call
from services.execution.sandbox.run import Frame, Run
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.contracts.execute import Limits, Verdict
from tests.support.platform import wait_for

GROUPBY = "import pandas as pd\npd.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]}).groupby('k').v.sum()"


def median_ms(work: Callable[[], object], times: int = 15) -> float:
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        spent.append(time.perf_counter() - began)
    return statistics.median(spent) * 1000


def bare(*arguments: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def cold_box(settings: SandboxSettings) -> Callable[[], object]:
    """Bubblewrap and an interpreter in it; without the program that root needs to give itself up once."""
    runtime = describe_runtime(settings, ())
    sources = {bind.target: str(bind.source) for bind in runtime.binds}
    inside = [runtime.python, "-I", "-S", "-c", "pass"]
    whole = bubblewrap_call(runtime, str(runtime.bubblewrap), sources, inside)
    return lambda: subprocess.run(whole, check=True, capture_output=True, env={})


def warm(sandbox: Sandbox, code: str, times: int = 25) -> tuple[float, float]:
    """Median ms on a warm container: until the program has ended, and until everything of it is gone."""
    ended, gone = [], []
    for _ in range(times):
        sandbox.wait_ready()
        began = time.perf_counter()
        with sandbox.run(Run("python", code)) as outcome:
            assert outcome.verdict is Verdict.OK, outcome
            ended.append(outcome.usage.wall_ms)
            gone.append((time.perf_counter() - began) * 1000)
    return statistics.median(ended), statistics.median(gone)


def to_result(sandbox: Sandbox, code: str, times: int = 25) -> float:
    """Median ms from the release of the code to the frame with its result, on a ready container."""
    spent = []
    for _ in range(times):
        sandbox.wait_ready()
        container = sandbox._pool.take("python")
        try:
            run = Run("python", code)
            with (
                TemporaryFolder(Path(tempfile.gettempdir()), "bench") as folder,
                PreparedRun(run, container.spec, folder) as prepared,
            ):
                container.limit(Limits(), 0)
                start = {**prepared.start, "grouped": container.grouped}
                facts = Supervision(container, Limits(), "nonce", None, None).drive(start, (), prepared.request, b"")
            assert facts.result_at is not None
            spent.append((facts.result_at - facts.started_at) * 1000)
            facts.close()
        finally:
            container.close()
    return statistics.median(spent)


def per_second(sandbox: Sandbox, code: str, seconds: float = 5.0) -> float:
    deadline = time.perf_counter() + seconds

    def drive(_: int) -> int:
        done = 0
        while time.perf_counter() < deadline:
            with sandbox.run(Run("python", code)):
                done += 1
        return done

    began = time.perf_counter()
    with ThreadPoolExecutor(4) as threads:
        return sum(threads.map(drive, range(4))) / (time.perf_counter() - began)


def kill_latency(sandbox: Sandbox) -> float:
    """Return the worst of ten: ms between the limit and the end of a busy loop."""
    worst = 0.0
    for _ in range(10):
        with sandbox.run(Run("python", "while True: pass", limits=Limits(wall_seconds=0.3))) as outcome:
            worst = max(worst, outcome.usage.wall_ms - 300)
    return worst


def million_rows(sandbox: Sandbox) -> tuple[float, float]:
    """ms for a frame of 1 M rows x 6 to go in and out of a ready container by Arrow, and of any program by CSV."""
    rows = 1_000_000
    frame = pd.DataFrame({f"n{column}": range(rows) for column in range(4)})
    frame["f"] = frame["n0"] * 0.37
    frame["s"] = [f"row {number % 1000}" for number in range(rows)]
    with tempfile.TemporaryDirectory() as folder:
        arrow, text = Path(folder) / "in.arrow", Path(folder) / "in.csv"
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        with pyarrow.OSFile(str(arrow), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        limits = Limits(memory_mb=2048, wall_seconds=60)
        run = Run("python", "data", frames={"data": Frame(arrow)}, take="table", limits=limits)

        def through() -> float:
            sandbox.wait_ready()
            began = time.perf_counter()
            with sandbox.run(run) as outcome:
                assert outcome.table is not None, outcome
            return (time.perf_counter() - began) * 1000

        def as_csv() -> None:
            for _ in range(2):  # there and back again
                frame.to_csv(text, index=False)
                pd.read_csv(text)

        return statistics.median(through() for _ in range(11)), median_ms(as_csv, 1)


def many(sandbox: Sandbox, count: int) -> None:
    programs = [
        "1 + 1",
        GROUPBY,
        "1 / 0",
        "import os; os.abort()",
        "import subprocess; subprocess.Popen(['sleep', '9'])",
    ]

    def one(number: int) -> None:
        with sandbox.run(Run("python", programs[number % len(programs)])):
            pass

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(one, range(count)))


def over_http(times: int = 100) -> float:
    """Median ms from a submit of ``pass`` to its result, which ``Prefer: wait`` holds the answer for."""
    body = b'{"kind": "execute", "input": {"language": "python", "code": "pass"}}'
    with installation() as assay, assay.platform() as platform:
        platform.start("services.execution")

        def ready() -> bool:
            with platform.engine.connect() as connection:
                return bool(connection.exec_driver_sql("SELECT count(*) FROM workers").scalar_one())

        wait_for(ready, 90)
        request = post("/v1/jobs", body, {**assay.authorization, "Prefer": "wait=10"})
        with assay.gateway() as port:
            drive(port, request, total=times, connections=1, expect=200)  # warm
            return drive(port, request, total=times, connections=1, expect=200).median_ms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=0, help="run so many mixed jobs and count what they leave")
    jobs = parser.parse_args().jobs
    settings = SandboxSettings(slots=2)
    one = median_ms(bare("-c", "pass"))
    cold = median_ms(cold_box(settings))
    pandas = median_ms(bare("-c", "import pandas"), 3)
    whole = over_http()
    with open_sandbox(settings) as sandbox:
        pass_result, group_result = to_result(sandbox, "pass"), to_result(sandbox, GROUPBY)
        passes, passes_gone = warm(sandbox, "pass")
        groups, groups_gone = warm(sandbox, GROUPBY)
        rate, group_rate = per_second(sandbox, "pass"), per_second(sandbox, GROUPBY)
        late = kill_latency(sandbox)
        arrow, text = million_rows(sandbox)
        sandbox.wait_ready()
        own = sum(map(pss_mb, descendants(os.getpid())))
        if jobs:
            before = len(os.listdir("/proc"))
            many(sandbox, jobs)
            sandbox.wait_ready()
            print(f"after {jobs} jobs: {len(os.listdir('/proc')) - before:+} processes on the machine\n")
    unit = "ms"
    show(
        "the sandbox (peer: a bare python -c pass, unless it says otherwise)",
        [
            at_most("cold bubblewrap, python -I -S", cold, one, unit, 1.5),
            at_most("warm container: pass, result", pass_result, one, unit, 0.25),
            at_most("warm container: pass, program ended", passes, one, unit, 1.0),
            at_most("warm container: pass, outcome in hand", passes_gone, one, unit, 1.0),
            at_most("warm container: pandas groupby, result", group_result, one, unit, 1.5),
            at_most("warm container: pandas groupby, program ended", groups, one, unit, 2.0),
            at_most("warm container: pandas groupby, outcome in hand", groups_gone, one, unit, 2.0),
            at_least("cold import pandas / warm groupby (times)", pandas, group_result, unit, 20),
            at_least("pass per second / 40", rate, 40, "/s", 1),
            at_least("pandas groupby per second / 25", group_rate, 25, "/s", 1),
            within("a busy loop's end after its limit, worst of 10", late / 1000, 0.3),
            at_most("pass over HTTP: submit to result", whole, one, unit, 4),
            at_least("1 M rows in and out: CSV / Arrow (times)", text, arrow, unit, 50),
        ],
    )
    print(f"memory of the sandbox and its waiting containers, PSS of its whole tree: {own:.0f} MB")


if __name__ == "__main__":
    main()
