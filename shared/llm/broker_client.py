"""Model calls through the broker: a process without provider keys calls the broker with its job's token.

One connection carries requests in sequence: the token on one line, then a ``Question`` on the next.
The broker answers with a line per attempt while the call runs, then the reply, the links or the fault. It stops the
call when the connection closes.
"""

from __future__ import annotations

import hashlib
import json
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, TypeAdapter
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.errors import (
    AssayError,
    ContextTooLong,
    InternalError,
    JobCancelled,
    NoProviderConfigured,
    ProvidersFailed,
    QuotaExceeded,
)
from shared.llm.call_clock import MAX_BYTES, POLL_SECONDS
from shared.llm.chat import ChainLink, ChatReply, ChatRequest, OnAttempt, ProviderAttempt
from shared.llm.faults import BrokerRefused, BrokerUnavailable, ModelNotAllowed, NoSuchModel
from shared.llm.recorder import RecordingMissing
from shared.loop import BudgetSpent

MAX_TOKEN = 256  #: bytes
_TRIES = 3  #: attempts to reach a broker that closed the connection
_CONNECT_SECONDS = 15.0  #: for which a broker that is being started is waited for
_PAUSE = 0.1
_SEND_SECONDS = 30.0  #: for which the other side may leave what is sent unread
BUDGET_SPENT = "budget_spent"  #: a fault whose detail is what was spent
_IDLE_SECONDS = 30.0  #: after which a connection is not used again; the broker keeps it for longer


