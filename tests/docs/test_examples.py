"""Every fenced example of README and docs works as it is written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from shared.contracts.jobs import JobRequest
from tests.assay.terminal import Shell, plain
from tests.docs.examples import DATA, PAGES, ROOT, RUN, SHOWN, Block, blocks, script, starts
from tests.support.forks import commands

BLOCKS = [block for page in PAGES for block in blocks(page)]


def names(value: object) -> str:
    return value.place if isinstance(value, Block) else str(value)


def clone(parent: Path, name: str) -> Path:
    """Return a folder with what the pages use of a clone: its environment, and the files for trying."""
    folder = parent / name
    shutil.copytree(ROOT / "examples" / "files", folder / "examples" / "files")
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def terminal(servers_folder: Path, name: str) -> Shell:
    """Return the terminal of a person who has cloned the repository and made its environment."""
    folder = clone(servers_folder, name)
    path = os.pathsep.join([str(commands()), str(Path(sys.executable).parent), os.environ["PATH"]])
    home, profiles = servers_folder / f"{name}-home", servers_folder / f"{name}.toml"
    own = {"ASSAY_HOME": str(home), "ASSAY_CONFIG": str(profiles), "ASSAY_PORT": "0"}
    return Shell(folder, {**plain(), **own, "PATH": path})


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def reader(servers_folder: Path) -> Iterator[Shell]:
    """Start the demo for the pages that do not start it themselves."""
    shell = terminal(servers_folder, "reader")
    try:
        ran = shell("up", "-d", "--demo")
        assert ran.status == 0, ran.talk
        address = dict(
            line.removeprefix("export ").split("=", 1) for line in shell("status", "-o", "env").out.splitlines()
        )
        yield Shell(shell.folder, {**shell.env, **{name: value.strip("'\"") for name, value in address.items()}})
    finally:
        assert shell("down").status == 0


@pytest.mark.slow(seconds=7)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", [page for page in PAGES if script(page) and not starts(page)], ids=named)
def test_what_a_page_tells_to_type_works(reader: Shell, page: Path, tmp_path: Path) -> None:
    """Each page works in a clone of its own: it uses no file that another page, or only this test, has."""
    _follow(Shell(clone(tmp_path, "clone"), reader.env), page)


@pytest.mark.slow(seconds=60)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", [page for page in PAGES if starts(page)], ids=named)
def test_a_page_that_starts_an_installation_works_with_that_one(servers_folder: Path, page: Path) -> None:
    shell = terminal(servers_folder, page.stem)
    try:
        _follow(shell, page)
    finally:
        assert shell("down").status == 0


def test_the_pages_that_a_stranger_reads_first_start_what_they_use() -> None:
    assert {ROOT / "README.md", ROOT / "docs" / "tutorial.md"} <= {page for page in PAGES if starts(page)}


def _follow(shell: Shell, page: Path) -> None:
    """Type all that the page says in one shell, and compare what it prints."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed here")
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script(page) or ""],
        cwd=shell.folder, env=dict(shell.env), capture_output=True, text=True, timeout=290, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:] + ran.stdout[-1000:]
    for block in blocks(page):
        assert not block.prints or block.text in ran.stdout, f"{block.place} is not printed:\n{ran.stdout[-3000:]}"
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


def test_what_is_shown_after_an_example_is_compared_with_what_it_prints() -> None:
    pairs = [pair for page in PAGES for pair in pairwise(blocks(page))]
    loose = [
        shown.place for before, shown in pairs
        if before.language in RUN and before.reason is None and shown.language == "text" and not shown.prints
    ]  # fmt: skip
    assert loose == [], "write <!-- prints --> above it"


@pytest.mark.parametrize("block", BLOCKS, ids=names)
def test_a_block_says_what_it_is(block: Block) -> None:
    assert block.language in RUN | DATA | SHOWN
