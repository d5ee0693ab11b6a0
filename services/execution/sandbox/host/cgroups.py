"""Control groups, where this process may write them: limits of a whole sandbox, whatever it forks.

Version 1 and 2, decided per controller: hybrid machines mount version 2 without memory and pids. Without any, the
init's own counting and the process limits of the sandbox's user namespace take their place.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

_CONTROLLERS = ("memory", "pids")
_GONE_WITHIN = 2.0


@dataclass(frozen=True)
class Hierarchy:
    """Where one controller's groups can be made."""

    controller: str
    version: int
    root: Path


@dataclass(frozen=True)
class Counted:
    """What the kernel counted: processes killed for memory, and forks refused."""

    memory_kills: int = 0
    refused_forks: int = 0
    broke: bool = False  #: such a refusal broke the sandbox, which cannot continue


class Group:
    """The group of one run, a folder per hierarchy; counts nothing without hierarchies."""

    def __init__(self, hierarchies: tuple[Hierarchy, ...], name: str) -> None:
        """Create the group. Raises: OSError."""
        self._hierarchies = hierarchies
        self._folders = {each.controller: f"{each.root}/{name}" for each in hierarchies}
        self._limited: tuple[int, int] | None = None
        self._earlier = Counted()
        self._open: dict[str, int] = {}
        for folder in dict.fromkeys(self._folders.values()):
            os.mkdir(folder)

    @property
    def counts_memory(self) -> bool:
        return "memory" in self._folders

    @property
    def counts_tasks(self) -> bool:
        return "pids" in self._folders

    def add(self, pid: int) -> None:
        """Put a process, and with it all its later children, under the limits. Raises: OSError."""
        for folder in dict.fromkeys(self._folders.values()):
            _write(f"{folder}/cgroup.procs", str(pid))

    def limit(self, memory_mb: int, tasks: int) -> None:
        """Set the group's limits. Raises: OSError."""
        if self._limited == (memory_mb, tasks):
            return
        higher = self._limited is not None and memory_mb > self._limited[0]
        self._limited = (memory_mb, tasks)
        for hierarchy in self._hierarchies:
            folder = self._folders[hierarchy.controller]
            if hierarchy.controller == "pids":
                _write(f"{folder}/pids.max", str(tasks))
            elif hierarchy.version == 2:
                _write(f"{folder}/memory.max", str(memory_mb << 20))
                _write_if_there(f"{folder}/memory.swap.max", "0")
            else:
                # Memory may at no time be allowed more than memory and swap together.
                if higher:
                    _write_if_there(f"{folder}/memory.memsw.limit_in_bytes", str(memory_mb << 20))
                _write(f"{folder}/memory.limit_in_bytes", str(memory_mb << 20))
                if not higher:
                    _write_if_there(f"{folder}/memory.memsw.limit_in_bytes", str(memory_mb << 20))

    def count_anew(self) -> None:
        """Restart the count: what was counted until now is an earlier call's."""
        self._earlier = self._in_all()

    def counted(self) -> Counted:
        now = self._in_all()
        kills = now.memory_kills - self._earlier.memory_kills
        return Counted(kills, now.refused_forks - self._earlier.refused_forks)

    def _in_all(self) -> Counted:
        kills = forks = 0
        for hierarchy in self._hierarchies:
            if hierarchy.controller == "pids":
                forks = self._field(hierarchy, "pids.events", b"max")
            else:
                name = "memory.events" if hierarchy.version == 2 else "memory.oom_control"
                kills = self._field(hierarchy, name, b"oom_kill")
        return Counted(kills, forks)

    def _field(self, hierarchy: Hierarchy, name: str, field: bytes) -> int:
        """Read a number of one of the kernel's files, which stays open: it is read twice for each call of a session."""
        with contextlib.suppress(OSError, ValueError):
            if name not in self._open:
                self._open[name] = os.open(f"{self._folders[hierarchy.controller]}/{name}", os.O_RDONLY | os.O_CLOEXEC)
            for line in os.pread(self._open[name], 4096, 0).splitlines():
                key, _, value = line.partition(b" ")
                if key == field:
                    return int(value)
        return 0

    def remove(self) -> None:
        """Remove the group after the last process; the kernel may need a moment to release it."""
        while self._open:
            os.close(self._open.popitem()[1])
        deadline = time.monotonic() + _GONE_WITHIN
        for folder in dict.fromkeys(self._folders.values()):
            while time.monotonic() < deadline:
                try:
                    os.rmdir(folder)
                except FileNotFoundError:
                    pass
                except OSError:
                    _write_if_there(f"{folder}/cgroup.kill", "1")
                    time.sleep(0.005)
                    continue
                break


