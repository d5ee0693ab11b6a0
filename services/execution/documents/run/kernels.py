"""The kernels of one document: a sandbox session per language, and values that cross between them when used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag
from typing import cast

from pydantic import JsonValue

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.host.session import Session
from services.execution.sandbox.protocol.exact import Encoder
from services.execution.sandbox.run import KernelError, Look, Outcome, Product, Value
from shared.contracts.execute import CodeError, Limits, Verdict
from shared.loop import Budget

_OF_EVERY_KERNEL = ("display",)  #: functions that each kernel has: code may import one that cannot cross
DOCUMENT = "document"  #: owns parameters, loop variables and answers
_LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=1024)
#: Media types of pictures, by the endings of their files.
PICTURES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".svg": "image/svg+xml",
}  # fmt: skip
MAX_PICTURE = 10_000_000  #: bytes
_LEAST_SECONDS = 0.1
_LARGEST = 64_000_000  #: bytes; a larger value is read where it is, and does not cross


def failed(type_: str, message: str) -> KernelError:
    return KernelError(CodeError(type=type_, message=message))


@dataclass(frozen=True)
class Crossing:
    """A value that did not reach another kernel unchanged, and why."""

    code: str
    text: str


@dataclass
class Kernels:
    sandbox: Sandbox
    budget: Budget
    files: Mapping[str, Path]
    cancelled: Flag
    own: dict[str, JsonValue] = field(default_factory=dict)  #: values of the document itself
    owner: dict[str, str] = field(default_factory=dict)  #: who set a name last
    touched: dict[str, set[str]] = field(default_factory=dict)  #: names that a kernel was given since it was observed
    _open: dict[str, tuple[Session, ExitStack]] = field(default_factory=dict)
    _version: dict[str, int] = field(default_factory=dict)
    _given: dict[tuple[str, str], int] = field(default_factory=dict)

    def close(self) -> None:
        for language in list(self._open):
            self.drop(language)

    def reset(self) -> None:
        """End all kernels, and forget every name."""
        self.close()
        for names in (self.own, self.owner, self._version, self._given, self.touched):
            names.clear()

    def drop(self, language: str) -> None:
        """End a kernel and drop its values; the caller has to report that."""
        if language in self._open:
            self._open.pop(language)[1].close()
        self.touched.pop(language, None)
        self._given = {key: version for key, version in self._given.items() if key[0] != language}

    def session(self, language: str) -> Session:
        """Return the language's session; no call of it takes longer than the rest of the budget.

        Raises: LanguageUnavailable, SandboxUnavailable.
        """
        if language not in self._open:
            stack = ExitStack()
            session = stack.enter_context(self.sandbox.session(language, _LIMITS, self.files))
            self._open[language] = (session, stack)
        session = self._open[language][0]
        session.within(max(_LEAST_SECONDS, min(_LIMITS.wall_seconds, self.budget.seconds_left)))
        return session

    def execute(self, language: str, code: str, number: int, figure: tuple[float, float] | None = None) -> Outcome:
        """Run code that warnings know by this number. Raises: KernelError, JobCancelled, LanguageUnavailable."""
        outcome = self.session(language).execute(
            code, None, self.cancelled, "shown", number=number + 1, figure=figure, endings=tuple(PICTURES)
        )  # fmt: skip
        if outcome.verdict not in (Verdict.OK, Verdict.USER_ERROR):
            self.drop(language)
        return outcome

    def set_owner(self, language: str, names: Iterable[str]) -> None:
        for name in names:
            self.owner[name] = language
            self._version[name] = self._version.get(name, 0) + 1

    def release(self, names: Iterable[str]) -> None:
        """Remove the owner of these names."""
        for name in list(names):
            self.owner.pop(name, None)

    def set_own(self, name: str, value: JsonValue) -> None:
        """Set a name of the document: a parameter, a loop's variable, an answer."""
        self.own[name] = value
        self.set_owner(DOCUMENT, [name])

    def share(self, language: str, names: Iterable[str]) -> list[Crossing]:
        """Give a kernel the names it uses and another one owns; returns those that did not cross unchanged."""
        crossings: list[Crossing] = []
        for name in sorted(names):
            owner = self.owner.get(name)
            if owner is None or owner == language:
                continue
            version = self._version[name]
            if self._given.get((language, name)) == version:
                continue
            try:
                value = self.own[name] if owner == DOCUMENT else self._fetched(owner, name)
                changed = self.session(language).set(name, value)
                self._given[language, name] = version
                self.touched.setdefault(language, set()).add(name)
            except KernelError as error:
                if name in _OF_EVERY_KERNEL:
                    continue
                text = f"{name} of {owner} could not cross to {language}: {error.error.message}"
                crossings.append(Crossing("value_not_crossed", text))
                continue
            if changed:
                text = f"{name} of {owner} is not quite the same in {language}: {'; '.join(changed)}"
                crossings.append(Crossing("value_changed", text))
        return crossings

    def find(
        self, names: Iterable[str], whole: Iterable[str] = (), *, passive: bool = False
    ) -> dict[str, tuple[str, Look]]:
        """Find which kernel holds each name: the last to set it wins, then the first kernel that has it.

        One request to each kernel; of the names in ``whole`` more rows are wanted than a glance takes. A ``passive``
        look changes nothing: it leaves out what only code of the document's could show.
        """
        wanted = list(dict.fromkeys(names))
        looks: dict[str, tuple[str, Look]] = {}
        asked: dict[str, list[str]] = {}
        for name in wanted:
            owner = self.owner.get(name)
            if owner == DOCUMENT:
                looks[name] = (DOCUMENT, plain_look(self.own[name]))
            elif owner is not None:
                asked.setdefault(owner, []).append(name)
        for language, owned in asked.items():
            self._look(language, owned, whole, looks, passive)
        for language in list(self._open):
            unknown = [name for name in wanted if name not in looks and self.owner.get(name) in (None, language)]
            self._look(language, unknown, whole, looks, passive)
        return {name: looks[name] for name in wanted if name in looks}

    def _look(
        self, language: str, names: list[str], whole: Iterable[str], looks: dict[str, tuple[str, Look]], passive: bool
    ) -> None:
        left = [name for name in names if name not in looks]
        if left:
            fresh = self.session(language).look(left, [name for name in left if name in set(whole)], passive=passive)
            looks.update({name: (language, look) for name, look in fresh.items()})

    def picture(self, language: str, name: str) -> bytes:
        """Return a picture of the named figure. Raises: KernelError."""
        return self.session(language).picture(name)

    def get(self, language: str, name: str) -> Value:
        """Return the value of a name. Raises: KernelError."""
        return self.session(language).get(name)

    def _fetched(self, language: str, name: str) -> Value:
        session = self.session(language)
        look = session.look([name]).get(name)
        if look is not None and look.bytes > _LARGEST:
            raise failed("TooLarge", f"it has more than {_LARGEST:,} bytes")
        return session.get(name)

    def evaluate(self, language: str, code: str) -> Value:
        """Evaluate code and return its value. Raises: KernelError, LanguageUnavailable."""
        return self.session(language).value(code)

    def written(self, language: str) -> tuple[tuple[Product, ...], tuple[str, ...]]:
        """Return the pictures that expressions have written to files, and why others are left out.

        Raises: KernelError.
        """
        return self.session(language).written(tuple(PICTURES))


def plain_look(value: JsonValue) -> Look:
    """Return a value of the document in the form that kernels report."""
    kind = "NoneType" if value is None else type(value).__name__
    return Look(kind="json", type=kind, bytes=0, text=str(value), exact=cast("JsonValue", Encoder().encode(value)))
