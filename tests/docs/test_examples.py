"""Every fenced example of README and docs works as it stands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from shared.contracts.jobs import JobRequest
from tests.assay.terminal import Shell, plain
from tests.docs.examples import DATA, PAGES, ROOT, RUN, SHOWN, Block, blocks, script
from tests.support.forks import commands

FILES = Path(__file__).with_name("files")
BLOCKS = [block for page in PAGES for block in blocks(page)]


def names(value: object) -> str:
    return value.place if isinstance(value, Block) else str(value)


@pytest.fixture(scope="module")
def reader(servers_folder: Path) -> Iterator[Shell]:
    """Somebody who reads the pages beside a running installation with scripted models."""
    folder = servers_folder / "reader"
    shutil.copytree(FILES, folder)
    (folder / ".venv").symlink_to(sys.prefix)  # as in a clone
    path = os.pathsep.join([str(commands()), str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"ASSAY_HOME": str(servers_folder / "examples"), "ASSAY_CONFIG": str(servers_folder / "profiles.toml")}
    shell = Shell(folder, {**plain(), **own, "PATH": path})
    try:
        ran = shell("up", "-d", "--script", "models.yaml")
        assert ran.status == 0, ran.talk
        address = dict(
            line.removeprefix("export ").split("=", 1) for line in shell("status", "-o", "env").out.splitlines()
        )
        yield Shell(folder, {**shell.env, **{name: value.strip("'\"") for name, value in address.items()}})
    finally:
        assert shell("down").status == 0


@pytest.mark.slow(seconds=7)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", [page for page in PAGES if script(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_tells_to_type_works(reader: Shell, page: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed here")
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script(page) or ""],
        cwd=reader.folder, env=dict(reader.env), capture_output=True, text=True, timeout=290, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:] + ran.stdout[-1000:]
    assert [line for line in ran.stdout.splitlines() if _is_problem(line)] == [], (
        "curl shows a problem and exits with 0"
    )


def _is_problem(line: str) -> bool:
    try:
        content = json.loads(line)
    except ValueError:
        return False
    return isinstance(content, dict) and {"code", "request_id", "status", "title"} <= set(content)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language in DATA], ids=names)
def test_data_can_be_read_and_jobs_are_jobs(block: Block) -> None:
    content = json.loads(block.text) if block.language == "json" else yaml.safe_load(block.text)
    if isinstance(content, dict) and {"kind", "input"} <= set(content):
        TypeAdapter[object](JobRequest).validate_python(content)


@pytest.mark.parametrize("block", BLOCKS, ids=names)
def test_a_block_says_what_it_is(block: Block) -> None:
    assert block.language in RUN | DATA | SHOWN
