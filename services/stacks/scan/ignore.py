"""What ``.gitignore`` and ``.gitattributes`` of a tree say; read when it is whole, as archives come in any order."""

from __future__ import annotations

import re
import warnings
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import re2
from pathspec import GitIgnoreSpec

from services.stacks.globs import glob_regex
from services.stacks.tree import Tree, join

#: Of one file: re2 compiles what is larger or has more wildcards only with much time and memory.
_MAX_LINES = 2000
_MAX_CHARACTERS = 32 << 10
_LONGEST_LINE = 500
_MAX_WILDCARDS = 20
#: Of one compiled set.
_LINES_AT_ONCE = 100


class IgnoreFile:
    """One ``.gitignore``: matchers that select, of many names at once, those worth checking, and the patterns."""

    def __init__(self, text: str) -> None:
        self.lines = [line for line in text.splitlines()[:_MAX_LINES] if _may_compile(line)]
        positive = [line for line in self.lines if line.strip() and line[0] not in "#!"]
        parts = [_Ends.of(line) for line in positive]
        self.everything = any(part.everything for part in parts)  #: a pattern that fits every name everywhere
        self.own_folder = any(part.own_folder for part in parts)  #: one that matches every name in the file's folder
        self._names = _matcher(part.name for part in parts if part.name)
        self._folders = _matcher(f"(?:[^\n]*/)?{part.folder}(?:/[^\n]*)?" for part in parts if part.folder)

    def names(self, names: Collection[str]) -> set[str]:
        """Return the names that the last part of a pattern matches."""
        return _matched(self._names, names)

    def folders(self, paths: Collection[str]) -> set[str]:
        """Return the paths of folders, below the file's own, in which a pattern may match every name."""
        return _matched(self._folders, paths)

    @cached_property
    def specs(self) -> tuple[GitIgnoreSpec, ...]:
        """The patterns as sets, the last lines first, as they decide."""
        parts = [self.lines[at : at + _LINES_AT_ONCE] for at in range(0, len(self.lines), _LINES_AT_ONCE)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of brackets within brackets
            return tuple(spec for part in reversed(parts) for spec in _specs(part))


@dataclass(frozen=True)
class _Ends:
    """A pattern's condition on a name or, where it matches every name, on the folders above: as regular expressions."""

    name: str = ""
    folder: str = ""
    everything: bool = False
    own_folder: bool = False

    @classmethod
    def of(cls, line: str) -> _Ends:
        parts = line.rstrip().rstrip("/").split("/")
        if parts[-1].strip("*"):
            return cls(name=_loosely(parts[-1]))
        outer = next((part for part in reversed(parts) if part.strip("*")), None)
        if outer is not None:
            return cls(folder=_loosely(outer))
        return cls(everything=True) if parts != ["", "*"] else cls(own_folder=True)


def _loosely(part: str) -> str:
    """Return a part of a pattern that matches at least what git's does: matches are checked again."""
    if "\\" in part or "[:" in part:
        return "[^\\n/]*"
    fits = {"*": "[^\\n/]*", "?": "[^\\n/]"}
    pieces = (fits.get(piece) or ("[^\\n/]" if len(piece) > 1 else re.escape(piece)) for piece in _PIECE.findall(part))
    return "".join(pieces) + r"\s*"


#: A bracket, or a character.
_PIECE = re.compile(r"\[[!^]?.[^\]]*\]|.", re.S)


def _matcher(patterns: Iterable[str]) -> Any:  # noqa: ANN401 - re2 has no types
    """Return a matcher of lines that match a pattern; None without any. If re2 cannot hold them, every line matches."""
    either = "|".join(sorted(set(patterns)))
    if not either:
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(f"(?m)^(?:{either})$", options)
    except re2.error:
        return re2.compile("(?m)^[^\n]*$")


def _matched(matcher: Any, names: Collection[str]) -> set[str]:  # noqa: ANN401
    """Return the names that the matcher finds as lines; a name with line breaks is always checked."""
    if matcher is None:
        return set()
    return {match[0] for match in matcher.finditer("\n".join(names))}.union(name for name in names if "\n" in name)


@dataclass(frozen=True)
class _Placed:
    """An ignore file at its place in a tree."""

    base: int  #: length of the path that its patterns are relative to
    file: IgnoreFile


@dataclass
class _Active:
    """The ignore files that speak for a folder, the nearest first, and the names that they may concern."""

    placed: tuple[_Placed, ...] = ()
    names: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)  #: in which every name is
    everything: bool = False

    def left_out(self, outer: str, name: str) -> bool:
        """Return whether a folder in ``outer`` is left out."""
        return (self.everything or name in self.names or outer in self.folders) and self.ignores(
            join(outer, name) + "/"
        )

    def ignores(self, path: str) -> bool:
        """Return whether the first specification that matches the path leaves it out."""
        for placed in self.placed:
            for spec in placed.file.specs:
                include = spec.check_file(path[placed.base :]).include
                if include is not None:
                    return include
        return False


