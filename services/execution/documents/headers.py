"""The one-line notations: code fences, instructions, attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from services.execution.documents.nodes import Instruction, Note

TYPES = ("create", "edit", "fix", "describe", "discuss")
_MODES = {"always", "auto", "demand", "demanded", "need", "needed", "lock"}
_POSITIONS = {"above", "previous", "prev", "below", "next"}
_TARGETS = set(
    "code chunk cell figure fig heading list math equation eqn paragraph para quote section table".split()  # noqa: SIM905
)
_LANGUAGES = {
    "py": "python", "python": "python", "python3": "python", "r": "r", "js": "javascript", "javascript": "javascript",
    "node": "javascript", "nodejs": "javascript", "sql": "sql", "duckdb": "sql",
}  # fmt: skip
_PAIR = re.compile(
    r"""([A-Za-z_][\w-]*)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|[^\s,}]+)|#([\w-]+)|([^\s,{}=]+)"""
)
_MODEL = re.compile(r"[A-Za-z0-9*][A-Za-z0-9._:/*@+-]{0,199}")
_NUMBER = re.compile(r"([xqcsmtr])(\d{1,3})(?=\s|$)")
_OPTION = re.compile(r"(as|execute|budget)=([A-Za-z_0-9]+)(?=\s|$)")
_BRACKET = re.compile(r"\[([^\[\]]{0,2000})\](?=\s|$|:)")
MOST_REPLICATES = 10


def language_of(word: str) -> str:
    """The name by which kernels go; a language without a kernel keeps its own."""
    return _LANGUAGES.get(word.lower(), word.lower())


def attributes(text: str) -> dict[str, str]:
    """``a=1 b="two" #id flag`` as a mapping; flags stand for themselves."""
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


@dataclass(frozen=True)
class Fence:
    language: str
    options: Mapping[str, str]
    executable: bool


def fence(info: str, flavour: str) -> Fence:
    """What stands behind the opening of a code fence."""
    info = info.strip()
    if info.startswith("{"):
        inner = info[1:].partition("}")
        found = attributes(inner[0])
        first = next(iter(found), "")
        if flavour == "myst":
            if first not in ("{code-cell}", "code-cell"):
                return Fence("", {}, False)
            return Fence(language_of(inner[2].strip().split(" ")[0] or "python"), {}, True)
        if flavour == "quarto":
            executable = bool(first) and not first.startswith((".", "="))
            return Fence(language_of(first), found, executable)
        return Fence(language_of(first), found, "exec" in found)
    words = attributes(info.replace("{", " ").replace("}", " "))
    names = [word for word in words if words[word] == "true"]
    executable = "exec" in words and flavour == "stencila"
    language = names[0] if names and names[0] != "exec" else ""
    return Fence(language_of(language), words, executable)


def instruction(rest: str, line: int) -> Instruction | None:
    """``TYPE fields MESSAGE`` after the colons; ``None`` when the first word is no type."""
    word = re.match(r"[A-Za-z]+(?![A-Za-z0-9_-])", rest)
    if word is None or word[0].lower() not in TYPES:
        return None
    node = Instruction(line, line + 1, type=word[0].lower())
    options: dict[str, str] = {}
    text = _ending(rest[word.end() :].strip(), node)
    text = _fields(text, options)
    if prompted := re.match(r"@([\w./-]+)\s*", text):
        options["prompt"], text = prompted[1], text[prompted.end() :]
    text = _models(text, node)
    while found := _NUMBER.match(text) or _OPTION.match(text):
        name, value = found.groups()
        if name == "x":
            node.replicates = max(1, min(int(value), MOST_REPLICATES))
        options[name], text = value, text[found.end() :].strip()
    node.options, node.message = options, text
    return node


def _fields(text: str, options: dict[str, str]) -> str:
    """Mode, position and node type; words that another field does not follow are the message's own."""
    taken: dict[str, str] = {}
    rest = text
    for names, key in ((_MODES, "mode"), (_POSITIONS, "position"), (_TARGETS, "node")):
        first, _, after = rest.partition(" ")
        if first in names:
            taken[key], rest = first, after.strip()
    if taken and (rest.startswith(("[", "@")) or _NUMBER.match(rest) or _OPTION.match(rest) or len(taken) > 1):
        options.update(taken)
        return rest
    return text


def _ending(text: str, node: Instruction) -> str:
    if ended := re.search(r"(?:^|\s)(:{3,}|>>>|<<<|[<>])$", text):
        mark = ended[1]
        node.extent = "next" if mark[0] == ">" else "previous" if mark[0] == "<" else "none"
        return text[: ended.start()].rstrip()
    if ended := re.search(r":{3,}$", text):
        return text[: ended.start()].rstrip()
    node.extent = "enclosed"
    return text


def _models(text: str, node: Instruction) -> str:
    if not text.startswith("["):
        return text
    bracket = _BRACKET.match(text)
    if bracket is None:
        return text
    names = [name.strip().strip("\"'") for name in bracket[1].split(",")]
    bad = [name for name in names if name and not _MODEL.fullmatch(name)]
    if bad or not any(names):
        if bad and any(" " in name for name in bad):
            return text  # prose in brackets, not a list of models
        node.notes.append(Note("error", "bad_selector", f"{bracket[0]} does not name models; write [provider/model]."))
        node.broken = True
        return text[bracket.end() :].strip()
    node.models = tuple(name for name in names if name)
    return text[bracket.end() :].strip()
