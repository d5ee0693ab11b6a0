"""The environment of a source tree: made, kept, updated and replaced, and never while processes run from it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_ENTRY = "[console_scripts]\ntiny = tiny:main\n"
#: Sets another patch version for each Python outside an environment.
_OTHER_PATCH = "import sys\nif '.venv' not in sys.prefix:\n    sys.version = '3.11.2 (main)'\n"

Start = Callable[..., int]


def _tree(folder: Path) -> Path:
    """Make a source tree with the script, the Makefile and a lock of one package, which is a file."""
    (folder / "scripts").mkdir(parents=True)
    for name in ("scripts/environment.py", "Makefile"):
        shutil.copy(ROOT / name, folder / name)
    wheel = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "def main():\n    print('tiny works')\n")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/entry_points.txt", _ENTRY)
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    _lock(folder, hashlib.sha256(wheel.read_bytes()).hexdigest())
    (folder / "requirements-nodeps.lock").write_text("# nothing else\n")
    return folder


def _lock(tree: Path, digest: str) -> None:
    (tree / "requirements.lock").write_text(f"{(tree / 'tiny-1.0-py3-none-any.whl').as_uri()} --hash=sha256:{digest}\n")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return _tree(tmp_path / "tree")


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a process under the name of a program; return its pid."""
    children = []

    def begin(name: str | Path, **options: object) -> int:
        children.append(subprocess.Popen([str(name), "60"], executable="/bin/sleep", **options))  # type: ignore[call-overload]
        return int(children[-1].pid)

    yield begin
    for child in children:
        child.kill()
        child.wait()


def _broken(tree: Path) -> Path:
    """Make an environment whose Python was uninstalled."""
    python = tree / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/opt/python-that-is-gone/bin/python3")
    return python


def _fake(tree: Path, minor: str = "3.10") -> Path:
    """Make an environment whose Python says that it has the minor version, and writes its words into a file."""
    python = tree / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "$@" >> {tree}/words\necho {minor}\n')
    python.chmod(0o755)
    return python


def _run(tree: Path, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(tree / "scripts" / "environment.py"), *options]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)


def _make(tree: Path, target: str) -> subprocess.CompletedProcess[str]:
    command = ["make", target, f"PYTHON={sys.executable}"]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


@pytest.mark.slow(seconds=4)
def test_a_broken_environment_is_replaced_and_one_that_works_is_kept(tmp_path: Path, start: Start) -> None:
    tree = _tree(tmp_path / "tree")
    _broken(tree)
    (tree / ".venv" / "old").touch()
    made = _run(tree)
    assert made.returncode == 0, made.stderr
    venv = tree / ".venv"
    assert sorted(path.name for path in tree.iterdir() if path.name.startswith(".")) == [".venv", ".venv.lock"]
    assert not (venv / "old").exists()
    assert subprocess.check_output([venv / "bin" / "tiny"], text=True) == "tiny works\n"
    assert (venv / "bin" / "assay").read_text().startswith(f"#!{venv}/bin/python\n")
    assert f"{tree}/.venv.new" not in (venv / "pyvenv.cfg").read_text() + (venv / "bin" / "activate").read_text()

    (venv / "kept").touch()
    patch = tmp_path / "patch"
    patch.mkdir()
    (patch / "sitecustomize.py").write_text(_OTHER_PATCH)
    other = _run(tree, PYTHONPATH=str(patch))
    assert (other.returncode, other.stderr) == (0, ""), "another patch version changes nothing"

    pid = start(venv / "bin" / "python")
    with (tree / "requirements-nodeps.lock").open("a") as lock:
        lock.write("# and a change\n")
    updated = _run(tree, PYTHONPATH=str(patch))
    assert updated.returncode == 0, updated.stderr
    assert f"Restart what runs from it afterwards (assay upgrade): {pid} (" in updated.stderr
    assert (venv / "kept").exists(), "it was updated where it is"
    assert _run(tree).stderr == ""


@pytest.mark.slow(seconds=3)
def test_an_installation_that_fails_leaves_the_old_environment(tree: Path) -> None:
    _fake(tree)
    _lock(tree, "0" * 64)
    made = _run(tree)
    assert made.returncode == 1
    assert "could not be installed" in made.stderr
    assert (tree / ".venv" / "bin" / "python").exists()
    assert not (tree / ".venv.new").exists()


def test_an_environment_in_use_whose_python_is_gone_is_not_replaced(tree: Path, start: Start) -> None:
    pid = start(_broken(tree))
    refused = _run(tree)
    assert refused.returncode == 1
    assert ".venv/bin/python no longer runs, so .venv has to be rebuilt." in refused.stderr
    assert f"stop them first (kill {pid}): {pid} (" in refused.stderr
    assert (tree / ".venv" / "bin" / "python").is_symlink()


def test_an_environment_in_use_of_another_minor_version_is_not_replaced(tree: Path, start: Start) -> None:
    python = _fake(tree)
    pid = start(".venv/bin/python", cwd=tree)
    refused = _run(tree)
    assert refused.returncode == 1
    assert f"has Python 3.10; this is Python 3.{sys.version_info.minor}." in refused.stderr
    assert "make PYTHON=python3.10" in refused.stderr
    assert f"(make down): {pid} (.venv/bin/python 60)" in refused.stderr
    assert python.exists()


def test_an_environment_that_is_a_link_is_maintained_elsewhere(tree: Path) -> None:
    (tree / ".venv").symlink_to("/opt/python-that-is-gone")
    done = _run(tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tree / ".venv").is_symlink()


def test_processes_are_those_started_as_its_python_or_with_its_libraries(tree: Path, start: Start) -> None:
    python = _fake(tree)
    library = tree / ".venv" / "library.so"
    library.write_bytes(b"x" * 4096)
    by_path = start("python", env={"PATH": f"/nowhere:{python.parent}"})
    start("bash", cwd=tree / ".venv", env={"PATH": f"{python.parent}:/bin"})
    code = (
        "import mmap, sys; f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 0); print('open'); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as loaded:  # fmt: skip
        assert loaded.stdout is not None
        assert loaded.stdout.readline() == "open\n"
        refused = _run(tree, "--unused")
        loaded.communicate()
    assert refused.returncode == 1
    pids = refused.stderr.partition("(kill ")[2].partition(")")[0].split()
    assert {int(pid) for pid in pids} == {by_path, loaded.pid}


def test_make_down_uses_the_environment_as_it_is(tree: Path, start: Start) -> None:
    _fake(tree, "3.9")  # which `make venv` would replace
    stopped = _make(tree, "down")
    assert stopped.returncode == 0, stopped.stderr
    assert (tree / "words").read_text().splitlines()[-1] == "-m assay down"
    shutil.rmtree(tree / ".venv")
    nothing = _make(tree, "down")
    assert (nothing.returncode, nothing.stderr) == (0, "Nothing to stop: there is no .venv\n")
    pid = start(_broken(tree))
    useless = _make(tree, "down")
    assert useless.returncode != 0
    assert ".venv/bin/python does not run" in useless.stderr
    assert f"(kill {pid})" in useless.stderr
    assert not (tree / ".venv.lock").exists(), "nothing was built"


def test_make_clean_leaves_an_environment_in_use(tree: Path, start: Start) -> None:
    pid = start(_fake(tree))
    (tree / ".assay").mkdir()
    refused = _make(tree, "clean")
    assert refused.returncode != 0
    assert f".venv is in use. Processes run from .venv; stop them first (kill {pid})" in refused.stderr
    assert (tree / ".venv").is_dir()
    assert (tree / ".assay").is_dir()
