"""Files that cases name: read from the suite's folder, uploaded once, and referred to by id."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from assay.packing import pack
from assay.suites.read import Loc, SuiteFile
from shared.kinds import case_rules

#: Fields whose content is the case's own: what is called ``file`` there is no file.
_DATA = frozenset({"rows", "records", "parameters", "filters", "profile"})
Upload = Callable[[Path | BinaryIO, str], str]  #: gives the id of the file
MakeFlow = Callable[[Mapping[str, Any]], str]  #: gives the id of the flow


@dataclass
class CaseFiles:
    """Puts ids in the place of ``file: NAME`` in the inputs of cases, and of the flow that a case begins with."""

    suite: SuiteFile
    upload: Upload
    make_flow: MakeFlow

    def __post_init__(self) -> None:
        self._known: dict[Path, str] = {}

    def check(self) -> None:
        """Check that every file exists, before anything is sent. Raises: SuiteError."""
        for number, case in enumerate(self.suite.content["cases"]):
            for loc, name in _named(case["input"], ("cases", number, "input")):
                self._path(loc, name)

    def sent(self) -> dict[str, Any]:
        """Return the suite in the form that the server receives. Raises: SuiteError."""
        cases = []
        for number, case in enumerate(self.suite.content["cases"]):
            loc: Loc = ("cases", number, "input")
            input = self._resolved(case["input"], loc)
            if case_rules(case["kind"]).edits_flow and isinstance(input.get("flow"), dict):
                input = {"flow_id": self.make_flow(input["flow"]), **{k: v for k, v in input.items() if k != "flow"}}
            cases.append({**case, "input": input})
        return {**self.suite.content, "cases": cases}

    def _resolved(self, value: Any, loc: Loc) -> Any:
        if isinstance(value, list) and loc[-1] not in _DATA:
            return [self._resolved(item, (*loc, index)) for index, item in enumerate(value)]
        if not isinstance(value, dict) or loc[-1] in _DATA:
            return value
        resolved = {key: self._resolved(each, (*loc, key)) for key, each in value.items()}
        if not isinstance(value.get("file"), str):
            return resolved
        path = self._path((*loc, "file"), value["file"])
        if loc[-1] == "flow":
            return self._json(path, (*loc, "file"))
        # What is laid out for the code names its place; everything else is a source.
        name = "id" if "path" in value else "file_id"
        return {name: self._id(path), **{key: each for key, each in resolved.items() if key != "file"}}

    def _path(self, loc: Loc, name: str) -> Path:
        """Return the path of a file. Raises: SuiteError when it is missing or outside the suite's folder."""
        folder = self.suite.folder
        path = (folder / name).resolve()
        if Path(name).is_absolute() or not path.is_relative_to(folder):
            raise self.suite.fault(loc, f"{name} is not below the suite's folder")
        if not path.exists():
            raise self.suite.fault(loc, f"there is no file {name} next to the suite")
        return path

    def _id(self, path: Path) -> str:
        if path not in self._known:
            with _content(path) as (content, name):
                self._known[path] = self.upload(content, name)
        return self._known[path]

    def _json(self, path: Path, loc: Loc) -> Any:
        import json  # noqa: PLC0415

        try:
            return json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise self.suite.fault(loc, f"{path.name} is not JSON: {error}") from None


def _named(value: object, loc: Loc) -> Iterator[tuple[Loc, str]]:
    if isinstance(value, list) and loc[-1] not in _DATA:
        for index, item in enumerate(value):
            yield from _named(item, (*loc, index))
    elif isinstance(value, dict) and loc[-1] not in _DATA:
        if isinstance(value.get("file"), str):
            yield (*loc, "file"), value["file"]
        for key, item in value.items():
            yield from _named(item, (*loc, key))


@contextmanager
def _content(path: Path) -> Iterator[tuple[Path | BinaryIO, str]]:
    """Yield a file unchanged, or a folder as an archive."""
    if not path.is_dir():
        yield path, path.name
        return
    with tempfile.TemporaryFile() as archive:
        pack(path, archive)
        yield archive, f"{path.name}.tar.gz"
