"""Procfiles: which of their processes serves requests."""

from __future__ import annotations

import re

_PROCESS = re.compile(r"(?m)^([\w-]+):[ \t]*(\S.*)$")
_PREFERRED = ("web", "app", "server", "api", "http")
#: Processes that end by themselves.
_ONCE = frozenset(("release", "postdeploy", "console", "migrate"))


def chosen_process(text: str) -> tuple[str, int] | None:
    """Return the command of the process that serves, else of the first that keeps running, and its line."""
    processes = {
        match[1]: (match[2].strip(), text.count("\n", 0, match.start()) + 1) for match in _PROCESS.finditer(text)
    }
    name = next((name for name in _PREFERRED if name in processes), None)
    name = name or next((name for name in processes if name not in _ONCE), None)
    return processes[name] if name else None
