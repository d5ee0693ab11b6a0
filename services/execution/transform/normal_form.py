"""Code without its layout, so that the same code is recognized however it is written."""

from __future__ import annotations

import re
from functools import cache

from shared.languages import LANGUAGES

_TEXT = r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`[^`\n]*`'
_OPERATOR = r"<<-|<-|->|\|>|==|!=|<=|>=|--|\*\*|//|:=|&&|\|\||::|%\w*%"
_IMPORTS = frozenset({"import pandas as pd", "import numpy as np", "import polars as pl"})
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")
#: Where 'a' and "a" are the same text.
_ANY_QUOTES = frozenset({"python", "r", "javascript"})


def normalised(code: str, language: str) -> str:
    """Return the code without what does not change its meaning.

    That is comments, blank lines, blanks inside a line, line ends inside brackets and, where the language has two
    kinds, the quotes of a text; in Python also the usual imports, which are added where they are missing.
    """
    lines: list[list[str]] = [[]]
    indents = [""]
    depth = 0
    for match in _tokens(language).finditer(code.replace("\r\n", "\n").strip("\n")):
        token, kind = match.group(), match.lastgroup
        if kind == "line" and depth == 0:
            lines.append([])
            indents.append(token[1:].expandtabs(4))
        if kind in ("line", "comment", "blank"):
            continue
        if kind == "text" and language in _ANY_QUOTES:
            token = _requoted(token)
        depth = max(0, depth + (token in _OPENS) - (token in _CLOSES))
        lines[-1].append(token)
    texts = [indent + " ".join(line) for indent, line in zip(indents, lines, strict=True) if line]
    return "\n".join(text for text in texts if language != "python" or text not in _IMPORTS)


@cache
def _tokens(language: str) -> re.Pattern[str]:
    comment = re.escape(LANGUAGES[language].comment)
    return re.compile(
        rf"(?P<text>{_TEXT})|(?P<comment>{comment}[^\n]*)|(?P<line>\n[ \t]*)|(?P<blank>\s+)|(?P<word>\w+)"
        rf"|(?P<operator>{_OPERATOR})|(?P<other>.)",
        re.DOTALL,
    )


def _requoted(text: str) -> str:
    """Return a short text with double quotes, where they mean the same."""
    inner = text[1:-1]
    plain = text[0] == "'" and not text.startswith("'''") and not set(inner) & set("\"'\\")
    return f'"{inner}"' if plain else text
