"""Names that failing code looked for in vain, with the columns that there are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from services.execution.transform.preview import quote

#: Errors about a name that is not there, as pandas, polars, DuckDB and R word them.
_MISSING = re.compile(
    r"KeyError|ColumnNotFound|not in index|no attribute|is not defined|not found|do(?:es)? not exist|doesn't exist"
    r"|undefined columns|Unknown column|unable to find column|Binder Error",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"'`‘]([^\"'`’\n]{1,80})[\"'`’]")
#: What pandas writes around the names: a list, and the class of what was searched.
_LIST, _CLASS = re.compile(r'"\[(.*)\] not in index"'), re.compile(r"'\w+' object")
_EXPRESSION = re.compile(r"[/*+]| - ")  #: a computation that was written as a name
_MAX_COLUMNS, _MAX_NAMES = 40, 5


def missing_names(message: str, columns: Mapping[str, Sequence[str]]) -> str:
    """Return which columns each data set has, and the nearest to what was looked for; empty for other errors."""
    looked_for = _looked_for(message)
    if looked_for is None:
        return ""
    known = [name for names in columns.values() for name in names]
    missing = [name for name in looked_for if name not in known and name not in columns]
    folded = {name.casefold(): name for name in known}
    lines = []
    for name in missing[:_MAX_NAMES]:
        near = get_close_matches(name.casefold(), folded, 1, 0.7)
        if near:
            lines.append(f"There is no {quote(name)}; do you mean {quote(folded[near[0]])}?")
    for data, names in columns.items():
        more = f" and {len(names) - _MAX_COLUMNS:,} more" if len(names) > _MAX_COLUMNS else ""
        lines.append(f"The columns of {data} are {', '.join(map(quote, names[:_MAX_COLUMNS]))}{more}.")
    return "\n".join(lines)


def missing_note(message: str, columns: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence on each name that was looked for in vain; empty for other errors."""
    if "no attribute" in message and "'DataFrame' object" not in message:
        return ""
    folded = {name.casefold(): name for names in columns.values() for name in names}
    sentences = []
    for name in (_looked_for(message) or ())[:_MAX_NAMES]:
        having = [data for data, names in columns.items() if name in names]
        near = get_close_matches(name.casefold(), folded, 1, 0.7)
        if name in columns:
            continue
        if having:
            join = ": join that table first" if len(columns) > len(having) else ""
            sentences.append(f"Only {' and '.join(having)} has the column {quote(name)}{join}.")
        elif near and not _EXPRESSION.search(name):
            sentences.append(f"There is no column {quote(name)}: use {quote(folded[near[0]])}.")
        else:
            sentences.append(f"There is no column {quote(name)} yet: compute it first.")
    return " ".join(sentences)


def _looked_for(message: str) -> list[str] | None:
    """Return the names that an error quotes; ``None`` when it is about something else."""
    head = message.split("\n", 1)[0]
    return (
        list(dict.fromkeys(_QUOTED.findall(_CLASS.sub("", _LIST.sub(r"\1", head))))) if _MISSING.search(head) else None
    )
