"""Code of notebooks as plain Python: what IPython's ``%magic``, ``!command`` and ``name?`` become.

Lines keep their numbers. What only sets IPython up does nothing; what cannot be done here is reported.
https://ipython.readthedocs.io/en/stable/interactive/magics.html
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Mapping

from services.execution.documents.parse.nodes import Level, Note
from services.execution.languages.python.guest.magics import SETUP_MAGICS
from shared.languages import LANGUAGES

_OPTIONS = re.compile(r"\A(?:[ \t]*(?:#|//|--)\|[^\n]*(?:\n|\Z))+")  #: of a cell, which are not code
_CELL = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*%%(\w+)[ \t]*([^\n]*)\n?")
_DATABRICKS_CELL = re.compile(
    r"((?:[ \t]*\n)*)%(?:(md)(?:-sandbox)?\b[ \t]*|(sql|r|sh|fs|scala|python)[ \t]*(?=\n\s*\S))"
)
_LINE = re.compile(r"([ \t]*)(%|!!?)(?!=)[ \t]*([A-Za-z_.\\/$].*)")
_ASSIGNED = re.compile(r"([ \t]*[A-Za-z_][\w., \t]{0,200}?=[ \t]{0,20})(%|!)[ \t]{0,20}([A-Za-z_.].*)")
_HELP = re.compile(r"[ \t]*(?:\?{1,2}[A-Za-z_][\w.*]*|[A-Za-z_][\w.]*\?{1,2})[ \t]*")
_OPTION = re.compile(r"-{1,2}\w+(?:[ \t]+\d+)?[ \t]+|-{1,2}\w+")
_SIGN = re.compile(r"\\.|\"{3}|'{3}|[\"'#(\[{)\]}]")
_TIMED = ("time", "timeit", "prun", "memit", "mprun", "lprun", "snakeviz")
_OF_DATABRICKS = {"sql": "%%sql", "r": "%%R", "sh": "%%sh", "fs": "%%fs", "scala": "%%scala", "python": ""}
_SHOWN = {"html": "HTML", "HTML": "HTML", "markdown": "Markdown", "latex": "Latex", "svg": "SVG", "SVG": "SVG"}
_MAX_TEXT, _MAX_LINE = 200, 10_000


def has_magics(language: str) -> bool:
    return language in LANGUAGES and LANGUAGES[language].magics


def foreign_cell(code: str) -> tuple[str, str] | None:
    """Return the language that a ``%%sql`` or ``%%R`` at the head of Python code means, and the code below it."""
    code = _as_ipython(code)
    match = _CELL.match(code) if "%%" in code else None
    language = next((row.name for row in LANGUAGES.values() if match and match[1] in row.cell_magics), None)
    return None if match is None or language is None else (language, code[match.end() :])


def is_captured(code: str) -> bool:
    """Return whether ``%%capture`` hides what a cell shows."""
    match = _CELL.match(code) if "%%" in code else None
    return match is not None and match[1] == "capture"


def runnable(language: str, code: str) -> tuple[str, list[Note]]:
    """Return code as its kernel takes it, without options, and what is to be said about the parts that do not run."""
    if "| " in code[:6]:
        code = _OPTIONS.sub(lambda options: "\n" * options[0].count("\n"), code)
    if not has_magics(language) or not any(sign in code for sign in "%!?"):
        return code, []
    code = _as_ipython(code)
    notes: list[Note] = []
    if (cell := _CELL.match(code)) is not None:
        return _cell(cell, code, notes), notes
    return (code, []) if _is_python(code) else (_lines(code, notes), notes)


def _as_ipython(code: str) -> str:
    """Return a cell that a Databricks magic begins (`%sql` alone in its line) with IPython's magic for it."""
    match = _DATABRICKS_CELL.match(code) if "%" in code else None
    if match is None:
        return code
    return match[1] + ("%%markdown\n" if match[2] else _OF_DATABRICKS[match[3]]) + code[match.end() :]


def _is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _cell(match: re.Match[str], code: str, notes: list[Note]) -> str:
    name, line = match[1], match[2].strip()
    head = "\n" * match[0].count("\n")
    body = code[match.end() :]
    if name in _TIMED or name == "capture":
        if name != "capture":
            notes.append(_note("info", f"%%{name} runs its code once; times are not shown."))
        return head + _lines(body, notes)
    if name in _SHOWN:
        return f"import IPython.display; IPython.display.display(IPython.display.{_SHOWN[name]}({body!r}))"
    if name in ("writefile", "file"):
        words = line.split()
        mode, path = ("a" if "-a" in words else "w"), next((word for word in words if not word.startswith("-")), "")
        return f"with open({path!r}, {mode!r}, encoding='utf-8') as _file: _ = _file.write({body!r})"
    if name in SETUP_MAGICS:
        return head + _lines(body, notes)
    notes.append(_note("warning", f"%%{name} is not available here: its cell did not run."))
    return ""


