"""What goes into a sandbox and what comes out: the one vocabulary of execute, transform and document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from services.execution.sandbox.values import plain
from shared.contracts.execute import CodeError, Limits, RunUsage, ValueView, Verdict

#: When a run is over. ``result``, for code of ours only: with its answer. ``table``: with the table that it answers
#: with; what the code does after that is ended and does not count. Any other answer, and an error, wait for the end.
Until = Literal["end", "result", "table"]
Tier = Literal["ns", "gvisor", "microvm"]  #: from weak to strong
#: ``shown``: the value also as a display, in the richest form that it has.
Take = Literal["view", "shown", "table", "plot"]
OnOutput = Callable[[Literal["stdout", "stderr"], str], None]


@dataclass(frozen=True)
class Isolation:
    """The isolation of the code: the probed tier, and a stronger one that the operator claims."""

    tier: Tier
    claimed: Tier | None = None


@dataclass(frozen=True)
class Frame:
    """A table that enters or leaves the sandbox: an Arrow IPC file; pandas or polars is how Python sees it.

    ``source`` and ``file``, for our code only: the variable holds the file itself, as Arrow reads from its memory,
    or opened. ``parquet``: a Parquet file, read lazily: a LazyFrame of polars or a view of DuckDB; no
    other language has it.
    """

    path: Path
    dataframe: Literal["pandas", "polars", "source", "file", "parquet"] = "pandas"


@dataclass(frozen=True)
class Run:
    """One run: code, what it may read, and how much it may use."""

    language: str
    code: str
    files: Mapping[str, Path] = field(default_factory=dict)  #: path in the work folder -> file on this side, read only
    frames: Mapping[str, Frame] = field(default_factory=dict)  #: variable (SQL: table) name -> data
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)
    seed: int | None = None
    take: Take = "view"  #: what to return of the result in addition to its view
    collect: bool = True  #: bring artifacts and displays out
    artifact_mb: int = 50  #: of all artifacts
    until: Until = "end"


@dataclass(frozen=True)
class Product:
    """A file that left the sandbox, already checked: a regular file within the caps."""

    path: str  #: relative, as the code named it (escaped where it was not text)
    content: Path  #: where its bytes are now; gone when the outcome is closed
    size: int


@dataclass(frozen=True)
class Shown:
    """A display; small text is in ``text``, anything else in ``content``."""

    media_type: str
    text: str | None = None
    content: Path | None = None
    is_value: bool = False  #: what the last expression is worth, where the run takes ``shown``
    printed: tuple[int, int] | None = None  #: characters of stdout and stderr before it; None when they are cut


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run; on request with ``table``, a validated Arrow IPC file, and ``plot``, a PNG or SVG.

    Its files are opened or copied by their path, never moved: some are names of open descriptors.
    """

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
    isolation: Isolation


class KernelError(Exception):
    """An operation of a session failed; ``error`` is what the language said."""

    def __init__(self, error: CodeError) -> None:
        super().__init__(f"{error.type}: {error.message}")
        self.error = error


@dataclass(frozen=True)
class Value:
    """A value on its way between kernels: plain ones exactly, tables as Arrow IPC files, others as a summary only."""

    kind: Literal["json", "table", "opaque"]
    type: str  #: the class as its language names it
    text: str  #: a bounded look, as in a value view
    exact: JsonValue = None  #: what JSON has no word for is ``{"$": kind, "v": ...}``
    table: Path | None = None  #: gone when its session is closed
    rows: int | None = None
    notes: tuple[str, ...] = ()  #: what of it does not go with it
    why: str = ""  #: of an opaque one: why it stays where it is

    @property
    def json(self) -> JsonValue:
        """As text, numbers, lists and objects."""
        return plain(self.exact)


@dataclass(frozen=True)
class Look:
    """A kernel's summary of a value that is not moved."""

    kind: Literal["json", "table", "figure", "opaque"]
    type: str
    bytes: int
    text: str = ""
    exact: JsonValue = None
    rows: int = 0
    columns: tuple[tuple[str, str], ...] = ()  #: name and type of the first ones
    width: int = 0  #: how many columns in all
    head: tuple[tuple[JsonValue, ...], ...] = ()  #: cells of the first rows

    @property
    def json(self) -> JsonValue:
        return plain(self.exact)


@dataclass(frozen=True)
class Digest:
    """What a name of a kernel holds, in short: equal digests are equal values, down to which parts are one object."""

    value: str | None  #: none when it cannot be compared
    shared: str | None = None  #: of all names that share something that can change with this one, if any do
    refs: tuple[str, ...] = ()  #: names and parts of the kernel that using the value may read
    why: str | None = None  #: why it cannot be compared
    keep: str | None = None  #: with which a part of the kernel becomes again what it is now
    bound: str = ""  #: how the code made the name, where its language knows several ways


@dataclass(frozen=True)
class Variable:
    name: str
    type: str
    shape: tuple[int, ...] | None
    bytes: int


@dataclass(frozen=True)
class KernelInfo:
    language: str
    version: str
