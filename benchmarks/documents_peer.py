"""ipykernel, measured from inside an environment that has it: prints seconds as JSON. Needs nothing of ours."""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

from jupyter_client.manager import KernelManager  # type: ignore[import-not-found, unused-ignore]

FETCH = {"x": "x"}


def asked(client: Any, code: str, expressions: dict[str, str] | None = None) -> float:
    began = time.perf_counter()
    client.execute_interactive(
        code, store_history=False, user_expressions=expressions or {}, output_hook=lambda _message: None, timeout=60
    )
    return time.perf_counter() - began


def started() -> tuple[Any, Any, float]:
    """Return a new kernel, its client, and how long its first chunk took from nothing."""
    began = time.perf_counter()
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    asked(client, "x = 4")
    return manager, client, time.perf_counter() - began


def main() -> None:
    times = int(sys.argv[1])
    firsts = []
    for _ in range(3):
        manager, client, first = started()
        firsts.append(first)
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    manager, client, _ = started()
    chunk = statistics.median(asked(client, "x = 4") for _ in range(times))
    fetch = statistics.median(asked(client, "", FETCH) for _ in range(times))
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    print(json.dumps({"first": statistics.median(firsts), "chunk": chunk, "fetch": fetch}))


if __name__ == "__main__":
    main()
