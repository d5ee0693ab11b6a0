"""Mistakes at the command line in one sentence each, with what to do about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import App, CycloptsError, MissingArgumentError, UnknownCommandError, UnknownOptionError

from assay.commands.session import current
from shared.faults import field_fault
from shared.setting_names import SETTING_NAMES

if TYPE_CHECKING:
    from assay.errors import APIStatusError

_LISTS = {
    "job": "jobs ls", "file": "files ls", "flow": "flow ls", "collection": "collection ls", "prompt": "prompts ls",
    "evaluation": "eval ls", "key": "keys ls", "endpoint": "endpoints ls", "secret": "webhooks secrets",
    "conversation": "conversations ls", "shadow": "eval shadows",
}  # fmt: skip
_SHORTEST_PREFIX = 4  #: characters of an id
#: Words that other programs use for the same step.
_SYNONYMS = (
    {"get", "show", "view", "describe", "info", "inspect", "cat"}, {"ls", "list", "all"},
    {"rm", "delete", "remove", "del", "drop", "revoke", "destroy"},
    {"create", "add", "new", "set", "make", "put", "upload", "start", "import"},
    {"execute", "exec", "run", "code", "python"}, {"replay", "retry", "rerun", "again"},
    {"cancel", "stop", "kill", "abort", "down"}, {"up", "start", "serve", "server"},
    {"watch", "follow", "tail", "logs", "log", "events"}, {"queues", "queue"},
    {"conversations", "sessions", "session", "chats"}, {"stats", "usage", "costs"}, {"ingest", "index", "load"},
)  # fmt: skip
_SIMILAR = 0.75  #: a word is offered for one that is so much like it (difflib's ratio)
_MAX_OFFERED = 3


def usage(error: CycloptsError, arguments: Sequence[str], app: App) -> str:
    """Return what is wrong with the arguments, and where to read on."""
    words = " ".join(getattr(error, "command_chain", None) or ())
    page = f"See `assay {words} --help`." if words else "See `assay --help`."
    kind, text = type(error).__name__, str(error).strip()
    if kind == "UnusedCliTokensError":
        return _too_many(getattr(error, "unused_tokens", None) or [], words, arguments, app, page)
    if isinstance(error, MissingArgumentError):
        return f"{_missing(error, arguments)} {page}"
    if isinstance(error, UnknownCommandError) and error.unused_tokens:
        return _unknown(error.unused_tokens[0], words, app, page)
    if match := re.match(r'Invalid value for (\S+): unable to convert "(.*)" into (\w+)', text):
        wanted = {"float": "a number", "int": "a whole number"}.get(match[3], f"a {match[3]}")
        return f"{match[1]} must be {wanted}, not {match[2]!r}. {page}"
    if isinstance(error, UnknownOptionError):
        text = _unknown_option(error, text)
    return f"{' '.join(text.split()).partition(' Available commands')[0]} {page}"


def _unknown_option(error: UnknownOptionError, text: str) -> str:
    """Offer the option that the given one continues, or the setting of the server that it is."""
    given = error.token.keyword or ""
    if (meant := _option_with_same_start(error)) is not None:
        return f"Unknown option: {given}. Did you mean {meant}?"
    setting = f"ASSAY_{given.strip('-').replace('-', '_').upper()}"
    return f"Unknown option: {given}. It is a setting: {setting}=VALUE assay up." if setting in SETTING_NAMES else text


def _option_with_same_start(error: UnknownOptionError) -> str | None:
    """Return the longest option that the given one continues: ``--out`` of ``--outfile``."""
    given = error.token.keyword or ""
    names = (name for each in error.argument_collection if each.parse for name in each.names)
    return max((each for each in names if each.startswith("--") and given.startswith(each)), key=len, default=None)


def _too_many(tokens: Sequence[str], group: str, arguments: Sequence[str], app: App, page: str) -> str:
    """Return which words are too many, or the misspelled command that a group's default took for a file."""
    given = list(arguments)
    at = given.index(tokens[0]) - 1 if tokens and tokens[0] in given else 0
    own = [each.removeprefix(f"{group} ") for each in _commands(app) if each.startswith(f"{group} ")]
    if at > 0 and get_close_matches(given[at], own, 1, _SIMILAR):
        return _unknown(given[at], group, app, page)
    return f"{_unexpected(tokens, arguments)} {page}"


