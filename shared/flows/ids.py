"""Ids of nodes, edges and groups: from a label where one can be told, random elsewhere."""

from __future__ import annotations

import re
import secrets
import time

MAX_ID = 256

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")
_NOT_WORD = re.compile(r"[\W_]+")


def sanitize_id(label: str) -> str:
    """``My Node`` becomes ``my_node``; a label without plain letters keeps its own script; no letters at all: empty."""
    plain = _NOT_PLAIN.sub("_", label.lower()).strip("_")
    return (plain or _NOT_WORD.sub("_", label.lower()).strip("_"))[:MAX_ID]


def random_id() -> str:
    """Milliseconds and nine random characters, so that ids made later sort later."""
    return f"{int(time.time() * 1000)}_{''.join(secrets.choice(_BASE36) for _ in range(9))}"
