"""How to install a part of Assay that is missing: a remedy that works in a clone, and where wheels are installed."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


def how_to_install(extra: str, root: Path = _ROOT) -> str:
    """Return the command that installs an extra of the distribution ``assaykit``."""
    if (root / "Makefile").is_file() and (root / "pyproject.toml").is_file():
        return f"in the clone {root} run `make venv`, then `. .venv/bin/activate`"
    return f"pip install 'assaykit[{extra}]' --find-links DIR, where DIR holds the wheels that `make dist` built"
