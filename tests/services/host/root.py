"""What root may do on the machine of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def _why_not() -> str:
    if os.geteuid() != 0:
        return "only root can give up being root"
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "--mount", "true"], capture_output=True, check=False).returncode:
        return "this root may not make the mounts that other users need to reach Python"
    return ""


gives_up_root = pytest.mark.skipif(bool(_why_not()), reason=_why_not() or "-")
