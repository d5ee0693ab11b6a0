"""After many runs of every kind, and after closing, nothing is left on the machine."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from services.execution.sandbox.run import Run
from services.execution.sandbox.sandbox import open_sandbox
from services.execution.sandbox.settings import SandboxSettings
from shared.contracts.execute import Limits
from shared.errors import SandboxUnavailable

_PROGRAMS = [
    "1 + 1",
    "1 / 0",
    "import os; os.abort()",
    "import subprocess; subprocess.Popen(['sleep', '60']); open('x', 'w').write('x')",
    "import os\nif os.fork() == 0: os.setsid()\nwhile True: pass",
    "x = []\nwhile True: x.append(bytearray(10**7))",
]


def _children_of(pid: int) -> set[int]:
    """Every living descendant."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found - {pid}
        found |= more


def _groups() -> set[str]:
    return {str(path) for path in Path("/sys/fs/cgroup").glob(f"*/**/assay-{os.getpid()}-*")}


def test_closing_leaves_no_process_mount_group_file_or_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    processes, mounts, groups = _children_of(os.getpid()), Path("/proc/self/mounts").read_text(), _groups()
    descriptors = len(os.listdir("/proc/self/fd"))
    with open_sandbox(SandboxSettings(slots=2)) as sandbox:

        def run(program: str) -> None:
            with sandbox.run(Run("python", program, limits=Limits(wall_seconds=0.5, memory_mb=100))):
                pass

        with ThreadPoolExecutor(3) as threads:
            list(threads.map(run, _PROGRAMS * 5))
        with sandbox.session("python", Limits(), {}) as session:
            session.execute("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()")
    assert _children_of(os.getpid()) <= processes
    assert Path("/proc/self/mounts").read_text() == mounts
    assert _groups() <= groups
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    assert list(tmp_path.iterdir()) == []


def test_a_box_that_dies_is_replaced() -> None:
    before = _children_of(os.getpid())
    with open_sandbox(SandboxSettings(slots=1)) as sandbox:
        for child in _children_of(os.getpid()) - before:
            if "bwrap" in Path(f"/proc/{child}/comm").read_text():
                os.kill(child, 9)
        with sandbox.run(Run("python", "1 + 1")) as outcome:
            assert outcome.value is not None
            assert outcome.value.text == "2"


def test_a_tier_below_the_minimum_is_refused() -> None:
    with pytest.raises(SandboxUnavailable, match="microvm is required"):
        open_sandbox(SandboxSettings(min_tier="microvm"))
