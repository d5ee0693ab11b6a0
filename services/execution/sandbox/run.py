"""What goes into a sandbox and what comes out: the one vocabulary of execute, transform and document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag
from typing import Literal, Protocol

from pydantic import JsonValue

from shared.contracts.execute import CodeError, Language, Limits, RunUsage, ValueView, Verdict

OnOutput = Callable[[Literal["stdout", "stderr"], str], None]


@dataclass(frozen=True)
class Frame:
    """A table that crosses the wall: an Arrow IPC file; pandas or polars is how Python sees it."""

    path: Path
    dataframe: Literal["pandas", "polars"] = "pandas"


@dataclass(frozen=True)
class Run:
    """One run: code, what it may read, and how much it may use."""

    language: Language
    code: str
    files: Mapping[str, Path] = field(default_factory=dict)  #: path in the work folder -> file on this side, read only
    frames: Mapping[str, Frame] = field(default_factory=dict)  #: variable (SQL: table) name -> data
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)
    seed: int | None = None
    take: Literal["view", "table", "plot"] = "view"  #: what of the result to bring out beside its view
    collect: bool = True  #: bring artifacts and displays out


@dataclass(frozen=True)
class Product:
    """A file that left the sandbox, already checked: a regular file within the caps."""

    path: str  #: relative, as the code named it (escaped where it was not text)
    content: Path  #: where its bytes are now; gone when the outcome is closed
    size: int


@dataclass(frozen=True)
class Shown:
    """A display; small text stands in ``text``, anything else in ``content``."""

    media_type: str
    text: str | None = None
    content: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """How a run ended; when asked for, ``table`` is a validated Arrow IPC file, ``plot`` a PNG or SVG."""

    verdict: Verdict
    stdout: str
    stderr: str
    truncated: bool
    error: CodeError | None
    value: ValueView | None
    result_class: str | None  #: the class of the result as its language names it (``DataFrame``, ``int``)
    table: Path | None
    plot: Shown | None
    displays: tuple[Shown, ...]
    artifacts: tuple[Product, ...]
    refused: tuple[str, ...]  #: what was not taken out, and why, in plain words
    usage: RunUsage
    tier: str


class KernelError(Exception):
    """An operation of a session failed; ``error`` is what the language said."""

    def __init__(self, error: CodeError) -> None:
        super().__init__(f"{error.type}: {error.message}")
        self.error = error


@dataclass(frozen=True)
class Value:
    """A value on its way between kernels: plain ones as JSON, tables as Arrow IPC files, others as a look only."""

    kind: Literal["json", "date", "datetime", "table", "opaque"]
    type: str  #: the class as its language names it
    text: str  #: a bounded look, as in a value view
    json: JsonValue = None  #: dates as ISO 8601
    table: Path | None = None  #: gone when its session is closed
    rows: int | None = None


@dataclass(frozen=True)
class Variable:
    name: str
    type: str
    shape: tuple[int, ...] | None
    bytes: int


@dataclass(frozen=True)
class KernelInfo:
    language: Language
    version: str


class Session(Protocol):
    """A living kernel: what one call defines, the next one sees. One caller at a time; interrupt comes from anywhere.

    A kernel that hit a limit is gone: every later call raises KernelError.
    """

    @property
    def language(self) -> Language: ...

    def execute(
        self,
        code: str,
        on_output: OnOutput | None = None,
        cancelled: Flag | None = None,
        take: Literal["view", "table", "plot"] = "view",
    ) -> Outcome:
        """The limits of the session count anew for each call; the outcome's files live as long as the session.

        Raises: JobCancelled, KernelError.
        """
        ...

    def evaluate(self, expression: str) -> ValueView:
        """Raises: KernelError."""
        ...

    def get(self, name: str) -> Value:
        """Raises: KernelError when there is no such variable."""
        ...

    def set(self, name: str, value: Value | JsonValue) -> None:
        """Raises: KernelError when the language cannot hold it."""
        ...

    def list(self) -> tuple[Variable, ...]: ...

    def remove(self, name: str) -> None: ...

    def info(self) -> KernelInfo: ...

    def packages(self) -> Mapping[str, str]:
        """Installed packages and their versions."""
        ...

    def interrupt(self) -> None:
        """Stop the running call; the kernel lives on where its language can do that."""
        ...

    def close(self) -> None: ...


class Sandbox(Protocol):
    """The walls, and warm slots behind them."""

    @property
    def tier(self) -> str: ...

    def languages(self) -> Mapping[str, str | None]:
        """The languages available, with their versions; ``None`` when not installed."""
        ...

    def run(
        self, run: Run, cancelled: Flag | None = None, on_output: OnOutput | None = None
    ) -> AbstractContextManager[Outcome]:
        """Run once in a single-use slot; files of the outcome live until the context ends.

        Raises: SandboxUnavailable, LanguageUnavailable, JobCancelled.
        """
        ...

    def session(self, language: Language, limits: Limits, files: Mapping[str, Path]) -> AbstractContextManager[Session]:
        """A kernel of its own for one document. Raises: SandboxUnavailable, LanguageUnavailable."""
        ...
