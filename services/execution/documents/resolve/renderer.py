"""The process whose forks render messages: each message has one of its own, ready before it is needed, used once."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pydantic import JsonValue

_ROOT = Path(__file__).parents[4]
_PROGRAM = (
    f"import sys; sys.path.append({str(_ROOT)!r}); "
    "from services.execution.documents.resolve.rendering import start; start(int(sys.argv[1]))"
)
#: Seconds. The fork's own limit on the processor is far lower than what a busy machine may make it wait.
_STARTS_WITHIN, _ANSWERS_WITHIN = 60.0, 20.0
_MOST_BYTES = 4_000_000

Seen = Mapping[str, JsonValue]  #: a value as the fork gets it


class NotRendered(Exception):
    """Why a message could not be filled in, in plain words."""


@dataclass
class Fork:
    """One process for one template."""

    number: int
    orders: socket.socket  #: where its end is ordered
    line: socket.socket
    buffer: bytes = b""

    def end(self) -> None:
        self.line.close()
        with suppress(OSError):  # when nobody takes orders, it ends by itself
            self.orders.send(str(self.number).encode())

    def names(self, source: str) -> tuple[list[str], list[str]]:
        """The names that a template reads, and those of which it may want all rows. Raises: NotRendered."""
        answer = self._ask({"source": source}, _STARTS_WITHIN)
        return _texts(answer.get("names")), _texts(answer.get("whole"))

    def fill(self, values: Mapping[str, Seen]) -> tuple[str, list[str]]:
        """The text, and the figures in it. Raises: NotRendered."""
        answer = self._ask({"values": {name: dict(seen) for name, seen in values.items()}}, _ANSWERS_WITHIN)
        return str(answer["text"]), _texts(answer.get("figures"))

    def _ask(self, message: Mapping[str, object], seconds: float) -> Mapping[str, JsonValue]:
        body = json.dumps(message).encode("utf-8", "replace") + b"\n"
        if len(body) > 8 * _MOST_BYTES:
            raise NotRendered("its values are too large")
        try:
            self.line.settimeout(seconds)
            self.line.sendall(body)
            answer = self._hear(time.monotonic() + seconds)
        except TimeoutError:
            raise NotRendered("it takes too long") from None
        except OSError:
            raise NotRendered("it takes too much time or memory") from None
        if "error" in answer:
            raise NotRendered(str(answer["error"]))
        return answer

    def _hear(self, ends: float) -> Mapping[str, JsonValue]:
        while b"\n" not in self.buffer:
            self.line.settimeout(max(0.001, ends - time.monotonic()))
            part = self.line.recv(1 << 16)
            if not part:
                raise NotRendered("it takes too much time or memory")
            self.buffer += part
            if len(self.buffer) > _MOST_BYTES:
                raise NotRendered("it takes too long")
        line, _, self.buffer = self.buffer.partition(b"\n")
        answer: Mapping[str, JsonValue] = json.loads(line)
        return answer


class Renderer:
    """Starts when it is first needed, and again when it is gone; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None
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
        """A process of one's own; the next one is made ready when it has ended. Raises: NotRendered."""
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._stop()
            fork, self._spare = self._spare or self._ordered(), None
        try:
            yield fork
        finally:
            with self._lock:
                fork.end()
                self._prepare()

    def _prepare(self) -> None:
        if self._spare is None and self._process is not None:
            with suppress(NotRendered):
                self._spare = self._ordered()

    def _ordered(self) -> Fork:
        """A fork that is on its way: what it is told waits for it."""
        for _ in range(2):
            orders = self._orders or self._start()
            self._count += 1
            ours, theirs = socket.socketpair()
            with theirs:
                try:
                    socket.send_fds(orders, [str(self._count).encode()], [theirs.fileno()])
                    return Fork(self._count, orders, ours)
                except OSError:
                    ours.close()
                    self._stop()
        raise NotRendered("there is no process to render it in")

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            ours.settimeout(_STARTS_WITHIN)
            self._orders = ours
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
        """Its forks end when their lines do."""
        if self._spare is not None:
            self._spare.line.close()
            self._spare = None
        if self._orders is not None:
            self._orders.close()
            self._orders = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _texts(given: JsonValue) -> list[str]:
    return [str(one) for one in given] if isinstance(given, list) else []
