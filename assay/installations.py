"""The installations of this user on this machine: found from any folder, by what `assay up` wrote down."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def home_of(environment: Mapping[str, str]) -> Path:
    """Return the folder of the selected installation: ASSAY_HOME, else `.assay` here or in a folder above, else the
    one that was started last and runs, else where a new one would be created.
    """
    if given := environment.get("ASSAY_HOME"):
        return Path(given).expanduser().absolute()
    for home in (near_home(), *_registered(environment)):
        if home is not None and _is_ours(home / "status.json"):
            return home
    return Path.cwd() / ".assay"


def near_home() -> Path | None:
    """Return the folder of the installation that runs in ``.assay`` here or in a folder above."""
    here = Path.cwd()
    homes = (folder / ".assay" for folder in (here, *here.parents))
    return next((home for home in homes if _is_ours(home / "status.json")), None)


def registry(environment: Mapping[str, str]) -> Path:
    """Return the file in which `assay up` records every installation that it starts, the newest first."""
    state = environment.get("XDG_STATE_HOME") or ""
    folder = (
        Path(state) if state.startswith("/") else Path(environment.get("HOME") or "~").expanduser() / ".local/state"
    )
    return folder / "assay" / "installations.json"


def read_status(home: Path) -> dict[str, Any] | None:
    """Read the supervisor's status; None when it is missing or unreadable."""
    try:
        status = json.loads((home / "status.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return status if isinstance(status, dict) else None


def _is_ours(file: Path) -> bool:
    """Return whether the file exists and belongs to this user or root: anyone may leave a folder in /tmp."""
    try:
        owner = file.stat().st_uid
    except OSError:
        return False
    return not hasattr(os, "geteuid") or owner in (0, os.geteuid())


def _registered(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the registered installations that run."""
    try:
        homes = json.loads(registry(environment).read_text("utf-8"))
    except (OSError, ValueError):
        return
    for home in homes if isinstance(homes, list) else ():
        status = read_status(Path(str(home)))
        if status is not None and _runs(status.get("supervisor")):
            yield Path(str(home))


def _runs(pid: object) -> bool:
    if not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True
