"""A case from a finished job: its input, its files next to the suite, and its result as the expectation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from assay.suites.read import SuiteError, read_suite
from shared.kinds import case_rules

Json = Mapping[str, Any]


@dataclass
class CaseMaker:
    """Makes a case; ``fetch`` gives the name and the content of a file, ``flow`` a flow as of a version."""

    folder: Path
    fetch: Callable[[str], tuple[str, bytes]]
    flow: Callable[[str, int], Json]

    def case(self, job: Json, name: str) -> dict[str, Any]:
        rules = case_rules(job["kind"])
        edited = rules.flow_before(job)
        case = rules.case_of(job, name, None if edited is None else self.flow(*edited))
        return {**case, "input": self._with_files(case["input"])}

    def _with_files(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._with_files(each) for each in value]
        if not isinstance(value, dict):
            return value
        name = "file_id" if isinstance(value.get("file_id"), str) else "id" if {"id", "path"} == set(value) else None
        inner = {key: self._with_files(each) for key, each in value.items() if key != name and each is not None}
        return inner if name is None else {**inner, "file": self._kept(value[name])}

    def _kept(self, id: str) -> str:
        """Save the file below the suite's folder, under a name that no other content has."""
        name, content = self.fetch(id)
        plain = re.sub(r"[^\w.-]+", "_", PurePosixPath(name).name).lstrip(".") or "file"
        folder = self.folder / "files"
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, 1000):
            path = folder / (plain if number == 1 else f"{number}-{plain}")
            if not path.exists():
                path.write_bytes(content)
            if path.read_bytes() == content:
                return f"files/{path.name}"
        raise ValueError(f"there are too many files called {plain}")


def names_in(path: Path) -> set[str]:
    """Return the names of a suite's cases; none when the file is missing. Raises: SuiteError."""
    return {case["name"] for case in read_suite(path).content["cases"]} if path.exists() else set()


def append(path: Path, case: Json) -> None:
    """Add the case at the end of the suite, leaving everything else as it is. Raises: SuiteError."""
    before = path.read_text("utf-8") if path.exists() else None
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        text = f"{_ended(before or '')}{json.dumps(case, ensure_ascii=False)}\n"
    else:
        text = _ended(before or f"name: {json.dumps(path.stem)}\ncases:\n") + _item(before or "", case)
    path.write_text(text, "utf-8")
    try:
        if read_suite(path).content["cases"][-1] == case:
            return
    except SuiteError:
        pass
    path.write_text(before, "utf-8") if before is not None else path.unlink()
    raise SuiteError(path, None, ("cases",), "nothing can be added at its end: let the list of cases come last")


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _item(before: str, case: Json) -> str:
    """Return the case as a list item, indented like the items before it."""
    match = re.search(r"^( *)- ", before.partition("cases:")[2], re.MULTILINE)
    indent = match[1] if match else "  "
    lines = _yaml(case).splitlines()
    return "".join(
        f"{indent}{'- ' if number == 0 else '  '}{line}\n" if line else "\n" for number, line in enumerate(lines)
    )


def _yaml(case: Json) -> str:
    """Dump a case; texts of several lines keep their lines, where YAML can."""
    import yaml  # noqa: PLC0415

    class Dumper(yaml.SafeDumper):
        """A separate class, so that its representers change no other dumper."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    written: str = yaml.dump(dict(case), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return written
