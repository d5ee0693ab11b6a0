"""The system calls that Python does not offer: namespaces, mounts, capabilities, filters. No dependency but libc."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct

CLONE_NEWNS = 0x20000
CLONE_NEWCGROUP = 0x2000000
CLONE_NEWUTS = 0x4000000
CLONE_NEWIPC = 0x8000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 4, 22, 24, 38, 47
_COLLAPSE = 25  #: MADV_COLLAPSE, since Linux 6.1
_READ, _READ_AND_WRITE, _MAP_PRIVATE = 1, 3, 2
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CLONE = {"x86_64": 56, "aarch64": 220}

_libc = ctypes.CDLL(None, use_errno=True)
_libc_with_lock = ctypes.PyDLL(None, use_errno=True)  #: keeps the interpreter's lock through a call


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def fork_into(namespaces: int) -> int:
    """Fork as os.fork does, with the child in new namespaces from its start.

    A fork that unshares and forks again, as its own process stays in the old pid namespace, would cost as much again:
    each copies the page tables of every library. The C library is not notified of this one, so the child must not start
    threads, and its other threads must be at rest, as those of the warm parent are.
    """
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    pid = int(
        _libc_with_lock.syscall(ctypes.c_long(_CLONE[platform.machine()]), namespaces | signal.SIGCHLD, 0, 0, 0, 0)
    )
    code = ctypes.get_errno()
    (python.PyOS_AfterFork_Parent if pid else python.PyOS_AfterFork_Child)()
    if pid < 0:
        raise OSError(code, f"clone: {os.strerror(code)}")
    return pid


def gather_pages(start: int, size: int) -> None:
    """Collapse this memory to huge pages, now. Raises: OSError where the kernel has none to give."""
    _checked(_libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _COLLAPSE), "madvise")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    _checked(_libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]), f"mount {target}")


def prctl(option: int, second: int = 0, third: int = 0) -> None:
    zero = ctypes.c_ulong(0)
    _checked(_libc.prctl(option, ctypes.c_ulong(second), ctypes.c_ulong(third), zero, zero), f"prctl {option}")


def close_from(first: int) -> None:
    if hasattr(_libc, "close_range"):
        _checked(_libc.close_range(ctypes.c_uint(first), ctypes.c_uint(0x7FFFFFFF), 0), "close_range")
    else:
        os.closerange(first, 1 << 20)


def drop_bounding_capabilities() -> None:
    """Let no program that is started have any; this takes a right that another user would not have any more."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one that this kernel knows, or already without the right to drop


def drop_capabilities() -> None:
    """Give up every capability, for good: bounding, ambient, and the three sets."""
    drop_bounding_capabilities()
    try:
        prctl(PR_CAP_AMBIENT, 4)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a kernel without them: Linux has them since 4.3, gVisor has none
            raise
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    sets = ctypes.create_string_buffer(bytes(24))
    _checked(_libc.syscall(_CAPSET[platform.machine()], header, sets), "capset")


def install_filter(program: bytes) -> None:
    """Install a seccomp program (``struct sock_filter`` records) on this thread, for good."""
    code = ctypes.create_string_buffer(program, len(program))
    holder = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    _checked(_libc.prctl(PR_SET_SECCOMP, 2, ctypes.create_string_buffer(holder), 0, 0), "seccomp")


def map_privately(descriptor: int, writable: bool = True) -> memoryview:
    """Map the file's content into our memory until we end. Python's own map would keep a descriptor. Raises: OSError.

    A writable map counts as committed memory in full: a file larger than that can only be mapped for reading.
    """
    size = os.fstat(descriptor).st_size
    _libc.mmap.restype = ctypes.c_void_p
    access = _READ_AND_WRITE if writable else _READ
    where = _libc.mmap(None, ctypes.c_size_t(size), access, _MAP_PRIVATE, descriptor, ctypes.c_long(0))
    if where is None or where == ctypes.c_void_p(-1).value:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    content = memoryview((ctypes.c_char * size).from_address(where)).cast("B")
    return content if writable else content.toreadonly()


def syscall(number: int, *arguments: int | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make any other system call. Raises: OSError."""
    raw = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *raw), f"syscall {number}")
