"""Control groups for a worker that gives up root: below its own groups it may still create those of sandboxes.

Only version 1. In version 2 a group with processes cannot have child groups with limits, so even root could
create none there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

#: The process that makes groups.
DELEGATED = "services.execution"
_CONTROLLERS = frozenset({"memory", "pids"})
_SUFFIX = "worker"


def delegate_groups(uid: int) -> None:
    """Put this process, of root still, into groups that are the user's; where that cannot be, it goes without."""
    for group in _own_groups():
        mine = group / f"assay-{os.getpid()}-{_SUFFIX}"
        with suppress(OSError):
            mine.mkdir()
            for path in (mine, mine / "cgroup.procs", mine / "tasks"):
                os.chown(path, uid, uid)
            (mine / "cgroup.procs").write_text(str(os.getpid()))


def remove_groups() -> None:
    """Remove the groups of workers that have ended."""
    for group in _own_groups():
        for mine in group.glob(f"assay-*-{_SUFFIX}"):
            if not Path(f"/proc/{mine.name.split('-')[1]}").exists():
                for inner in (*mine.glob("*/*/"), *mine.glob("*/"), mine):
                    with suppress(OSError):
                        inner.rmdir()


def _own_groups() -> Iterator[Path]:
    """Yield this process's groups, one folder per hierarchy of version 1 that limits memory or tasks."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        own = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return
    points = {
        name: Path(point)
        for _, point, kind, options, *_ in mounts
        if kind == "cgroup"
        for name in _CONTROLLERS.intersection(options.split(","))
    }
    for _, names, path in own:
        for name in _CONTROLLERS.intersection(names.split(",")) & points.keys():
            inside = points[name] / path.lstrip("/")
            # In a container the path may be one of the host's: then the mount point is the own group.
            yield inside if inside.is_dir() else points[name]
            break
