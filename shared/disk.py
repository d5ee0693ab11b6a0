"""How much space the disk of a folder has: a reserve that no file may use, and the point at which to warn."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

#: Kept free of files, at most a tenth of the disk: Postgres stops without space for its log.
RESERVE_BYTES = 256_000_000
#: With less, at most a fifth of the disk, it is nearly full.
NEARLY_FULL_BYTES = 1_000_000_000


@dataclass(frozen=True)
class Disk:
    free: int  #: bytes, for users other than root
    size: int

    @property
    def reserve(self) -> int:
        return min(RESERVE_BYTES, self.size // 10)

    @property
    def nearly_full(self) -> int:
        """The free space below which the disk is nearly full."""
        return min(NEARLY_FULL_BYTES, self.size // 5)

    def takes(self, count: int) -> bool:
        """Return whether ``count`` more bytes leave the reserve free."""
        return self.free - count >= self.reserve

    @property
    def warning(self) -> str | None:
        """Why an operator should free space; None while there is enough."""
        if self.free >= self.nearly_full:
            return None
        state = "nearly full" if self.takes(0) else "full"
        return (
            f"The disk that holds the files is {state}: {self.free // 1_000_000} MB of {self.size // 1_000_000} MB are "
            f"free, and files are refused below {self.reserve // 1_000_000} MB."
        )


def disk_of(folder: str | Path) -> Disk:
    """Return the free and total space of a folder's disk. Raises: OSError."""
    stats = os.statvfs(folder)
    return Disk(stats.f_bavail * stats.f_frsize, stats.f_blocks * stats.f_frsize)
