"""What is known of code without running it: which names it sets and uses, and its syntax. Documents rely on it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_WORD = re.compile(r"[A-Za-z_.][A-Za-z0-9_.]*|[A-Za-z_]\w*")
_TEXT_OR_COMMENT = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|--[^\n]*|/\*.*?\*/", re.S)


@dataclass(frozen=True)
class CodeNames:
    sets: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()  #: of those set: what its own source text can make again


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


def names_by_pattern(sets: re.Pattern[str], quoted_names: bool = False) -> Callable[[str], CodeNames]:
    """Read names without a parser: ``sets`` matches an assignment, whose group is the name; every word may be a use."""

    def names_of(code: str) -> CodeNames:
        bare = _TEXT_OR_COMMENT.sub(" ", code)
        words = set(_WORD.findall(code if quoted_names else bare))
        # ``frame.column`` uses ``frame``; in R the dot is part of a name.
        roots = {word.partition(".")[0] for word in words}
        return CodeNames(
            frozenset(match[match.lastindex or 0] for match in sets.finditer(bare)), frozenset(words | roots)
        )

    return names_of
