"""What runs in the room: Python and SQL go on in this very process, the others take it over."""

from __future__ import annotations

import os
import signal
from importlib import import_module

from services.execution.kernels.isolate import REPLIES, REQUESTS

_KERNELS = os.path.dirname(os.path.abspath(__file__))


def start(language: str) -> None:
    """Serve requests in ``language`` until they end. Raises: OSError when it is not installed."""
    if language in ("python", "sql"):
        import_module(f"{__package__}.{language}.kernel").serve(REQUESTS, REPLIES)
        return
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if language == "javascript":
        os.execv("/usr/bin/node", ["node", f"{_KERNELS}/javascript/kernel.js"])
    os.execv("/usr/lib/R/bin/R", ["R", "--vanilla", "--no-echo", "-f", f"{_KERNELS}/r/kernel.R"])
