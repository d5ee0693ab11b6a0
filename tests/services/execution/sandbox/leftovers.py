"""Open a sandbox, run every kind of program, close it, and print what is left: ``FOLDER ROUNDS`` in a process."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from services.execution.sandbox.run import Run
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.contracts.execute import Limits

_QUICK = [
    Run("python", "1 + 1"),
    Run("python", "1 / 0"),
    Run("python", "import os; os.abort()"),
    Run("python", "import subprocess; subprocess.Popen(['sleep', '60']); open('x', 'w').write('x')"),
    Run("sql", "SELECT 1"),
]
#: These end at a limit only.
_ENDLESS = [
    Run("python", "import os\nif os.fork() == 0: os.setsid()\nwhile True: pass"),
    Run("python", "x = []\nwhile True: x.append(bytearray(10**7))"),
]


def children_of(pid: int, others: Collection[int] = ()) -> set[int]:
    """Every living descendant but for others and what these began: a Postgres of the tests does so at any time."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
    family = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in family}.difference(family, others)
        if not more:
            return family - {pid}
        family |= more


def state_of(folder: str) -> dict[str, list[str]]:
    """Return what this process has left on the machine."""
    own = f"assay-{os.getpid()}-"
    # Groups of others come and go meanwhile.
    groups = [f"{at}/{name}" for at, names, _ in os.walk("/sys/fs/cgroup") for name in names if name.startswith(own)]
    return {
        "processes": sorted(str(pid) for pid in children_of(os.getpid())),
        "mounts": Path("/proc/self/mounts").read_text().splitlines(),
        "groups": sorted(groups),
        "descriptors": sorted(os.listdir("/proc/self/fd")),
        "files": sorted(os.listdir(folder)),
    }


def main() -> None:
    folder, rounds = sys.argv[1], int(sys.argv[2])
    tempfile.tempdir = folder
    before = state_of(folder)
    with open_sandbox(SandboxSettings(slots=2)) as sandbox:

        def run(job: Run) -> None:
            with sandbox.run(replace(job, limits=Limits(wall_seconds=0.5, memory_mb=100))):
                pass

        with ThreadPoolExecutor(3) as threads:
            list(threads.map(run, [*_QUICK * rounds, *_ENDLESS * (rounds // 8)]))
        with sandbox.session("python", Limits(), {}) as session:
            session.execute("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()")
    after = state_of(folder)
    left = {kind: [each for each in after[kind] if each not in before[kind]] for kind in after}
    print(json.dumps({kind: names for kind, names in left.items() if names}))  # noqa: T201


if __name__ == "__main__":
    main()
