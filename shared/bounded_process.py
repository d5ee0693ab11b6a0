"""Runs code of ours on bytes of a stranger in a process of its own, with bounds of memory, time and output.

For parsers that need no sandbox of the execution service: the process has no environment, no descriptors but its input
and its output, and ends with the process that started it. What it inherits is the code alone.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event as Flag
from typing import BinaryIO

from pydantic import JsonValue

_ROOT = Path(__file__).parents[1]
_PROGRAM = f"import sys; sys.path.append({str(_ROOT)!r}); from shared.bounded_process import main; main()"
_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.05
#: Arrow's own allocators reserve far more address space than they use.
_ENVIRONMENT = {"LANG": "C.UTF-8", "PYTHONUTF8": "1", "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}

#: What runs in the process: it reads the first file and writes the second.
Task = Callable[[JsonValue, BinaryIO, BinaryIO], None]


@dataclass(frozen=True)
class Bounds:
    """The wall clock bounds what waits; it is generous, for a busy machine."""

    memory_mb: int = 768  #: beyond what the process begins with
    cpu_seconds: int = 120
    wall_seconds: float = 600.0
    output_mb: int = 2048


class BoundExceeded(Exception):
    """The task took more than it may, or broke; the text says which in plain words."""


class Cancelled(Exception):
    """The caller no longer wants the output."""


def run(task: Task, argument: JsonValue, source: BinaryIO, output: BinaryIO, bounds: Bounds, cancelled: Flag) -> None:
    """Have ``task``, a function at the top of a module, read ``source`` and write ``output``: both are real files.

    Raises: BoundExceeded, Cancelled.
    """
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _PROGRAM, task.__module__, task.__name__, json.dumps([argument, asdict(bounds)])],
        stdin=source,
        stdout=output,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=_ENVIRONMENT,
    )
    try:
        ends = time.monotonic() + bounds.wall_seconds
        while process.poll() is None:
            if cancelled.wait(_POLL_SECONDS):
                raise Cancelled
            if time.monotonic() > ends:
                raise BoundExceeded("it takes too long")
    finally:
        process.kill()
        process.wait()
    if process.returncode != 0:
        raise BoundExceeded(_WHY.get(process.returncode, "it is damaged, or needs too much memory"))


_NO_MEMORY, _NO_ROOM = 71, 72  #: exit statuses
_WHY = {
    -signal.SIGXCPU: "it takes too long",
    _NO_MEMORY: "it needs too much memory",
    _NO_ROOM: "there is too much in it",
}


def main() -> None:
    """In the process: the task's modules come first, then the bounds, then the stranger's bytes."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    module, name, given = sys.argv[1:]
    argument, bounds = json.loads(given)
    task: Task = getattr(importlib.import_module(module), name)
    limit(Bounds(**bounds))
    try:
        with os.fdopen(0, "rb") as source, os.fdopen(1, "wb") as output:
            task(argument, source, output)
    except MemoryError:
        os._exit(_NO_MEMORY)
    except OSError as error:
        os._exit(_NO_ROOM if error.errno == errno.EFBIG else 1)


def limit(bounds: Bounds) -> None:
    """Bound this process from now on."""
    with open("/proc/self/statm") as sizes:
        begun = int(sizes.read().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_AS, begun + (bounds.memory_mb << 20)),
        (resource.RLIMIT_FSIZE, bounds.output_mb << 20),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (bounds.cpu_seconds, bounds.cpu_seconds + 1))  # a signal, then the end
