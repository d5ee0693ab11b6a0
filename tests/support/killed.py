"""``python -m tests.support.killed FUNCTION N MODULE WORDS``: ``python -m MODULE WORDS``, killed at some moment.

At the Nth call of the function (the end of its module's name, a dot, its own name) the process sends itself SIGKILL, as
the kernel does when memory runs out.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
from types import FrameType


def kill_at(function: str, number: int) -> None:
    """Kill this process at the Nth call of the function."""
    module, _, name = function.rpartition(".")
    left = number

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        if event != "call" or frame.f_code.co_name != name:
            return
        if str(frame.f_globals.get("__name__", "")).endswith(module):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)


if __name__ == "__main__":
    kill_at(sys.argv[1], int(sys.argv[2]))
    module = sys.argv[3]
    sys.argv[1:] = sys.argv[4:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
