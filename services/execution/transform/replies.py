"""Reads a model's reply: the code in it (line by line, because fences nest, indent, and stay open), or DONE."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shared.languages import LANGUAGES

_BETWEEN_WORDS = str.maketrans("{},:", "    ")
_LOOK = frozenset({"look", "probe"})
CHECK = "check"  #: behind a language: code that computes the result a second time
_MAX_EXPLANATION = 2000
_DECORATION = " \t\r\n*_`.!\"'"
_WORD = re.compile(r"\bDONE\b")
_FENCE = re.compile(r"^[ \t]*(```|~~~).*$", re.MULTILINE)
_SENTENCE = re.compile(r"[.!?\n]+")
#: A sentence with one of these does not confirm that it is done.
_DOUBT = re.compile(
    r"\b(not|never|yet|until|once|when|if|unless|before|after|nearly|almost|cannot|isn|aren|wasn|won|can|don|doesn|hasn"
    r"|haven|without|no|will|would|should|could|say|reply|answer|respond)\b|n['’]t\b",
    re.IGNORECASE,
)
#: Phrases that only confirm it; they are not negations.
_ASSURANCE = re.compile(
    r"\b(no (further|more|other|additional|changes?|corrections?|fix(es)?|errors?|issues?|problems?)|nothing)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class FencedBlock:
    """A fenced block: the first word of its info string in lower case, the other words, and its text."""

    tag: str
    words: tuple[str, ...]
    text: str
    closed: bool


@dataclass(frozen=True)
class Code:
    """Code to run; a probe only prints and leaves the result alone."""

    text: str
    look: bool = False
    closed: bool = True


def find_code(reply: str, language: str) -> Code | None:
    """Return the last non-empty block tagged with the language, else the last untagged one; other tags never run."""
    blocks = [block for block in fenced_blocks(reply) if block.text.strip() and not only_done(block.text)]
    blocks = [block for block in blocks if CHECK not in block.words]
    own = [block for block in blocks if block.tag in _tags_of(language) or block.tag in _LOOK]
    untagged = [block for block in blocks if not block.tag]
    if not (own or untagged):
        return None
    block = (own or untagged)[-1]
    look = block.tag in _LOOK or any(word in _LOOK for word in block.words)
    return Code(block.text.strip("\n"), look, block.closed)


def _tags_of(language: str) -> frozenset[str]:
    row = LANGUAGES[language]
    return frozenset({row.name, *row.aliases, *row.libraries})


def fenced_blocks(reply: str) -> list[FencedBlock]:
    """Return every outermost block; an unclosed one extends to the end."""
    blocks: list[FencedBlock] = []
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
        blocks.append(FencedBlock(tag, words, "\n".join(body), closed))
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


def said_beside(reply: str) -> str:
    """Return the text of a reply outside its code."""
    kept = reply.replace("\r\n", "\n")
    for block in fenced_blocks(reply):
        kept = kept.replace(block.text, "")
    lines = (line for line in kept.split("\n") if not line.strip().startswith(("```", "~~~")))
    return "\n".join(line for line in lines if line.strip() and not is_done(line))[:_MAX_EXPLANATION]


def is_done(reply: str) -> bool:
    """Return whether the reply is ``DONE`` alone, or has DONE in capitals in a sentence without negation or condition.

    With a fenced block of any language, nothing but DONE alone counts: the fence may quote a message.
    """
    outside = _FENCE.sub("", reply)
    if only_done(outside):
        return True
    if outside != reply:
        return False
    reply = _ASSURANCE.sub("", reply)
    sentences = [sentence for sentence in _SENTENCE.split(reply) if _WORD.search(sentence)]
    return bool(sentences) and not any(_DOUBT.search(sentence) for sentence in sentences)


def only_done(text: str) -> bool:
    """Return whether the text is only DONE, also as a comment: not code in any language."""
    return text.strip(_DECORATION).lstrip("#-/ ").lower() == "done"
