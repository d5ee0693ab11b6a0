"""Make .venv hold exactly what the lock files say, and the `assay` command; do nothing when it already does.

An environment whose Python runs and has the wanted minor version is updated in place. Any other is replaced by one that
was built in a folder next to it, unless a process runs from it.

Standard library only: this runs on a machine that has nothing but Python.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
#: All that is installed; the second names packages whose own requirements are left out.
LOCKS = (ROOT / "requirements.lock", ROOT / "requirements-nodeps.lock")
STAMP = ".installed"
_CLEAR = "\r\033[K"
_MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"

_COMMAND = """\
#!{python}
from assay.__main__ import main

if __name__ == "__main__":
    main()
"""


def main() -> None:
    options = _parser().parse_args()
    if options.usable:
        if _minor_of(VENV) is None:
            sys.exit(f"{_python(VENV)} does not run, so it can stop nothing.{_advice(list(processes(VENV)))}")
        return
    if options.unused:
        if running := list(processes(VENV)):
            sys.exit(f".venv is in use.{_advice(running)}")
        return
    if sys.version_info < (3, 11):  # noqa: UP036 - the very thing to find out
        sys.exit(f"Assay needs Python 3.11 or newer; this is {sys.version.split()[0]}. Try: make PYTHON=python3.12")
    if VENV.is_symlink():
        return  # made and maintained elsewhere
    if not _is_current():
        with (ROOT / ".venv.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _is_current():
                _prepare()


def processes(venv: Path) -> Iterator[tuple[int, str]]:
    """Yield pid and command of each process that runs the environment's Python or has loaded a library of it."""
    inside = f"{venv}{os.sep}"
    for folder in Path("/proc").glob("[0-9]*"):
        if int(folder.name) == os.getpid():
            continue
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
            if _program(folder, words[0]).startswith(inside) or inside in (folder / "maps").read_text(errors="replace"):
                yield int(folder.name), " ".join(words)
        except OSError:  # it has ended, or is another user's
            continue


def _program(process: Path, word: str) -> str:
    """Return the path of the program that a process was started as; links are not followed."""
    if os.sep in word:
        return os.path.normpath((process / "cwd").readlink() / word)
    variables = (process / "environ").read_bytes().decode(errors="replace").split("\0")
    path = next((each.removeprefix("PATH=") for each in variables if each.startswith("PATH=")), "")
    return shutil.which(word, path=path) or ""


def _is_current() -> bool:
    try:
        return (VENV / STAMP).read_text() == _stamp() and _minor_of(VENV) == _MINOR
    except OSError:
        return False


def _stamp() -> str:
    pinned = b"".join(lock.read_bytes() for lock in LOCKS)
    return hashlib.sha256(pinned + _COMMAND.encode() + _MINOR.encode() + str(ROOT).encode()).hexdigest()


def _prepare() -> None:
    """Bring .venv up to date, or replace it where its Python is broken or of another minor version."""
    if _minor_of(VENV) == _MINOR:
        _say("Updating .venv")
        if running := list(processes(VENV)):
            _say(f"Restart what runs from it afterwards (assay upgrade): {_named(running)}")
        (VENV / STAMP).unlink(missing_ok=True)
        _fill(VENV)
    else:
        _refuse_if_in_use()
        _say("Preparing .venv (this takes a minute the first time)")
        _replace()
    (VENV / STAMP).write_text(_stamp())


def _refuse_if_in_use() -> None:
    if not (running := list(processes(VENV))):
        return
    minor = _minor_of(VENV)
    if minor is None:
        sys.exit(f"{_python(VENV)} no longer runs, so .venv has to be rebuilt.{_advice(running)}")
    sys.exit(
        f".venv is in use and has Python {minor}; this is Python {_MINOR}. Continue with its Python "
        f"(make PYTHON=python{minor}), or stop what runs from it first (make down): {_named(running)}"
    )


