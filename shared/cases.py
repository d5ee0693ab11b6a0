"""A finished job as a case of a suite: what each kind's jobs can be expected to do again."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from shared.contracts.evaluations import Case, Expectation

Json = Mapping[str, Any]
MAX_NAME_CHARACTERS = 80


@dataclass(frozen=True)
class CaseRules:
    """What the cases of one kind may expect, and how they are made and run."""

    expects: tuple[str, ...] = ()  #: parts of an expectation that kinds without them here must not have
    verdict: str | None = None  #: what a run has to end with when its case says nothing
    edits_flow: bool = False  #: a case holds the flow itself, as it was before the job
    continues: bool = False  #: a job may continue an earlier result, which is the data of its case
    expectation: Callable[[Json], dict[str, Any]] = lambda _result: {}  #: what another run must repeat of a result
    run: Callable[[Expectation], Json] = lambda _expect: {}  #: more input for a run, so that it can be scored

    def flow_before(self, job: Json) -> tuple[str, int] | None:
        """Return id and version of the flow that the job edited, as it was before; None when it edited none."""
        if not self.edits_flow or job["state"] != "succeeded":
            return None
        result = job["result"]
        return str(job["input"]["flow_id"]), int(result["version"]) - (0 if result.get("proposal_id") else 1)

    def case_of(self, job: Json, name: str, flow: Json | None) -> dict[str, Any]:
        """Return the case, its files by id; ``flow`` is the one of ``flow_before``."""
        result = job.get("result") or {}
        input = dict(job["input"])
        if self.continues and result.get("continues"):
            first = result["inputs"][0]
            input["data"] = [{"name": first["name"], "file_id": first["file_id"]}, *input["data"][1:]]
            input = {key: value for key, value in input.items() if key not in ("base", "branch")}
        if flow is not None:
            rest = {key: value for key, value in input.items() if key not in ("flow_id", "mode")}
            input = {"flow": diagram(flow), **rest}
        case = {"name": name, "kind": job["kind"], "input": input}
        budget = {key: value for key, value in (job.get("budget") or {}).items() if value is not None}
        expect = self.expectation(result) if job["state"] == "succeeded" else {}
        return {**case, **({"expect": expect} if expect else {}), **({"budget": budget} if budget else {})}

    def as_run(self, case: Case) -> Case:
        """Return the case as its job gets it."""
        return case.model_copy(update={"input": {**case.input, **self.run(case.expect)}})


def _of_execution(result: Json) -> dict[str, Any]:
    printed = {"stdout": result["stdout"]} if result.get("stdout") and not result.get("truncated") else {}
    return {"verdict": result["verdict"], **printed}


def _of_detection(result: Json) -> dict[str, Any]:
    labels = {
        service["path"]: {kind: id for kind, id in service["primary"].items() if id}
        for service in result.get("services") or []
    }
    return {"labels": {path: ids for path, ids in labels.items() if ids}} if labels else {}


def _of_search(result: Json) -> dict[str, Any]:
    hits = {table: [hit["id"] for hit in each if not hit.get("weak")] for table, each in result["hits"].items()}
    relevant = {table: ids for table, ids in hits.items() if ids}
    return {"relevant": relevant} if relevant else {}


def _observed(expect: Expectation) -> Json:
    """Let the worker check the assertions, and return the whole table where one is expected."""
    observe = {"observe": expect.assertions} if expect.assertions else {}
    return {**observe, **({"result_rows": 1000} if expect.table is not None else {})}


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
    """Return a flow reduced to what evaluations compare."""
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


NO_CASES = CaseRules()  #: nothing is expected of its jobs but that they succeed
EXECUTE_CASES = CaseRules(expects=("stdout",), verdict="ok", expectation=_of_execution)
TRANSFORM_CASES = CaseRules(
    expects=("table", "assertions"),
    continues=True,
    expectation=lambda result: _of_table(result.get("table")),
    run=_observed,
)
SEARCH_CASES = CaseRules(expects=("relevant",), expectation=_of_search)
FLOW_CASES = CaseRules(
    expects=("flow",),
    edits_flow=True,
    expectation=lambda result: {"flow": diagram(result["flow"])},
    run=lambda _expect: {"mode": "propose"},
)
DETECT_CASES = CaseRules(expects=("labels",), expectation=_of_detection)


def name_of(job: Json, titles: Sequence[str], taken: set[str]) -> str:
    """Return what the job was about, the first of the input's dotted paths, as a name that no other case has."""
    texts = (reduce(_member, path.split("."), job["input"]) for path in titles)
    text = next((str(text) for text in texts if text), job["kind"])
    line = " ".join("".join(c if c.isprintable() else " " for c in text.strip().split("\n", 1)[0]).split())
    plain = line[:MAX_NAME_CHARACTERS].strip() or job["kind"]
    names = (plain if number == 1 else f"{plain} ({number})" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _member(value: Any, name: str) -> Any:  # noqa: ANN401 - any JSON
    return value.get(name) if isinstance(value, Mapping) else None
