"""A suite as its file has it: YAML, or JSON lines with one case each; every fault names its line and its field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.faults import field_fault, worded

if TYPE_CHECKING:
    import yaml

Loc = tuple[str | int, ...]
_MAX_BYTES, _MAX_VALUES = 8_000_000, 500_000


class SuiteError(Exception):
    """The suite cannot be read; the text names file, line and field."""

    def __init__(self, path: Path, line: int | None, loc: Loc, message: str) -> None:
        where = f"{path}:{line}" if line else str(path)
        super().__init__(f"{where}: {field_fault(field_of(loc), message)}")
        self.line = line
        self.field = field_of(loc)


def field_of(loc: Loc) -> str:
    """``("cases", 1, "expect", "table")`` as ``cases[1].expect.table``."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


@dataclass(frozen=True)
class SuiteFile:
    """The file's content, and the line of each value."""

    path: Path
    content: dict[str, Any]
    lines: Mapping[Loc, int] = field(repr=False)

    @property
    def folder(self) -> Path:
        return self.path.resolve().parent

    def fault(self, loc: Sequence[str | int], message: str) -> SuiteError:
        """Return an error at the field, or at the nearest enclosing field in the file."""
        return SuiteError(self.path, self._line(tuple(loc)), tuple(loc), message)

    def _line(self, loc: Loc) -> int | None:
        return next((self.lines[loc[:n]] for n in range(len(loc), -1, -1) if loc[:n] in self.lines), None)


def read_suite(path: Path) -> SuiteFile:
    """Read and check a suite. Raises: SuiteError."""
    text = _text(path)
    suite = _of_lines(path, text) if path.suffix.lower() in (".jsonl", ".ndjson") else _of_yaml(path, text)
    _check(suite)
    return suite


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise SuiteError(path, None, (), _missing(path)) from None
    except OSError as error:
        raise SuiteError(path, None, (), f"it cannot be read ({error.strerror or error})") from None
    if len(content) > _MAX_BYTES:
        raise SuiteError(path, None, (), f"a suite has {_MAX_BYTES // 1_000_000} MB at most; put data into files")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SuiteError(path, line, (), "it is not text in UTF-8: save it as UTF-8") from None


def _missing(path: Path) -> str:
    """Say that there is no such suite, with the most similar name, and how to make one."""
    near = get_close_matches(path.name, [each.name for each in path.parent.glob("*")], 1, 0.75)
    meant = f"; did you mean {path.with_name(near[0])}?" if near else ""
    return f"there is no such suite{meant} (`assay eval add JOB --suite FILE` makes one of a finished job)"


def _of_yaml(path: Path, text: str) -> SuiteFile:
    from shared.plain_yaml import NotPlain, nodes  # noqa: PLC0415 - rarely needed

    try:
        read = list(nodes(text, most=_MAX_VALUES))
    except NotPlain as fault:
        raise SuiteError(path, fault.line, (), fault.reason) from None
    if len(read) != 1 or not isinstance(read[0][0], dict):
        raise SuiteError(path, 1, (), "a suite is one mapping with name and cases")
    lines: dict[Loc, int] = {}
    _find_lines(path, read[0][1], (), lines)
    return SuiteFile(path, read[0][0], lines)


def _find_lines(path: Path, node: yaml.Node, loc: Loc, lines: dict[Loc, int]) -> None:
    """Record the line of every value: that of its key, if it has one."""
    import yaml  # noqa: PLC0415

    lines.setdefault(loc, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _find_lines(path, item, (*loc, index), lines)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*loc, str(key.value))
            if inner in lines:
                raise SuiteError(path, key.start_mark.line + 1, inner, "it is there twice")
            lines[inner] = key.start_mark.line + 1
            _find_lines(path, value, inner, lines)


def _of_lines(path: Path, text: str) -> SuiteFile:
    """Read one case per line; a line with ``suite`` instead of ``kind`` names the suite, else the file name does."""
    name = path.stem
    cases: list[Any] = []
    lines: dict[Loc, int] = {(): 1}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            case = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise SuiteError(path, number, ("cases", len(cases)), f"not JSON: {error}") from None
        if isinstance(case, dict) and "kind" not in case and set(case) == {"suite"}:
            name = case["suite"]
            lines["name",] = number
            continue
        lines["cases", len(cases)] = number
        cases.append(case)
    return SuiteFile(path, {"name": name, "cases": cases}, lines)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _check(suite: SuiteFile) -> None:
    """Against the contract. Raises: SuiteError for the first field that does not fit."""
    from pydantic import ValidationError  # noqa: PLC0415

    from shared.contracts.evaluations import Suite  # noqa: PLC0415

    try:
        json.dumps(suite.content, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise suite.fault(_not_json(suite.content), "no value of JSON: put texts and dates in quotes") from None
    try:
        Suite.model_validate(suite.content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise suite.fault(in_suite(first["loc"], suite.content), worded(first)) from None


def _not_json(value: object, loc: Loc = ()) -> Loc:
    """Return the location of the first value that JSON does not have."""
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        inner = [(str(key), each) for key, each in value.items()]
    elif isinstance(value, list):
        inner = list(enumerate(value))
    for key, each in inner:
        try:
            json.dumps(each, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return _not_json(each, (*loc, key)) if isinstance(each, (dict, list)) else (*loc, key)
    return loc


def in_suite(loc: Sequence[str | int], content: object) -> Loc:
    """Return a validator's location without the names of union alternatives, which are not in the file."""
    kept: list[str | int] = []
    for position, part in enumerate(loc):
        if isinstance(content, dict):
            if part in content:
                content = content[part]
            elif position < len(loc) - 1:
                continue  # the name of an alternative
        elif isinstance(content, list) and isinstance(part, int) and part < len(content):
            content = content[part]
        else:
            break
        kept.append(part)
    return tuple(kept)
