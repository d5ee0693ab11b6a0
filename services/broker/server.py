"""The broker's side of ``shared.llm.broker_client``: a thread for each connection, one question after the other."""

from __future__ import annotations

import select
import socket
import socketserver
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import BoundedSemaphore, Condition, Event, Lock

import structlog

from services.broker.runs import AskingRun, AskingRuns
from shared.errors import AssayError, InternalError, JobCancelled
from shared.llm.broker_client import (
    BUDGET_SPENT,
    MAX_TOKEN,
    Connection,
    Fault,
    Line,
    read_question,
    written_line,
)
from shared.llm.chat import ChatRequest, ProviderAttempt
from shared.llm.faults import BrokerRefused
from shared.loop import BudgetSpent

log = structlog.get_logger(__name__)

_CONNECTIONS = 512
_IDLE_SECONDS = 120.0  #: between two questions; clients use a connection again for a shorter time
_QUESTION_SECONDS = 20.0  #: until a whole question has arrived
_DRAIN_SECONDS = 1.0


class BrokerServer(socketserver.ThreadingTCPServer):
    """Replicas on one machine share the port."""

    allow_reuse_address = True
    allow_reuse_port = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], runs: AskingRuns) -> None:
        super().__init__(address, _Peer)
        self.runs = runs
        self.stopping = Event()
        self.places = BoundedSemaphore(_CONNECTIONS)
        self._answering = 0
        self._changed = Condition()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Hold off a stop while a question is answered."""
        with self._changed:
            self._answering += 1
        try:
            yield
        finally:
            with self._changed:
                self._answering -= 1
                self._changed.notify_all()

    def stop(self, seconds: float) -> None:
        """Take no more questions, and give those in progress ``seconds`` to end."""
        self.stopping.set()
        self.shutdown()
        with self._changed:
            self._changed.wait_for(lambda: self._answering == 0, seconds)
        self.server_close()


class _Peer(socketserver.BaseRequestHandler):
    """One connection of one worker."""

    server: BrokerServer
    request: socket.socket

    def handle(self) -> None:
        self._sending = Lock()
        self._poll = select.poll()
        self._poll.register(self.request, select.POLLIN)
        connection = Connection(self.request)
        if not self.server.places.acquire(blocking=False):
            return
        try:
            with suppress(OSError, JobCancelled, UnicodeDecodeError):
                while True:
                    token = connection.line(self._is_idle(), MAX_TOKEN).decode("ascii")
                    with self.server.answering():
                        self._answer(connection, token)
        finally:
            self.server.places.release()

    def _answer(self, connection: Connection, token: str) -> None:
        """Answer a question. Raises: OSError when the worker is gone; JobCancelled."""
        try:
            run = self.server.runs.of(token)
        except Exception as fault:
            self._send(connection, Line(fault=_fault_of(fault)))
            self._drain()
            raise ConnectionError("no token") from None
        text = connection.line(_after(_QUESTION_SECONDS))
        try:
            line = self._last_line(connection, run, text)
        except JobCancelled:
            raise
        except Exception as fault:
            line = Line(fault=_fault_of(fault))
        self._send(connection, line)

    def _last_line(self, connection: Connection, run: AskingRun, text: bytes) -> Line:
        """Return the last line of the answer. Raises: what models raise; BrokerRefused."""
        try:
            question = read_question(text)
        except ValueError:
            raise BrokerRefused("The question cannot be read: is the worker of another version?") from None
        request = question.request
        if request.role not in run.roles:
            raise BrokerRefused(f"Jobs of this kind may not call the models of {request.role}.")
        if question.seconds is not None:
            request = replace(request, deadline=time.monotonic() + question.seconds)

        def tell(attempt: ProviderAttempt) -> None:
            with suppress(OSError):  # ``cancelled`` notices it too
                self._send(connection, Line(attempt=_without_texts(attempt)))

        models = self.server.runs.models(run, tell, self._is_gone)
        if question.wanted == "links":
            return Line(links=tuple(models.links(replace(request, selector=request.selector or run.selector))))
        return Line(reply=models.complete(request))

    def _send(self, connection: Connection, line: Line) -> None:
        with self._sending:
            connection.send(written_line(line))

    def _is_gone(self) -> bool:
        """Return whether the worker has closed the connection, because it no longer needs the answer."""
        try:
            return bool(self._poll.poll(0)) and not self.request.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _is_idle(self) -> Callable[[], bool]:
        over = _after(_IDLE_SECONDS)
        return lambda: over() or self.server.stopping.is_set()

    def _drain(self) -> None:
        """Let the worker read the fault before the rest of its question breaks the connection."""
        self.request.shutdown(socket.SHUT_WR)
        over = _after(_DRAIN_SECONDS)
        self.request.settimeout(_DRAIN_SECONDS)
        while not over() and self.request.recv(65536):
            pass


def _after(seconds: float) -> Callable[[], bool]:
    deadline = time.monotonic() + seconds
    return lambda: time.monotonic() >= deadline


def _without_texts(attempt: ProviderAttempt) -> ProviderAttempt:
    """Return the attempt without its texts: the worker has the question, and gets the answer on a separate line."""
    reply = None if attempt.reply is None else replace(attempt.reply, text="", tool_calls=())
    return replace(attempt, request=ChatRequest(attempt.request.role, ()), reply=reply)


def _fault_of(fault: Exception) -> Fault:
    match fault:
        case BudgetSpent():
            return Fault(BUDGET_SPENT, fault.what, {"attempts": fault.attempts} if fault.failed else {})
        case AssayError():
            return Fault(fault.code, fault.detail, dict(fault.extra))
        case _:
            log.exception("question_failed")
            return Fault(InternalError.code, "The broker failed to call a model. The log has the details.")
