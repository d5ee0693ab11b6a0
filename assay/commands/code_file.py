"""Code that is kept: one file with the code, what it was made for, and what has to hold of its result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.commands.file_kinds import TABLE_ENDINGS
from assay.commands.run import text_of
from assay.commands.session import UsageError
from shared.languages import language_of_file

_TITLE = "assay transform"


@dataclass(frozen=True)
class KeptCode:
    """What ``--code`` runs; a file without a head has the code alone."""

    code: str
    task: str | None = None
    dataframe: str | None = None
    assertions: tuple[str, ...] = ()
    expects: Mapping[str, list[dict[str, str]]] = field(default_factory=dict)  #: data set -> name and type of columns


def is_text(code: str) -> bool:
    """Return whether this is code instead of a file name: it has blanks, and no language's extension."""
    return len(code.split()) > 1 and language_of_file(code.strip()) is None


def given_code(code: str) -> KeptCode:
    """Read code from a file, or take the argument itself as code. Raises: UsageError, also for a table's file."""
    if Path(code).suffix.lower() in TABLE_ENDINGS:
        raise UsageError(
            f'{code} is a table, not code. Data comes first: assay transform {code} "TASK"; '
            f"more data: --data NAME={code}"
        )
    return KeptCode(code) if is_text(code) else read(Path(code))


def read(path: Path) -> KeptCode:
    """Read kept code. Raises: UsageError when the file is missing, or its head cannot be read."""
    text = text_of(path)
    mark = _mark(path)
    lines = text.splitlines()
    if not lines or not lines[0].startswith(f"{mark} {_TITLE}"):
        return KeptCode(text)
    head: dict[str, list[str]] = {}
    for line in lines:
        if not line.startswith(mark):
            break
        key, colon, value = line[len(mark) :].strip().partition(":")
        if colon:
            head.setdefault(key.strip(), []).append(value.strip())
    expects = {}
    for key, values in head.items():
        word, _, name = key.partition(" ")
        if word == "expects":
            expects[name or "data"] = _columns(path, values[0])
    return KeptCode(
        code=text,
        task=next(iter(head.get(_TITLE, ())), None) or None,
        dataframe=next(iter(head.get("dataframe", ())), None),
        assertions=tuple(head.get("assert", ())),
        expects=expects,
    )


def write(path: Path, task: str, result: Mapping[str, Any], dataframe: str | None, assertions: Sequence[str]) -> None:
    """Save the code of a result with its schema and assertions; as comments, so that the code runs alone too."""
    mark = _mark(path)
    head = [f"{_TITLE}: {' '.join(task.split())}"[:300]]
    if dataframe is not None:
        head.append(f"dataframe: {dataframe}")
    for data in result["inputs"]:
        columns = {column["name"]: column["type"] for column in data["columns"]}
        head.append(f"expects {data['name']}: {json.dumps(columns, ensure_ascii=False)}")
    head += [f"assert: {' '.join(text.split())}" for text in assertions]
    code = _without_head(result["code"], mark)
    lines = [*(f"{mark} {line}" for line in head), "", code.strip("\n"), ""]
    path.write_text("\n".join(lines), "utf-8")


def expected(texts: Sequence[str], names: Sequence[str]) -> dict[str, list[dict[str, str]]]:
    """Parse ``--expects [DATA.]COLUMN[:TYPE]``; without DATA, the first data set is meant. Raises: UsageError."""
    expects: dict[str, list[dict[str, str]]] = {}
    for text in texts:
        column, colon, kind = text.rpartition(":") if ":" in text else (text, "", "")
        data, dot, rest = column.partition(".")
        if not dot or data not in names:
            data, rest = names[0], column
        if not rest or (colon and not kind):
            raise UsageError(f"{text!r} is not [DATA.]COLUMN[:TYPE]")
        expects.setdefault(data, []).append({"name": rest, **({"type": kind} if kind else {})})
    return expects


def _without_head(code: str, mark: str) -> str:
    lines = code.splitlines()
    if not lines or not lines[0].startswith(f"{mark} {_TITLE}"):
        return code
    end = next((at for at, line in enumerate(lines) if not line.startswith(mark)), len(lines))
    return "\n".join(lines[end:])


def _columns(path: Path, text: str) -> list[dict[str, str]]:
    try:
        columns = json.loads(text)
    except ValueError:
        columns = None
    if not isinstance(columns, dict) or not all(isinstance(kind, str) for kind in columns.values()):
        raise UsageError(f'{path}: the value of "expects" is not a JSON object of columns and their types')
    return [{"name": name, "type": kind} for name, kind in columns.items()]


def _mark(path: Path) -> str:
    """Return what a line of comment begins with."""
    language = language_of_file(path.name)
    return "#" if language is None else language.comment
