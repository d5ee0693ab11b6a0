"""Texts of Mermaid as people see them: quotes off, entities, line breaks, markup."""

from __future__ import annotations

import html
import re

_BREAK = re.compile(r"<br\s*/?>|\\n", re.IGNORECASE)
_BLOCK = re.compile(r"</?(?:p|div|li|ul|ol|hr|h[1-6]|center|pre|table|tr|td)\b[^<>]*>", re.IGNORECASE)
_INLINE = re.compile(
    r"</?(?:b|i|u|s|em|strong|span|small|big|sub|sup|code|font|mark|del|ins|a|img|tt|kbd|svg)\b[^<>]*>", re.IGNORECASE
)
_ENTITY = re.compile(r"[#&](?:#?(\d{1,7})|#x([0-9a-fA-F]{1,6})|([a-zA-Z]{2,10}));")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3}|~~)(?=\S)(.+?)(?<=\S)\1(?![\w*])", re.DOTALL)


def label_text(text: str) -> tuple[str, bool]:
    """Return the text that a label shows, and whether it has lost markup."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1]
    markdown = len(text) >= 2 and text[0] == text[-1] == "`"
    if markdown:
        text = "\n".join(line.strip() for line in text[1:-1].strip().splitlines())
    plain = _INLINE.sub("", _BLOCK.sub("\n", text))
    lost = plain != text
    if lost:
        plain = re.sub(r"\n{2,}", "\n", plain).strip("\n")
    if markdown:
        without = _EMPHASIS.sub(r"\2", plain)
        lost, plain = lost or without != plain, without
    plain = "\n".join(line.strip() if "\n" in plain else line for line in _BREAK.sub("\n", plain).split("\n"))
    return _ENTITY.sub(_character, plain).replace("\x00", ""), lost


def _character(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name is not None:
        shown = html.unescape(f"&{name};")
        return match[0] if shown == f"&{name};" else shown
    code = int(decimal) if decimal is not None else int(hexadecimal, 16)
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else match[0]
