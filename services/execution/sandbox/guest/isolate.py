"""From a fork of the warm parent to a sandbox of its own: namespaces, mounts, limits, filters, in that order."""

from __future__ import annotations

import os
import resource
import signal
from dataclasses import dataclass

from services.execution.sandbox.guest import linux as kernel
from services.execution.sandbox.guest.landlock import restrict_paths
from services.execution.sandbox.guest.seccomp import program

WORK, TEMPORARY, CODE, OUT, SHARED_MEMORY = "/work", "/tmp", "/code", "/out", "/dev/shm"  # noqa: S108 - the sandbox's own
_STORE = "/store"  #: where the writable tmpfs stands; its folders appear at the paths above
GIVEN = f"{_STORE}/given"  #: tables that the code was given
_QUIET = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
NAMESPACES = (
    kernel.CLONE_NEWUSER
    | kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWCGROUP
)
MOST_FILES = 10_000
EMPTY_MB = 16  #: of the store, until a run says how much it may write
_OPEN_FILES = 256
_OUT_MB = 320  #: results and displays on their way out
REQUESTS, REPLIES = 3, 4  #: the only descriptors of job code beside its three streams
PASSED = 5  #: open files arrive here before there is any code; closed, by the kernel or by its exec, when it runs


@dataclass(frozen=True)
class Ends:
    """The job's ends of its pipes, and of the socket that open files come by."""

    requests: int
    replies: int
    stdin: int
    stdout: int
    stderr: int
    passed: int


def map_user(uid: int, gid: int) -> None:
    """Be the user that it was outside, in its new namespaces; no further ones after them."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as handle:
            handle.write(text)
    with open("/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as handle:
        handle.write("0")


def mount_filesystems() -> int:
    """A fresh /proc that shows this job only, and the few places that it may write to.

    What it returns is a /proc that shows every process, however it hides, and stands below the other one.
    """
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", _QUIET, "subset=pid")
    everyone = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    kernel.mount("proc", "/proc", "proc", _QUIET, "subset=pid,hidepid=2")
    _mount_tmpfs(_STORE, f"size={EMPTY_MB}m,nr_inodes={MOST_FILES},mode=755")
    for target in (WORK, TEMPORARY, SHARED_MEMORY):
        source = f"{_STORE}/{target.rpartition('/')[2]}"
        os.mkdir(source)
        kernel.mount(source, target, None, kernel.MS_BIND)
    os.mkdir(GIVEN)
    _mount_tmpfs(OUT, f"size={_OUT_MB}m,nr_inodes=400,mode=755")
    kernel.mount("tmpfs", CODE, "tmpfs", _QUIET, "size=4m,nr_inodes=40,mode=755")
    return everyone


def _mount_tmpfs(target: str, options: str) -> None:
    """With large pages for large files, where there are any: they are made and freed in a fraction of the time."""
    try:
        kernel.mount("tmpfs", target, "tmpfs", _QUIET, f"{options},huge=within_size")
    except OSError:
        kernel.mount("tmpfs", target, "tmpfs", _QUIET, options)


def resize_store(megabytes: int, files: int) -> None:
    """What the run may write: its limit and space for the files that it was given."""
    options = f"size={megabytes}m,nr_inodes={MOST_FILES + files}"
    kernel.mount(None, _STORE, None, kernel.MS_REMOUNT | _QUIET, options)


def drop_privileges(ends: Ends, memfd: bool) -> bool:
    """Give up every right, in the child that will run the code. Whether Landlock is there too."""
    os.setsid()
    _only_descriptors(ends)
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE):
            try:
                signal.signal(number, signal.SIG_DFL)
            except (OSError, ValueError):
                continue
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for limit, value in (
        (resource.RLIMIT_CORE, _no_core()),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(limit, (value, value))
    os.umask(0o022)
    os.chdir(WORK)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    readable = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/runtime", "/etc", "/proc", GIVEN)
    landlocked = restrict_paths(readable, (WORK, TEMPORARY, CODE, OUT, "/dev"))
    kernel.drop_capabilities()
    kernel.install_filter(program(memfd))
    return landlocked


def _no_core() -> int:
    """One byte: too small for a core file, and unlike 0 it also stops one that is piped to a handler outside."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    return 0 if hard == 0 else 1


def _only_descriptors(ends: Ends) -> None:
    # Moved out of the way first: a descriptor that stands on 0 to 5 would be overwritten by another's move.
    wanted = (ends.stdin, ends.stdout, ends.stderr, ends.requests, ends.replies, ends.passed)
    apart = [os.dup2(descriptor, 200 + place) for place, descriptor in enumerate(wanted)]
    for place, descriptor in enumerate(apart):
        os.dup2(descriptor, place, inheritable=place != PASSED)
    kernel.close_from(6)
