"""A case from life: a finished job's input, its files beside the suite, and its result as the expectation."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from assay.suites.read import SuiteError, read_suite

Json = Mapping[str, Any]
_MOST_NAME = 80
_SAYS = ("task", "message", "question", "code", "markdown")


@dataclass
class CaseMaker:
    """Makes a case; ``fetch`` gives the name and the content of a file, ``flow`` a flow as of a version."""

    folder: Path
    fetch: Callable[[str], tuple[str, bytes]]
    flow: Callable[[str, int], Json]

    def case(self, job: Json, name: str) -> dict[str, Any]:
        result = job.get("result") or {}
        input = dict(job["input"])
        if job["kind"] == "transform" and result.get("continues"):  # it went on from a result: that is its data now
            first = result["inputs"][0]
            input["data"] = [{"name": first["name"], "file_id": first["file_id"]}, *input["data"][1:]]
            input = {key: value for key, value in input.items() if key not in ("base", "branch")}
        if job["kind"] == "flow":
            input = self._flow_input(input, result)
        case = {"name": name, "kind": job["kind"], "input": self._with_files(input)}
        budget = {key: value for key, value in (job.get("budget") or {}).items() if value is not None}
        expect = expectation(job["kind"], result) if job["state"] == "succeeded" else {}
        return {**case, **({"expect": expect} if expect else {}), **({"budget": budget} if budget else {})}

    def _flow_input(self, input: Mapping[str, Any], result: Json) -> dict[str, Any]:
        """The flow as it was before the edit."""
        before = int(result["version"]) - (0 if result.get("proposal_id") else 1)
        kept = {key: value for key, value in input.items() if key not in ("flow_id", "mode")}
        return {"flow": diagram(self.flow(str(input["flow_id"]), before)), **kept}

    def _with_files(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._with_files(each) for each in value]
        if not isinstance(value, dict):
            return value
        name = "file_id" if isinstance(value.get("file_id"), str) else "id" if {"id", "path"} == set(value) else None
        inner = {key: self._with_files(each) for key, each in value.items() if key != name and each is not None}
        return inner if name is None else {**inner, "file": self._kept(value[name])}

    def _kept(self, id: str) -> str:
        """The file below the suite's folder, under a name that no other content has."""
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


def expectation(kind: str, result: Json) -> dict[str, Any]:
    """What holds of this result, as far as another run of the same case can be held against it."""
    match kind:
        case "execute":
            printed = {"stdout": result["stdout"]} if result.get("stdout") and not result.get("truncated") else {}
            return {"verdict": result["verdict"], **printed}
        case "transform":
            return _of_table(result.get("table"))
        case "flow":
            return {"flow": diagram(result["flow"])}
        case "detect":
            labels = {
                service["path"]: {kind: id for kind, id in service["primary"].items() if id}
                for service in result.get("services") or []
            }
            return {"labels": {path: ids for path, ids in labels.items() if ids}} if labels else {}
        case "search":
            hits = {
                table: [hit["id"] for hit in found if not hit.get("weak")] for table, found in result["hits"].items()
            }
            relevant = {table: ids for table, ids in hits.items() if ids}
            return {"relevant": relevant} if relevant else {}
    return {}


def _of_table(table: Json | None) -> dict[str, Any]:
    if table is None:
        return {}
    names = [column["name"] for column in table["columns"]]
    if table["row_count"] > len(table["rows"]):
        quoted = ", ".join(f'"{name}"' for name in names)
        return {"assertions": [f"rows == {table['row_count']}", f"columns contain {quoted}"]}
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([["" if cell is None else cell for cell in row] for row in table["rows"]])
    return {"table": {"csv": buffer.getvalue(), "order": "any"}}


def diagram(flow: Json) -> dict[str, Any]:
    """A flow without what an evaluation does not look at."""
    nodes = [
        {
            "id": node["id"],
            **({"type": node["type"]} if node.get("type") else {}),
            **({"parentGroupId": node["parentGroupId"]} if node.get("parentGroupId") else {}),
            "data": {"label": (node.get("data") or {}).get("label", "")},
        }
        for node in flow.get("nodes") or []
    ]
    edges = [
        {
            "id": edge["id"],
            "source": edge["source"],
            "target": edge["target"],
            **({"data": {"label": edge["data"]["label"]}} if (edge.get("data") or {}).get("label") else {}),
        }
        for edge in flow.get("edges") or []
    ]
    return {"nodes": nodes, "edges": edges}


def name_of(job: Json, taken: set[str]) -> str:
    """What the job was about, as a name that no other case has."""
    text = next((str(job["input"][key]) for key in _SAYS if job["input"].get(key)), job["kind"])
    line = " ".join("".join(c if c.isprintable() else " " for c in text.strip().split("\n", 1)[0]).split())
    plain = line[:_MOST_NAME].strip() or job["kind"]
    names = (plain if number == 1 else f"{plain} ({number})" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def names_in(path: Path) -> set[str]:
    """The names of a suite's cases; none when there is no such file. Raises: SuiteError."""
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
    """The case as an item of a list, indented as the items before it."""
    match = re.search(r"^( *)- ", before.partition("cases:")[2], re.MULTILINE)
    indent = match[1] if match else "  "
    lines = _yaml(case).splitlines()
    return "".join(
        f"{indent}{'- ' if number == 0 else '  '}{line}\n" if line else "\n" for number, line in enumerate(lines)
    )


def _yaml(case: Json) -> str:
    """Texts of several lines as they stand, where YAML can."""
    import yaml  # noqa: PLC0415

    class Dumper(yaml.SafeDumper):
        """One of its own: what is changed of it holds for nobody else."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    written: str = yaml.dump(dict(case), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return written
