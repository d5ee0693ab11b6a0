"""Lists that Pandoc reads beyond CommonMark: ``a)``, ``iv.``, ``(2)``, ``#.`` and numbered examples ``(@)``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_ITEM = re.compile(
    r"([ ]{0,12}(?:>[ ]?){0,3})(\()?"
    r"(?:@([\w-]{0,60})|(#)|([ivxlc]{1,8}|[IVXLC]{1,8}|[a-zA-Z])|(\d{1,9}))([.)])([ ]+)(?=\S)"
)
_ANY_ITEM = re.compile(r"[ >]{0,40}(?:[-*+]|\d{1,9}[.)]|\(?@?[\w-]{0,60}[.)])[ ]+\S")
_FENCE = re.compile(r"[ >]{0,40}(`{3,}|~{3,})")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass
class Lists:
    """The text with items that CommonMark reads, and the style of the numbers of each list by its first line."""

    text: str
    styles: dict[int, str] = field(default_factory=dict)
    examples: dict[str, int] = field(default_factory=dict)  #: the numbers of examples, by label


@dataclass(frozen=True)
class _Open:
    style: str  #: as the ``type`` of an ``ol``: a, A, i, I, 1; @ for examples
    ending: str  #: the sign after the number, with a bracket before it
    number: int


def common_lists(source: str) -> Lists:
    """Return the lists of a text as CommonMark writes them; of a label that no example has, references stay."""
    made = Lists("")
    made.text = "\n".join(_lines(source.split("\n"), made))
    for label, number in made.examples.items():
        made.text = made.text.replace(f"(@{label})", f"({number})")
    return made


def _lines(lines: list[str], made: Lists) -> Iterator[str]:
    open_at: dict[int, _Open] = {}  #: by indent
    fence, examples, previous = "", 0, ""
    for number, line in enumerate(lines):
        if match := _FENCE.match(line):
            fence = "" if fence and match[1].startswith(fence) else fence or match[1]
        item = None if fence or match else _ITEM.match(line)
        indent = len(line) - len(line.lstrip(" "))
        begins = not previous.strip(" >") or _ANY_ITEM.match(previous) is not None
        opened = None if item is None else _item(item, open_at.get(indent), begins)
        if not fence and line.strip() and not indent and opened is None and not previous.strip():
            open_at.clear()
        if item is None or opened is None:
            yield line
            previous = line
            continue
        previous = line
        if opened.style == "@":
            examples += 1
            opened = _Open("@", opened.ending, examples)
            if item[3]:
                made.examples[item[3]] = examples
        if opened.style != "1" and (indent not in open_at or open_at[indent].style != opened.style):
            made.styles[number] = opened.style
        open_at = {each: kept for each, kept in open_at.items() if each < indent} | {indent: opened}
        marker = f"{opened.number}{item[7]}"
        yield f"{item[1]}{marker}{' ' * max(1, item.end() - len(item[1]) - len(marker))}{line[item.end() :]}"


def _item(item: re.Match[str], last: _Open | None, begins: bool) -> _Open | None:
    """Return the item that a line is: one that begins a list, or the next one of the list that is open."""
    bracket, hash_, letters, digits = (item[number] or "" for number in (2, 4, 5, 6))
    sign = bracket + item[7]
    if sign == "(.":
        return None
    follows = last is not None and last.ending == sign
    if letters:
        return _lettered(letters, sign, last if follows else None, begins, is_initial=len(item[8]) < 2)
    if not (begins or follows) or not (bracket or hash_):
        return None
    if hash_:
        return _Open("1", sign, last.number + 1 if last is not None and follows else 1)
    return _Open("1", sign, int(digits)) if digits else _Open("@", sign, 0)


def _lettered(letters: str, sign: str, last: _Open | None, begins: bool, *, is_initial: bool) -> _Open | None:
    """``is_initial``: a capital with a point would be that of a name, as one space follows."""
    readings = _readings(letters)
    for style, number in readings:
        if last is not None and last.style == style and number == last.number + 1:
            return _Open(style, sign, number)
    if not begins or (letters.isupper() and sign == "." and is_initial):
        return None
    return next((_Open(style, sign, 1) for style, number in reversed(readings) if number == 1), None)


def _readings(letters: str) -> list[tuple[str, int]]:
    """Return what the letters of an item may count: as a letter, as a Roman number."""
    low, case = letters.lower(), letters.isupper()
    made = [("A" if case else "a", ord(low) - ord("a") + 1)] if len(low) == 1 else []
    values = [_ROMAN.get(letter, 0) for letter in low]
    if all(values):
        pairs = zip(values, [*values[1:], 0], strict=True)
        made.append(("I" if case else "i", sum(-one if one < following else one for one, following in pairs)))
    return made
