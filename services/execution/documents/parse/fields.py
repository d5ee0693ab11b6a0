"""An instruction's one line: type, models, options, message, and what the message is about."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from keyword import iskeyword

from services.execution.documents.parse.nodes import TYPES, Instruction, Note
from services.execution.documents.parse.notation import attributes

MAX_REPLICATES = 10
_MAX_FIELDS = 30
_MODES = {"always", "auto", "demand", "demanded", "need", "needed", "lock"}
_POSITIONS = {"above", "previous", "prev", "below", "next"}
_TARGETS = set(
    "code chunk cell figure fig heading list math equation eqn paragraph para quote section table".split()  # noqa: SIM905
)
_LEADING = _MODES | _POSITIONS | _TARGETS
_MODEL = re.compile(r"[A-Za-z0-9*][A-Za-z0-9._:/*@+-]{0,199}")
_NUMBER = re.compile(r"([xqcsmtr])(\d{1,3})(?=\s|$)")
_OPTION = re.compile(r"(as|execute|budget|schema|id)=(\"[^\"]*\"|'[^']*'|[\w./#-]+)(?=\s|$)")
_BRACKET = re.compile(r"\[([^\[\]]{0,2000})\](?=\s|$|:)")
_PROMPT = re.compile(r"@([\w./-]+)(?=\s|$)")
_GROUP = re.compile(r"\{(?!%)([^{}]*)\}(?=\s|$)")
_ENDING = re.compile(r"(?:^|\s)(:{3,}|>>>|<<<|[<>])$")
_NO_SELECTOR = "The text in brackets names no models: it is part of the message."
_LONG = {
    "model": "models", "replicates": "x", "quality": "q", "cost": "c", "speed": "s", "temperature": "t", "seed": "r",
    "mode": "mode", "position": "position", "node": "node", "prompt": "prompt", "label": "id", "name": "id",
}  # fmt: skip
_KNOWN = {*_LONG, *_LONG.values(), "as", "execute", "budget", "schema", "id", "m", "x"}


def instruction(word: str, text: str, line: int, given: Mapping[str, str] | None = None) -> Instruction | None:
    """``TYPE fields MESSAGE`` as a node; ``None`` when the word is no type."""
    if word not in TYPES:
        return None
    node = Instruction(line, line + 1, type=word)
    options: dict[str, str] = {}
    text = _ending(text.strip(), node)
    text = _fields(_modes(text, options), options, node)
    node.message = _trailing(text, options)
    apply_options(node, {**options, **(given or {})})
    if node.message.startswith("[") and not node.models and not node.broken:
        node.notes.append(Note("info", "no_selector", _NO_SELECTOR))
    return node


def apply_options(node: Instruction, given: Mapping[str, str]) -> None:
    """Options as they are named in any of the spellings."""
    if not given:
        return
    options = dict(node.options)
    for name, value in given.items():
        known = _LONG.get(name, name)
        if known == "models":
            _select(node, value)
        elif known == "t" and "." in value:
            options["t"] = str(round(float(value) * 100)) if re.fullmatch(r"\d?\.\d+", value) else value
        elif known == "schema" and value.startswith("{") and "id" in options:
            options[known] = value
        else:
            options[known] = value
    if options.get("x", "").isdecimal():
        node.replicates = max(1, min(int(options["x"]), MAX_REPLICATES))
    name = options.get("as", "")
    if name and (not name.isidentifier() or iskeyword(name)):
        node.notes.append(Note("error", "bad_option", f"as={name[:100]} is not a name that code could use."))
        node.broken = True
    if not options.keys().isdisjoint("qcsm"):
        text = "Weights for quality, cost and speed, and a least score, are not used to choose a model."
        node.notes.append(Note("info", "option_ignored", text))
    node.options = options


def _modes(text: str, options: dict[str, str]) -> str:
    """Mode, position and node type; words that another field does not follow are the message's own."""
    if text.partition(" ")[0] not in _LEADING:
        return text
    taken: dict[str, str] = {}
    rest = text
    for names, key in ((_MODES, "mode"), (_POSITIONS, "position"), (_TARGETS, "node")):
        first, _, after = rest.partition(" ")
        if first in names:
            taken[key], rest = first, after.strip()
    followed = rest.startswith(("[", "@")) or _NUMBER.match(rest) or _OPTION.match(rest) or _GROUP.match(rest)
    if taken and (followed or len(taken) > 1):
        options.update(taken)
        return rest
    return text


def _fields(text: str, options: dict[str, str], node: Instruction) -> str:
    """PromptBlock, models and options, in any order; what follows them is the message."""
    for _ in range(_MAX_FIELDS):
        if not text:
            break
        if match := _PROMPT.match(text):
            options["prompt"] = match[1]
        elif text[0] == "[" and not node.models and not node.broken and (match := _BRACKET.match(text)):
            if not _select(node, match[1]):
                return text
        elif match := _NUMBER.match(text):
            options[match[1]] = match[2]
        elif text.startswith("schema={"):
            text = _schema(text, options, node)
            continue
        elif match := _OPTION.match(text):
            options[match[1]] = match[2].strip("\"'")
        elif text[0] == "{" and (match := _GROUP.match(text)) and (group := _known(match[1])):
            options.update(group)
        else:
            return text
        text = text[match.end() :].lstrip()
    return text


def _trailing(text: str, options: dict[str, str]) -> str:
    """``MESSAGE {as=name}``"""
    begin = text.rfind("{")
    if not text.endswith("}") or begin < 1 or text[begin - 1] != " " or "}" in text[begin:-1]:
        return text
    group = _known(text[begin + 1 : -1])
    if group is None:
        return text
    options.update(group)
    return text[:begin].rstrip()


def _known(text: str) -> dict[str, str] | None:
    options = attributes(text)
    return options if options and set(options) <= _KNOWN else None


def _schema(text: str, options: dict[str, str], node: Instruction) -> str:
    """``schema={...}``: JSON in the line."""
    text = text[len("schema=") :]
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        node.notes.append(Note("error", "bad_schema", "The text after schema= is not JSON."))
        node.broken = True
        return text
    options["schema"] = text[:end]
    return text[end:].lstrip()


def _ending(text: str, node: Instruction) -> str:
    if text.endswith((":", "<", ">")) and (ended := _ENDING.search(text)):
        mark = ended[1]
        node.extent = "next" if mark[0] == ">" else "previous" if mark[0] == "<" else "none"
        return text[: ended.start()].rstrip()
    if text.endswith(":::"):
        return text.rstrip(":").rstrip()
    node.extent = "enclosed"
    return text


def _select(node: Instruction, text: str) -> bool:
    """Return whether these are models; prose in brackets is not."""
    names = [name.strip().strip("\"'") for name in text.strip("[]").split(",")]
    bad = [name for name in names if name and not _MODEL.fullmatch(name)]
    if bad or not any(names):
        if bad and any(" " in name for name in bad):
            return False
        note = Note("error", "bad_selector", f"[{text.strip('[]')}] does not name models; write [provider/model].")
        node.notes.append(note)
        node.broken = True
        return True
    node.models = tuple(name for name in names if name.strip("*"))  # ``*`` is any model: no choice
    return True
