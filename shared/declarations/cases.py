"""A finished job as a case of a suite: its input, and of its result what another run can be held against."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]
_MOST_NAME = 80
_SAYS = ("task", "message", "question", "code", "markdown")


def flow_before(job: Json) -> tuple[str, int] | None:
    """Id and version of the flow that the job edited, as it was before; None when it edited none."""
    if job["kind"] != "flow" or job["state"] != "succeeded":
        return None
    result = job["result"]
    return str(job["input"]["flow_id"]), int(result["version"]) - (0 if result.get("proposal_id") else 1)


def case_of(job: Json, name: str, flow: Json | None) -> dict[str, Any]:
    """The case, its files by id; ``flow`` is the one of ``flow_before``. No ``expect`` when nothing can be expected."""
    result = job.get("result") or {}
    input = dict(job["input"])
    if job["kind"] == "transform" and result.get("continues"):  # it went on from a result: that is its data now
        first = result["inputs"][0]
        input["data"] = [{"name": first["name"], "file_id": first["file_id"]}, *input["data"][1:]]
        input = {key: value for key, value in input.items() if key not in ("base", "branch")}
    if flow is not None:
        kept = {key: value for key, value in input.items() if key not in ("flow_id", "mode")}
        input = {"flow": diagram(flow), **kept}
    case = {"name": name, "kind": job["kind"], "input": input}
    budget = {key: value for key, value in (job.get("budget") or {}).items() if value is not None}
    expect = expectation(job["kind"], result) if job["state"] == "succeeded" else {}
    return {**case, **({"expect": expect} if expect else {}), **({"budget": budget} if budget else {})}


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
