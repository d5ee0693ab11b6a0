"""Which languages this machine has, and what to install for the others."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from shared.errors import LanguageUnavailable

NODE, R = Path("/usr/bin/node"), Path("/usr/lib/R/bin/R")
_INSTALL: Mapping[str, str] = MappingProxyType(
    {
        "javascript": "Node.js (Debian: apt-get install nodejs)",
        "r": "R with dplyr, tidyr and ggplot2 (Debian: r-base-core r-cran-dplyr r-cran-tidyr r-cran-ggplot2)",
        "sql": "the Python package duckdb",
        "python": "Python",
    }
)


def installed_languages() -> Mapping[str, str | None]:
    """Each language and its version; ``None`` for one that is not installed."""
    return {
        "python": platform.python_version(),
        "r": _version([str(R), "--version"]) if R.exists() else None,
        "javascript": _version([str(NODE), "--version"]) if NODE.exists() else None,
        "sql": _duckdb(),
    }


def _version(command: list[str]) -> str | None:
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\d+(\.\d+)+", answer.stdout)
    return found.group() if found else None


def _duckdb() -> str | None:
    try:
        return metadata.version("duckdb")
    except metadata.PackageNotFoundError:
        return None


def unavailable(language: str) -> LanguageUnavailable:
    return LanguageUnavailable(f"{language} is not installed where code runs: install {_INSTALL[language]}.")
