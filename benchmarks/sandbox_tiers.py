"""Both tiers of the sandbox beside each other and a bare interpreter: ``python -m benchmarks.sandbox_tiers``.

In milliseconds, medians: a warm sandbox's ``pass`` until its outcome is in hand, and a new sandbox until it is warm.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Literal

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Run
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.contracts.execute import Limits

_TIMES = 5
_LIMITS = Limits(wall_seconds=60, cpu_seconds=60)


def _milliseconds(do: Callable[[], object]) -> float:
    begun = time.perf_counter()
    do()
    return (time.perf_counter() - begun) * 1000


def _bare() -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)


def _pass(sandbox: Sandbox) -> None:
    with sandbox.run(Run("python", "pass", limits=_LIMITS)) as outcome:
        assert outcome.verdict == "ok", outcome


def _measure(runtime: Literal["namespaces", "gvisor"]) -> tuple[float, float]:
    """A warm ``pass``, and a new sandbox of Python."""
    warm: list[float] = []
    with open_sandbox(SandboxSettings(runtime=runtime, slots=1)) as sandbox:
        for _ in range(_TIMES):
            sandbox.wait_ready(120)
            warm.append(_milliseconds(lambda: _pass(sandbox)))
        sandbox.wait_ready(120)
        begun = time.perf_counter()
        sandbox._make_container("python").close()
        return median(warm), (time.perf_counter() - begun) * 1000


def main() -> None:
    runtimes: list[Literal["namespaces", "gvisor"]] = ["namespaces"]
    if shutil.which("runsc"):
        runtimes.append("gvisor")
    for runtime in runtimes:
        bare = median([_milliseconds(_bare) for _ in range(15)])
        warm, new = _measure(runtime)
        times = f"warm pass {warm:.1f} ({warm / bare:.1f} times), new sandbox {new:.0f} ({new / bare:.0f} times)"
        print(f"{runtime}: bare python {bare:.1f}, {times}")


if __name__ == "__main__":
    main()
