"""Where unix sockets live: their whole path has to fit into about 100 bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

_LONGEST = 100
_SHORT = Path("/tmp")  # noqa: S108


def socket_folder(folder: Path, longest_name: str) -> Path:
    """``folder/run`` when its sockets' paths fit, else a folder under /tmp whose name follows from ``folder``.

    Raises: RuntimeError when somebody else sits on that name.
    """
    near = folder / "run"
    if len(os.fsencode(near / longest_name)) <= _LONGEST:
        return near
    short = _SHORT / f"assay-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    if short.is_symlink() or (short.exists() and not _ours(short)):
        raise RuntimeError(f"{short} belongs to somebody else; choose a shorter ASSAY_HOME")
    short.mkdir(mode=0o700, exist_ok=True)
    return short


def leave(folder: Path) -> None:
    """Remove a socket folder that stands outside its installation."""
    if folder.parent == _SHORT and folder.name.startswith("assay-"):
        shutil.rmtree(folder, ignore_errors=True)


def _ours(folder: Path) -> bool:
    return os.geteuid() == 0 or folder.stat().st_uid == os.geteuid()
