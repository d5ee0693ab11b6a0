"""A parsed manifest: names, dependencies, statements about versions; every one of them knows its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

Scope = Literal["prod", "dev", "test", "peer", "optional", "indirect"]
Json = dict[str, JsonValue]


@dataclass(slots=True, eq=False)
class Dependency:
    ecosystem: str  #: npm, pypi, cargo, go, maven, nuget, gem, composer, hex, ...
    name: str  #: as its registry compares it
    version: str | None
    scope: Scope
    manifest: Manifest
    offset: int | None = None  #: offset in the text; None to search for it on demand
    section: str | None = None  #: the table of the manifest in which to search
    inherited: bool = False  #: another build gives it to this one
    extras: tuple[str, ...] = ()  #: features of a crate, or extras of a Python project, that are wanted with it

    @property
    def line(self) -> int | None:
        if self.offset is not None:
            return self.manifest.line_at(self.offset)
        return self.manifest.line_of(self.name, self.section)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of which version of something is to be used."""

    runtime: str
    source: str
    value: str
    file: str
    line: int | None


@dataclass(slots=True, eq=False)
class Manifest:
    path: str
    kind: str  #: the file name, or ``*.csproj`` for a family of names
    ecosystem: str
    text: str
    name: str | None = None
    version: str | None = None
    data: Json = field(default_factory=dict)
    dependencies: list[Dependency] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    package: bool = True  #: False when it only gathers others or configures tools
    weak: bool = False  #: it makes a package only where nothing stronger does
    facts: dict[str, str] = field(default_factory=dict)  #: small facts of one ecosystem, by name
    _starts: list[int] = field(default_factory=list)  #: offsets of the lines, filled on demand

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    def line_at(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def offset_of(self, line: int) -> int:
        """Return the offset of a line."""
        if not self._starts:
            self._starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        return self._starts[min(line, len(self._starts)) - 1]

    def line_of(self, key: str, after: str | None = None) -> int | None:
        """Return the line of a key, searched after ``after`` if that occurs."""
        start = 0
        if after is not None and (start := _quoted(self.text, after, 0)) < 0:
            match = re.search(rf"[\"'\[]?{re.escape(after)}[\"'\]]?\s*[:=\]]", self.text)
            start = match.start() if match else 0
        if (at := _quoted(self.text, key, start)) >= 0:
            return self.line_at(at)
        name = re.escape(key)
        for pattern in (rf"[\"']{name}[\"']\s*[:=]", rf"(?<![\w@/.-]){name}(?![\w/-])"):
            wanted = re.compile(pattern, re.I)
            match = wanted.search(self.text, start) or wanted.search(self.text)
            if match:
                return self.line_at(match.start())
        return None

    def snippet(self, line: int | None) -> str | None:
        return snippet(self.text, line)

    def depend(
        self, name: str, version: str | None, scope: Scope, offset: int | None = None, section: str | None = None,
        ecosystem: str | None = None, extras: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.dependencies.append(
            Dependency(ecosystem or self.ecosystem, name, version, scope, self, offset, section, extras=extras)
        )

    def state(self, runtime: str, source: str, value: str, line: int | None) -> None:
        if value := value.strip():
            self.statements.append(Statement(runtime, source, value[:100], self.path, line))

    def state_by(self, match: re.Match[str] | None, runtime: str, source: str) -> None:
        """Add the statement in the first group of a match, if there is one."""
        if match is not None:
            self.state(runtime, source, match[1], self.line_at(match.start()))


def first(pattern: str, text: str) -> str | None:
    """Return the first group of the pattern's first match."""
    match = re.search(pattern, text)
    return match[1] if match else None


_ASSIGNED = re.compile(r"\s*[:=]")


def _quoted(text: str, key: str, start: int) -> int:
    """Return the offset of a quoted key as JSON writes it; -1 without one."""
    name = f'"{key}"'
    at = text.find(name, start)
    while at >= 0 and not _ASSIGNED.match(text, at + len(name)):
        at = text.find(name, at + 1)
    return at


#: Without one of these words nothing looks like a secret; looking for them first takes a tenth of the time.
_SECRET_WORDS = ("passw", "secret", "token", "key", "credential")
_SECRET = re.compile(r"(?i)((?:password|passwd|secret|token|api[_-]?key|credential)[\w-]*[\"']?\s*[:=]\s*).+")


def snippet(text: str, line: int | None) -> str | None:
    """Return one line of a text, cut for display, without what looks like a secret."""
    if line is None:
        return None
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
        if not start:
            return None
    end = text.find("\n", start)
    shown = text[start : end if end >= 0 else len(text)].strip()[:160]
    lower = shown.lower()
    if not shown.isascii() or any(word in lower for word in _SECRET_WORDS):
        shown = _SECRET.sub(r"\1***", shown)
    return shown or None


def table(value: object) -> Mapping[str, JsonValue]:
    """Return the value when it is an object, else an empty one: a manifest may hold anything anywhere."""
    return value if isinstance(value, dict) else {}


def texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def text_of(value: object) -> str | None:
    return value if isinstance(value, str) else None


def dig(value: object, *keys: str) -> object:
    for key in keys:
        value = table(value).get(key)
    return value
