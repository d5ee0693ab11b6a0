"""Ports for servers that are told theirs and start later."""

from __future__ import annotations

import random
import socket

#: Below the ports that Linux gives to whoever asks for any: none of those takes it before the server does.
_FIRST, _LAST = 20_000, 32_000


def free_port() -> int:
    """One that nobody uses now."""
    chosen = random.SystemRandom()
    while True:
        port = chosen.randint(_FIRST, _LAST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
