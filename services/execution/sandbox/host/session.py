"""A kernel that lives on between calls, in a sandbox of its own; documents hold one per language."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event as Flag
from threading import RLock, Timer
from typing import Literal, TypeAlias, cast

from pydantic import JsonValue

from services.execution.sandbox.host import claims
from services.execution.sandbox.host.container import Container
from services.execution.sandbox.host.outcome import bring_out, view_of
from services.execution.sandbox.host.request import PreparedRun
from services.execution.sandbox.host.scratch import TemporaryFolder
from services.execution.sandbox.host.streams import escaped
from services.execution.sandbox.host.supervise import Facts, Supervision
from services.execution.sandbox.host.verdict import judge
from services.execution.sandbox.language import Codec, Sent
from services.execution.sandbox.protocol.exact import Encoder, NotPlain
from services.execution.sandbox.protocol.wire import Json, Message, receive
from services.execution.sandbox.run import (
    Isolation,
    KernelError,
    KernelInfo,
    Look,
    OnOutput,
    Outcome,
    Run,
    Value,
    Variable,
)
from services.execution.sandbox.values import changes
from shared.contracts.execute import CodeError, Limits, ValueView
from shared.errors import JobCancelled

_ANSWERS_WITHIN = 30.0  #: for init to hand over one file
_SLACK = 6.0  #: seconds that init's own limits stand above ours, so that an interrupt comes first
_TABLE_BYTES = 320 << 20

Descriptors: TypeAlias = list[int]
Take = Literal["view", "table", "plot"]


class Session:
    """What one call defines, the next one sees. One caller at a time; an interrupt comes from anywhere.

    A kernel that hit a limit is gone: every later call raises KernelError.
    """

    def __init__(
        self,
        container: Container,
        limits: Limits,
        files: Mapping[str, Path],
        folder: TemporaryFolder,
        isolation: Isolation,
        check: Callable[[Path], bool],
        idle_seconds: float,
    ) -> None:
        self._container = container
        self._limits = limits
        self._folder = folder
        self._isolation = isolation
        self._check = check
        self._calling = RLock()
        self._count = 0
        self._idle_seconds = idle_seconds
        self._idle: Timer | None = None
        self._ended = False  #: it may take a moment until it is gone
        self._running = False  #: whether a call waits for its reply
        with PreparedRun(Run(self.language, "", files=files, limits=limits), container.spec, folder) as prepared:
            container.limit(limits, prepared.given_mb)
            container.tell(
                {**prepared.start, "collect": None, "wall_seconds": None, "grouped": container.grouped},
                prepared.descriptors,
            )
            self._wait_for("started")
        container.close_stdin()
        self._wait_idle()

    @property
    def language(self) -> str:
        return self._container.spec.name

    @property
    def _codec(self) -> Codec:
        return self._container.spec.codec

    @property
    def alive(self) -> bool:
        return self._container.alive and not self._ended

    def execute(
        self,
        code: str,
        on_output: OnOutput | None = None,
        cancelled: Flag | None = None,
        take: Take = "view",
    ) -> Outcome:
        """The limits of the session count anew for each call; the outcome's files live as long as the session.

        Raises: JobCancelled, KernelError.
        """
        run = Run(self.language, code, limits=self._limits, take=take)
        with self._calling, PreparedRun(run, self._container.spec, self._folder) as prepared:
            facts = self._call({**prepared.request, "once": False}, on_output, cancelled)
            try:
                for name in _files_of(facts):
                    self._fetch(name, facts)
                counted = self._container.counted()
                outcome = bring_out(run, self._codec, facts, counted, self._inner(), self._isolation, self._check)
            finally:
                facts.close()
            if outcome is None:
                raise _gone()
            return outcome

    def within(self, seconds: float) -> None:
        """From now on a call takes at most so much wall time."""
        self._limits = self._limits.model_copy(update={"wall_seconds": seconds})

    def evaluate(self, expression: str) -> ValueView:
        """Raises: KernelError."""
        view = view_of(self._ask({"op": "evaluate", "code": expression}).get("value"))
        return view or ValueView(type="", text="")

    def value(self, expression: str) -> Value:
        """What an expression is worth, as something that can cross. Raises: KernelError."""
        with self._calling:
            return self._outward(self._ask({"op": "evaluate", "code": expression, "file": "value.table"}))

    def look(self, names: Sequence[str], whole: Sequence[str] = ()) -> Mapping[str, Look]:
        """Those of the names that there are, in one request; no table is moved, of those in ``whole`` more is shown.

        Raises: KernelError.
        """
        asked = {"op": "look", "names": list(names), "whole": list(whole)}
        claimed = self._ask(asked).get("looks") if names else {}
        looks = {name: claims.looked(claimed.get(name)) for name in names} if isinstance(claimed, dict) else {}
        return {name: look for name, look in looks.items() if look is not None}

    def picture(self, name: str) -> bytes:
        """A figure as PNG. Raises: KernelError when it is none."""
        with self._calling:
            made = self._fetched(self._ask({"op": "picture", "name": name}).get("picture"))
            if made is None:
                raise _gone()
            content = made.read_bytes()
            made.unlink()
            return content

    def get(self, name: str) -> Value:
        """Raises: KernelError when there is no such variable."""
        with self._calling:
            return self._outward(self._ask({"op": "get", "name": name, "file": "value.table"}))

    def _outward(self, reply: Mapping[str, Json]) -> Value:
        typed = reply.get("typed")
        if not isinstance(typed, dict):
            raise _gone()
        content = self._fetched(typed.get("file")) if typed.get("kind") == "table" else None
        if content is not None:
            content = self._codec.brought(typed, content, self._folder.path / f"{content.name}.arrow")
        return claims.outward(typed, content, self._check)

    def set(self, name: str, value: Value | JsonValue) -> tuple[str, ...]:
        """What of the value is not the same in this language, in plain words.

        Raises: KernelError when the language cannot hold it.
        """
        with self._calling:
            self._count += 1
            try:
                sent = self._sent(value)
            except NotPlain as error:
                raise KernelError(CodeError(type="NotPortable", message=f"It cannot cross: {error}.")) from None
            typed: dict[str, Json] = dict(sent.typed)
            if sent.file is not None:
                file = f"{secrets.token_hex(4)}.table"
                descriptor = os.open(sent.file, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    self._container.tell({"t": "put", "files": [{"root": "given", "path": file}]}, [descriptor])
                    self._wait_for("put")
                finally:
                    os.close(descriptor)
                typed["path"] = f"/store/given/{file}"
            try:
                reply = self._ask({"op": "set", "name": name, "typed": typed})
            except (OverflowError, ValueError) as error:  # what its language has no notation for
                raise KernelError(CodeError(type="NotPortable", message=f"It cannot cross: {error}.")) from None
            if isinstance(value, Value) and value.kind == "json":
                there = cast("JsonValue", reply.get("exact")) if reply.get("kind") == "json" else None
                return tuple(changes(value.exact, there, self.language))
            if isinstance(value, Value) and value.table is not None:
                return (*value.notes, *self._codec.losses(value.table))
            return ()

    def _sent(self, value: Value | JsonValue) -> Sent:
        """What to send so that the language gets its own kind of this value. Raises: KernelError, NotPlain."""
        if not isinstance(value, Value):
            return self._codec.value(Encoder().encode(value))
        if value.kind == "opaque":
            why = f": {value.why}" if value.why else ""
            message = f"{value.type} cannot cross into {self.language}{why}."
            raise KernelError(CodeError(type="NotPortable", message=message))
        if value.table is None:
            return self._codec.value(cast("Json", value.exact))
        return self._codec.table(value.table, self._folder.path / f"set-{self._count}")

    def list(self) -> tuple[Variable, ...]:
        claimed = self._ask({"op": "list"}).get("variables")
        return tuple(_variable(each) for each in claimed if isinstance(each, dict)) if isinstance(claimed, list) else ()

    def remove(self, name: str) -> None:
        self._ask({"op": "remove", "name": name})

    def info(self) -> KernelInfo:
        return KernelInfo(self.language, str(self._ask({"op": "info"}).get("version", "")))

    def packages(self) -> Mapping[str, str]:
        """Installed packages and their versions."""
        claimed = self._ask({"op": "packages"}).get("packages")
        return {str(name): str(version) for name, version in claimed.items()} if isinstance(claimed, dict) else {}

    def _inner(self) -> TemporaryFolder:
        """One call's files, kept as long as the session."""
        return TemporaryFolder(self._folder.path, "call")

    def interrupt(self) -> None:
        """End the call that runs; nothing happens while none does."""
        if self._running:
            self._container.tell({"t": "interrupt"})

    def close(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._container.close()

    def _wait_idle(self) -> None:
        """From now on nobody asks: end the kernel when that lasts."""
        self._idle = Timer(self._idle_seconds, self._container.kill)
        self._idle.daemon = True
        self._idle.start()

    def _call(self, request: Message, on_output: OnOutput | None = None, cancelled: Flag | None = None) -> Facts:
        """One request and its reply. Raises: KernelError when the kernel is gone, JobCancelled."""
        if self._idle is not None:
            self._idle.cancel()
        if not self.alive:
            raise _gone()
        limits = self._limits
        extension: Message = {
            "t": "extend",
            "wall_seconds": limits.wall_seconds + _SLACK,
            "cpu_seconds": limits.cpu_seconds + _SLACK,
            "memory_mb": limits.memory_mb,
            "processes": limits.processes,
        }
        supervision = Supervision(self._container, limits, secrets.token_hex(8), cancelled, on_output, once=False)
        if self._container.group is not None:
            self._container.group.count_anew()
        self._running = True
        try:
            facts = supervision.drive(extension, (), request, b"")
        finally:
            self._running = False
        self._ended = self._ended or not facts.alive
        if facts.alive:
            with contextlib.suppress(KernelError):  # it ended with its reply
                self._container.tell({"t": "rest"})
                facts.used = self._wait_for("used")[0]
        self._wait_idle()
        if facts.cancelled:
            facts.close()
            raise JobCancelled("The job was cancelled while its code ran.")
        return facts

    def _ask(self, fields: Message) -> Mapping[str, Json]:
        """An operation but execute. Raises: KernelError."""
        with self._calling:
            facts = self._call({**fields, "once": False, "memory_mb": self._limits.memory_mb})
            facts.close()
            judgement = judge(facts, self._container.counted())
            if judgement is None or not facts.answered:
                raise _gone()
            if judgement.error is not None:
                raise KernelError(judgement.error)
            return facts.result

    def _fetch(self, name: str, facts: Facts) -> None:
        self._container.tell({"t": "take", "path": name})
        message, descriptors = self._wait_for("out", "missing")
        if message["t"] == "out" and descriptors:
            facts.out[name] = (int(cast("int", message["size"])), descriptors.pop())

    def _fetched(self, name: Json) -> Path | None:
        """A table of the way out as a file of ours."""
        facts = Facts.empty()
        try:
            self._fetch(str(name), facts)
            if str(name) not in facts.out:
                return None
            size, descriptor = facts.out[str(name)]
            if size > _TABLE_BYTES:
                return None
            self._count += 1
            target = self._folder.path / f"get-{self._count}"
            with target.open("xb") as handle:
                # Not to its end: the code lives, and may be writing on.
                while size > 0 and (sent := os.sendfile(handle.fileno(), descriptor, None, size)):
                    size -= sent
            return target
        finally:
            facts.close()

    def _wait_for(self, *kinds: str) -> tuple[Message, Descriptors]:
        """Init's answer of one of these kinds. Raises: KernelError."""
        self._container.control.settimeout(_ANSWERS_WITHIN)
        try:
            while True:
                message, descriptors, _ = receive(self._container.control)
                if message is None:
                    raise _gone()
                if message["t"] in kinds:
                    return message, descriptors
                for descriptor in descriptors:
                    os.close(descriptor)
        except OSError:
            raise _gone() from None
        finally:
            self._container.control.settimeout(None)


def _files_of(facts: Facts) -> list[str]:
    """The files that the kernel speaks of in its frames."""
    names = (
        [frame.get(key) for frame in (*facts.shown, facts.result) for key in ("file", "table", "plot")]
        if facts.alive
        else []
    )
    return [name for name in names if isinstance(name, str)]


def _variable(claimed: Mapping[str, Json]) -> Variable:
    shape = claimed.get("shape")
    size = claimed.get("bytes")
    return Variable(
        name=escaped(str(claimed.get("name", "")))[:200],
        type=escaped(str(claimed.get("type", "")))[:200],
        shape=tuple(part for part in shape if isinstance(part, int)) if isinstance(shape, list) else None,
        bytes=size if isinstance(size, int) else 0,
    )


def _gone() -> KernelError:
    return KernelError(CodeError(type="KernelGone", message="The kernel has ended; open a new session."))
