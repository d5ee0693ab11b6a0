"""The process that becomes the job: it gives up its rights and turns into the language's service or program."""

from __future__ import annotations

import contextlib
import os
import signal
from importlib import import_module
from typing import NoReturn, cast

from services.execution.sandbox.guest.isolate import REPLIES, REQUESTS, Ends, drop_privileges
from services.execution.sandbox.protocol.wire import Message


def run_job(ends: Ends, program: Message, user: int | None) -> NoReturn:
    try:
        signal.set_wakeup_fd(-1)
        drop_privileges(ends, bool(program["memfd"]), user)
        if program["module"] is not None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # until its service hears interrupts
            import_module(str(program["module"])).serve(REQUESTS, REPLIES)
        else:
            path, *arguments = cast("list[str]", program["command"])
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execv(path, [os.path.basename(path), *arguments])
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(2, f"kernel: {type(error).__name__}: {error}\n".encode())
    os._exit(70)