def _lines(code: str, notes: list[Note]) -> str:
    """Return the code with a statement in the place of each line that is none of Python's."""
    within = _within_texts(code)
    lines = code.splitlines(keepends=True)
    for number, line in enumerate(lines):
        bare = line.rstrip("\r\n")
        if number in within or len(bare) > _MAX_LINE:
            continue
        if match := _LINE.fullmatch(bare):
            lines[number] = match[1] + _statement(match[2], match[3], notes) + line[len(bare) :]
        elif match := _ASSIGNED.fullmatch(bare):
            text = f"{match[2]}{match[3]}"[:_MAX_TEXT]
            value = _timed(match[3]) if match[2] == "%" else None
            if value is None:
                value = f"get_ipython().getoutput({text!r})"
            lines[number] = f"{match[1]}{value}{line[len(bare) :]}"
        elif _HELP.fullmatch(bare) and not bare.strip().endswith("??="):
            indent = line[: len(line) - len(line.lstrip(" \t"))]
            lines[number] = f"{indent}pass{line[len(bare) :]}"
            notes.append(_note("info", f"{bare.strip()[:_MAX_TEXT]} is not shown: pages hold no help."))
    return "".join(lines)


def _within_texts(code: str) -> set[int]:
    """Return the lines that begin within a text of several lines or within brackets."""
    within: set[int] = set()
    quote, depth = "", 0
    for number, line in enumerate(code.splitlines()):
        if quote or depth > 0:
            within.add(number)
        elif _LINE.fullmatch(line):
            continue
        for sign in _SIGN.findall(line):
            if quote:
                quote = "" if sign == quote else quote
            elif sign == "#":
                break
            elif sign[0] == "\\":
                continue
            elif sign[0] in "\"'":
                quote = sign
            else:
                depth = max(0, depth + (1 if sign in "([{" else -1))
        if len(quote) == 1:
            quote = ""  # a text of one line ends with its line
    return within


def _statement(sign: str, rest: str, notes: list[Note]) -> str:
    text = f"{sign}{rest}"[:_MAX_TEXT]
    name, _, line = rest.partition(" ")
    if sign != "%":
        notes.append(_note("warning", f"{text} did not run: there are no shell commands here."))
        return "pass"
    if name in SETUP_MAGICS:
        return "pass"
    if (timed := _timed(rest)) is not None:
        return timed or "pass"
    if (make := _STATEMENTS.get(name)) is not None and (made := make(line.strip())) is not None:
        return made
    why = "packages are installed by the operator" if name in ("pip", "conda", "mamba", "uv") else "it is not available"
    notes.append(_note("warning", f"{text} did not run: {why}."))
    return "pass"


def _timed(rest: str) -> str | None:
    """Return the code of ``%time`` and its kind; ``None`` for other magics."""
    name, _, line = rest.partition(" ")
    if name not in _TIMED:
        return None
    line = line.lstrip()
    while (option := _OPTION.match(line)) is not None:
        line = line[option.end() :].lstrip()
    return line


def _changed_folder(line: str) -> str:
    return f"import os; os.chdir({_words(line)[0] if _words(line) else '.'!r})"


def _changed_environment(line: str) -> str | None:
    name, sign, value = line.partition("=") if "=" in line else line.partition(" ")
    return f"import os; os.environ[{name.strip()!r}] = {value.strip()!r}" if sign else None


def _run_file(line: str) -> str | None:
    words = [word for word in _words(line) if not word.startswith("-")]
    if not words:
        return None
    return f"exec(compile(open({words[0]!r}, encoding='utf-8').read(), {words[0]!r}, 'exec'))"


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


_STATEMENTS: Mapping[str, Callable[[str], str | None]] = {
    "cd": _changed_folder,
    "env": _changed_environment,
    "set_env": _changed_environment,
    "run": _run_file,
    "pwd": lambda _line: "import os; print(os.getcwd())",
}


def _note(level: Level, text: str) -> Note:
    return Note(level, "magic", text)