def _missing(error: MissingArgumentError, arguments: Sequence[str]) -> str:
    """Name what is missing as the help names it: an option with its hyphens, an argument in capitals."""
    if error.argument is None:
        return "An argument is missing."
    names = error.argument.names
    given = next((name for name in names if name in arguments), None)
    if given is not None:
        return f"{given} needs a value."
    name = max(names, key=len)
    if not error.argument.field_info.is_positional:
        return f"{name} is missing."
    word = name.strip("-").upper()
    url = current().flags.url if word == "URL" else None
    hint = f" --url chooses Assay's server in every command: give {url} without an option." if url else ""
    return f"{word} is missing.{hint}"


def _unknown(word: str, group: str, app: App, page: str) -> str:
    """Say that there is no such command, with those that were probably meant."""
    offered = _meant(word, group, list(_commands(app)))
    if not offered:
        return f'Unknown command "{word}". {page}'
    return f'Unknown command "{word}". Did you mean {" or ".join(f"`assay {each}`" for each in offered)}? {page}'


def _meant(word: str, group: str, commands: Sequence[str]) -> list[str]:
    """Return the commands that a word may stand for: those of its group first, then of all others."""
    start = f"{group} " if group else ""
    near = {each[len(start) :]: each for each in commands if each.startswith(start)}
    own = {name: each for name, each in near.items() if " " not in name}
    same = next((each for each in _SYNONYMS if word.lower() in each and each & set(own)), set())
    if same & set(own):
        return [own[name] for name in sorted(same & set(own))][:_MAX_OFFERED]
    if similar := get_close_matches(word, list(own), 1, _SIMILAR):
        return [own[similar[0]]]
    elsewhere = [each for each in commands if each.rpartition(" ")[2] == word]
    return elsewhere if len(elsewhere) <= _MAX_OFFERED else []


def _commands(app: App, above: str = "") -> Iterator[str]:
    """Yield all commands, those of a group with its name."""
    for name in app:
        if name.startswith("-"):
            continue
        yield f"{above}{name}"
        yield from _commands(app[name], f"{above}{name} ")


def _unexpected(tokens: Sequence[str], arguments: Sequence[str]) -> str:
    """Name the words that are too many; they are often the rest of a text without quotes."""
    shown = " ".join(tokens)
    given = list(arguments)
    after_text = (
        tokens and tokens[0] in given and (at := given.index(tokens[0])) > 1 and not Path(given[at - 1]).is_file()
    )
    if after_text and given[at - 1].startswith("-") and given[at - 1] != "-":
        return f"Unknown option: {given[at - 1]}."  # it was taken for a file or a text, and what follows for one more
    if after_text and not tokens[0].startswith("-"):
        return f'Unexpected words: {shown}. Put a text in quotes: "{given[at - 1]} {shown}".'
    return f"Unexpected words: {shown}."


def refusal(error: APIStatusError) -> str:
    """Return what the server refused, each fault once, with fields as the caller knows them."""
    faults = [_fault(each) for each in error.errors[:20]]
    text = "; ".join(dict.fromkeys(faults)) if faults else error.detail
    return f"{_sentence(text)}{_remedy(error.detail)}"


def of_file(error: OSError) -> str:
    """Return what a file or the disk refused, with the file's name."""
    if isinstance(error, IsADirectoryError):
        return f"{error.filename} is a folder, not a file"
    if isinstance(error, PermissionError) and error.filename is not None:
        return f"{error.filename} may not be read or written by this user: choose another file, or change its rights"
    if error.strerror is None:
        return str(error)
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror[:1].lower()}{error.strerror[1:]}"


def says_missing(error: APIStatusError) -> bool:
    """Return whether a field names something that does not exist."""
    return any(str(each.get("msg", "")).lower().startswith("there is no ") for each in error.errors)


def _fault(error: dict[str, Any]) -> str:
    places = [str(part) for part in error.get("loc", [])]
    while len(places) > 1 and places[0] in {"body", "query", "path", "input", "limits", "budget"}:
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
