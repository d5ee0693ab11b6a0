"""Mistakes at the command line in one sentence each, with what to do about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cyclopts import CycloptsError

from assay.field_faults import field_fault

if TYPE_CHECKING:
    from assay.errors import APIStatusError

_LISTS = {
    "job": "jobs ls", "file": "files ls", "flow": "flow ls", "collection": "collection ls", "prompt": "prompts ls",
    "evaluation": "eval ls", "key": "keys ls", "endpoint": "endpoints ls", "secret": "webhooks secrets",
}  # fmt: skip
_SHORTEST_PREFIX = 4  #: characters of an id


def usage(error: CycloptsError, arguments: Sequence[str]) -> str:
    """Return what is wrong with the arguments, and where to read on."""
    words = " ".join(getattr(error, "command_chain", None) or ())
    page = f"See `assay {words} --help`." if words else "See `assay --help`."
    kind, text = type(error).__name__, str(error).strip()
    if kind == "UnusedCliTokensError":
        return f"{_unexpected(getattr(error, 'unused_tokens', None) or [], arguments)} {page}"
    if kind == "MissingArgumentError":
        names = getattr(getattr(error, "argument", None), "names", ())
        return f"{_name(names[0]) if names else 'an argument'} is missing. {page}"
    if match := re.match(r'Invalid value for (\S+): unable to convert "(.*)" into (\w+)', text):
        wanted = {"float": "a number", "int": "a whole number"}.get(match[3], f"a {match[3]}")
        return f"{match[1]} must be {wanted}, not {match[2]!r}. {page}"
    return f"{' '.join(text.split()).partition(' Available commands')[0]} {page}"


def _name(option: str) -> str:
    """Return an argument as the help shows it."""
    return option if option.startswith("-") and len(option) > 2 else option.upper()


def _unexpected(tokens: Sequence[str], arguments: Sequence[str]) -> str:
    """Name the words that are too many; they are often the rest of a text without quotes."""
    shown = " ".join(tokens)
    given = list(arguments)
    if tokens and tokens[0] in given and (at := given.index(tokens[0])) > 1 and not tokens[0].startswith("-"):
        return f'Unexpected words: {shown}. Put a text in quotes: "{given[at - 1]} {shown}".'
    return f"Unexpected words: {shown}."


def refusal(error: APIStatusError) -> str:
    """Return what the server refused, each fault once, with fields as the caller knows them."""
    faults = [_fault(each) for each in error.errors[:20]]
    text = "; ".join(dict.fromkeys(faults)) if faults else error.detail
    return f"{_sentence(text)}{_remedy(error.detail)}"


def says_missing(error: APIStatusError) -> bool:
    """Return whether a field names something that does not exist."""
    return any(str(each.get("msg", "")).lower().startswith("there is no ") for each in error.errors)


def _fault(error: dict[str, Any]) -> str:
    places = [str(part) for part in error.get("loc", [])]
    while places and places[0] in {"body", "query", "path", "input", "limits", "budget"}:
        places = places[1:]
    field = ".".join(part for part in places if not part.isdigit())
    text = str(error.get("msg", ""))
    return text if text.lower().startswith("there is no ") else field_fault(field, text)


def _remedy(detail: str) -> str:
    """Return where to find the names that exist."""
    if (same := re.search(r"\b[Tt]here is no such (\w+)\b", detail)) is not None and same[1] in _LISTS:
        return f" List them: assay {_LISTS[same[1]]}"
    match = re.search(r"\b[Tt]here is no (?:finished )?(\w+) '?([^'\s]+?)'?[.,]?$", detail)
    if match is None or match[1] not in _LISTS:
        return ""
    if match[1] == "job" and len(match[2]) < _SHORTEST_PREFIX:
        return f" Give at least {_SHORTEST_PREFIX} characters of its id."
    return f" List them: assay {_LISTS[match[1]]}"


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:] if re.match(r"there is no ", text) else text
    return text if text.endswith((".", "!", "?")) else f"{text}."
