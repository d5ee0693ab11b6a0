"""The order of a result's rows: whether a task or its code wants one, and by which columns a query sorts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.languages import LANGUAGES

_COUNT = (
    r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn"
    r"|deux|trois|quatre|cinq|huit|neuf|dix|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez)"
)
#: Words that want an order: of English, German, French, Spanish, and what Italian and Portuguese share with them.
_WANTED = re.compile(
    r"\b(?:"
    r"sort(?:ed|ing|s)?|order(?:ed|ing)? by|in order(?! to\b)|rank(?:s|ed|ing)?|leaderboard|top|bottom"
    r"|(?:de|a)sc(?:ending)?|alphabetic(?:al|ally)?|chronological(?:ly)?|(?:reverse|numerical|date) order"
    r"|\w+est to \w+est"
    r"|(?:\w+est|most|least|last|recent|best|worst|old|new)(?: \w+)? first"
    rf"|{_COUNT} (?:\w+est|most|least|best|worst|last)"
    r"|sortier\w*|geordnet\w*|(?:ab|auf)steigend\w*|rang(?:liste|folge)?|reihenfolge|alphabetisch\w*|chronologisch\w*"
    rf"|zuerst|{_COUNT} \w+[sßh]ten"
    r"|tri(?:e|er|ez|é|ée|és|ées)|class(?:e|er|ez|é|ée|és|ées|ement)|(?:dé)?croissante?s?|ordre|d['’]abord|en premier"
    rf"|alphabétique\w*|chronologique\w*|du (?:plus|moins)|les {_COUNT} (?:plus|moins|meilleur\w*|pire\w*|dernier\w*)"
    r"|orden\w*|(?:de|a)scendentes?|alfab[ée]tic\w*|cronol[óo]gic\w*|primero|de (?:mayor|menor|más|menos)"
    rf"|{_COUNT} (?:\w+ )?(?:más|menos|mayores|menores|mejores|peores)"
    r"|ordina(?:re|t[aeio])|(?:de)?crescenti?e?s?"
    r")(?!\w)",
    re.IGNORECASE,
)
#: An order that the data have already: no code need sort for it.
_GIVEN = re.compile(r"\bin (?:the )?(?:original order|order of the (?:table|data|file|input|rows))\b", re.IGNORECASE)
_FIRST = re.compile(r"\b(?:first|last|erste|letzte|premi[eè]r|derni[eè]r|primer|[uú]ltim)\w*", re.IGNORECASE)
#: What sorts rows in a language that transforms tables.
_SORTS = re.compile(
    r"\border\s+by\b|sort|\border\s*\(|setorder|arrange|n(?:largest|smallest)|slice_m(?:ax|in)|top_[kn]\b",
    re.IGNORECASE,
)
_ORDER = re.compile(r"\border\s+by\b", re.IGNORECASE)
_SELECT = re.compile(r"\bselect\b(?:\s+distinct\b)?", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\b", re.IGNORECASE)
_LIMIT = re.compile(r"\b(?:limit|offset|fetch)\b.*$", re.IGNORECASE | re.DOTALL)
_DIRECTION = re.compile(r"\s+(?:asc|desc|nulls\s+(?:first|last))\b", re.IGNORECASE)
_ALIAS = re.compile(r"\s+as\s+(?:\"[^\"]*\"|\w+)$", re.IGNORECASE)
#: A quoted text, or a comment, of SQL.
_UNREAD = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)


def wants_order(task: str) -> bool:
    """Return whether the words of a task demand that its code sorts the rows."""
    return _WANTED.search(_GIVEN.sub(" ", " ".join(task.split()))) is not None


def speaks_of_order(task: str) -> bool:
    """Return whether a task demands an order, be it the one that the data have."""
    return wants_order(task) or _GIVEN.search(task) is not None or _FIRST.search(task) is not None


def sorts(code: str, language: str) -> bool:
    """Return whether code sorts rows; of SQL only its last query counts, where what it gives is sorted."""
    return _order_by(code) is not None if LANGUAGES[language].result == "query" else _SORTS.search(code) is not None


def gives_order(code: str, language: str) -> bool:
    """Return whether what code gives has an order of its own: it sorts, or makes groups in the order of their keys."""
    groups = LANGUAGES[language].sorts_groups
    return sorts(code, language) or (groups != "" and re.search(groups, code) is not None)


def keys_of(code: str, columns: Sequence[str]) -> Sequence[int] | None:
    """Return the positions of the columns by which a query sorts its rows, up to the first key that is no column.

    ``None`` without a sort, or without such a column.
    """
    clause = _order_by(code)
    if clause is None:
        return None
    names = {name.lower(): at for at, name in enumerate(columns)}
    selected = {item: at for at, item in enumerate(_selected(code))}
    positions: list[int] = []
    for item in _split(_LIMIT.sub("", clause).rstrip().rstrip(";")):
        key = " ".join(_DIRECTION.sub("", item).split()).lower()
        plain = key.strip('"')
        if key == "all":
            return range(len(columns))
        if key.isdigit() and 1 <= int(key) <= len(columns):
            positions.append(int(key) - 1)
        elif (at := names.get(plain, selected.get(_squeezed(key), names.get(_unqualified(plain))))) is not None:
            positions.append(at)
        else:  # a column that the result does not have: the ones before it still count
            break
    return [at for at in positions if at < len(columns)] or None


def _order_by(code: str) -> str | None:
    """Return what follows the last ORDER BY that is not within parentheses."""
    code = _readable(code)
    ends = [match.end() for match in _ORDER.finditer(code) if _depth(code[: match.start()]) == 0]
    return code[ends[-1] :] if ends else None


def _selected(code: str) -> Sequence[str]:
    """Return what the last query selects, in lower case and without names of its own."""
    code = _readable(code)
    starts = [match.end() for match in _SELECT.finditer(code) if _depth(code[: match.start()]) == 0]
    if not starts:
        return []
    items = code[starts[-1] :]
    ends = [match.start() for match in _FROM.finditer(items) if _depth(items[: match.start()]) == 0]
    return [_squeezed(_ALIAS.sub("", item.strip())) for item in _split(items[: ends[0] if ends else None])]


def _readable(code: str) -> str:
    """Return the last query without comments, and with its texts empty: their words are no syntax."""
    plain = _UNREAD.sub(lambda match: "''" if match[0].startswith("'") else " ", code)
    return plain.rstrip("; \n\t").rpartition(";")[2]


def _unqualified(name: str) -> str:
    return name.rpartition(".")[2].strip('"')


def _squeezed(text: str) -> str:
    return "".join(text.split()).lower()


def _split(text: str) -> Sequence[str]:
    """Return the parts between commas that are in no parentheses and quotes."""
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "([") - (letter in ")]")
        if letter == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _depth(text: str) -> int:
    return text.count("(") - text.count(")")
