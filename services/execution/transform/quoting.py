"""Cells as data: quoted and cut, so that no cell can end its fence or speak as an instruction."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

#: Longer texts are cut; the rest is counted.
MOST_CHARACTERS = 80


def quote(value: object, most: int = MOST_CHARACTERS) -> str:
    """One cell, in the notation of JSON."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if abs(value) < 10**most else _text(str(value), most)
        case float():
            return _number(value)
        case list() | dict():
            return _text(json.dumps(value, ensure_ascii=False, default=str), most)
        case _:
            return _text(str(value), most)


def quote_row(values: Sequence[object], most: int = MOST_CHARACTERS) -> str:
    return "[" + ", ".join(quote(value, most) for value in values) + "]"


def plain(text: str, most: int) -> str:
    """Several lines of free text (an error, printed output) without anything that could end a fence."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kept = "\n".join(_inert("".join(_visible(char) for char in line.expandtabs(4))) for line in lines)
    return cut_middle(kept, most)


def _inert(line: str) -> str:
    """The marks around data stand alone on their lines; a line of data never looks like one."""
    return f"| {line}" if line.strip().upper().startswith(("END DATA", "BEGIN DATA")) else line


def cut_middle(text: str, most: int) -> str:
    """Head and tail of a text that is too long."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}\n... {len(text) - head - tail:,} characters left out ...\n{text[-tail:]}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _text(text: str, most: int) -> str:
    rest = len(text) - most
    shown = text if rest <= 0 else text[:most]
    quoted = "".join(_visible(char) for char in json.dumps(shown, ensure_ascii=False))
    return quoted if rest <= 0 else f"{quoted}... (+{rest:,} characters)"


def _visible(char: str) -> str:
    """Backticks would close a fence; invisible characters hide instructions."""
    return char if char.isprintable() and char != "`" else _escaped(char)


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
