"""What a language is to the sandbox: one row that says how it runs inside and how values cross."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from services.execution.sandbox.protocol.wire import Json, Message, frame

_WORD = re.compile(r"[A-Za-z_.][A-Za-z0-9_.]*|[A-Za-z_]\w*")
_TEXT_OR_COMMENT = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|--[^\n]*|/\*.*?\*/", re.S)


EVERYTHING = "@everything"  #: every name and every part of a kernel


@dataclass(frozen=True)
class CodeNames:
    sets: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()  #: of those set: what its own source text can make again
    reads: frozenset[str] = frozenset([EVERYTHING])  #: all whose value it may see; ``@...``: parts of the kernel


@dataclass(frozen=True)
class SyntaxFault:
    text: str
    line: int | None = None  #: from 1


@dataclass(frozen=True)
class Analysis:
    """Of one language; one without any runs too, but nothing is known of its names."""

    names: Callable[[str], CodeNames] = lambda _code: CodeNames()
    fault: Callable[[str], SyntaxFault | None] = lambda _code: None
    definitions: Callable[[str], str] = lambda _code: ""  #: code that only defines again what its source defined
    exact: frozenset[str] | None = None  #: types whose values can be saved and restored exactly; ``None``: all
    has_variables: bool = True
    ambient: frozenset[str] = frozenset()  #: parts of the kernel that any code reads
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)  #: what is meant by one name for several parts
    shares_objects: bool = True  #: two names may hold one object that can change
    folds: bool = False  #: names that differ in case alone are one
    suggesting: frozenset[str] = frozenset()  #: types of errors whose texts propose other names than the code has
    drawn: frozenset[str] = frozenset()  #: parts that no code reads without changing them, but where it names them


def names_by_pattern(
    sets: re.Pattern[str], reads: Callable[[str], frozenset[str]], quoted_names: bool = False
) -> Callable[[str], CodeNames]:
    """Read names without a parser: ``sets`` matches an assignment, whose group is the name; every word may be a use."""

    def names_of(code: str) -> CodeNames:
        bare = _TEXT_OR_COMMENT.sub(" ", code)
        words = set(_WORD.findall(code if quoted_names else bare))
        # ``frame.column`` uses ``frame``; in R the dot is part of a name.
        roots = {word.partition(".")[0] for word in words}
        return CodeNames(
            frozenset(match[match.lastindex or 0] for match in sets.finditer(bare)),
            frozenset(words | roots),
            reads=reads(code),
        )

    return names_of


# Arrow has no types for its arrays here, so those values are Any.

_MAX_LOSSES = 5


@dataclass(frozen=True)
class Sent:
    """The fields that set a variable, and the file that goes before them."""

    typed: Mapping[str, Json]
    file: Path | None = None


class Codec:
    """For a guest that decodes exact values (``protocol.exact``) from JSON and reads Arrow files by itself."""

    def request(self, message: Message) -> bytes:
        """Return a request in the notation that the guest reads."""
        return frame(message)

    def value(self, exact: Json) -> Sent:
        """Return an exact value for a variable."""
        return Sent({"kind": "json", "exact": exact})

    def table(self, table: Path, target: Path) -> Sent:
        """Return an Arrow file for a variable; a converted file is written to ``target``. Raises: KernelError."""
        file, described = self.written(table, target)
        return Sent({"kind": "table", **described}, file)

    def written(self, table: Path, target: Path) -> tuple[Path, Mapping[str, Json]]:
        """Return an Arrow file as a file that the guest reads, with its description. Raises: KernelError."""
        del target
        return table, {}

    def brought(self, claimed: Mapping[str, Json], content: Path, target: Path) -> Path | None:
        """Return an output table as an Arrow file that is still to be checked; ``None`` when it cannot be one."""
        del claimed, target
        return content

    def losses(self, table: Path) -> tuple[str, ...]:
        """Return what the language cannot represent of a table, as sentences, column by column."""
        import pyarrow.ipc  # noqa: PLC0415 - heavy, and only needed here

        with pyarrow.memory_map(str(table)) as source:
            content = pyarrow.ipc.open_file(source).read_all()
            losses = [
                f"column {name[:80]}: {loss}"
                for name, column in zip(content.column_names, content.columns, strict=True)
                if (loss := self.column_loss(column))
            ]
        return (*losses, *self.name_losses(content.column_names))[:_MAX_LOSSES]

    def column_loss(self, column: Any) -> str | None:  # noqa: ANN401
        """Return what is lost of one Arrow column."""
        del column
        return None

    def name_losses(self, names: Sequence[str]) -> list[str]:
        """Return what is lost of the columns' names."""
        del names
        return []


GUEST_ROOT = "/runtime/guest"  #: where the code that runs inside is imported from


@dataclass(frozen=True)
class Guest:
    """The part that runs inside: a module in a fork of the warm interpreter, or a separate program."""

    packages: tuple[str, ...]  #: dotted; their folders are visible inside, read-only
    module: str | None = None  #: has ``serve(requests, replies)``, which answers until the requests end
    command: tuple[str, ...] = ()  #: without a module: the program and its arguments
    #: Whether it rests by a read whose size says how its call ended (``sandbox/guest/resting.py``); one that does not
    #: keeps a secret from its code, and seals with it what it says of that.
    rests: bool = True
    threads: int = 0  #: that the interpreter starts on its own account, beyond the first


@dataclass(frozen=True)
class LanguageSpec:
    name: str  #: of its row in ``shared.languages``
    versions: Callable[[], str | None]  #: what is installed here; ``None``: nothing
    install: str  #: what to install where it is missing
    guest: Guest
    codec: Codec
    #: How a table reaches it: as an open Arrow file that it maps, or as a file that the codec writes for it.
    frames: Literal["mapped", "written"] = "mapped"
    warm: tuple[str, ...] = ()  #: modules that the warm interpreter loads before its first fork
    analysis: Analysis = field(default_factory=Analysis)
    #: Containers kept ready from the first use on; ``None``: as many as the settings say, from the start.
    pooled: int | None = 1


LanguageSpecs = Mapping[str, LanguageSpec]


def path_inside(package: str, file: str) -> str:
    """Return the path inside of a guest package's file."""
    return f"{GUEST_ROOT}/{package.replace('.', '/')}/{file}"


def version_of(program: Path) -> str | None:
    """Return the version in ``program --version``; ``None`` where the program is missing or broken."""
    if not program.exists():
        return None
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    number = re.search(r"\d+(\.\d+)+", answer.stdout)
    return number.group() if number else None
