"""Ports for servers that get theirs and start later."""

from __future__ import annotations

import random
import socket

#: Below the ports that Linux gives to sockets without a port: none of those takes it before the server does.
_FIRST, _LAST = 20_000, 32_000


def free_port() -> int:
    """Return a port that is free now."""
    chosen = random.SystemRandom()
    while True:
        port = chosen.randint(_FIRST, _LAST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
