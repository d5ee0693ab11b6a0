"""Run Python as a user that is not root, on a machine where root runs the tests."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from services.execution.sandbox.host import drop_root

_REPOSITORY = Path(__file__).parents[4]
_PLACE = "/mnt"  # hidden by drop_root, in a mount namespace of its own


def python_as(uid: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``python *arguments`` from the root of the repository, under this uid, with nothing of root's in reach."""
    base = Path(sys.base_prefix).resolve()
    packages = Path(sysconfig.get_paths()["purelib"]).resolve()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    parts = [(str(base), "0"), (str(packages), "1"), (str(_REPOSITORY), "2")]
    pairs = [text for part in parts for text in part]
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "LD_LIBRARY_PATH": f"{_PLACE}/0/lib",
        "PYTHONPATH": f"{_PLACE}/1:{_PLACE}/2",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ASSAY_SANDBOX_PACKAGES": f"{_PLACE}/1",
        **{name: value for name, value in os.environ.items() if name == "CI"},
    }
    command = [sys.executable, "-I", "-S", str(drop_root.__file__), str(uid), _PLACE, str(len(parts)), *pairs, "--"]
    shell = f'cd {_PLACE}/2 && exec {_PLACE}/0/bin/python{version} -s "$@"'
    return subprocess.run(
        [*command, "/bin/sh", "-c", shell, "sh", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
