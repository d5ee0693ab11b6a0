"""The node that a header opens, and the list that its content goes to."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import lru_cache

from pydantic import JsonValue

from services.execution.documents.parse import notation
from services.execution.documents.parse.changes import suggestion
from services.execution.documents.parse.fields import instruction
from services.execution.documents.parse.nodes import (
    TYPES,
    Argument,
    Assertion,
    Clause,
    DocumentNode,
    For,
    If,
    Include,
    Instruction,
    Note,
    PromptBlock,
    Section,
)
from services.execution.documents.parse.notation import Header

_FOR = re.compile(r"([A-Za-z_]\w*)\s+in\s+(.+)$")
_CALL = re.compile(r"([^\s(]+)\s*(?:\((.*)\))?")
_ARGUMENT = re.compile(r"""([A-Za-z_]\w*)\s*=\s*(`[^`]*`|"(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|[^\s,]+)""")
_PROMPT = re.compile(r"@([\w./-]+)\s*")
_WORD = re.compile(r"[a-z]+")
_SELECTED = re.compile(r"\[[\w.:*-]+/[^\]\s]+\]")
_NUMBER = re.compile(r"[+-]?\d{1,300}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?", re.A)

Opened = tuple[DocumentNode, list[DocumentNode] | None]


def opened(header: Header, line: int) -> Opened:  # noqa: PLR0911 - one for each kind of block
    """Return the block that a header opens. Raises: LookupError for a word that opens nothing."""
    word, text = header.word, header.text
    if (node := instruction(word, text, line, header.options)) is not None:
        return node, node.content if node.extent == "enclosed" else None
    if word == "if":
        return _if(text, line)
    if word == "for":
        return _for(text, line)
    if word in ("include", "call"):
        return _include(word, text, line), None
    if word == "assert":
        return _assertion(text, line), None
    if word == "prompt":
        return _prompt(text, line)
    if word == "suggest":
        proposed = suggestion(line, text)
        return proposed, proposed.content
    return _other(header, line)


def _other(header: Header, line: int) -> Opened:
    word, text = header.word, header.text
    closed = text.endswith(":::")
    if ((closed and text.strip(": ")) or _SELECTED.match(text)) and _WORD.fullmatch(word):
        unknown = Instruction(line, line + 1, type=word, message=_without_end(text), broken=True)
        why = f"There is no instruction {word[:40]!r}: write create, edit, fix, describe or discuss."
        unknown.notes.append(Note("error", "unknown_instruction", why))
        unknown.extent = "none" if closed or text.endswith((">", "<")) else "enclosed"
        return unknown, None if unknown.extent == "none" else unknown.content
    if closed:
        raise LookupError(word)
    section = Section(line, line + 1, word=word)
    if meant := _misspelt(word):
        text = f"Line {line + 1}: {word!r} is read as a section of text; did you mean {meant}?"
        section.notes.append(Note("warning", "unknown_block", text))
    return section, section.content


@lru_cache(maxsize=1024)
def _misspelt(word: str) -> str | None:
    """Return the instruction that the word probably misspells."""
    alike = [each for each in TYPES if each[0] == word[:1] and abs(len(each) - len(word)) < 2]
    return next(iter(get_close_matches(word, alike, 1, 0.8)), None) if alike else None


def clause(word: str, text: str, line: int) -> Clause:
    expression, language = _expression(text)
    return Clause("elif" if word == "elif" else "else", expression, language, start=line)


def _if(text: str, line: int) -> Opened:
    expression, language = _expression(text)
    node = If(line, line + 1, clauses=[Clause("if", expression, language, start=line)])
    if not expression:
        node.notes.append(Note("error", "bad_block", "This if has no condition."))
        node.broken = True
    return node, node.clauses[0].content


def _for(text: str, line: int) -> Opened:
    expression, language = _expression(text)
    match = _FOR.match(expression)
    inner, language = _expression(match[2] + (f" {{{language}}}" if language else "")) if match else ("", language)
    node = For(line, line + 1, name=match[1] if match else "", clauses=[Clause("for", inner, language, start=line)])
    if match is None:
        node.notes.append(Note("error", "bad_block", "Write for NAME in EXPRESSION."))
        node.broken = True
    return node, node.clauses[0].content


def _assertion(text: str, line: int) -> DocumentNode:
    expression, language = _expression(text)
    node = Assertion(line, line + 1, expression=expression, language=language)
    if not expression:
        node.notes.append(Note("error", "bad_block", "This assert has no condition."))
    return node


def _prompt(text: str, line: int) -> Opened:
    closed = text.endswith(":::")
    text = _without_end(text)
    named = _PROMPT.match(text)
    message = text[named.end() :] if named else text
    node = PromptBlock(line, line + 1, name=named[1] if named else "", message=message)
    return node, None if closed or message else node.content


def _include(word: str, text: str, line: int) -> DocumentNode:
    text, options = _braced(_without_end(text))
    match = _CALL.match(text)
    node = Include(line, line + 1, call=word == "call")
    if match is None:
        node.notes.append(Note("error", "bad_block", f"This {word} names no file."))
        return node
    node.source = notation.unquoted(match[1])
    if notation.is_language(first := (options.split() or [""])[0]):
        node.language = notation.language_of(first)
    node.arguments = {name: _argument(value) for name, value in _ARGUMENT.findall((match[2] or "")[:4000])}
    return node


def _argument(text: str) -> Argument:
    if text[0] == "`":
        return Argument(code=text[1:-1].strip())
    bare = notation.unquoted(text)
    return Argument(bare if bare != text else _literal(text))


def _literal(text: str) -> JsonValue:
    if _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    words: dict[str, JsonValue] = {"true": True, "false": False, "null": None, "none": None}
    if text[0] == "[":
        return [_argument(item.strip()).value for item in text.strip("[]").split(",") if item.strip()]
    return words.get(text.lower(), text)


def _expression(text: str) -> tuple[str, str]:
    """Return the code, and the language in braces after it."""
    text = _without_end(text)
    before, options = _braced(text)
    language = ""
    if notation.is_language(first := (options.split() or [""])[0]):
        language, text = notation.language_of(first), before
    text = text.strip()
    return (text[1:-1] if len(text) > 1 and text[0] == text[-1] == "`" else text), language


def _braced(text: str) -> tuple[str, str]:
    """Split off the braces at the end; return the text before them and the text in them."""
    bare = text.rstrip()
    begin = bare.rfind("{")
    if not bare.endswith("}") or begin < 0 or "}" in bare[begin:-1]:
        return text, ""
    return bare[:begin].rstrip(), bare[begin + 1 : -1]


def _without_end(text: str) -> str:
    """Remove the colons at the end."""
    bare = text.rstrip(":")
    return bare.rstrip() if len(text) - len(bare) > 2 else text
