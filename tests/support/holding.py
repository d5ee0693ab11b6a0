"""Tests that hold what they started until they are killed: ``test_keeper`` runs them in a pytest of their own."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event

from shared.settings import StoreSettings
from tests.assay.terminal import Shell, plain
from tests.support.keeper import run_folder
from tests.support.platform import Platform
from tests.support.scripted import ScriptedLlm


def test_servers_and_processes(stores: StoreSettings, scripted_llm: ScriptedLlm) -> None:
    Platform(stores).ready_worker()
    _hold()


def test_servers_processes_and_an_installation(
    stores: StoreSettings, scripted_llm: ScriptedLlm, servers_folder: Path
) -> None:
    Platform(stores).ready_worker()
    shell = Shell(
        servers_folder, {**plain(), "ASSAY_HOME": str(servers_folder / "home"), "ASSAY_REPLICAS": "search=0,flows=0"}
    )
    started = shell("up", "-d")
    assert started.status == 0, started.talk
    running = shell.start("execute", "--code", "print('sandboxed', flush=True)\nwhile True: pass")
    assert running.stdout is not None
    assert running.stdout.readline() == "sandboxed\n"
    _hold()


def _hold() -> None:
    """Name the folder of the run in the file, and wait."""
    named = Path(os.environ["HOLDING"])
    named.with_suffix(".new").write_text(str(run_folder()))
    named.with_suffix(".new").rename(named)
    Event().wait()