def _replace() -> None:
    """Build a new environment in a folder next to .venv, then put it there."""
    built, old = ROOT / ".venv.new", ROOT / ".venv.old"
    shutil.rmtree(built, ignore_errors=True)
    try:
        _make(built)
        _fill(built)
        _relocate(built)
        _refuse_if_in_use()  # building takes a minute
        shutil.rmtree(old, ignore_errors=True)
        if VENV.exists():
            VENV.rename(old)
        built.rename(VENV)
    finally:
        shutil.rmtree(built, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _make(venv: Path) -> None:
    make = [sys.executable, "-m", "venv", "--prompt", VENV.name]
    if subprocess.run([*make, venv], capture_output=True, check=False).returncode != 0:
        # Debian's python3 has no ensurepip unless python3-venv is installed, but often a pip that can help.
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([*make, "--without-pip", venv], check=True)


def _fill(venv: Path) -> None:
    """Install what the lock files name, and link our own packages and the command."""
    _ensure_pip(venv)
    options = ["--progress-bar=off", "--disable-pip-version-check", "--no-input", "--require-hashes", "--no-deps"]
    command: list[str | Path] = [_python(venv), "-m", "pip", "install", *options]
    command += [part for lock in LOCKS for part in ("-r", lock)]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if not _install(command, env):
        sys.exit("The packages of the lock files could not be installed: see the lines above, then run this again.")
    _link(venv)


def _install(command: list[str | Path], env: dict[str, str]) -> bool:
    """Run pip and show how far it is: on one line of a terminal, else on a line for each quarter."""
    packages = sum(line[:1].isalnum() for lock in LOCKS for line in lock.read_text().splitlines())
    begun, shown = 0, -1
    pip = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    assert pip.stdout is not None
    for line in pip.stdout:
        installing = line.startswith("Installing collected packages")
        begun += line.startswith(("Collecting ", "Requirement already satisfied", "Ignoring "))
        step = begun if sys.stderr.isatty() else 4 * begun // max(1, packages)
        if installing:
            _say(f"{_CLEAR * sys.stderr.isatty()}  unpacking (a minute without a cache)")
        elif step != shown and begun:
            shown = step
            end = "" if sys.stderr.isatty() else "\n"
            sys.stderr.write(f"{_CLEAR * sys.stderr.isatty()}  {min(begun, packages)} of {packages} packages{end}")
            sys.stderr.flush()
    return pip.wait() == 0


def _ensure_pip(venv: Path) -> None:
    if subprocess.run([_python(venv), "-c", "import pip"], capture_output=True, check=False).returncode == 0:
        return
    if subprocess.run([_python(venv), "-m", "ensurepip"], capture_output=True, check=False).returncode == 0:
        return
    with_pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", _python(venv), "install", "--quiet", "pip"]
    if subprocess.run(with_pip, check=False).returncode != 0:
        sys.exit("this Python can make no virtual environment: install python3-venv (Debian, Ubuntu) or a full Python")


def _link(venv: Path) -> None:
    """Link our packages from where they are, without a build."""
    purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([_python(venv), "-c", purelib], capture_output=True, text=True, check=True).stdout.strip()
    (Path(site) / "assay.pth").write_text(f"{ROOT}\n")
    command = venv / "bin" / "assay"
    command.write_text(_COMMAND.format(python=_python(venv)))
    command.chmod(0o755)


def _relocate(built: Path) -> None:
    """Replace the path of the folder by that of .venv in the scripts, which name their Python."""
    for file in (built / "pyvenv.cfg", *(built / "bin").iterdir()):
        content = b"" if file.is_symlink() else file.read_bytes()
        if bytes(built) in content and b"\0" not in content:
            file.write_bytes(content.replace(bytes(built), bytes(VENV)))


def _minor_of(venv: Path) -> str | None:
    """Return the minor version of the environment's Python, such as 3.11; None when it does not run."""
    probe = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.run([_python(venv), "-I", "-c", probe], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def _python(venv: Path) -> Path:
    return venv / "bin" / "python"


def _advice(running: list[tuple[int, str]]) -> str:
    if not running:
        return " No process runs from .venv."
    pids = " ".join(str(pid) for pid, _ in running)
    return f" Processes run from .venv; stop them first (kill {pids}): {_named(running)}"


def _named(running: list[tuple[int, str]]) -> str:
    names = [f"{pid} ({command[:80]})" for pid, command in running]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--usable", action="store_true", help="only fail when the Python of .venv does not run")
    parser.add_argument("--unused", action="store_true", help="only fail when a process runs from .venv")
    return parser


if __name__ == "__main__":
    main()
