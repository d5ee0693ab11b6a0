"""What Assay corrects in proposed code before it runs: lines that cannot work, whatever the data are."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.declarations.assertions import (
    Assertion,
    ColumnsAre,
    NoNulls,
    RowCount,
    RowsAgainstInput,
    RowsUnchanged,
    Sorted,
    SumAgainstInput,
    SumUnchanged,
    TypeIs,
    Unique,
    parse_assertion,
)
from shared.declarations.scan import AssertionSyntax

#: Forms of assertions that are not statements of a program; in R some of them are.
_NO_CODE = (ColumnsAre, RowCount, RowsAgainstInput, RowsUnchanged, SumUnchanged, TypeIs)
_NO_PYTHON = (*_NO_CODE, NoNulls, Sorted, SumAgainstInput, Unique)
_MAX_CHECK = 200  #: characters
_READS = {
    "python": re.compile(
        r"""^(?P<target>\w+)\s*=\s*(?:pd|pl|pandas|polars)\.(?:read|scan)_\w+\(\s*r?(?P<quote>["'])(?P<file>[^"']*)(?P=quote)"""
        r"""[^()]*\)\s*(?:\#.*)?$"""
    ),
    "r": re.compile(
        r"""^(?P<target>[\w.]+)\s*(?:<-|=)\s*(?:\w+::)?(?:read[._]\w+|fread)\(\s*(?P<quote>["'])(?P<file>[^"']*)(?P=quote)"""
        r"""[^()]*\)\s*(?:\#.*)?$"""
    ),
}
#: The usual aliases of these libraries.
_LIBRARIES = {"pd": "pandas", "np": "numpy", "pl": "polars"}
_ASSIGNS = {"python": "{target} = {name}", "r": "{target} <- {name}"}
_RESULT = "result"
#: A series as a table, by the library; pandas has what a series was grouped by in its index.
_TABLES = {
    "pandas": "result.to_frame() if result.index.names == [None] else result.reset_index()",
    "polars": "result.to_frame()",
}
SERIES = "a series became a table"
#: ``agg(yield=("yield", "mean"))``: a keyword of the language cannot be an argument's name.
_KEYWORD = re.compile(rf"(?<=[(,])(\s*)({'|'.join(keyword.kwlist)})\s*=\s*(\([^()]*\))")


@dataclass(frozen=True)
class Repaired:
    """Code as it runs, the checks that were taken out of it, and what was corrected, in words."""

    code: str
    checks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def repaired(code: str, language: str, data: Sequence[str], *, table: bool = True) -> Repaired:
    """Correct what cannot run; ``table``: whether the code has to give one.

    Checks between the lines of the code become checks; a data set that is read from a file becomes the loaded one;
    in Python, a keyword as the name of an argument is quoted, the usual names of table libraries are imported, and code
    that names no result has its last table as the result.
    """
    checks: list[str] = []
    notes: dict[str, None] = {}
    kept: list[str] = []
    for line in code.split("\n"):
        if (check := _check_in(line, language)) is not None:
            checks.append(check)
            notes["checks in the code were taken out of it"] = None
            continue
        loaded = _loaded(line, language, data)
        if loaded is not None:
            notes["a data set that is loaded was not read from a file again"] = None
        kept += [line] if loaded is None else loaded
    text = "\n".join(kept)
    if language == "python":
        quoted = _KEYWORD.sub(_unpacked, text)
        if quoted != text:
            notes["a keyword of Python that names a column was quoted"] = None
        imports = [f"import {library} as {name}" for name, library in _LIBRARIES.items() if _lacks(text, name)]
        if imports:
            notes["a missing import was added"] = None
        named = with_result(quoted) if table else quoted
        if named != quoted:
            notes["the last table of the code became its result"] = None
        text = "\n".join([*imports, named])
    return Repaired(text, tuple(checks), tuple(notes))


def _check_in(line: str, language: str) -> str | None:
    """Return the line if it is a check in our own notation and no statement of the language."""
    text = line.rstrip()
    if not text or text[0].isspace() or len(text) > _MAX_CHECK:
        return None
    try:
        parsed: Assertion = parse_assertion(text)
    except AssertionSyntax:
        return None
    forms = _NO_PYTHON if language == "python" else _NO_CODE
    return text if isinstance(parsed, forms) else None


def _loaded(line: str, language: str, data: Sequence[str]) -> list[str] | None:
    """Return what takes the place of a line that reads a file; ``None`` for any other line."""
    read = _READS[language].match(line) if language in _READS else None
    if read is None:
        return None
    stem = re.split(r"[/\\]", read["file"])[-1].split(".")[0]
    named: Callable[[str], list[str]] = lambda word: [name for name in data if name.casefold() == word.casefold()]  # noqa: E731
    name = next(iter([*named(read["target"]), *named(stem), *(data if len(data) == 1 else ())]), None)
    if name is None:
        return None
    return [] if name == read["target"] else [_ASSIGNS[language].format(target=read["target"], name=name)]


def with_result(code: str) -> str:
    """Return the code with its last table as ``result``, if it binds no result and ends with no value."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return code
    bound = _bound(tree)
    if _RESULT in bound or not tree.body:
        return code
    match tree.body[-1]:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return f"{code.rstrip()}\n{_RESULT} = {name}"
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[ast.Name(id=name)])) if name in bound:
            return f"{code.rstrip()}\n{_RESULT} = {name}"
    return code


def series_as_table(code: str, reader: str) -> str | None:
    """Return code whose result is a series with the series as a table; None where that is not known."""
    make = _TABLES.get(reader)
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return None
    if make is None or not tree.body:
        return None
    lines = code.split("\n")
    if _RESULT not in _bound(tree):
        last = tree.body[-1]
        if not isinstance(last, ast.Expr) or last.col_offset:
            return None
        lines[last.lineno - 1] = f"{_RESULT} = {lines[last.lineno - 1]}"
    return "\n".join([*lines, f"{_RESULT} = {make}"])


def _bound(tree: ast.AST) -> set[str]:
    """Return the names that the code binds."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _lacks(code: str, name: str) -> bool:
    """Return whether the code uses a library's usual name and binds it nowhere."""
    used = re.search(rf"(?<![\w.]){name}\.\w", code)
    bound = re.search(rf"\bas\s+{name}\b|\bimport\s+{name}\b|(?<![\w.]){name}\s*=(?!=)", code)
    return used is not None and bound is None


def _unpacked(match: re.Match[str]) -> str:
    blank, name, value = match.groups()
    return f"{blank}**{{{name!r}: {value}}}"