def _write(path: str, text: str) -> None:
    """Write one of the kernel's files by plain calls, as each sandbox writes a few of them. Raises: OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _write_if_there(path: str, text: str) -> None:
    with contextlib.suppress(OSError):
        _write(path, text)


class Groups:
    """The groups of one sandbox, under a separate folder; empty where nothing is delegated."""

    def __init__(self, mounts: Path = Path("/proc/self/mounts"), own: Path = Path("/proc/self/cgroup")) -> None:
        self._name = f"assay-{os.getpid()}-{secrets.token_hex(4)}"
        hierarchies = find_hierarchies(mounts, own)
        for root in dict.fromkeys(hierarchy.root for hierarchy in hierarchies):
            _sweep(root)
        self._hierarchies = tuple(self._usable(hierarchies))

    def _usable(self, hierarchies: list[Hierarchy]) -> list[Hierarchy]:
        """Return the hierarchies in which a group can really be created and limited."""
        usable: list[Hierarchy] = []
        for hierarchy in hierarchies:
            folder = hierarchy.root / self._name
            try:
                folder.mkdir(exist_ok=True)
                if hierarchy.version == 2:
                    (folder / "cgroup.subtree_control").write_text(f"+{hierarchy.controller}")
                own = Hierarchy(hierarchy.controller, hierarchy.version, folder)
                probe = Group((own,), "probe")
                try:
                    probe.limit(64, 64)
                finally:
                    probe.remove()
                usable.append(own)
            except OSError:
                # In version 2 the folder is one for all controllers: another of them may be usable.
                if not any(each.root == folder for each in usable):
                    with contextlib.suppress(OSError):
                        folder.rmdir()
        return usable

    def make(self) -> Group | None:
        if not self._hierarchies:
            return None
        try:
            return Group(self._hierarchies, f"run-{secrets.token_hex(6)}")
        except OSError:
            return None

    def close(self) -> None:
        for folder in dict.fromkeys(each.root for each in self._hierarchies):
            with contextlib.suppress(OSError):
                folder.rmdir()


def _sweep(root: Path) -> None:
    """Remove what killed workers left; a group in use cannot be removed, and others sweep at the same time."""
    for folder in root.glob("assay-*-*"):
        pid = folder.name.split("-")[1]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            for each in [*_children(folder), folder]:
                with contextlib.suppress(OSError):
                    each.rmdir()


def _children(folder: Path) -> list[Path]:
    try:
        return [child for child in folder.iterdir() if child.is_dir()]
    except OSError:
        return []


def find_hierarchies(mounts: Path, own: Path) -> list[Hierarchy]:
    """Return, for each controller, the folder of this process's own group, in whichever version has the controller."""
    points: dict[str, Path] = {}
    unified: Path | None = None
    for line in mounts.read_text().splitlines():
        _device, point, kind, options, *_ = line.split()
        if kind == "cgroup2":
            unified = Path(point)
        elif kind == "cgroup":
            points.update({name: Path(point) for name in options.split(",") if name in _CONTROLLERS})
    groups = _own_groups(own)
    hierarchies: list[Hierarchy] = []
    for controller in _CONTROLLERS:
        if controller in points and controller in groups:
            hierarchies.append(Hierarchy(controller, 1, _below(points[controller], groups[controller])))
        elif unified is not None and "" in groups:
            root = _below(unified, groups[""])
            if controller in _words(root / "cgroup.controllers"):
                hierarchies.append(Hierarchy(controller, 2, root))
    return hierarchies


def _own_groups(own: Path) -> dict[str, str]:
    """Map each controller (empty for version 2) to the path of this process's group."""
    groups: dict[str, str] = {}
    for line in own.read_text().splitlines():
        _number, names, path = line.split(":", 2)
        groups.update(dict.fromkeys(names.split(","), path))
    return groups


def _below(point: Path, path: str) -> Path:
    """Return the own group: in a container the path may be one of the host's, and then it is the mount point."""
    inner = point / path.lstrip("/")
    return inner if inner.is_dir() else point


def _words(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text().split()
    return []
