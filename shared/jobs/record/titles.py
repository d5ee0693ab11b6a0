"""Titles of jobs in lists, and how their results rate themselves: read from input and result in the statement."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from sqlalchemy import ColumnElement, Text, case, cast, func, literal, literal_column, null

from shared.jobs.record.tables import jobs
from shared.kinds import KINDS

_LONGEST = 120
#: A title is at the beginning of a text, so no more of it is searched.
_READ = 4_000
#: A line that has a letter or a digit; none of ``---``, ``***`` or ```` ``` ````.
_LINE = r"^[^\n]*[[:alnum:]][^\n]*$"
#: The first sentence of a line: a full stop after fewer letters ends an abbreviation.
_SENTENCE = r"^(.{16,}?[.!?])(?:\s|$)"
_FRONT_MATTER = r"^\s*---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)"
_FENCE = r"(?:^|\n)[ \t]*(?:```|~~~).*?\n[ \t]*(?:```|~~~)[^\n]*"
_FENCE_LINE = r"^[ \t]*(?:```|~~~)[^\n]*$"
_TITLE_KEY = r"^title:[ \t]*(\S.*?)\s*$"
_HEADING = r"^[ ]{0,3}#{1,6}[ \t]+(\S.*?)[ \t#]*$"
#: Before the first line of code there may be a shebang and the encoding.
_PREAMBLE = r"^(?:\s*#(?:!|[^\n]*coding[:=])[^\n]*\n)+"
_COMMENT = r"^\s*(?:#+|//+|--+|/\*+|%+|\"\"\"|''')[ \t]*\n?[ \t]*([^\n]*?[[:alnum:]][^\n]*?)\s*(?:\"\"\"|'''|\*/)?\s*$"
_IMPORTED = r"^[ \t]*(?:import|from|using|require|library|const [^\n]*require|use)\M[^\n;]*(?:;[ \t]*|$)"


def title() -> ColumnElement[str]:
    """Return what a person calls the job: a document's title or heading, a task's first sentence, the code's first
    comment.
    """
    return _title(tuple((kind.name, kind.title, kind.title_form) for kind in KINDS.values() if kind.title))


@lru_cache(maxsize=8)
def _title(kinds: tuple[tuple[str, tuple[str, ...], Literal["text", "code", "markdown"]], ...]) -> ColumnElement[str]:
    """Return the title for kinds and the paths of its text; made once, as making it takes longer than the query."""
    read = case(
        *[(jobs.c.kind == kind, _FORMS[form](_text(paths))) for kind, paths, form in kinds],
        else_=null(),
    )
    return func.left(func.btrim(func.regexp_replace(read, r"\s+", " ", "g")), _LONGEST)


def source() -> ColumnElement[str]:
    """Return the beginning of the text that the title is made of."""
    return _source(tuple((kind.name, kind.title) for kind in KINDS.values() if kind.title))


@lru_cache(maxsize=8)
def _source(kinds: tuple[tuple[str, tuple[str, ...]], ...]) -> ColumnElement[str]:
    return case(*[(jobs.c.kind == kind, _text(paths)) for kind, paths in kinds], else_=null())


def _text(paths: tuple[str, ...]) -> ColumnElement[str]:
    said = func.coalesce(*[jobs.c.input[tuple(path.split("."))].astext for path in paths], "")
    return func.left(func.btrim(cast(said, Text), " \t\r\n"), _READ)


def _of_text(text: ColumnElement[str]) -> ColumnElement[str]:
    """Return the first sentence, without marks of Markdown before it and the full stop behind it."""
    line = func.regexp_replace(_first(text, f"({_LINE})", "n"), r"^[\s#>*-]+", "")
    sentence = func.coalesce(_first(line, _SENTENCE), line)
    return func.regexp_replace(sentence, r"([^.])\.$", r"\1")


def _of_markdown(text: ColumnElement[str]) -> ColumnElement[str]:
    """Return the front matter's title, else the first heading, else the first sentence outside of code."""
    front = _first(text, _FRONT_MATTER)
    titled = func.btrim(_first(front, _TITLE_KEY, "n"), "\"'")
    body = func.regexp_replace(func.regexp_replace(text, _FRONT_MATTER, ""), _FENCE, "\n", "g")
    code = func.regexp_replace(text, _FENCE_LINE, "", "gn")  # of a document that is code alone
    return func.coalesce(func.nullif(titled, ""), _first(body, _HEADING, "n"), _of_text(body), _of_text(code))


def _of_code(text: ColumnElement[str]) -> ColumnElement[str]:
    """Return the comment at the beginning, else language, number of lines and the first one that does something."""
    code = func.regexp_replace(text, _PREAMBLE, "")
    line = func.btrim(_first(func.regexp_replace(code, _IMPORTED, "", "gn"), f"({_LINE})", "n"))
    lines = func.array_length(func.string_to_array(text, "\n"), 1)
    language = func.coalesce(jobs.c.input["language"].astext, "code")
    described = case(
        (lines > 1, language + ": " + cast(lines, Text) + " lines" + func.coalesce(", " + line, "")),
        else_=language + ": " + func.coalesce(line, text),
    )
    return func.coalesce(_first(code, _COMMENT, "w"), case((text == "", ""), else_=described))


_FORMS: dict[Literal["text", "code", "markdown"], Callable[[ColumnElement[str]], ColumnElement[str]]] = {
    "text": _of_text,
    "code": _of_code,
    "markdown": _of_markdown,
}


def _first(text: ColumnElement[str], pattern: str, flags: str = "") -> ColumnElement[str]:
    """Return the pattern's group where it matches first; null where it does not."""
    return func.array_to_string(func.regexp_match(text, literal(pattern), literal(flags)), "")


def verdict() -> ColumnElement[str]:
    """Return how the result rates itself."""
    return literal_column(verdict_sql("jobs"), Text)


def outcome() -> ColumnElement[str]:
    """Return the outcome of the job."""
    return literal_column(f"({outcome_sql('jobs')})", Text)


def outcome_sql(table: str, *, readable: str = "true") -> str:
    """Return SQL for the error of a failed job, what the result of a succeeded one says of itself, else the state.

    Results are read of those rows only for which ``readable`` holds.
    """
    return f"""CASE WHEN {table}.state IN ('failed', 'dead') THEN coalesce({table}.error ->> 'code', {table}.state)
        WHEN {table}.state = 'succeeded' AND {readable} THEN coalesce({verdict_sql(table)}, {table}.state)
        ELSE {table}.state END"""


def verdict_sql(table: str) -> str:
    """Return SQL for how a result rates itself: verdict, status, whether it succeeded, or that a block failed."""
    result = f"{table}.result"
    return f"""coalesce({result} ->> 'verdict', {result} ->> 'status',
        CASE {result} ->> 'success' WHEN 'false' THEN 'failed' WHEN 'true' THEN 'ok' END,
        CASE WHEN {result} @> '{{"blocks": [{{"status": "error"}}]}}' THEN 'block_failed' END)"""
