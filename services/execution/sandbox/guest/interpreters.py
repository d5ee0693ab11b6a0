"""What runs in the room: Python and SQL go on in this very process, the others take it over."""

from __future__ import annotations

import os
import signal
from importlib import import_module

from services.execution.sandbox.guest.isolate import REPLIES, REQUESTS

_LANGUAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../languages")


def start(language: str) -> None:
    """Serve requests in ``language`` until they end. Raises: OSError when it is not installed."""
    if language in ("python", "sql"):
        import_module(f"services.execution.languages.{language}.guest.kernel").serve(REQUESTS, REPLIES)
        return
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if language == "javascript":
        os.execv("/usr/bin/node", ["node", f"{_LANGUAGES}/javascript/guest/kernel.js"])
    os.execv("/usr/lib/R/bin/R", ["R", "--vanilla", "--no-echo", "-f", f"{_LANGUAGES}/r/guest/kernel.R"])
