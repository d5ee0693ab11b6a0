"""Peers that are installed from PyPI into an environment of their own, once, under the user's cache."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console


def peer_python(packages: Sequence[str]) -> Path | None:
    """Return an interpreter that has the packages (``name==version``); ``None`` when they cannot be installed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "assay-benchmarks" / "-".join(packages).replace("==", "-")
    python = folder / "bin" / "python"
    if python.exists():
        return python
    Console().print(f"installing {', '.join(packages)} into {folder}")
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--quiet", *packages], check=True, timeout=300)
    except (subprocess.SubprocessError, OSError):
        return None
    return python
