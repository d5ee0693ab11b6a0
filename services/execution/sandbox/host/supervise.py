"""One run from this side: feed it, listen to it, hold the clock, and believe only what it cannot forge."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event as Flag

from services.execution.sandbox.host.container import Container
from services.execution.sandbox.host.seal import Seal
from services.execution.sandbox.host.streams import Capture, LiveOutput
from services.execution.sandbox.protocol.wire import CHECKSUMS, HEAD_BYTES, FrameReader, Message, receive
from services.execution.sandbox.run import OnOutput, Until
from shared.contracts.execute import Limits

_INTERVAL = 0.02  #: seconds between two checks of the cancel flag
_INTERRUPTED_WITHIN = 5.0  #: what a session's kernel gets to give up its call
_INTERRUPT_EVERY = 0.5  #: one may come before the call has begun, or get lost in a library
_LAID_OUT_WITHIN = 60.0  #: for init to copy the files in
_GRACE = 0.15  #: what init gets beyond the deadline before the sandbox is killed from outside
_GATHER_WITHIN = 10.0  #: for handing out files, once the code is dead
_FLOOD = 64  #: times the output cap, then the program is ended
_MAX_REPLIED = 32 << 20  #: bytes of all frames of a run, or of a call
_MAX_SHOWN = 200
_LONGEST_NAME = 255
_SHOWING = ("display", "unshown", "clear")
_OF_A_DISPLAY = ("t", "media_type", "text", "file", "value", "id", "printed")


@dataclass
class Facts:
    """What was observed. ``shown`` and ``result`` are claims of the code's side; the rest is ours or init's."""

    stdout: Capture
    stderr: Capture
    shown: list[Message] = field(default_factory=list)
    result: Message = field(default_factory=dict)  #: empty until it is here
    checksum: int = 0  #: of the frame of the result; 0 until it is here
    mark: int = 0  #: that the request of this call has, and the end of no other
    surplus: Message = field(default_factory=dict)  #: a second result
    files: list[tuple[str, int, int]] = field(default_factory=list)  #: shown path, size, descriptor
    out: dict[str, tuple[int, int]] = field(default_factory=dict)  #: name -> size, descriptor
    refused: list[str] = field(default_factory=list)
    ended: Message | None = None
    settled: Message | None = None  #: a call has ended and its kernel rests: how, as init saw it, and what it took
    sealed: str | None = None  #: how a call ended, by a kernel that keeps a secret from its code
    once: bool = True  #: nothing of the code runs after this
    result_at: float | None = None  #: when it was known how it ended
    started_at: float = 0.0
    ended_at: float = 0.0
    cancelled: bool = False
    flooded: bool = False
    rejected: bool = False  #: something else than one whole result, and what it shows, came by the way of the results
    cut_short: bool = False  #: the last frame has no end
    replied: int = 0  #: bytes that came by that way
    overdue: bool = False
    alive: bool = False  #: a session's kernel that can be called again; files of its sandbox may still change

    @property
    def forged(self) -> bool:
        """Whether the result is another frame than the one that the kernel wrote, or the end is another request's."""
        written = None if self.settled is None else self.settled["checksum"]
        return written is not None and written != (self.checksum + self.mark) % CHECKSUMS

    @property
    def outcome(self) -> str | None:
        """``returned`` or ``raised``; ``None`` of code that did not come to its end."""
        if self.settled is None:
            return None
        seen = self.settled["outcome"]
        return self.sealed if seen is None else str(seen)

    @classmethod
    def empty(cls) -> Facts:
        return cls(Capture(0), Capture(0))

    def close(self) -> None:
        for _, _, descriptor in self.files:
            os.close(descriptor)
        for _, descriptor in self.out.values():
            os.close(descriptor)
        self.files.clear()
        self.out.clear()


