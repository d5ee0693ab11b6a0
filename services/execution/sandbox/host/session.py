"""A kernel that lives on between calls, in its own sandbox; documents hold one per language."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event as Flag
from typing import cast

from pydantic import JsonValue

from services.execution.sandbox.host import claims
from services.execution.sandbox.host.container import Container
from services.execution.sandbox.host.kernel import KernelLink, gone
from services.execution.sandbox.host.outcome import bring_out, products_of, view_of
from services.execution.sandbox.host.request import PreparedRun
from services.execution.sandbox.host.scratch import TemporaryFolder
from services.execution.sandbox.host.streams import escaped
from services.execution.sandbox.host.supervise import Facts
from services.execution.sandbox.language import Codec, Sent
from services.execution.sandbox.protocol.exact import Encoder, NotPlain
from services.execution.sandbox.protocol.wire import Json, Message
from services.execution.sandbox.run import (
    Digest,
    Isolation,
    KernelError,
    KernelInfo,
    Look,
    OnOutput,
    Outcome,
    Product,
    Run,
    Take,
    Value,
    Variable,
)
from services.execution.sandbox.values import changes
from shared import tracing
from shared.contracts.execute import CodeError, Limits, ValueView


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
        self._kernel = KernelLink(container, limits, folder, idle_seconds)
        self._folder = folder
        self._isolation = isolation
        self._check = check
        self._count = 0
        with PreparedRun(Run(self.language, "", files=files, limits=limits), container.spec, folder) as prepared:
            self._kernel.start(prepared)

    @property
    def language(self) -> str:
        return self._kernel.container.spec.name

    @property
    def _codec(self) -> Codec:
        return self._kernel.container.spec.codec

    @property
    def alive(self) -> bool:
        return self._kernel.alive

    def execute(
        self,
        code: str,
        on_output: OnOutput | None = None,
        cancelled: Flag | None = None,
        take: Take = "view",
        *,
        collect: Path | None = None,
        number: int | None = None,
        figure: tuple[float, float] | None = None,
        endings: Sequence[str] = (),
    ) -> Outcome:
        """Run code; the session's limits restart for each call, and the outcome's files live as long as the session.

        ``number``: identifies the code in warnings and traces; by default the calls are counted.

        ``figure``: width and height in inches of figures for which the code sets no size.

        ``collect``: also collect the files that the code has written, and keep the outcome's files in this folder.
        ``endings``: also collect the files that the code has written whose names end in one of these, in lower case.
        Raises: JobCancelled, KernelError.
        """
        with tracing.span("sandbox call", assay__language=self.language) as recorded:
            more: dict[str, Json] = {"number": number, "figure": None if figure is None else list(figure)}
            outcome = self._executed(code, on_output, cancelled, take, collect, endings, more)
            recorded.set(assay__verdict=outcome.verdict.value)
        return outcome

    def _executed(
        self,
        code: str,
        on_output: OnOutput | None,
        cancelled: Flag | None,
        take: Take,
        collect: Path | None,
        endings: Sequence[str],
        more: dict[str, Json],
    ) -> Outcome:
        run = Run(self.language, code, limits=self._kernel.limits, take=take)
        kept = TemporaryFolder(self._folder.path if collect is None else collect, "call")
        with self._kernel.calling, PreparedRun(run, self._kernel.container.spec, self._folder) as prepared:
            facts = self._kernel.call({**prepared.request, "once": False, **more}, on_output, cancelled)
            try:
                for name in _files_of(facts):
                    self._kernel.fetch(name, facts)
                if (collect is not None or endings) and facts.alive:
                    self._kernel.collect(facts, endings)
                counted = self._kernel.container.counted()
                outcome = bring_out(run, self._codec, facts, counted, kept, self._isolation, self._check)
            finally:
                facts.close()
            if outcome is None:
                raise gone()
            return outcome

    def within(self, seconds: float, cpu_seconds: float | None = None) -> None:
        """Limit further calls to this wall time and CPU time."""
        limits = self._kernel.limits
        cpu = limits.cpu_seconds if cpu_seconds is None else cpu_seconds
        self._kernel.limits = limits.model_copy(update={"wall_seconds": seconds, "cpu_seconds": cpu})

    def place(self, files: Mapping[str, Path]) -> None:
        """Put files into the work folder, in the place of those that are there. Raises: KernelError."""
        with self._kernel.calling:
            self._kernel.put(files, "work")

    def evaluate(self, expression: str) -> ValueView:
        """Evaluate an expression. Raises: KernelError."""
        view = view_of(self._kernel.ask({"op": "evaluate", "code": expression}).get("value"))
        return view or ValueView(type="", text="")

    def value(self, expression: str) -> Value:
        """Return an expression's value in a portable form. Raises: KernelError."""
        with self._kernel.calling:
            return self._outward(self._kernel.ask({"op": "evaluate", "code": expression, "file": "value.table"}))

    def written(self, endings: Sequence[str]) -> tuple[tuple[Product, ...], tuple[str, ...]]:
        """Return the files with these endings that code has written since the last time, and why others are left out.

        Raises: KernelError.
        """
        facts = Facts.empty()
        facts.alive = True  # its files may still change
        with self._kernel.calling:
            try:
                self._kernel.collect(facts, endings)
                return products_of(facts, TemporaryFolder(self._folder.path, "call")), tuple(facts.refused)
            finally:
                facts.close()

    def look(self, names: Sequence[str], whole: Sequence[str] = (), *, passive: bool = False) -> Mapping[str, Look]:
        """Return summaries of the existing names in one request; no table is moved, and those in ``whole`` are more
        detailed. A ``passive`` look runs none of the code's own: what could not be seen without is left out.

        Raises: KernelError.
        """
        asked: Message = {"op": "look", "names": list(names), "whole": list(whole), "passive": passive}
        claimed = self._kernel.ask(asked).get("looks") if names else {}
        looks = {name: claims.looked(claimed.get(name)) for name in names} if isinstance(claimed, dict) else {}
        return {name: look for name, look in looks.items() if look is not None}

    def digests(self, reached: Iterable[str] | None = None) -> Mapping[str, Digest]:
        """Return what every name holds, and, as names that begin with @, parts of the kernel itself.

        ``reached``: those that code since the last time could come to; the others are not read again, and parts that
        are not among them are left out. Raises: KernelError.
        """
        asked = None if reached is None else cast("Json", sorted(reached))
        claimed = self._kernel.ask({"op": "digests", "reached": asked}).get("digests")
        if not isinstance(claimed, dict):
            raise gone()
        return {name: claims.digested(each) for name, each in claimed.items()}

    def restore(self, part: str, kept: str) -> None:
        """Make a part of the kernel what it was when its digest was taken. Raises: KernelError."""
        self._kernel.ask({"op": "restore", "part": part, "keep": kept})

    def picture(self, name: str) -> bytes:
        """Return a figure as PNG. Raises: KernelError for any other value."""
        with self._kernel.calling:
            made = self._kernel.fetched(self._kernel.ask({"op": "picture", "name": name}).get("picture"))
            if made is None:
                raise gone()
            content = made.read_bytes()
            made.unlink()
            return content

    def get(self, name: str) -> Value:
        """Return a variable's value. Raises: KernelError when there is no such variable."""
        with self._kernel.calling:
            return self._outward(self._kernel.ask({"op": "get", "name": name, "file": "value.table"}))

    def _outward(self, reply: Mapping[str, Json]) -> Value:
        typed = reply.get("typed")
        if not isinstance(typed, dict):
            raise gone()
        content = self._kernel.fetched(typed.get("file")) if typed.get("kind") == "table" else None
        if content is not None:
            content = self._codec.brought(typed, content, self._folder.path / f"{content.name}.arrow")
        return claims.outward(typed, content, self._check)

    def set(self, name: str, value: Value | JsonValue, bound: str = "") -> tuple[str, ...]:
        """Set a variable, and return what differs from the value in this language, as sentences.

        ``bound`` is that of the name's digest, for a variable that is restored.

        Raises: KernelError when the language cannot hold it.
        """
        with self._kernel.calling:
            self._count += 1
            try:
                sent = self._sent(value)
            except NotPlain as error:
                raise KernelError(CodeError(type="NotPortable", message=f"It cannot cross: {error}.")) from None
            typed: dict[str, Json] = dict(sent.typed)
            if sent.file is not None:
                file = f"{secrets.token_hex(4)}.table"
                self._kernel.put({file: sent.file}, "given")
                typed["path"] = f"/store/given/{file}"
            try:
                reply = self._kernel.ask({"op": "set", "name": name, "typed": typed, "bound": bound})
            except (OverflowError, ValueError) as error:  # what its language has no notation for
                raise KernelError(CodeError(type="NotPortable", message=f"It cannot cross: {error}.")) from None
            if isinstance(value, Value) and value.kind == "json":
                there = cast("JsonValue", reply.get("exact")) if reply.get("kind") == "json" else None
                return tuple(changes(value.exact, there, self.language))
            if isinstance(value, Value) and value.table is not None:
                return (*value.notes, *self._codec.losses(value.table))
            return ()

    def _sent(self, value: Value | JsonValue) -> Sent:
        """Return what to send so that the language gets its own kind of this value. Raises: KernelError, NotPlain."""
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
        claimed = self._kernel.ask({"op": "list"}).get("variables")
        return tuple(_variable(each) for each in claimed if isinstance(each, dict)) if isinstance(claimed, list) else ()

    def remove(self, name: str) -> None:
        self._kernel.ask({"op": "remove", "name": name})

    def info(self) -> KernelInfo:
        return KernelInfo(self.language, str(self._kernel.ask({"op": "info"}).get("version", "")))

    def packages(self) -> Mapping[str, str]:
        """Installed packages and their versions."""
        claimed = self._kernel.ask({"op": "packages"}).get("packages")
        return {str(name): str(version) for name, version in claimed.items()} if isinstance(claimed, dict) else {}

    def interrupt(self) -> None:
        """End the call that runs; nothing happens while none does."""
        self._kernel.interrupt()

    def close(self) -> None:
        self._kernel.close()


def _files_of(facts: Facts) -> list[str]:
    """Return the files that the kernel names in its frames."""
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