def ignored(tree: Tree) -> tuple[set[str], set[str]]:
    """Return the folders and the files that the tree's own ignore files leave out."""
    folders: set[str] = set()
    files: set[str] = set()
    active: dict[str, _Active] = {}
    paths = sorted(tree.folders)
    for path in paths:  # parents first
        outer, _, name = path.rpartition("/")
        above = active[outer] if path and outer in active else _Active()
        if path and (outer in folders or (above.placed and above.left_out(outer, name))):
            folders.add(path)
            continue
        listed = tree.folders[path].files
        here = active[path] = _opened(tree, path, paths, above) if ".gitignore" in listed else above
        if here.everything or path in here.folders:
            files.update(join(path, name) for name in listed if here.ignores(join(path, name)))
        elif here.names and not here.names.isdisjoint(listed):
            files.update(join(path, name) for name in here.names & listed.keys() if here.ignores(join(path, name)))
    return folders, files


def _opened(tree: Tree, folder: str, paths: list[str], above: _Active) -> _Active:
    text = tree.text(join(folder, ".gitignore"), _MAX_CHARACTERS + 1) or ""
    if len(text) > _MAX_CHARACTERS:
        text = text.rpartition("\n")[0]  # half a pattern is another pattern
    file = _read(text)
    prefix = folder + "/" if folder else ""
    below = list(_below(paths, prefix))
    names: set[str] = set()
    for path in (folder, *below):
        names.update(tree.folders[path].files, tree.folders[path].folders)
    inner = {prefix + path for path in file.folders([path[len(prefix) :] for path in below])}
    return _Active(
        (_Placed(len(prefix), file), *above.placed),
        above.names | file.names(names),
        above.folders | inner | ({folder} if file.own_folder else set()),
        above.everything or file.everything,
    )


def _below(paths: list[str], prefix: str) -> Iterator[str]:
    """Yield the sorted paths that begin with the prefix."""
    for at in range(bisect_left(paths, prefix), len(paths)):
        if not paths[at].startswith(prefix):
            return
        yield paths[at]


@lru_cache(maxsize=256)
def _read(text: str) -> IgnoreFile:
    """Parse and cache the file: the same text occurs in many commits, and in many repositories."""
    return IgnoreFile(text)


def _may_compile(line: str) -> bool:
    return len(line) <= _LONGEST_LINE and sum(map(line.count, "*?[")) <= _MAX_WILDCARDS


def _specs(lines: list[str]) -> list[GitIgnoreSpec]:
    """Compile one set, matched in linear time; on failure it is halved until the invalid line is left out."""
    try:
        return [GitIgnoreSpec.from_lines(lines, backend="re2")]
    except (ValueError, re.error, re2.error):
        middle = len(lines) // 2
        return [*_specs(lines[middle:]), *_specs(lines[:middle])] if middle else []


_ATTRIBUTE = re.compile(r"^(-?)(?:linguist-)?(vendored|generated|documentation|detectable)(?:=(\w+))?$")


@dataclass(frozen=True)
class Attributes:
    """What ``.gitattributes`` say about languages: (pattern, anchored, folder, settings), later ones win."""

    rules: tuple[tuple[re.Pattern[str], bool, str, dict[str, str]], ...]

    def of(self, path: str, name: str) -> dict[str, str]:
        settings_here: dict[str, str] = {}
        for pattern, anchored, folder, settings in self.rules:
            if folder and not path.startswith(folder + "/"):
                continue
            below = path[len(folder) + 1 :] if folder else path
            if pattern.fullmatch(below if anchored else name):
                settings_here.update(settings)
        return settings_here


def attributes(tree: Tree) -> Attributes:
    rules = []
    for path in sorted(path for path, folder in tree.folders.items() if ".gitattributes" in folder.files):
        text = tree.text(join(path, ".gitattributes")) or ""
        for line in text.splitlines()[:_MAX_LINES]:
            words = line.split()
            if len(words) < 2 or line.startswith("#") or "linguist" not in line:
                continue
            settings = dict(filter(None, (_setting(word) for word in words[1:])))
            if settings:
                glob = words[0]
                anchored = "/" in glob.rstrip("/")
                glob = glob.removeprefix("/") + ("**" if glob.endswith("/") else "")
                rules.append((re.compile(glob_regex(glob)), anchored, path, settings))
    return Attributes(tuple(rules))


def _setting(word: str) -> tuple[str, str] | None:
    if word.startswith("linguist-language="):
        return "language", word.partition("=")[2]
    if "linguist-" not in word:
        return None
    match = _ATTRIBUTE.match(word)
    if not match:
        return None
    value = "false" if match[1] else (match[3] or "true")
    return match[2], value