class Supervision:
    """Drives one container through one run, in the calling thread."""

    def __init__(
        self,
        container: Container,
        limits: Limits,
        nonce: str,
        cancelled: Flag | None,
        on_output: OnOutput | None,
        until: Until = "end",
        once: bool = True,
        seal: Seal | None = None,
    ) -> None:
        """``seal``: of a kernel that keeps a secret; a new one where this is its only call."""
        self._once = once
        self._seal = None if container.spec.guest.rests else seal or Seal()
        self._until: Until = until if once else "result"
        self._awaited: str | None = None  #: the file that the answer names, until it is here
        self._container = container
        self._limits = limits
        self._nonce = nonce
        self._cancelled = cancelled
        self._live = None if on_output is None else LiveOutput(on_output)
        self._reader = FrameReader()
        self._asked = False
        self._pending: dict[int, memoryview] = {}
        self._request = memoryview(b"")
        self._poll = select.poll()
        self._streams: set[int] = set()
        self._stop_at: float | None = None
        self._interrupt_at = 0.0
        self._said_bye = False
        self.facts = Facts(
            Capture(limits.output_bytes), Capture(limits.output_bytes), mark=secrets.randbelow(CHECKSUMS), once=once
        )

    def drive(self, start: Message, descriptors: Sequence[int], request: Message, stdin: bytes) -> Facts:
        """Run from the start message to the last byte; for a session, to the reply of one call."""
        container, facts = self._container, self.facts
        container.tell(start, descriptors)
        self._pending = {container.stdin: memoryview(stdin)} if self._once else {}
        self._request = memoryview(self._framed(request))
        for descriptor in (container.stdout, container.stderr, container.replies, container.control.fileno()):
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)
            self._streams.add(descriptor)
        os.set_blocking(container.requests, False)
        if self._once:
            os.set_blocking(container.stdin, False)
        if self._once and not stdin:
            container.close_stdin()
        elif self._once:
            self._poll.register(container.stdin, select.POLLOUT)
        if not self._once:
            self._release()
        opened = time.monotonic()
        while not self._finished():
            now = time.monotonic()
            released = facts.started_at or opened + _LAID_OUT_WITHIN
            deadline = released + self._limits.wall_seconds + _GRACE
            self._check_clock(now, deadline)
            timeout = min(_INTERVAL, deadline - now) if now < deadline else _INTERVAL
            for descriptor, event in self._poll.poll(timeout * 1000):
                self._handle(descriptor, event)
        facts.ended_at = facts.ended_at or time.monotonic()
        if self._live is not None:
            self._live.end()
        return facts

    def _framed(self, request: Message) -> bytes:
        request = {**request, "nonce": self._nonce, "mark": self.facts.mark}
        if self._seal is None:
            return self._container.spec.codec.request(request)
        framed = self._container.spec.codec.request({**request, "seal": self._seal.next_call()})
        self._seal.bind(framed[HEAD_BYTES:])
        return framed

    def _finished(self) -> bool:
        """Return whether everything has arrived: of all sides in a single use, of init where a resting kernel is the
        end.
        """
        container, facts = self._container, self.facts
        if facts.settled is not None and self._until != "end" and self._awaited is None:
            # What was written before the kernel rested is in the pipes by now.
            for descriptor in (container.stdout, container.stderr, container.replies):
                while self._read(descriptor):
                    pass
            facts.cut_short = facts.cut_short or self._reader.waiting
            if not (facts.rejected or facts.flooded):
                facts.alive = container.control.fileno() in self._streams
                return True
        said_all = not self._streams & {container.stdout, container.stderr, container.replies}
        return not self._streams or (self._said_bye and said_all)

    def _ask_whether_settled(self) -> None:
        if not self._asked:
            self._asked = True
            self._container.tell({"t": "settle"})

    def _check_clock(self, now: float, deadline: float) -> None:
        facts = self.facts
        if self._live is not None:
            self._live.tick(now)
        if self._cancelled is not None and self._cancelled.is_set() and not facts.cancelled:
            facts.cancelled = True
            self._container.kill()
        if facts.ended is None and now > deadline and self._stop_at is None:
            facts.overdue = True
            self._stop_at = now
            if self._once:
                self._container.kill()
        if facts.overdue and not self._once and now >= self._interrupt_at:
            self._interrupt_at = now + _INTERRUPT_EVERY
            self._container.tell({"t": "interrupt"})
        timeout = _GATHER_WITHIN if self._once else _INTERRUPTED_WITHIN
        if self._stop_at is not None and now > self._stop_at + timeout:
            self._container.kill()

    def _handle(self, descriptor: int, event: int) -> None:
        container = self._container
        if descriptor in self._pending:
            self._write(descriptor, event)
        elif descriptor == container.control.fileno():
            self._read_control()
        else:
            self._read(descriptor)

    def _write(self, descriptor: int, event: int) -> None:
        left = self._pending[descriptor]
        try:
            left = left[os.write(descriptor, left[: 1 << 16]) :] if not event & select.POLLERR else memoryview(b"")
        except BlockingIOError:
            return
        except OSError:
            left = memoryview(b"")
        self._pending[descriptor] = left
        if not left:
            self._poll.unregister(descriptor)
            if descriptor == self._container.stdin:
                self._container.close_stdin()

    def _release(self) -> None:
        """Hand over the code: only now, when init has set the limits and laid out the files."""
        self.facts.started_at = time.monotonic()
        self._pending[self._container.requests] = self._request
        self._poll.register(self._container.requests, select.POLLOUT)

    def _read(self, descriptor: int) -> bool:
        """Return whether there was something to read."""
        if descriptor not in self._streams:
            return False
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self._poll.unregister(descriptor)
            self._streams.discard(descriptor)
            if descriptor == self._container.replies and self._reader.waiting:
                self.facts.cut_short = True
        elif descriptor == self._container.replies:
            self._read_replies(data)
        else:
            self._add_output(descriptor == self._container.stdout, data)
        return bool(data)

    def _add_output(self, plain: bool, data: bytes) -> None:
        facts = self.facts
        (facts.stdout if plain else facts.stderr).add(data)
        if facts.stdout.total + facts.stderr.total > _FLOOD * self._limits.output_bytes and not facts.flooded:
            facts.flooded = True
            self._end()
        if self._live is not None:
            self._live.add("stdout" if plain else "stderr", data)

    def _end(self) -> None:
        """End the program through init, which reports its usage."""
        self._stop_at = self._stop_at or time.monotonic()
        self._container.tell({"t": "stop"})

    def _read_replies(self, data: bytes) -> None:
        """Read replies; the code holds the descriptor too, so anything but its kernel's exact frames ends the run."""
        facts = self.facts
        facts.replied += len(data)
        if facts.flooded or facts.rejected:
            return
        facts.flooded = facts.replied > _MAX_REPLIED
        for message, added_up in self._reader.feed_claims(data):
            self._hear(message, added_up)
        if self._reader.broken:
            facts.rejected = True
        if self.facts.flooded or self.facts.rejected:
            self._end()

    def _hear(self, message: Message, added_up: int) -> None:
        """Take a claim: the values of the call, what it shows, and, under a seal, how it ended."""
        facts, kind = self.facts, message.get("t")
        if message.get("nonce") != self._nonce:
            # In a session, what the code shows between two calls belongs to none.
            facts.rejected = facts.rejected or self._once or kind not in _SHOWING
        elif kind == "result" and not facts.result:
            facts.result, facts.checksum = message, added_up
            self._ask_for_table(message)
            if self._seal is None:
                self._ask_whether_settled()
        elif kind == "end" and self._seal is not None and facts.sealed is None:
            facts.sealed = self._seal.outcome(message.get("outcome"), message.get("seal"), facts.checksum)
            facts.rejected = facts.rejected or facts.sealed is None
            self._ask_whether_settled()
        elif kind not in _SHOWING:
            facts.rejected, facts.surplus = True, message
        elif facts.result:
            return
        elif kind == "clear":
            facts.shown.clear()
        else:
            self._show({name: message.get(name) for name in _OF_A_DISPLAY}, update=message.get("update") is True)

    def _show(self, display: Message, *, update: bool) -> None:
        """Keep a display; an update takes the place of the display with its id."""
        shown = self.facts.shown
        earlier = [number for number, each in enumerate(shown) if update and each["id"] == display["id"]]
        if earlier:
            shown[earlier[-1]] = display
        elif len(shown) < _MAX_SHOWN:
            shown.append(display)

    def _ask_for_table(self, answer: Message) -> None:
        """Fetch the table of an answer at once."""
        if self._until != "table":
            return
        table = answer.get("table")
        if isinstance(table, str) and len(table) <= _LONGEST_NAME and answer.get("error") is None:
            self._awaited = table
            self._container.tell({"t": "take", "path": table})

    def _read_control(self) -> None:
        facts = self.facts
        try:
            message, descriptors, _ = receive(self._container.control)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            message, descriptors = None, []
        kind = None if message is None else message["t"]
        if message is None or kind == "bye":
            self._said_bye = True
            self._poll.unregister(self._container.control.fileno())
            self._streams.discard(self._container.control.fileno())
        elif kind == "started":
            self._release()
        elif kind == "settled":
            facts.settled = message
            facts.result_at = facts.ended_at = time.monotonic()
        elif kind == "ended":
            facts.ended = message
            facts.ended_at = time.monotonic()
            self._stop_at = self._stop_at or facts.ended_at
        elif kind == "refused":
            facts.refused += [str(name) for name in message["names"]]  # type: ignore[union-attr]
        else:
            self._keep_file(message, descriptors)
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _keep_file(self, message: Message, descriptors: list[int]) -> None:
        """Keep an open file that init hands over."""
        facts, kind, path = self.facts, message["t"], str(message.get("path"))
        if kind == "file" and descriptors:
            facts.files.append((path, int(str(message["size"])), descriptors.pop()))
        elif kind == "out" and descriptors and path not in facts.out:
            facts.out[path] = (int(str(message["size"])), descriptors.pop())
        if kind in ("out", "missing") and path == self._awaited:
            self._awaited = None
