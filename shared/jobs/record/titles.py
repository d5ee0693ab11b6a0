"""Titles of jobs in lists, and how their results rate themselves: read from input and result in the statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from sqlalchemy import ColumnElement, Text, literal_column

from shared.kinds import KINDS

_LONGEST = 120
_LINE_END = "\n"
_SPACES = r"\s+"
_QUOTES = "\"'"
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
    forms = [(kind.name, _FORMS[kind.title_form](_text(kind.title))) for kind in KINDS.values() if kind.title]
    return _column(f"left(btrim({_replaced(_by_kind(forms), _SPACES, ' ', 'g')}), {_LONGEST})")


def source() -> ColumnElement[str]:
    """Return the beginning of the text that the title is made of."""
    return _column(_by_kind([(kind.name, _text(kind.title)) for kind in KINDS.values() if kind.title]))


def _column(sql: str) -> ColumnElement[str]:
    """Return a column of constants written out: as parameters they cost a list more than its query does."""
    return literal_column(f"({sql})", Text)


def _by_kind(forms: Sequence[tuple[str, str]]) -> str:
    cases = " ".join(f"WHEN {_quoted(kind)} THEN {form}" for kind, form in forms)
    return f"CASE jobs.kind {cases} END"


def _text(paths: Sequence[str]) -> str:
    said = ", ".join(f"jobs.input #>> {_quoted('{' + path.replace('.', ',') + '}')}" for path in paths)
    return rf"left(btrim(coalesce({said}, ''), E' \t\r\n'), {_READ})"


def _of_text(text: str) -> str:
    """Return the first sentence, without marks of Markdown before it and the full stop behind it."""
    line = _replaced(_first(text, f"({_LINE})", "n"), r"^[\s#>*-]+", "")
    sentence = f"coalesce({_first(line, _SENTENCE)}, {line})"
    return _replaced(sentence, r"([^.])\.$", r"\1")


def _of_markdown(text: str) -> str:
    """Return the front matter's title, else the first heading, else the first sentence outside of code."""
    titled = f"btrim({_first(_first(text, _FRONT_MATTER), _TITLE_KEY, 'n')}, {_quoted(_QUOTES)})"
    body = _replaced(_replaced(text, _FRONT_MATTER, ""), _FENCE, "\n", "g")
    code = _replaced(text, _FENCE_LINE, "", "gn")  # of a document that is code alone
    return f"coalesce(nullif({titled}, ''), {_first(body, _HEADING, 'n')}, {_of_text(body)}, {_of_text(code)})"


def _of_code(text: str) -> str:
    """Return the comment at the beginning, else language, number of lines and the first one that does something."""
    code = _replaced(text, _PREAMBLE, "")
    line = f"btrim({_first(_replaced(code, _IMPORTED, '', 'gn'), f'({_LINE})', 'n')})"
    lines = f"array_length(string_to_array({text}, {_quoted(_LINE_END)}), 1)"
    language = "coalesce(jobs.input ->> 'language', 'code')"
    several = f"{language} || ': ' || {lines} || ' lines' || coalesce(', ' || {line}, '')"
    one = f"{language} || ': ' || coalesce({line}, {text})"
    described = f"CASE WHEN {text} = '' THEN '' WHEN {lines} > 1 THEN {several} ELSE {one} END"
    return f"coalesce({_first(code, _COMMENT, 'w')}, {described})"


_FORMS: dict[Literal["text", "code", "markdown"], Callable[[str], str]] = {
    "text": _of_text,
    "code": _of_code,
    "markdown": _of_markdown,
}


def _first(text: str, pattern: str, flags: str = "") -> str:
    """Return the pattern's group where it matches first; null where it does not."""
    return f"array_to_string(regexp_match({text}, {_quoted(pattern)}, '{flags}'), '')"


def _replaced(text: str, pattern: str, by: str, flags: str = "") -> str:
    return f"regexp_replace({text}, {_quoted(pattern)}, {_quoted(by)}, '{flags}')"


def _quoted(constant: str) -> str:
    """Return the SQL literal."""
    return "'" + constant.replace("'", "''") + "'"


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
