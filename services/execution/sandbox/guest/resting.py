"""How a call ended, as init sees it: by the registers of the kernel's first thread, once that rests.

A kernel rests in the read of its next request. The size of that read encodes which call has ended, how, and the
checksum of the frame with its values, so that no other frame is taken for it. Registers are not memory: no descriptor,
thread or child of the code can write there. Code that makes the same system call does so from further up the stack;
only a stack as short as it was before there was any code has no frame of the code on it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import time
from typing import Protocol

from services.execution.sandbox.guest import linux as kernel
from services.execution.sandbox.guest.seccomp import numbers

RETURNED, RAISED = 0, 1
PRISTINE = 8  #: the read size of a kernel before its first call; at least that of a frame's head
FIRST = (
    16  #: the size after that, to which is added: 1 if it was raised, 2 after every other call, 4 times the checksum
)
_SLACK = 256  #: bytes of stack; an interpreter makes the same call in a shorter way once it has done so often
_SEIZE, _INTERRUPT, _GET_REGISTERS, _DETACH, _PRSTATUS = 0x4206, 0x4207, 0x4204, 17, 1
_PTRACE = {"x86_64": 101, "aarch64": 117}
_PLACES = {"x86_64": (15, 12, 19), "aarch64": (8, 2, 31)}  #: of call, third argument and stack among the registers
_WORDS = 40
_STOPS_WITHIN = 1.0  #: seconds
_OUTCOMES = {RETURNED: "returned", RAISED: "raised"}


class Registers(Protocol):
    def read(self, process: int) -> tuple[int, int, int] | None:
        """System call, its size argument and the stack pointer of the first thread; ``None`` while that runs.

        Raises: PermissionError.
        """
        ...


class ProcRegisters:
    """From ``/proc``, without a word to the process."""

    def read(self, process: int) -> tuple[int, int, int] | None:
        try:
            with open(f"/proc/{process}/syscall", "rb", buffering=0) as handle:
                fields = handle.read(400).split()
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            return None
        return (int(fields[0]), int(fields[3], 16), int(fields[7], 16)) if len(fields) == 9 else None


class TracedRegisters:
    """Reads registers by tracing it for a moment, on a kernel whose ``/proc`` does not show them: gVisor's."""

    def read(self, process: int) -> tuple[int, int, int] | None:
        try:
            self._ptrace(_SEIZE, process, 0, 0)
        except OSError:
            return None
        try:
            self._ptrace(_INTERRUPT, process, 0, 0)
            return self._registers(process) if _stops(process) else None
        except OSError:
            return None
        finally:
            with contextlib.suppress(OSError):
                self._ptrace(_DETACH, process, 0, 0)

    def _registers(self, process: int) -> tuple[int, int, int]:
        content = ctypes.create_string_buffer(8 * _WORDS)
        place = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(content), len(content)), 16)
        self._ptrace(_GET_REGISTERS, process, _PRSTATUS, ctypes.addressof(place))
        words = struct.unpack(f"{_WORDS}Q", content.raw)
        number, size, stack = (words[place] for place in _PLACES[platform.machine()])
        return number, size, stack

    def _ptrace(self, request: int, process: int, address: int, data: int) -> None:
        kernel.syscall(_PTRACE[platform.machine()], request, process, address, data)


def _stops(process: int) -> bool:
    """Return whether it stops within a moment; one that ends instead is left to its waiter."""
    deadline = time.monotonic() + _STOPS_WITHIN
    while time.monotonic() < deadline:
        if os.waitid(os.P_PID, process, os.WSTOPPED | os.WNOHANG) is not None:
            return True
        time.sleep(0.0002)
    return False


class RestingKernel:
    """The kernel of a sandbox, as a process that init can inspect."""

    def __init__(self, process: int, registers: Registers) -> None:
        self._process = process
        self._registers = registers
        self._read = numbers(platform.machine())["read"]
        self._stack: int | None = None

    def remember(self) -> bool:
        """Take the length of its stack before there is any code; ``False`` while it is not at rest yet.

        Raises: PermissionError on a machine where no process may see another's system call.
        """
        seen = self._registers.read(self._process)
        if seen is not None and seen[:2] == (self._read, PRISTINE):
            self._stack = seen[2]
        return self._stack is not None

    def ended(self, call: int) -> tuple[str, int] | None:
        """Return how this call (from 1) ended, and the checksum of its values; ``None`` before its end."""
        try:
            seen = self._registers.read(self._process)
        except PermissionError:  # it has become a program that no one may look into
            return None
        if seen is None or self._stack is None or seen[0] != self._read or abs(seen[2] - self._stack) > _SLACK:
            return None
        claimed, outcome = divmod(seen[1] - FIRST - 2 * (call % 2), 4)
        return (_OUTCOMES[outcome], claimed) if outcome in _OUTCOMES and claimed >= 0 else None
