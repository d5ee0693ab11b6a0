"""The process whose forks render messages: each message has one of its own, ready before it is needed, used once."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import JsonValue

_ROOT = Path(__file__).parents[4]
_PROGRAM = (
    f"import sys; sys.path.insert(0, {str(_ROOT)!r}); "
    "from services.execution.documents.resolve.rendering import start; start(int(sys.argv[1]))"
)
#: Seconds. The fork's own limit on the processor is far lower than what a busy machine may make it wait.
_STARTS_WITHIN, _ANSWERS_WITHIN = 60.0, 20.0
_MAX_BYTES = 4_000_000

Seen = Mapping[str, JsonValue]  #: a value as the fork gets it


class NotRendered(Exception):
    """Says why a message could not be filled in."""


Span = tuple[int, int, str]  #: [from, to) of a text, in characters, and the names whose values are there


@dataclass(frozen=True)
class Filled:
    """A message with its values."""

    text: str
    figures: Sequence[str]
    spans: Sequence[Span]


@dataclass
class Fork:
    """One process for one template."""

    number: int
    requests: socket.socket  #: where its end is requested
    connection: socket.socket
    buffer: bytes = b""

    def end(self) -> None:
        self.connection.close()
        with suppress(OSError):  # without the other process it ends by itself
            self.requests.send(str(self.number).encode())

    def names(self, source: str) -> tuple[list[str], list[str]]:
        """Return the names that a template reads, and those of which it may want all rows. Raises: NotRendered."""
        answer = self._ask({"source": source}, _STARTS_WITHIN)
        return _strings(answer.get("names")), _strings(answer.get("whole"))

    def fill(self, values: Mapping[str, Seen]) -> Filled:
        """Render the template with these values. Raises: NotRendered."""
        answer: Any = self._ask({"values": {name: dict(seen) for name, seen in values.items()}}, _ANSWERS_WITHIN)
        spans = [(int(start), int(end), str(names)) for start, end, names in answer.get("spans", [])]
        return Filled(str(answer["text"]), _strings(answer.get("figures")), spans)

    def _ask(self, message: Mapping[str, object], seconds: float) -> Mapping[str, JsonValue]:
        body = json.dumps(message).encode("utf-8", "replace") + b"\n"
        if len(body) > 8 * _MAX_BYTES:
            raise NotRendered("its values are too large")
        try:
            self.connection.settimeout(seconds)
            self.connection.sendall(body)
            answer = self._receive(time.monotonic() + seconds)
        except TimeoutError:
            raise NotRendered("it takes too long") from None
        except OSError:
            raise NotRendered("it takes too much time or memory") from None
        if "error" in answer:
            raise NotRendered(str(answer["error"]))
        return answer

    def _receive(self, ends: float) -> Mapping[str, JsonValue]:
        while b"\n" not in self.buffer:
            self.connection.settimeout(max(0.001, ends - time.monotonic()))
            part = self.connection.recv(1 << 16)
            if not part:
                raise NotRendered("it takes too much time or memory")
            self.buffer += part
            if len(self.buffer) > _MAX_BYTES:
                raise NotRendered("it takes too long")
        line, _, self.buffer = self.buffer.partition(b"\n")
        answer: Mapping[str, JsonValue] = json.loads(line)
        return answer


class Renderer:
    """Starts when it is first needed, and again when it is gone; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._spare: Fork | None = None
        self._count = 0

    def __enter__(self) -> Renderer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._stop()

    def warm(self) -> None:
        """Begin to start, without waiting for it."""
        with self._lock:
            if self._process is None:
                self._start()

    @contextmanager
    def fork(self) -> Iterator[Fork]:
        """Yield a process for one message; the next is started when this one ends. Raises: NotRendered."""
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._stop()
            fork, self._spare = self._spare or self._request_fork(), None
        try:
            yield fork
        finally:
            with self._lock:
                fork.end()
                self._prepare()

    def _prepare(self) -> None:
        if self._spare is None and self._process is not None:
            with suppress(NotRendered):
                self._spare = self._request_fork()

    def _request_fork(self) -> Fork:
        """Return a fork that is starting; messages to it wait in its socket."""
        for _ in range(2):
            requests = self._requests or self._start()
            self._count += 1
            ours, theirs = socket.socketpair()
            with theirs:
                try:
                    socket.send_fds(requests, [str(self._count).encode()], [theirs.fileno()])
                    return Fork(self._count, requests, ours)
                except OSError:
                    ours.close()
                    self._stop()
        raise NotRendered("there is no process to render it in")

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            ours.settimeout(_STARTS_WITHIN)
            self._requests = ours
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _PROGRAM, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"LANG": "C.UTF-8", "PYTHONUTF8": "1"},
                pass_fds=[theirs.fileno()],
            )
        return ours

    def _stop(self) -> None:
        """Stop the process; its forks end when their sockets close."""
        if self._spare is not None:
            self._spare.connection.close()
            self._spare = None
        if self._requests is not None:
            self._requests.close()
            self._requests = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _strings(given: JsonValue) -> list[str]:
    return [str(one) for one in given] if isinstance(given, list) else []