class BrokerSettings(BaseSettings):
    """Settings of the broker, which calls models for processes that hold no keys."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_BROKER_", frozen=True)

    url: str | None = Field(
        None, description="Address of the broker, `tcp://host:port`; a worker without it calls models itself"
    )
    listen: str = Field("127.0.0.1:8700", description="Address and port on which the broker listens")


@dataclass(frozen=True)
class Question:
    """A request to call the models, or to list those that would be called."""

    request: ChatRequest  #: without its deadline, which holds on one machine only
    wanted: Literal["reply", "links"] = "reply"
    seconds: float | None = None  #: until the deadline


@dataclass(frozen=True)
class Fault:
    """An error of ``shared.errors``, or a budget that is spent."""

    code: str
    detail: str
    extra: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """One line of an answer: exactly one of its fields."""

    attempt: ProviderAttempt | None = None  #: without the question and the text of the answer
    reply: ChatReply | None = None
    links: tuple[ChainLink, ...] | None = None
    fault: Fault | None = None


_QUESTION: TypeAdapter[Question] = TypeAdapter(Question)
_LINE: TypeAdapter[Line] = TypeAdapter(Line)
_RAISED: dict[str, type[AssayError]] = {
    error.code: error
    for error in (
        BrokerRefused,
        ContextTooLong,
        JobCancelled,
        ModelNotAllowed,
        NoProviderConfigured,
        NoSuchModel,
        ProvidersFailed,
        QuotaExceeded,
        RecordingMissing,
    )
}


def written(value: object) -> bytes:
    """Plain ASCII: what a model writes may hold halves of characters, which UTF-8 cannot."""
    return json.dumps(value, separators=(",", ":")).encode()


def written_line(line: Line) -> bytes:
    return written(_LINE.dump_python(line, mode="json", exclude_defaults=True))


def read_line(text: bytes) -> Line:
    return _LINE.validate_python(json.loads(text))


def read_question(text: bytes) -> Question:
    """Parse a question. Raises: ValueError."""
    return _QUESTION.validate_python(json.loads(text))


class Connection:
    """Line-based socket connection whose waits end when ``cancelled`` returns true."""

    def __init__(self, stream: socket.socket) -> None:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = stream
        self._received = bytearray()
        self.used_at = time.monotonic()

    def send(self, *lines: bytes) -> None:
        self._stream.settimeout(_SEND_SECONDS)
        self._stream.sendall(b"".join(line + b"\n" for line in lines))

    def line(self, cancelled: Callable[[], bool], most: int = MAX_BYTES) -> bytes:
        """Read one line. Raises: JobCancelled; OSError when the connection ends or the line is too long."""
        self._stream.settimeout(POLL_SECONDS)
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched > most:
                raise ConnectionError("a line is too long")
            try:
                received = self._stream.recv(65536)
            except TimeoutError:
                if cancelled():
                    raise JobCancelled("The job was cancelled during a model call.") from None
                continue
            if not received:
                raise ConnectionError("the connection has ended")
            self._received += received
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        self.used_at = time.monotonic()
        return line

    def close(self) -> None:
        self._stream.close()


class BrokerClient:
    """Connections to the broker; safe to use from many threads."""

    def __init__(self, url: str) -> None:
        """Raise ValueError for an invalid address."""
        self._address = address_of(url)
        self._idle: list[Connection] = []
        self._lock = Lock()

    def ask(
        self, token: str, question: Question, on_attempt: OnAttempt, cancelled: Callable[[], bool] = lambda: False
    ) -> Line:
        """Return the last line of the answer. Raises: JobCancelled, BrokerUnavailable."""
        asked = written(_QUESTION.dump_python(question, mode="json", exclude_defaults=True))
        for _ in range(_TRIES):
            connection = self._connection(cancelled)
            try:
                connection.send(token.encode(), asked)
                while (line := read_line(connection.line(cancelled))).attempt is not None:
                    on_attempt(line.attempt)
            except OSError:  # the broker restarted
                connection.close()
                self.close()
            except BaseException:
                connection.close()
                raise
            else:
                with self._lock:
                    self._idle.append(connection)
                return line
        raise BrokerUnavailable("The broker closed the connection during a model call.")

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _connection(self, cancelled: Callable[[], bool]) -> Connection:
        while (idle := self._take()) is not None:
            if time.monotonic() - idle.used_at < _IDLE_SECONDS:
                return idle
            idle.close()
        deadline = time.monotonic() + _CONNECT_SECONDS
        while not cancelled():
            try:
                return Connection(socket.create_connection(self._address, timeout=3))
            except OSError:
                if time.monotonic() >= deadline:
                    raise BrokerUnavailable("The broker of models cannot be reached: is it running?") from None
            time.sleep(_PAUSE)
        raise JobCancelled("The job was cancelled while it waited for the broker.")

    def _take(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None


@dataclass(frozen=True)
class BrokeredModels:
    """The models of one job, called through the broker."""

    client: BrokerClient
    token: str = field(repr=False)
    on_attempt: OnAttempt
    cancelled: Callable[[], bool] = lambda: False
    name: str = "broker"

    def complete(self, request: ChatRequest) -> ChatReply:
        """Call the models. Raises: the broker's fault, BrokerUnavailable, BrokerRefused, JobCancelled."""

        def report(attempt: ProviderAttempt) -> None:
            self.on_attempt(replace(attempt, request=request))

        line = self.client.ask(self.token, _question(request), report, self.cancelled)
        if line.reply is None:
            raise _error(line.fault)
        return line.reply

    def links(self, request: ChatRequest) -> Sequence[ChainLink]:
        """Return the models that would be called, in order. Raises: NoSuchModel."""
        question = replace(_question(request), wanted="links")
        line = self.client.ask(self.token, question, lambda _: None, self.cancelled)
        if line.links is None:
            raise _error(line.fault)
        return line.links


def digest_of(secret: str) -> str:
    """Return the digest of a token's secret, which is what the database stores."""
    return hashlib.sha256(secret.encode()).hexdigest()


def address_of(url: str) -> tuple[str, int]:
    """Parse the broker's address. Raises: ValueError."""
    address = urlsplit(url if "://" in url else f"tcp://{url}")
    if address.scheme != "tcp" or address.hostname is None or address.port is None:
        raise ValueError("the address of the broker is not tcp://host:port")
    return address.hostname, address.port


def _question(request: ChatRequest) -> Question:
    left = None if request.deadline is None else request.deadline - time.monotonic()
    return Question(replace(request, deadline=None, compact=None), seconds=left)


def _error(fault: Fault | None) -> Exception:
    if fault is None:
        return InternalError("The broker sent an invalid answer.")
    if fault.code == BUDGET_SPENT:
        attempts = fault.extra.get("attempts")
        failed = None if attempts is None else ProvidersFailed("No model provider answered.", attempts=attempts)
        return BudgetSpent(fault.detail, failed=failed)
    return _RAISED.get(fault.code, InternalError)(fault.detail, **fault.extra)
