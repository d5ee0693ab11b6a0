"""A name that does not exist, in one sentence with the names that were probably meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

_MAX_NEAR = 3
_MAX_LISTED = 20
_SIMILAR = 0.6  #: difflib's ratio


def no_such(noun: str, name: str, known: Collection[str]) -> str:
    """Return that there is no such thing, and its near names, or some of all names where none is near."""
    return f"There is no {noun} {name[:100]!r}. {meant(name, known) or _those(noun, known)}".rstrip()


def meant(name: str, known: Collection[str]) -> str:
    """Return "Did you mean ...?", or an empty text when no name is near."""
    close = near(name, known)
    return f"Did you mean {' or '.join(close)}?" if close else ""


def near(name: str, known: Collection[str]) -> list[str]:
    """Return the names that end or begin with the given one as a whole part, else the most similar names."""
    given = name[:100].casefold()
    by_part = [each for each in sorted(known) if given in (each.casefold(), *_ends(each.casefold()))]
    if by_part:
        return by_part[:_MAX_NEAR]
    folded = {each.casefold(): each for each in known}
    if similar := get_close_matches(given, folded, 1, _SIMILAR):
        return [folded[similar[0]]]
    parts = {part for each in folded for part in _ends(each)}
    return near(similar[0], known) if (similar := get_close_matches(given, parts, 1, _SIMILAR)) else []


def some(names: Collection[str], most: int = 6) -> str:
    """Return the first names in the order of the alphabet, and the number of the others."""
    shown = ", ".join(sorted(names)[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _ends(name: str) -> Iterable[str]:
    """Return the first and the last part of a name of several parts, such as ``execution.transform``."""
    parts = name.replace("/", ".").split(".")
    return {parts[0], parts[-1]} if len(parts) > 1 else ()


def _those(noun: str, known: Collection[str]) -> str:
    return f"The {noun}s are {some(known, _MAX_LISTED)}." if known else f"There are no {noun}s yet."
