"""The side of ``tests.support.forks`` that requests a process. ``commands`` also writes it into scripts that only have
the standard library, so it imports nothing else.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence


class Fork:
    """A process that runs with our streams; what ``subprocess.Popen`` offers, as far as we need it."""

    def __init__(
        self,
        address: str,
        module: str | None,
        words: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        streams: Sequence[int] = (0, 1, 2),
    ) -> None:
        """Without a module the process runs the Python program that its input holds."""
        request = {"module": module, "words": list(words), "env": dict(env), "cwd": cwd}
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
        socket.send_fds(connection, [b"."], streams)
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        self._replies = connection.makefile()
        connection.close()
        self.pid = int(self._replies.readline())

    def wait(self) -> int:
        """Return the exit status, negative for a signal."""
        with self._replies:
            return int(self._replies.readline())


def main(address: str, module: str | None) -> None:
    """Be that process, as far as the parent process can see."""
    fork = Fork(address, module, sys.argv[1:], os.environ, os.getcwd())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(fork.pid, number))
    status = fork.wait()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)
