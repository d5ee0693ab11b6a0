"""Path globs of workspaces, definitions and git attributes as regular expressions."""

from __future__ import annotations

import re


def glob_regex(glob: str) -> str:
    """Return a path glob (``*``, ``?``, ``[..]``, ``**``) as a regular expression for a full match.

    The text between two stars is matched at its first occurrence only, which is sufficient, and
    no name can make the match slow.
    """
    chunks = [[""]]  # between ``**``; each a list of pieces between ``*``
    leads = [""]
    at = 0
    while at < len(glob):
        width, piece = _piece(glob, at)
        if piece is None:
            chunks.append([""])
            leads.append(glob[at : at + width])
        elif piece == "*":
            chunks[-1].append("")
        else:
            chunks[-1][-1] += piece
        at += width
    out = ""
    for number, (lead, pieces) in enumerate(zip(leads, chunks, strict=True)):
        last = number == len(chunks) - 1
        body = pieces[0] + "".join(
            f"[^/]*{piece}" if last and place == len(pieces) - 1 else f"(?>[^/]*?{piece})"
            for place, piece in enumerate(pieces)
            if place
        )
        jump = {"": "", "**/": "(?:.*?/)?" if not last else "(?:.*/)?"}.get(lead, ".*?" if not last else ".*")
        out += f"(?>{jump}{body})" if lead and not last else f"{jump}{body}"
    try:
        re.compile(out)
    except re.error:
        return re.escape(glob)
    return out


def _piece(glob: str, at: int) -> tuple[int, str | None]:
    """Return the length and the meaning of the next piece: ``*``, a pattern of one character, or None for a ``**``."""
    char = glob[at]
    if glob.startswith("**", at):
        return (3 if glob.startswith("**/", at) else 2), None
    if char == "*":
        return 1, "*"
    if char == "?":
        return 1, "[^/]"
    if char == "[" and (end := glob.find("]", at + 2)) > 0:
        inner = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
        return end + 1 - at, "[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]"
    if char == "\\" and at + 1 < len(glob):
        return 2, re.escape(glob[at + 1])
    return 1, re.escape(char)
