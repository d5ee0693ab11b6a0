"""From a fork of the warm parent to an isolated sandbox: namespaces, mounts, limits, filters, in that order."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import struct
from dataclasses import dataclass

from services.execution.sandbox.guest import linux as kernel
from services.execution.sandbox.guest.linux import syscall
from services.execution.sandbox.guest.seccomp import program

WORK, TEMPORARY, CODE, OUT, SHARED_MEMORY = "/work", "/tmp", "/code", "/out", "/dev/shm"  # noqa: S108 - the sandbox's own
_STORE = "/store"  #: mount point of the writable tmpfs; its folders appear at the paths above
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
MAX_FILES = 10_000
EMPTY_MB = 16  #: of the store, until a run says how much it may write
_OPEN_FILES = 256
_OUT_MB = 320  #: results and displays on their way out
REQUESTS, REPLIES = 3, 4  #: the only descriptors of job code other than its three streams
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


def new_file(path: str) -> str:
    """Create an empty file that can be opened again, whatever umask or file the code has left, and return its path."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    os.fchmod(made, 0o644)
    os.close(made)
    return path


def map_user(uid: int, gid: int) -> None:
    """Be the user that it was outside, in its new namespaces; no further ones after them."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as handle:
            handle.write(text)
    with open("/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as handle:
        handle.write("0")


def mount_filesystems() -> int:
    """Mount a fresh /proc that shows this job only, and the few writable folders.

    Returns a descriptor of a /proc that shows every process, even hidden ones; it is mounted below the other one.
    """
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", _QUIET, "subset=pid")
    everyone = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    kernel.mount("proc", "/proc", "proc", _QUIET, "subset=pid,hidepid=2")
    _mount_tmpfs(_STORE, f"size={EMPTY_MB}m,nr_inodes={MAX_FILES},mode=755")
    for target in (WORK, TEMPORARY, SHARED_MEMORY):
        source = f"{_STORE}/{target.rpartition('/')[2]}"
        os.mkdir(source)
        kernel.mount(source, target, None, kernel.MS_BIND)
    os.mkdir(GIVEN)
    _mount_tmpfs(OUT, f"size={_OUT_MB}m,nr_inodes=400,mode=755")
    kernel.mount("tmpfs", CODE, "tmpfs", _QUIET, "size=4m,nr_inodes=40,mode=755")
    return everyone


def _mount_tmpfs(target: str, options: str) -> None:
    """Mount with huge pages for large files, where supported: they are made and freed in a fraction of the time."""
    try:
        kernel.mount("tmpfs", target, "tmpfs", _QUIET, f"{options},huge=within_size")
    except OSError:
        kernel.mount("tmpfs", target, "tmpfs", _QUIET, options)


def resize_store(megabytes: int, files: int) -> None:
    """Set what the run may write: its limit plus space for the files that it was given."""
    options = f"size={megabytes}m,nr_inodes={MAX_FILES + files}"
    kernel.mount(None, _STORE, None, kernel.MS_REMOUNT | _QUIET, options)


def drop_privileges(ends: Ends, memfd: bool, user: int | None = None) -> bool:
    """Give up every right, in the child that will run the code, and become ``user``. Whether Landlock is there too."""
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
        try:
            resource.setrlimit(limit, (value, value))
        except ValueError:
            if user is None or limit != resource.RLIMIT_MSGQUEUE:  # gVisor has none; the filter refuses the queues
                raise
    os.umask(0o022)
    os.chdir(WORK)
    if user is not None:
        kernel.drop_bounding_capabilities()
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    readable = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/runtime", "/etc", "/proc", GIVEN)
    landlocked = restrict_paths(readable, (WORK, TEMPORARY, CODE, OUT, "/dev"))
    kernel.drop_capabilities()
    kernel.install_filter(program(memfd))
    return landlocked


def _no_core() -> int:
    """Return the core limit: one byte is too small for a core file, and unlike 0 it also stops one piped to a
    handler.
    """
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    return 0 if hard == 0 else 1


def _only_descriptors(ends: Ends) -> None:
    # Moved out of the way first: a descriptor on 0 to 5 would be overwritten by another's move.
    wanted = (ends.stdin, ends.stdout, ends.stderr, ends.requests, ends.replies, ends.passed)
    apart = [os.dup2(descriptor, 200 + place) for place, descriptor in enumerate(wanted)]
    for place, descriptor in enumerate(apart):
        os.dup2(descriptor, place, inheritable=place != PASSED)
    kernel.close_from(6)


_CREATE, _ADD, _RESTRICT = 444, 445, 446
_EXECUTE, _READ_FILE, _READ_DIR = 1, 4, 8
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ALL_OF_ABI = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
_TCP = 3  #: bind and connect
_SCOPES = 3  #: abstract sockets and signals stay inside


def landlock_abi() -> int:
    """Return the kernel's Landlock version; 0 without Landlock."""
    try:
        return syscall(_CREATE, None, 0, 1)
    except OSError:
        return 0


def restrict_paths(readable: tuple[str, ...], writable: tuple[str, ...]) -> bool:
    """Allow only these folders from here on; ``False`` when the kernel has no Landlock."""
    abi = landlock_abi()
    if not abi:
        return False
    everything = _ALL_OF_ABI[min(abi, 5)]
    attributes = struct.pack("QQQ", everything, _TCP, _SCOPES)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = syscall(_CREATE, ctypes.create_string_buffer(attributes, 24), size, 0)
    files_only = everything & ~_READ_DIR & (_READ | 2 | 1 << 14 | 1 << 15)
    # Names of the sandbox may be listed; what is in its files is another matter.
    for paths, access in ((("/",), _READ_DIR), (readable, _READ), (writable, everything & ~_EXECUTE)):
        for path in paths:
            try:
                folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            granted = access if os.path.isdir(path) else access & files_only
            rule = ctypes.create_string_buffer(struct.pack("=Qi", granted, folder), 12)
            syscall(_ADD, ruleset, 1, rule, 0)
            os.close(folder)
    syscall(_RESTRICT, ruleset, 0)
    os.close(ruleset)
    return True
