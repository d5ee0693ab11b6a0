"""A sandbox as this side sees it: its pipes, init's socket, and a sure way to end it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import replace

from services.execution.sandbox.host.cgroups import Counted, Group
from services.execution.sandbox.host.launcher import Launcher
from services.execution.sandbox.language import LanguageSpec
from services.execution.sandbox.protocol.wire import FrameReader, Message, control_pair, frame, receive, send
from shared.contracts.execute import Limits
from shared.errors import SandboxUnavailable

_READY_WITHIN = 20.0
_PREWARMED_WITHIN = 5.0
_HELLO_WITHIN = 60.0  #: for an interpreter that starts, and loads its libraries, in the sandbox
_BOOTED_WITHIN = 120.0  #: for a separate kernel, and an interpreter that loads its libraries there


class Container:
    """Single use. Made isolated and waiting; closed, nothing of it is left."""

    def __init__(self, launcher: Launcher, spec: LanguageSpec, group: Group | None) -> None:
        """Start a container. Raises: SandboxUnavailable."""
        self.spec = spec
        self._launcher = launcher
        self.created_at = time.monotonic()
        self.group = group
        self._forked = spec.guest.module is not None  #: from the warm interpreter: ready when its init is
        self.prewarmed = not self._forked  #: what most code does first has been done in it
        self._reader = FrameReader()
        self._open: list[int] = []
        self._watch: int | None = None
        self.control, inside = control_pair()
        self.control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            request_end, self.requests = self._pipe()
            self.replies, reply_end = self._pipe()
            stdin_end, self.stdin = self._pipe()
            self.stdout, stdout_end = self._pipe()
            self.stderr, stderr_end = self._pipe()
            theirs = [request_end, reply_end, stdin_end, stdout_end, stderr_end]
            try:
                memfd = group is not None and group.counts_memory
                launcher.fork(spec.guest, [inside.fileno(), *theirs], memfd)
            finally:
                inside.close()
                for descriptor in theirs:
                    self._close(descriptor)
            self.init = self._wait_ready()
            if launcher.boots:
                self._wait_booted()
            if not self._forked:
                self._wait_hello()
        except BaseException:
            self.close()
            raise

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe2(os.O_CLOEXEC)
        self._open += ends
        if os.geteuid() == 0:
            os.fchown(ends[0], self._launcher.uid, self._launcher.uid)
        return ends

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)

    def _wait_ready(self) -> int:
        self.control.settimeout(_READY_WITHIN)
        try:
            message, _, sender = receive(self.control)
        except OSError:
            message, sender = None, None
        if message is None or message["t"] != "ready" or sender is None:
            raise SandboxUnavailable(self._launcher.why("A sandbox could not be isolated."))
        pid, uid = sender
        if uid == 0:
            raise SandboxUnavailable("Code would run as this machine's root; the sandbox refuses that.")
        try:
            self._watch = os.pidfd_open(pid)
            if self.group is not None:
                self.group.add(pid)
        except ProcessLookupError:
            raise SandboxUnavailable(self._launcher.why("A sandbox died before its first request.")) from None
        self.control.settimeout(None)
        self.tell({"t": "go"})
        return pid

    def _wait_booted(self) -> None:
        """Wait until its own kernel has identified itself. Raises: SandboxUnavailable."""
        self.control.settimeout(_BOOTED_WITHIN)
        try:
            message, _, _ = receive(self.control)
        except OSError:
            message = None
        self.control.settimeout(None)
        if message is None or message["t"] != "booted":
            raise SandboxUnavailable(self._launcher.why("A sandbox of gVisor did not start."))
        if message["gvisor"] is not True:
            raise SandboxUnavailable(
                "The kernel of a sandbox is not gVisor's; code would run with less isolation than configured."
            )

    def prewarm(self) -> None:
        """Run what most code does first; the container may not be used meanwhile."""
        with contextlib.suppress(OSError):
            os.write(self.requests, frame({"op": "prewarm"}))
            self.prewarmed = self._says_hello(_PREWARMED_WITHIN)

    def _says_hello(self, seconds: float) -> bool:
        """Return whether the interpreter reports within this time that it waits for code."""
        poll = select.poll()
        poll.register(self.replies, select.POLLIN)
        deadline = time.monotonic() + seconds
        while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            data = os.read(self.replies, 4096)
            if not data:
                break
            if any(message.get("t") == "hello" for message in self._reader.feed(data)):
                return True
        return False

    def _wait_hello(self) -> None:
        if self._says_hello(_HELLO_WITHIN):
            return
        os.set_blocking(self.stderr, False)
        with contextlib.suppress(OSError):
            said = os.read(self.stderr, 4096).decode(errors="replace").strip().splitlines()
            if said:
                raise SandboxUnavailable(f"The {self.spec.name} interpreter did not start. It said: {said[-1][:300]}")
        raise SandboxUnavailable(f"The {self.spec.name} interpreter did not become ready.")

    @property
    def grouped(self) -> bool:
        return self.group is not None and self.group.counts_tasks and not self._launcher.boots

    @property
    def alive(self) -> bool:
        if self._watch is None:
            return False
        poll = select.poll()
        poll.register(self._watch, select.POLLIN)
        return not poll.poll(0)

    def limit(self, limits: Limits, given_mb: int) -> None:
        """Set the group's limits; files count as memory in it, so the disk limit is added."""
        if self.group is not None:
            more = self._launcher.overhead
            memory = limits.memory_mb + limits.disk_mb + given_mb + more.megabytes
            tasks = more.each * (limits.processes + self.spec.guest.threads) + more.tasks
            self.group.limit(memory, tasks)

    def counted(self) -> Counted:
        counted = Counted() if self.group is None else self.group.counted()
        return replace(counted, broke=self._launcher.overhead.breaks and counted.refused_forks > 0)

    def tell(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        """Send init a message, if it is still there."""
        with contextlib.suppress(OSError):
            send(self.control, message, descriptors)

    def close_stdin(self) -> None:
        self._close(self.stdin)

    def kill(self) -> None:
        """End every process of the sandbox at once: its first process takes the others with it."""
        if self._watch is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._watch, signal.SIGKILL)

    def gone(self, seconds: float = 5.0) -> bool:
        """Return whether every process of a killed sandbox is dead within this time: its first one goes last."""
        if self._watch is None:
            return True
        poll = select.poll()
        poll.register(self._watch, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def close(self) -> None:
        self.kill()
        self.control.close()
        for descriptor in tuple(self._open):
            self._close(descriptor)
        if self._watch is not None:
            self.gone()
            os.close(self._watch)
            self._watch = None
        if self.group is not None:
            self.group.remove()
            self.group = None
