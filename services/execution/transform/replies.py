"""Finds the code in a model's reply: a scanner of lines, because fences nest, indent, and stay open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.execution.transform.done import only_done

_TAGS: Mapping[str, frozenset[str]] = {
    "python": frozenset({"python", "py", "python3", "pandas", "polars", "ipython"}),
    "r": frozenset({"r", "rscript", "splus"}),
    "sql": frozenset({"sql", "duckdb"}),
}
_BETWEEN_WORDS = str.maketrans("{},:", "    ")
_LOOK = frozenset({"look", "probe"})


@dataclass(frozen=True)
class Block:
    """A fenced block: the first word of its info string in lower case, the other words, and its text."""

    tag: str
    words: tuple[str, ...]
    text: str
    closed: bool


@dataclass(frozen=True)
class Code:
    """What to run; a look only prints and leaves the result alone."""

    text: str
    look: bool = False
    closed: bool = True


def find_code(reply: str, language: str) -> Code | None:
    """The last non-empty block tagged with the language, else the last untagged one; other tags never run."""
    blocks = [block for block in fenced_blocks(reply) if block.text.strip() and not only_done(block.text)]
    own = [block for block in blocks if block.tag in _TAGS[language] or block.tag in _LOOK]
    untagged = [block for block in blocks if not block.tag]
    if not (own or untagged):
        return None
    block = (own or untagged)[-1]
    look = block.tag in _LOOK or any(word in _LOOK for word in block.words)
    return Code(block.text.strip("\n"), look, block.closed)


def fenced_blocks(reply: str) -> list[Block]:
    """Every outermost block; one that is never closed runs to the end."""
    blocks: list[Block] = []
    lines = _lines(reply)
    at = 0
    while at < len(lines):
        fence = _opening(lines[at])
        at += 1
        if fence is None:
            continue
        indent, mark, info = fence
        body: list[str] = []
        closed = False
        while at < len(lines) and not closed:
            closed = _closes(lines[at], mark)
            if not closed:
                body.append(_outdented(lines[at], indent))
            at += 1
        tag, words = _tag(info)
        blocks.append(Block(tag, words, "\n".join(body), closed))
    return blocks


def _lines(reply: str) -> Sequence[str]:
    return reply.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _opening(line: str) -> tuple[int, str, str] | None:
    """Indent, fence and info string of a line that opens a block."""
    text = line.lstrip(" \t")
    for char in "`~":
        length = len(text) - len(text.lstrip(char))
        if length >= 3:
            info = text[length:].strip()
            # ```x``` on one line is inline code, not a block.
            return None if char == "`" and "`" in info else (len(line) - len(text), char * length, info)
    return None


def _closes(line: str, mark: str) -> bool:
    text = line.strip()
    return len(text) >= len(mark) and set(text) == {mark[0]}


def _outdented(line: str, indent: int) -> str:
    blank = len(line) - len(line.lstrip(" \t"))
    return line[min(indent, blank) :]


def _tag(info: str) -> tuple[str, tuple[str, ...]]:
    """``{r name, x=1}``, ``python look``, ``python3.12``, ``py:main.py``: the first word and the rest."""
    words = info.translate(_BETWEEN_WORDS).lower().split()
    if not words:
        return "", ()
    return words[0].lstrip(".").rstrip("0123456789.") or words[0], tuple(words[1:])
