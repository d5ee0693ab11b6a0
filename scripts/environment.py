"""Make .venv hold exactly what the lock files say, and the `assay` command; does nothing when it already does.

Standard library only: this runs on a machine that has nothing but Python.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
#: All that is installed; the second names packages whose own requirements nobody here wants.
LOCKS = (ROOT / "requirements.lock", ROOT / "requirements-nodeps.lock")
STAMP = VENV / ".installed"

_COMMAND = """\
#!{python}
import sys

from assay.command import main

if __name__ == "__main__":
    sys.exit(main())
"""


def main() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 - the very thing to find out
        sys.exit(f"Assay needs Python 3.11 or newer; this is {sys.version.split()[0]}. Try: make PYTHON=python3.12")
    if VENV.is_symlink():
        return  # somebody else's environment, kept by them
    pinned = b"".join(lock.read_bytes() for lock in LOCKS)
    wanted = hashlib.sha256(pinned + sys.version.encode() + str(ROOT).encode()).hexdigest()
    if _stamp() == wanted:
        return
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _stamp() == wanted:
            return
        _say("Preparing .venv (this takes a minute the first time)")
        STAMP.unlink(missing_ok=True)
        if not _works():
            _make()
        _install()
        _link()
        STAMP.write_text(wanted)


def _stamp() -> str:
    try:
        return STAMP.read_text()
    except OSError:
        return ""


def _python() -> Path:
    return VENV / "bin" / "python"


def _works() -> bool:
    """Whether there is an environment with this very Python and a pip."""
    probe = "import sys, pip; print(sys.version)"
    try:
        answer = subprocess.run([_python(), "-c", probe], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == sys.version


def _make() -> None:
    shutil.rmtree(VENV, ignore_errors=True)
    if subprocess.run([sys.executable, "-m", "venv", VENV], capture_output=True, check=False).returncode == 0:
        return
    # Debian's python3 has no ensurepip unless python3-venv is installed, but often a pip that can help.
    shutil.rmtree(VENV, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", VENV], check=True)
    help_out: list[str | Path] = [sys.executable, "-m", "pip", "--python", _python(), "install", "--quiet", "pip"]
    if subprocess.run(help_out, check=False).returncode != 0:
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit("this Python can make no virtual environment: install python3-venv (Debian, Ubuntu) or a full Python")


def _install() -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--require-hashes", "--no-deps"]
    command: list[str | Path] = [_python(), "-m", "pip", "install", *options]
    command += [part for lock in LOCKS for part in ("-r", lock)]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if subprocess.run(command, env=env, check=False).returncode != 0:
        sys.exit("the packages of the lock files could not be installed")


def _link() -> None:
    """Our own packages are used where they are; nothing is built."""
    purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([_python(), "-c", purelib], capture_output=True, text=True, check=True).stdout.strip()
    (Path(site) / "assay.pth").write_text(f"{ROOT}\n")
    command = VENV / "bin" / "assay"
    command.write_text(_COMMAND.format(python=_python()))
    command.chmod(0o755)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
