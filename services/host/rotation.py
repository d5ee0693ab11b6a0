"""Log rotation: a log that has grown too large is copied and truncated.

The processes keep their logs open for appending, so a truncated log continues at its beginning; a line that is written
between the copy and the truncation may be lost.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

KEPT = 3


def rotate(logs: Iterable[Path], most_bytes: int) -> list[Path]:
    """Rotate every log above ``most_bytes`` into `.1`, `.2` and `.3`; those that were rotated."""
    return [log for log in logs if _rotated(log, most_bytes)]


def _rotated(log: Path, most_bytes: int) -> bool:
    try:
        if log.stat().st_size <= most_bytes:
            return False
        for number in range(KEPT, 1, -1):
            older = _aside(log, number - 1)
            if older.exists():
                older.replace(_aside(log, number))
        shutil.copyfile(log, _aside(log, 1))
        _aside(log, 1).chmod(0o600)
        os.truncate(log, 0)
    except OSError:  # a full disk: what the log holds is worth more than its size
        return False
    return True


def _aside(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.{number}")
