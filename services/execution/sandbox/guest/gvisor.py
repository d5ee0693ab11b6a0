"""The first process of a gVisor sandbox: it has its own kernel, so it warms up, forks the code and watches it alone.

What namespaces and mount options do elsewhere is done here by another user, bind mounts, and a count of tasks.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import cast

from services.execution.sandbox.guest import linux as kernel
from services.execution.sandbox.guest.init import Init, Means
from services.execution.sandbox.guest.isolate import CODE, OUT, SHARED_MEMORY, TEMPORARY, WORK
from services.execution.sandbox.guest.meter import SentryMeter
from services.execution.sandbox.guest.resting import TracedRegisters
from services.execution.sandbox.guest.zygote import become_warm
from services.execution.sandbox.protocol.control import PipeControl
from services.execution.sandbox.protocol.gvisor import runs_on_gvisor

ENDS = "/ends"  #: named pipes, in the order that init wants them
PIPES = ("requests", "replies", "stdin", "stdout", "stderr")
_READ = ("requests", "stdin")
_STORE = "/store"
_USER = 1000
_QUIET = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
_MAX_GIVEN = 2 << 30
_INTERVAL = 0.03  #: its looks take longer than those of Linux


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = _taken_ways()
    program, _ = control.receive()
    if program is None:
        return
    _mount_filesystems()
    if program["module"] is not None:
        become_warm(cast("list[str]", program["warm"]), str(program["root"]))
    control.send({"t": "booted", "gvisor": runs_on_gvisor()})
    ends = [os.open(f"{ENDS}/{name}", os.O_RDONLY if name in _READ else os.O_WRONLY) for name in PIPES]
    meter = SentryMeter(os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    means = Means(
        control,
        meter,
        _new_store,
        user=_USER,
        counts_tasks=False,
        interval=_INTERVAL,
        registers=TracedRegisters(),
        disturbs=True,
    )
    Init(ends, program, means).run()


def _taken_ways() -> PipeControl:
    """Move standard input and output, the channel to the supervisor, so that no other code can use it."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return PipeControl(source, target, _MAX_GIVEN)


def _mount_filesystems() -> None:
    os.makedirs(SHARED_MEMORY, exist_ok=True)
    _new_store(16, 0)
    kernel.mount("tmpfs", OUT, "tmpfs", _QUIET, "size=320m,mode=777")
    kernel.mount("tmpfs", CODE, "tmpfs", _QUIET, "size=4m,mode=777")
    with contextlib.suppress(FileNotFoundError):
        os.unlink("/dev/fuse")  # to be used by root only, so that the code has no need to see it
    for hidden in ("/proc/1", "/proc/sys", "/sys"):
        with contextlib.suppress(OSError):  # another user's files are closed to the code anyway
            kernel.mount("tmpfs", hidden, "tmpfs", _QUIET, "size=4k,mode=700")


def _new_store(megabytes: int, files: int) -> None:
    """Mount a store of this size over the earlier one: gVisor cannot resize one, and does not count files."""
    del files
    kernel.mount("tmpfs", _STORE, "tmpfs", _QUIET, f"size={megabytes}m,mode=755")
    for target in (WORK, TEMPORARY, SHARED_MEMORY):
        source = f"{_STORE}/{target.rpartition('/')[2]}"
        os.mkdir(source)
        os.chown(source, _USER, _USER)
        kernel.mount(source, target, None, kernel.MS_BIND)
    os.mkdir(f"{_STORE}/given")
