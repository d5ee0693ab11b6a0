"""As root: the users that the processes run under instead, and what they have to reach for that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from services.host import bind_mounts, child
from services.host.folder import InstallationFolder
from services.host.processes import Process
from services.host.server import socket_folder

#: What a process of root has there is closed to other users, or may be.
_OF_ROOT = frozenset({"XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "USER", "TMPDIR"})
#: Settings may name folders, which are shown too, and need not be open to other users.
_NAMING = ("ASSAY_", "PYTHONPATH")
#: The process that reads untrusted input for the others; it has a group of its own, too.
PARSERS = "parsers"
#: Each process has a user of its own, so that none can end another, or read its memory: in this order from the first
#: user on. What is not listed runs as the first.
_USERS = ("gateway", "execution", PARSERS, "broker", "search", "flows", "stacks", "reconciler", "scripted-llm")
#: Processes whose work keeps no files: they read those of all tenants, and can neither change nor delete one.
_READERS = ("broker", "search", "flows", "stacks")
_PLUGINS = "ASSAY_PLUGINS"
_FIRST_OPEN_PORT = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
_TRY_SECONDS = 30


@dataclass(frozen=True)
class Account:
    """Numbers that need no entry in ``/etc/passwd``; all processes have one group, which owns what they share."""

    uid: int
    gid: int
    hidden: Sequence[str] = ()  #: folders that only root may enter
    shown: Sequence[str] = ()  #: what the process sees of them
    read_only: Sequence[str] = ()  #: folders that it may not write to


@dataclass(frozen=True)
class Accounts:
    """The account of each process; one without runs as the user that starts it."""

    by_name: Mapping[str, Account]
    group: int | None
    why_not: str = ""  #: what keeps processes from giving up being root

    def of(self, name: str) -> Account | None:
        return self.by_name.get(name)


def accounts(
    folder: InstallationFolder, processes: Iterable[Process], uid: int, port: int, blobs: str, ours: Mapping[str, str]
) -> Accounts:
    """Return each process's account. Untrusted code never runs where keys are, nor can one process end another.

    ``blobs`` is the URL of the files' contents, ``ours`` our environment.
    """
    if os.geteuid() != 0 or uid == 0:
        return Accounts({}, None)
    folder.path.mkdir(mode=0o711, parents=True, exist_ok=True)
    needed = _paths([*_python(), str(Path(__file__).parents[2]), *sys.path, str(folder.path)])
    named = _paths(path for name, value in ours.items() if name.startswith(_NAMING) for path in value.split(":"))
    hidden = sorted({str(closed) for path in needed if (closed := child.closed_folder(Path(path)))})
    own = Account(uid, uid, hidden, sorted({*needed, *named}) if hidden else ())
    if reason := _obstacle(folder, own, blobs, needed):
        return Accounts({}, None, f"The processes stay root: {reason}")
    names = [*(process.name for process in processes), "scripted-llm"]
    chosen = {name: replace(own, uid=user_of(name, uid)) for name in names}
    reasons = []
    if 0 < port < _first_open_port():
        reasons.append(f"the gateway, as only root may listen on port {port}")
        del chosen["gateway"]
    if "execution" in chosen and not _makes_user_namespaces(chosen["execution"]):
        reasons.append("the execution worker, as here only root may make the namespaces of a sandbox")
        del chosen["execution"]
    if blobs == folder.blobs.as_uri() and not ours.get(_PLUGINS):  # what a plugin adds to a service may keep files
        folder.blobs.mkdir(mode=0o700, exist_ok=True)
        readers = {name: replace(chosen[name], read_only=(str(folder.blobs),)) for name in _READERS if name in chosen}
        if all(_works(reader, needed) for reader in [*readers.values()][:1]):
            chosen |= readers
    user = user_of(PARSERS, uid)
    parsers = Account(user, user, own.hidden, _shown_to_parsers(folder) if hidden else ())
    if _works(parsers, [path for path in parsers.shown if os.path.exists(path)]):
        chosen[PARSERS] = parsers
    return Accounts(chosen, uid, f"These stay root: {'; '.join(reasons)}." if reasons else "")


def user_of(name: str, first: int) -> int:
    """Return the user of a process; ``first`` is that of the gateway."""
    return first + (_USERS.index(name) if name in _USERS else 0)


def parsers_folder(folder: InstallationFolder) -> Path:
    """Return the folder of the parsers' socket."""
    return socket_folder(folder.path / PARSERS, longest_name="socket")


