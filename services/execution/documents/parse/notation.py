"""The notations of a line: code fences and attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_LANGUAGES = {
    "py": "python", "python": "python", "python3": "python", "r": "r", "js": "javascript", "javascript": "javascript",
    "node": "javascript", "nodejs": "javascript", "sql": "sql", "duckdb": "sql", "ipython": "python",
    "ipython3": "python", "ir": "r",
}  # fmt: skip
_PAIR = re.compile(
    r"""([A-Za-z_][\w-]*)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|[^\s,}]+)|#([\w-]+)|([^\s,{}=]+)"""
)
_MARKS = re.compile(r"[=#,{}]")


def language_of(word: str) -> str:
    """The name by which kernels go; a language without a kernel keeps its own."""
    return _LANGUAGES.get(word.lower(), word.lower())


def attributes(text: str) -> dict[str, str]:
    """``a=1 b="two" #id flag`` as a mapping; flags stand for themselves."""
    if len(text) <= 4000 and not _MARKS.search(text):
        return dict.fromkeys(text.split(), "true")
    found: dict[str, str] = {}
    for match in _PAIR.finditer(text[:4000]):
        name, value, identity, flag = match.groups()
        if name:
            found[name] = unquoted(value)
        elif identity:
            found["id"] = identity
        elif flag:
            found[flag] = "true"
    return found


def unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return value


class Fence(NamedTuple):
    language: str
    options: Mapping[str, str]
    executable: bool


def is_language(word: str) -> bool:
    return word.lower() in _LANGUAGES


def fence(info: str, flavour: str) -> Fence:
    """What stands behind the opening of a code fence."""
    info = info.strip()
    if info.startswith("{"):
        return _in_braces(info, flavour)
    if "exec" not in info or flavour != "stencila":
        return _TEXT
    words = attributes(info.replace("{", " ").replace("}", " "))
    names = [word for word in words if words[word] == "true"]
    language = names[0] if names and names[0] != "exec" else ""
    return Fence(language_of(language), words, "exec" in words)


_TEXT = Fence("", {}, False)


def _in_braces(info: str, flavour: str) -> Fence:
    inner, _, after = info[1:].partition("}")
    found = attributes(inner)
    first = next(iter(found), "")
    if flavour == "myst":
        if inner.strip() != "code-cell":
            return _TEXT
        return Fence(language_of(after.strip().split(" ")[0] or "python"), {}, True)
    if inner.startswith(("{", ".", "=")):
        return _TEXT
    if flavour == "quarto":
        flags = [word for word, value in found.items() if value == "true"]
        if len(flags) > 1 and flags[0] == first:
            found.setdefault("id", flags[1])  # ``{r setup, echo=FALSE}``
        return Fence(language_of(first), {**found, **_knitr(found)}, bool(first))
    chunk = not found or is_language(first) or "exec" in found
    return Fence(language_of("" if first == "exec" else first), found, chunk)


def _knitr(options: Mapping[str, str]) -> dict[str, str]:
    return {key: value.lower() for key, value in options.items() if value in ("TRUE", "FALSE", "T", "F")}
