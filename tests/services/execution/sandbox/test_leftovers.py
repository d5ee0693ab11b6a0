"""After many runs of every kind, and after closing, nothing is left on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from services.execution.sandbox.host.scratch import Scratch
from services.execution.sandbox.run import Run
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from tests.services.execution.sandbox.leftovers import children_of
from tests.support.wait import until


@pytest.mark.slow(seconds=20)
@pytest.mark.timeout(600)  # next to a busy machine
def test_closing_leaves_no_process_mount_group_file_or_descriptor(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.services.execution.sandbox.leftovers", str(tmp_path), "60"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == {}


_LONG = """
from services.execution.sandbox.run import Run
from services.execution.wiring import open_sandbox
from services.execution.sandbox.settings import SandboxSettings
from shared.contracts.execute import Limits
run = Run("python", "print(1)\\nwhile True: pass", limits=Limits(wall_seconds=100, cpu_seconds=100))
with open_sandbox(SandboxSettings(slots=1)) as sandbox, sandbox.scratch() as folder:
    (folder / "input").write_text("of a job")
    with sandbox.run(run, None, lambda _stream, _text: print("on", flush=True)):
        pass
"""


@pytest.mark.slow(seconds=6)
def test_a_worker_that_is_killed_takes_everything_with_it_but_its_files_which_the_next_one_clears_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    living = Scratch()
    (living.folder / "job-mine").mkdir()
    environment = {"PYTHONPATH": ".", "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", _LONG], stdout=subprocess.PIPE, env=environment) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"on\n"
        children = children_of(worker.pid)
        worker.kill()
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in children), "the end of what it started", 20)
    assert len(list(tmp_path.glob("assay-sandbox-*/job-*"))) == 2
    Scratch().close()
    assert list(tmp_path.glob("*/job-*")) == [living.folder / "job-mine"]
    living.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(seconds=7)
def test_a_box_that_dies_is_replaced() -> None:
    before = children_of(os.getpid())
    with open_sandbox(SandboxSettings(slots=1)) as sandbox:
        killed = 0
        for child in children_of(os.getpid()) - before:
            with suppress(OSError):  # of those that end by themselves meanwhile
                if "bwrap" in Path(f"/proc/{child}/comm").read_text():
                    os.kill(child, 9)
                    killed += 1
        assert killed
        with sandbox.run(Run("python", "1 + 1")) as outcome:
            assert outcome.value is not None
            assert outcome.value.text == "2"