def _shown_to_parsers(folder: InstallationFolder) -> Sequence[str]:
    """Return the code, and of the installation the parsers' own folder."""
    return [*_paths([*_python(), str(Path(__file__).parents[2]), *sys.path]), str(parsers_folder(folder))]


def hand_over(folder: InstallationFolder, group: int) -> None:
    """Give the group what the processes write; the supervisor, which is root, reaches it anyway."""
    owners = {"blobs": "gateway", "run": "gateway", "search": "search", "cache": "search"}
    for name, process in owners.items():
        path, owner = folder.path / name, user_of(process, group)
        path.mkdir(mode=0o700, exist_ok=True)
        kept = path.stat()
        inside = path.rglob("*") if (kept.st_uid, kept.st_gid) != (owner, group) else ()
        for each in (*inside, path):
            if not each.is_symlink():
                os.chown(each, owner, group)
                each.chmod(_shared_mode(each))
    sockets = parsers_folder(folder)
    sockets.mkdir(mode=0o711, parents=True, exist_ok=True)
    os.chown(sockets, user_of(PARSERS, group), group)
    sockets.chmod(0o2750)  # the parsers bind their socket there, and the services connect to it


def _shared_mode(path: Path) -> int:
    """Return the mode with which the group has what the owner has; content, which no one may change, stays readable."""
    mode = path.stat().st_mode
    own = mode & 0o700
    return (0o2000 if path.is_dir() else 0 if own & 0o200 else mode & 0o004) | own | own >> 3


def environment(ours: Mapping[str, str], folder: InstallationFolder) -> dict[str, str]:
    """Return the environment without folders that are root's."""
    return {**{name: value for name, value in ours.items() if name not in _OF_ROOT}, "HOME": str(folder.run)}


def _python() -> list[str]:
    return [sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parents[1])]


def _paths(names: Iterable[str]) -> list[str]:
    return sorted({os.path.abspath(name) for name in names if name.startswith("/") and os.path.exists(name)})


def _obstacle(folder: InstallationFolder, account: Account, blobs: str, needed: Sequence[str]) -> str:
    """Return what another user could not use, as a sentence; empty when nothing is in the way."""
    last = account.uid + len(_USERS) - 1
    if not child.knows(last):
        return f"this container knows no users {account.uid} to {last} (ASSAY_SERVICES_UID)."
    if blobs.startswith("file:") and blobs != folder.blobs.as_uri():
        place = Path(blobs.removeprefix("file://"))
        if not place.exists() or not _is_shared(place, account):
            return (
                f"the folder that BLOB_URL names is not user {account.uid}'s, or its group {account.gid} may not write "
                "there (ASSAY_SERVICES_UID)."
            )
    if not _works(account, needed):
        what = ", ".join(Path(each).name for each in account.hidden)
        return f"Python or Assay is in a folder that only root may enter ({what})." if what else "they may not change."
    return ""


def _is_shared(folder: Path, account: Account) -> bool:
    """Return whether the folder is the account's, and its group's, which all processes have."""
    status = folder.stat()
    return (status.st_uid, status.st_gid, status.st_mode & 0o070) == (account.uid, account.gid, 0o070)


def _first_open_port() -> int:
    try:
        return int(_FIRST_OPEN_PORT.read_text())
    except (OSError, ValueError):
        return 1024


def _makes_user_namespaces(account: Account) -> bool:
    """Return whether this account may: some machines allow only root."""
    launch = [sys.executable, "-I", "-S", str(child.LAUNCH), str(os.getpid()), str(int(signal.SIGTERM))]
    return _works(account, _paths(_python()), *launch, "map", "1", "1", "--", "true")


def _works(account: Account, shown_paths: Sequence[str], *command: str) -> bool:
    read_only = [bind_mounts.READ_ONLY + folder for folder in account.read_only]
    words = [str(account.uid), str(account.gid), *account.hidden, *read_only, "--", *shown_paths]
    tried = [sys.executable, "-I", "-S", str(bind_mounts.__file__), *words, *(["--", *command] if command else [])]
    try:
        return subprocess.run(tried, capture_output=True, timeout=_TRY_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
