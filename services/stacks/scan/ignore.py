"""``.gitignore`` files of a tree, matched by pathspec; read when the tree is whole, as archives come in any order."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

import re2
from pathspec import GitIgnoreSpec

from services.stacks.tree import Tree, join, parent

#: Of one file: re2 compiles what is larger or has more wildcards only with much time and memory.
_MOST_LINES = 2000
_MOST_CHARACTERS = 32 << 10
_LONGEST_LINE = 500
_MOST_WILDCARDS = 20
#: Of one compiled set.
_LINES_AT_ONCE = 100

#: The specifications of the ignore files that speak for a folder, the deciding one first, each with the length of the
#: path that its patterns are relative to.
_Specs = tuple[tuple[int, GitIgnoreSpec], ...]


def ignored(tree: Tree) -> tuple[set[str], set[str]]:
    """The folders and the files that the tree's own ignore files leave out."""
    folders: set[str] = set()
    files: set[str] = set()
    by_folder: dict[str, _Specs] = {}
    for folder in tree.ordered():  # parents first
        above = by_folder.get(parent(folder.path), ()) if folder.path else ()
        if folder.path and (parent(folder.path) in folders or _ignores(above, f"{folder.path}/")):
            folders.add(folder.path)
            continue
        specs = by_folder[folder.path] = (*_own(tree, folder.path, folder.files), *above)
        if specs:
            paths = (join(folder.path, name) for name in folder.files)
            files.update(path for path in paths if _ignores(specs, path))
    return folders, files


def _own(tree: Tree, folder: str, names: dict[str, int]) -> _Specs:
    if ".gitignore" not in names:
        return ()
    text = tree.text(join(folder, ".gitignore"), _MOST_CHARACTERS + 1) or ""
    if len(text) > _MOST_CHARACTERS:
        text = text.rpartition("\n")[0]  # half a pattern is another pattern
    start = len(folder) + 1 if folder else 0
    return tuple((start, spec) for spec in _compiled(text))


def _ignores(specs: _Specs, path: str) -> bool:
    """Whether the first specification that says anything about the path leaves it out."""
    for start, spec in specs:
        include = spec.check_file(path[start:]).include
        if include is not None:
            return include
    return False


@lru_cache(maxsize=256)
def _compiled(text: str) -> tuple[GitIgnoreSpec, ...]:
    """The last lines first, as they decide. The same text stands in many commits, and in many repositories."""
    lines = [line for line in text.splitlines()[:_MOST_LINES] if _may_compile(line)]
    parts = [lines[at : at + _LINES_AT_ONCE] for at in range(0, len(lines), _LINES_AT_ONCE)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of brackets within brackets
        return tuple(spec for part in reversed(parts) for spec in _specs(part))


def _may_compile(line: str) -> bool:
    return len(line) <= _LONGEST_LINE and sum(map(line.count, "*?[")) <= _MOST_WILDCARDS


def _specs(lines: list[str]) -> list[GitIgnoreSpec]:
    """One set, matched in linear time; what cannot be compiled is halved until the line at fault is left out."""
    try:
        return [GitIgnoreSpec.from_lines(lines, backend="re2")]
    except (ValueError, re.error, re2.error):
        middle = len(lines) // 2
        return [*_specs(lines[middle:]), *_specs(lines[:middle])] if middle else []
