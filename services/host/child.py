"""Start a process that ends with this one, and stop it."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol


class RunningProcess(Protocol):
    """What the supervisor needs of a process; ``subprocess.Popen`` is one."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


LAUNCH = Path(__file__).with_name("launch.py")


@dataclass(frozen=True)
class User:
    """As whom a child runs: ``same`` as we, ``drop`` to another, or ``map`` in a user namespace."""

    mode: Literal["same", "drop", "map"]
    uid: int
    gid: int


OURSELVES = User("same", -1, -1)


def server_user() -> User:
    """Return a user that is not root and has a name: database servers refuse to run as any other."""
    uid = os.geteuid()
    if uid != 0 and _has_name(uid):
        return OURSELVES
    other = next((entry for entry in [*_named("nobody"), *pwd.getpwall()] if entry.pw_uid != 0), None)
    if other is None:
        raise RuntimeError("there is no user but root on this machine, and Postgres refuses to run as root; add one")
    can_drop = uid == 0 and knows(other.pw_uid)
    return User("drop" if can_drop else "map", other.pw_uid, other.pw_gid)


def spawn(
    command: Sequence[str | Path],
    log: Path,
    *,
    env: Mapping[str, str],
    user: User = OURSELVES,
    needs: Sequence[Path] = (),
    keep: Sequence[int] = (),
    death_signal: signal.Signals = signal.SIGTERM,
    stdin: IO[bytes] | None = None,
) -> subprocess.Popen[bytes]:
    """Start ``command`` in a new session; it gets ``death_signal`` when the calling thread ends.

    ``needs`` are the files that another user must be able to reach, ``keep`` the file descriptors that stay open.
    """
    mode: str = user.mode
    if mode == "drop" and any(closed_folder(path) for path in needs):
        mode = "drop-override"
    launch = [sys.executable, "-I", "-S", str(LAUNCH), str(os.getpid()), str(int(death_signal)), mode]
    with open_log(log) as output:
        return subprocess.Popen(
            [*launch, str(user.uid), str(user.gid), "--", *(str(part) for part in command)],
            stdin=stdin or subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(env),
            pass_fds=tuple(keep),
            start_new_session=True,
        )


def open_log(log: Path) -> IO[bytes]:
    """Open for appending a file that only its owner reads."""
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")


def stop(process: RunningProcess, stop_signal: signal.Signals, seconds: float) -> None:
    """Send the signal to stop, and SIGKILL after ``seconds``."""
    if process.poll() is not None:
        return
    process.send_signal(stop_signal)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def change_owner(path: Path, user: User) -> None:
    """Make ``path`` and all that is in it the user's own."""
    if user.mode != "drop":
        return
    for inner in [path, *path.rglob("*")]:
        os.chown(inner, user.uid, user.gid, follow_symlinks=False)


def tail(log: Path, lines: int = 15) -> str:
    """Return the end of a log, for an error message."""
    try:
        return "\n".join(log.read_text("utf-8", "replace").splitlines()[-lines:])
    except OSError:
        return ""


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _named(name: str) -> list[pwd.struct_passwd]:
    try:
        return [pwd.getpwnam(name)]
    except KeyError:
        return []


def knows(uid: int) -> bool:
    """Return whether this user namespace has ``uid`` at all (a container may have only root)."""
    try:
        ranges = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return True
    return any(int(start) <= uid < int(start) + int(length) for start, _, length in (line.split() for line in ranges))


def closed_folder(path: Path) -> Path | None:
    """Return the first folder above ``path``, literal or resolved, that other users may not enter."""
    above = [*reversed(path.absolute().parents), *reversed(path.resolve().parents)]
    return next((folder for folder in above if folder.exists() and not folder.stat().st_mode & 0o001), None)
