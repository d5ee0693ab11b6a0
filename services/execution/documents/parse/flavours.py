"""Detects the flavour of Markdown of a document, from the blocks that only one flavour has."""

from __future__ import annotations

import re
from typing import Literal

Flavour = Literal["stencila", "quarto", "myst"]
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,}|:{3,})[ \t]*([^\r\n]{1,500})", re.M)
_STENCILA = re.compile(r"[\w.+-]+[ \t]+exec\b")
_MYST = re.compile(r"\{(?:code-cell|code-block|note|tip|warning|important|admonition|seealso|hint|figure|math)\}")
_QUARTO = re.compile(r"\{(?:python|r|R|julia|js|ojs|sql|bash)\b[^}]*\}|\{[^}]*\.callout-\w+[^}]*\}")


def recognised(markdown: str) -> Flavour:
    """Return the flavour of the first distinctive block; Stencila's without one."""
    for fence in _FENCE.finditer(markdown):
        info = fence[2]
        if _STENCILA.match(info):
            return "stencila"
        if _MYST.match(info):
            return "myst"
        if _QUARTO.match(info):
            return "quarto"
    return "stencila"
