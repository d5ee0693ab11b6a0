"""The wheel is the client: it works without the servers' source, and carries nothing of them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from shared import VERSION

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked as an installation would do it."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("assay", "shared", "services", "migrations", "pyproject.toml", "README.md", "LICENSE"):
        (source / name).symlink_to(ROOT / name)  # the build writes next to its sources, which must not be here
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    target = folder / "installed"
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        archive.extractall(target)
    return target


def run(wheel: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the wheel and its dependencies alone: ``-S`` leaves out the link to this source tree."""
    paths = [str(wheel), sysconfig.get_path("purelib")]
    start = f"import sys; sys.path[:0] = {paths!r}\n{program}"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", start], cwd=wheel, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_it_holds_the_client_and_what_that_needs(wheel: Path) -> None:
    program = (
        "import ast, importlib, pathlib, pkgutil, assay, shared.contracts\n"
        "from assay.calls.call import contract\n"
        "for package in (assay, shared.contracts):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if not module.name.endswith('__main__'): importlib.import_module(module.name)\n"
        "for file in pathlib.Path(assay.__path__[0]).rglob('*.py'):\n"  # what functions import when they are called
        "    for node in ast.walk(ast.parse(file.read_text())):\n"
        "        if isinstance(node, ast.ImportFrom) and (node.module or '').startswith('shared.'):\n"
        "            importlib.import_module(node.module)\n"
        "print(*(name for name in sys.modules if name.partition('.')[0] in ('shared', 'services', 'migrations')))\n"
    )
    ran = run(wheel, program)
    assert ran.returncode == 0, ran.stderr
    needed = set(ran.stdout.split())
    files = [file.relative_to(wheel) for file in wheel.rglob("*.py")]
    carried = {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}
    assert {name for name in carried if name.partition(".")[0] != "assay"} == needed
    assert {path.name for path in wheel.iterdir() if path.suffix != ".dist-info"} == {"assay", "shared"}


@pytest.mark.slow
def test_its_command_starts_and_says_what_needs_the_whole_source(wheel: Path) -> None:
    command = "from assay.__main__ import main\nsys.argv = ['assay', {!r}]\nmain()"
    shown = run(wheel, command.format("--help"))
    assert shown.returncode == 0, shown.stderr
    assert "LLM jobs whose answers are executed and checked" in shown.stdout
    assert run(wheel, command.format("--version")).stdout.strip() == VERSION
    refused = run(wheel, command.format("up"))
    assert refused.returncode == 1
    assert "pip install 'assaykit[server]'" in refused.stderr


def test_without_its_packages_the_command_says_what_to_install() -> None:
    program = "sys.modules['cyclopts'] = None\nfrom assay.__main__ import main\nmain()"
    ran = run(ROOT, program)
    assert ran.returncode == 1
    assert "in the clone" in ran.stderr


@pytest.mark.slow(seconds=6)
def test_mypy_reads_the_types_of_the_client(wheel: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from assay import Client\n"
        "from assay.webhooks import verify\n\n"
        "with Client('http://127.0.0.1:1', 'key') as client:\n"
        "    job = client.execute('6 * 7')\n"
        "    reveal_type(job.result(timeout=30).verdict)\n"
        "    print(verify(b'', {}, 'whsec_')['data'], job.id.upper())\n"
        "    job.id = 7\n"
    )
    assert (wheel / "assay" / "py.typed").is_file()
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(script)]
    environment = {**os.environ, "MYPYPATH": "", "PYTHONPATH": str(wheel)}
    checked = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    problems = [line for line in checked.stdout.splitlines() if ": error:" in line]
    assert problems, checked.stdout
    assert all(line.startswith("script.py:8:") for line in problems), checked.stdout  # the wrong line, and no other
    assert "Revealed type" in checked.stdout
    assert "Any" not in next(line for line in checked.stdout.splitlines() if "Revealed" in line)
