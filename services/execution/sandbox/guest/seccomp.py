"""The seccomp filter of job code: an allow-list, with rules for the calls whose arguments matter."""

from __future__ import annotations

import errno
import functools
import platform
import struct

from services.execution.sandbox.guest.syscalls import ALLOWED, numbers

_LOAD, _EQUAL, _GREATER_OR_EQUAL, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _MACHINE = 0, 4
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000

_NAMESPACES = 0x7E020000  #: every CLONE_NEW* that fits the flags of clone
_AF_UNIX = 1
_SOCK_DGRAM = 2  #: a datagram pair could still be pointed at another socket's address
_TERMINAL = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  #: TCGETS, sizes, FIONREAD, FIONBIO, FIOCLEX
_PRCTL = (1, 2, 3, 4, 15, 16, 21, 23, 27, 29, 30, 37, 38, 39, 41, 42, 0x53564D41)  #: names, signals, reading
_CORE = 4  #: RLIMIT_CORE: at 1 no core reaches even a dump handler outside, so nobody may lower it to 0
_FILE_KINDS = (0, 0o100000, 0o010000)  #: mknod may make plain files and FIFOs

Instruction = tuple[int, int, int, int]


def _low(argument: int) -> int:
    return 16 + 8 * argument


def _deny(code: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | code)


_PERMIT: Instruction = (_RETURN, 0, 0, _ALLOW)


def _one_of(argument: int, values: tuple[int, ...], otherwise: int, mask: int | None = None) -> list[Instruction]:
    body: list[Instruction] = [(_LOAD, 0, 0, _low(argument))]
    if mask is not None:
        body.append((_AND, 0, 0, mask))
    for value in values:
        body += [(_EQUAL, 0, 1, value), _PERMIT]
    return [*body, _deny(otherwise)]


def _rules(memfd: bool) -> dict[str, list[Instruction]]:
    socketpair: list[Instruction] = [
        (_LOAD, 0, 0, _low(0)),
        (_EQUAL, 1, 0, _AF_UNIX),
        _deny(errno.EAFNOSUPPORT),
        (_LOAD, 0, 0, _low(1)),
        (_AND, 0, 0, 0xF),
        (_EQUAL, 0, 1, _SOCK_DGRAM),
        _deny(errno.EPROTONOSUPPORT),
        _PERMIT,
    ]
    prlimit: list[Instruction] = [
        (_LOAD, 0, 0, _low(1)),
        (_EQUAL, 1, 0, _CORE),
        _PERMIT,
        (_LOAD, 0, 0, _low(2)),  # both halves of the pointer to the new limit: asking is free
        (_EQUAL, 0, 3, 0),
        (_LOAD, 0, 0, _low(2) + 4),
        (_EQUAL, 0, 1, 0),
        _PERMIT,
        _deny(errno.EPERM),
    ]
    return {
        "clone": [(_LOAD, 0, 0, _low(0)), (_ANY_BIT, 0, 1, _NAMESPACES), _deny(errno.EPERM), _PERMIT],
        # Its flags stand in memory, where a filter cannot look; libraries fall back to clone on ENOSYS only.
        "clone3": [_deny(errno.ENOSYS)],
        "ioctl": _one_of(1, _TERMINAL, errno.ENOTTY),
        "prctl": _one_of(0, _PRCTL, errno.EPERM),
        "mknod": _one_of(1, _FILE_KINDS, errno.EPERM, mask=0o170000),
        "mknodat": _one_of(2, _FILE_KINDS, errno.EPERM, mask=0o170000),
        "setrlimit": [(_LOAD, 0, 0, _low(0)), (_EQUAL, 0, 1, _CORE), _deny(errno.EPERM), _PERMIT],
        "prlimit64": prlimit,
        "socketpair": socketpair,
        "socket": [_deny(errno.EACCES)],
        # Memory without a name escapes every count but a cgroup's.
        "memfd_create": [_PERMIT if memfd else _deny(errno.ENOSYS)],
    }


@functools.cache
def program(memfd: bool) -> bytes:
    """The filter for this machine. Raises: KeyError for one that it does not know."""
    machine = platform.machine()
    table = numbers(machine)
    code: list[Instruction] = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_GREATER_OR_EQUAL, 0, 1, _X32),
        _deny(errno.ENOSYS),
    ]
    for name, body in _rules(memfd).items():
        if name in table:
            code += [(_EQUAL, 0, len(body), table[name]), *body]
    for name in sorted(ALLOWED & table.keys(), key=lambda each: table[each]):
        code += [(_EQUAL, 0, 1, table[name]), _PERMIT]
    code.append(_deny(errno.EPERM))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)
