"""Requests to a kernel that lives on between calls, and its replies, over the sockets of its sandbox."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event as Flag
from threading import RLock, Timer
from typing import Literal, TypeAlias, cast

from services.execution.sandbox.host.container import Container
from services.execution.sandbox.host.request import ARTIFACT_BYTES, ARTIFACTS, PreparedRun
from services.execution.sandbox.host.scratch import TemporaryFolder
from services.execution.sandbox.host.seal import Seal
from services.execution.sandbox.host.supervise import Facts, Supervision
from services.execution.sandbox.host.verdict import judge
from services.execution.sandbox.protocol.wire import Json, Message, receive
from services.execution.sandbox.run import KernelError, OnOutput
from shared.contracts.execute import CodeError, Limits
from shared.errors import JobCancelled

_ANSWERS_WITHIN = 30.0  #: for init to hand over one file
_SLACK = 6.0  #: seconds by which init's own limits exceed ours, so that an interrupt comes first
_TABLE_BYTES = 320 << 20

Descriptors: TypeAlias = list[int]


class KernelLink:
    """A kernel in its own container; ended after ``idle_seconds`` without a request."""

    def __init__(self, container: Container, limits: Limits, folder: TemporaryFolder, idle_seconds: float) -> None:
        self.container = container
        self.limits = limits  #: of each call
        self.calling = RLock()
        self._folder = folder
        self._count = 0
        self._idle_seconds = idle_seconds
        self._idle: Timer | None = None
        self._ended = False  #: it may take a moment until it is gone
        self._seal = Seal()
        self._running = False  #: whether a call waits for its reply

    @property
    def alive(self) -> bool:
        return self.container.alive and not self._ended

    def start(self, prepared: PreparedRun) -> None:
        """Start the kernel. Raises: KernelError."""
        self.container.limit(self.limits, prepared.given_mb)
        self.container.tell(
            {**prepared.start, "collect": None, "wall_seconds": None, "until": None, "grouped": self.container.grouped},
            prepared.descriptors,
        )
        self.wait_for("started")
        self.container.close_stdin()
        self._wait_idle()

    def put(self, files: Mapping[str, Path], root: Literal["given", "work"]) -> None:
        """Put files into the folder of given files, or of the code, by their names there. Raises: KernelError."""
        if not files:
            return
        with contextlib.ExitStack() as held:
            descriptors = [held.enter_context(source.open("rb")).fileno() for source in files.values()]
            listed: list[Json] = [{"root": root, "path": path} for path in files]
            try:
                self.container.tell({"t": "put", "files": listed}, descriptors)
            except OSError:
                raise gone() from None
            self.wait_for("put")

    def interrupt(self) -> None:
        """End the call that runs; nothing happens while none does."""
        if self._running:
            self.container.tell({"t": "interrupt"})

    def close(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self.container.close()

    def call(self, request: Message, on_output: OnOutput | None = None, cancelled: Flag | None = None) -> Facts:
        """Send one request and return its reply. Raises: KernelError when the kernel is gone, JobCancelled."""
        if self._idle is not None:
            self._idle.cancel()
        if not self.alive:
            raise gone()
        limits = self.limits
        extension: Message = {
            "t": "extend",
            "wall_seconds": limits.wall_seconds + _SLACK,
            "cpu_seconds": limits.cpu_seconds + _SLACK,
            "memory_mb": limits.memory_mb,
            "processes": limits.processes,
        }
        nonce = secrets.token_hex(8)
        supervision = Supervision(self.container, limits, nonce, cancelled, on_output, once=False, seal=self._seal)
        if self.container.group is not None:
            self.container.group.count_anew()
        self._running = True
        try:
            facts = supervision.drive(extension, (), {**request, "until": None}, b"")
        finally:
            self._running = False
        self._ended = self._ended or not facts.alive
        self._wait_idle()
        if facts.cancelled:
            facts.close()
            raise JobCancelled("The job was cancelled while its code ran.")
        return facts

    def ask(self, fields: Message) -> Mapping[str, Json]:
        """Run any operation except execute. Raises: KernelError."""
        with self.calling:
            facts = self.call({**fields, "once": False, "memory_mb": self.limits.memory_mb})
            facts.close()
            judgement = judge(facts, self.container.counted())
            if judgement is None or facts.outcome is None:
                raise gone()
            if judgement.error is not None:
                raise KernelError(judgement.error)
            return facts.result

    def fetch(self, name: str, facts: Facts) -> None:
        """Fetch an output file into ``facts.out``, if it exists. Raises: KernelError."""
        self.container.tell({"t": "take", "path": name})
        message, descriptors = self.wait_for("out", "missing")
        if message["t"] == "out" and descriptors:
            facts.out[name] = (int(cast("int", message["size"])), descriptors.pop())

    def collect(self, facts: Facts, endings: Sequence[str]) -> None:
        """Fetch what is new in the work folder into ``facts``, or of that the files with these endings.

        Raises: KernelError.
        """
        self.container.tell({"t": "gather", "collect": [ARTIFACTS, ARTIFACT_BYTES], "endings": list(endings)})
        while True:
            message, descriptors = self.wait_for("file", "refused")
            if message["t"] == "refused":
                facts.refused += [str(name) for name in cast("list[str]", message["names"])]
                return
            facts.files.append((str(message["path"]), int(cast("int", message["size"])), descriptors.pop()))

    def fetched(self, name: Json) -> Path | None:
        """Return an output file as one of ours; None when it is missing or too large. Raises: KernelError."""
        facts = Facts.empty()
        try:
            self.fetch(str(name), facts)
            if str(name) not in facts.out:
                return None
            size, descriptor = facts.out[str(name)]
            if size > _TABLE_BYTES:
                return None
            self._count += 1
            target = self._folder.path / f"get-{self._count}"
            offset = 0
            with target.open("xb") as handle:
                # Not to its end: the code lives, and may be writing on.
                while offset < size and (sent := os.sendfile(handle.fileno(), descriptor, offset, size - offset)):
                    offset += sent
            return target
        finally:
            facts.close()

    def wait_for(self, *kinds: str) -> tuple[Message, Descriptors]:
        """Return init's answer of one of these kinds. Raises: KernelError."""
        self.container.control.settimeout(_ANSWERS_WITHIN)
        try:
            while True:
                message, descriptors, _ = receive(self.container.control)
                if message is None:
                    raise gone()
                if message["t"] in kinds:
                    return message, descriptors
                for descriptor in descriptors:
                    os.close(descriptor)
        except OSError:
            raise gone() from None
        finally:
            self.container.control.settimeout(None)

    def _wait_idle(self) -> None:
        """Start the idle timer, which ends the kernel."""
        self._idle = Timer(self._idle_seconds, self.container.kill)
        self._idle.daemon = True
        self._idle.start()


def gone() -> KernelError:
    return KernelError(CodeError(type="KernelGone", message="The kernel has ended; open a new session."))
