"""One run from this side: feed it, listen to it, hold the clock, and believe only what it cannot forge."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event as Flag

from services.execution.sandbox.host.container import Slot
from services.execution.sandbox.host.live import LiveOutput
from services.execution.sandbox.host.streams import Capture
from services.execution.sandbox.protocol.wire import FrameReader, Message, receive
from services.execution.sandbox.run import OnOutput, Until
from shared.contracts.execute import Limits

_GLANCE = 0.02  #: seconds between two looks at the cancel flag
_INTERRUPTED_WITHIN = 5.0  #: what a session's kernel gets to give up its call
_INTERRUPT_EVERY = 0.5  #: one may come before the call has begun, or get lost in a library
_LAID_OUT_WITHIN = 60.0  #: for the warden to copy the files in
_GRACE = 0.15  #: what the warden gets beyond the deadline before the room is killed from outside
_GATHER_WITHIN = 10.0  #: for handing out files, once the code is dead
_FLOOD = 64  #: times the output cap, then the program is ended
_MOST_FRAMES = 200
_LONGEST_NAME = 255


@dataclass
class Facts:
    """What was observed. ``frames`` are claims of the code's side; everything else is ours or the warden's."""

    stdout: Capture
    stderr: Capture
    frames: list[Message] = field(default_factory=list)
    files: list[tuple[str, int, int]] = field(default_factory=list)  #: shown path, size, descriptor
    out: dict[str, tuple[int, int]] = field(default_factory=dict)  #: name -> size, descriptor
    refused: list[str] = field(default_factory=list)
    ended: Message | None = None
    used: Message | None = None  #: what one call of a session took, as the warden counted it
    result_at: float | None = None
    started_at: float = 0.0
    ended_at: float = 0.0
    cancelled: bool = False
    flooded: bool = False
    overdue: bool = False
    alive: bool = False  #: a session's kernel that can be asked again; files of its room may still change
    answered: bool = False  #: all that was wanted has been said, so that no exit status is waited for

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
    """Drives one slot through one run, in the calling thread."""

    def __init__(
        self,
        slot: Slot,
        limits: Limits,
        nonce: str,
        cancelled: Flag | None,
        on_output: OnOutput | None,
        until: Until = "end",
        once: bool = True,
    ) -> None:
        self._once = once
        self._until: Until = until if once else "result"
        self._awaited: str | None = None  #: the file that the answer names, until it is here
        self._slot = slot
        self._limits = limits
        self._nonce = nonce
        self._cancelled = cancelled
        self._live = None if on_output is None else LiveOutput(on_output)
        self._reader = FrameReader()
        self._pending: dict[int, memoryview] = {}
        self._request = memoryview(b"")
        self._poll = select.poll()
        self._streams: set[int] = set()
        self._stop_at: float | None = None
        self._interrupt_at = 0.0
        self._said_bye = False
        self.facts = Facts(Capture(limits.output_bytes), Capture(limits.output_bytes))

    def drive(self, start: Message, descriptors: Sequence[int], request: Message, stdin: bytes) -> Facts:
        """From the start message to the last byte; of a session, to the reply of one call."""
        slot, facts = self._slot, self.facts
        slot.tell(start, descriptors)
        self._pending = {slot.stdin: memoryview(stdin)} if self._once else {}
        self._request = memoryview(slot.spec.codec.request({**request, "nonce": self._nonce}))
        for descriptor in (slot.stdout, slot.stderr, slot.replies, slot.control.fileno()):
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)
            self._streams.add(descriptor)
        os.set_blocking(slot.requests, False)
        if self._once:
            os.set_blocking(slot.stdin, False)
        if self._once and not stdin:
            slot.close_stdin()
        elif self._once:
            self._poll.register(slot.stdin, select.POLLOUT)
        if not self._once:
            self._release()
        opened = time.monotonic()
        while not self._finished():
            now = time.monotonic()
            released = facts.started_at or opened + _LAID_OUT_WITHIN
            deadline = released + self._limits.wall_seconds + _GRACE
            self._check_clock(now, deadline)
            patience = min(_GLANCE, deadline - now) if now < deadline else _GLANCE
            for descriptor, event in self._poll.poll(patience * 1000):
                self._handle(descriptor, event)
        facts.ended_at = facts.ended_at or time.monotonic()
        if self._live is not None:
            self._live.end()
        return facts

    def _finished(self) -> bool:
        """All is said: by everyone in a single use, by the kernel where its result is the end."""
        slot = self._slot
        if self._until != "end" and self.facts.result_at is not None and self._awaited is None:
            # What it printed before its reply is in the pipes by now.
            for descriptor in (slot.stdout, slot.stderr):
                while self._read(descriptor):
                    pass
            self.facts.alive = self.facts.answered = slot.control.fileno() in self._streams
            self.facts.ended_at = time.monotonic()
            return True
        said_all = not self._streams & {slot.stdout, slot.stderr, slot.replies}
        return not self._streams or (self._said_bye and said_all)

    def _check_clock(self, now: float, deadline: float) -> None:
        facts = self.facts
        if self._live is not None:
            self._live.tick(now)
        if self._cancelled is not None and self._cancelled.is_set() and not facts.cancelled:
            facts.cancelled = True
            self._slot.kill()
        if facts.ended is None and now > deadline and self._stop_at is None:
            facts.overdue = True
            self._stop_at = now
            if self._once:
                self._slot.kill()
        if facts.overdue and not self._once and now >= self._interrupt_at:
            self._interrupt_at = now + _INTERRUPT_EVERY
            self._slot.tell({"t": "interrupt"})
        patience = _GATHER_WITHIN if self._once else _INTERRUPTED_WITHIN
        if self._stop_at is not None and now > self._stop_at + patience:
            self._slot.kill()

    def _handle(self, descriptor: int, event: int) -> None:
        slot = self._slot
        if descriptor in self._pending:
            self._write(descriptor, event)
        elif descriptor == slot.control.fileno():
            self._hear_warden()
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
            if descriptor == self._slot.stdin:
                self._slot.close_stdin()

    def _release(self) -> None:
        """Hand over the code: only now, when the warden has set the limits and laid out the files."""
        self.facts.started_at = time.monotonic()
        self._pending[self._slot.requests] = self._request
        self._poll.register(self._slot.requests, select.POLLOUT)

    def _read(self, descriptor: int) -> bool:
        """Whether there was something to read."""
        if descriptor not in self._streams:
            return False
        try:
            data = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self._poll.unregister(descriptor)
            self._streams.discard(descriptor)
        elif descriptor == self._slot.replies:
            self._hear_kernel(data)
        else:
            self._hear_output(descriptor == self._slot.stdout, data)
        return bool(data)

    def _hear_output(self, plain: bool, data: bytes) -> None:
        facts = self.facts
        (facts.stdout if plain else facts.stderr).add(data)
        if facts.stdout.total + facts.stderr.total > _FLOOD * self._limits.output_bytes and not facts.flooded:
            facts.flooded = True
            self._stop_at = time.monotonic()
            self._slot.tell({"t": "stop"})
        if self._live is not None:
            self._live.add("stdout" if plain else "stderr", data)

    def _hear_kernel(self, data: bytes) -> None:
        for message in self._reader.feed(data):
            if message.get("nonce") == self._nonce and len(self.facts.frames) < _MOST_FRAMES:
                self.facts.frames.append(message)
                if message.get("t") == "result":
                    self.facts.result_at = time.monotonic()
                    self._ask_for_table(message)
        if self._reader.broken and not self._once:
            self._slot.kill()  # the code has spoken over its kernel: no reply will ever be understood

    def _ask_for_table(self, answer: Message) -> None:
        """The table of an answer is fetched at once; any other answer waits for what the end tells about it."""
        if self._until != "table":
            return
        table = answer.get("table")
        if isinstance(table, str) and len(table) <= _LONGEST_NAME and answer.get("error") is None:
            self._awaited = table
            self._slot.tell({"t": "take", "path": table})
        else:
            self._until = "end"

    def _hear_warden(self) -> None:
        facts = self.facts
        try:
            message, descriptors, _ = receive(self._slot.control)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            message, descriptors = None, []
        kind = None if message is None else message["t"]
        if message is None or kind == "bye":
            self._said_bye = True
            self._poll.unregister(self._slot.control.fileno())
            self._streams.discard(self._slot.control.fileno())
        elif kind == "started":
            self._release()
        elif kind == "ended":
            facts.ended = message
            facts.ended_at = time.monotonic()
            self._stop_at = self._stop_at or facts.ended_at
        elif kind == "refused":
            facts.refused += [str(name) for name in message["names"]]  # type: ignore[union-attr]
        else:
            self._hear_of_file(message, descriptors)
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _hear_of_file(self, message: Message, descriptors: list[int]) -> None:
        """Keep an open file that the warden hands over."""
        facts, kind, path = self.facts, message["t"], str(message.get("path"))
        if kind == "file" and descriptors:
            facts.files.append((path, int(str(message["size"])), descriptors.pop()))
        elif kind == "out" and descriptors and path not in facts.out:
            facts.out[path] = (int(str(message["size"])), descriptors.pop())
        if kind in ("out", "missing") and path == self._awaited:
            self._awaited = None
