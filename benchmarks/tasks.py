"""Graded tasks of every kind, read from ``evals/tasks``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import yaml

Row = Mapping[str, Any]
Cells = list[list[Any]]
Call = Mapping[str, Any]

_FOLDER = Path(__file__).parents[1] / "evals" / "tasks"
#: Name in the code: file of vega-datasets.
_FILES: Mapping[str, str] = {
    "weather": "seattle-weather.csv",
    "stocks": "stocks.csv",
    "airports": "airports.csv",
    "cars": "cars.json",
    "iowa": "iowa-electricity.csv",
    "barley": "barley.json",
    "employment": "us-employment.csv",
    "crimea": "crimea.json",
    "iris": "iris.json",
    "riots": "la-riots.csv",
    "seattle": "seattle-temps.csv",
    "sf": "sf-temps.csv",
}
_ARROW = re.compile(r"\s+(?:-([^>]+))?>\s+")


@dataclass(frozen=True)
class Task:
    """A task over tables, with code that solves it; the order of the answer's rows counts when ``ordered``."""

    name: str
    text: str
    answer: Cells
    pandas: str
    data: Sequence[str] = ()
    sql: str = ""
    polars: str = ""
    r: str = ""
    ordered: bool = True
    stated: Sequence[str] = ()  #: what a careful model can state of the result from the task and the preview alone
    rows: Mapping[str, Sequence[Row]] = field(default_factory=dict)  #: further data sets, given inline


@dataclass(frozen=True)
class FlowTask:
    """An instruction for a diagram, such as ``Order > Pay -refused> Cancel; Help``."""

    name: str
    before: str
    message: str
    calls: Sequence[Call]
    after: str

    @property
    def reply(self) -> str:
        """The model's answer."""
        uses = [{"type": "tool_use", "id": str(number), **call} for number, call in enumerate(self.calls, 1)]
        return f"<thinking>\n{self.name}\n</thinking>\n<response>\n{json.dumps(uses, ensure_ascii=False)}\n</response>"


@dataclass(frozen=True)
class DocumentTask:
    """A document with an instruction; the message that reaches the model has to contain what its code computed."""

    name: str
    markdown: str
    message: str | Sequence[str]  #: what the message has to contain (one of them)
    reply: str
    required: Sequence[str] = ()  #: of the result, apart from the reply
    forbidden: Sequence[str] = ()


@dataclass(frozen=True)
class DetectTask:
    """A project in a language of which little is known."""

    language: str
    files: Mapping[str, str]  #: by path
    proof: str  #: the file that the model cites
    build_system: str | None = None
    mode: str = "llm_only"  #: ``full`` calls a model only where something like a manifest has no rule

    @property
    def reply(self) -> str:
        """The model's answer."""
        kinds = {"language": self.language, **({"build_system": self.build_system} if self.build_system else {})}
        facts = [
            {"root": "", "kind": kind, "name": name, "confidence": 0.9, "evidence": [{"file": self.proof, "line": 1}]}
            for kind, name in kinds.items()
        ]
        return json.dumps({"identifications": facts})


def _read(name: str) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = yaml.load((_FOLDER / name).read_bytes(), Loader=yaml.CSafeLoader)
    return tasks


def content(name: str) -> tuple[str, bytes]:
    """Return the file behind a table's name: its own name and its bytes."""
    file = _FILES[name]
    return file, (files("vega_datasets") / "_data" / file).read_bytes()


def _shop_tasks() -> tuple[Task, ...]:
    """Return the tasks of the shop, whose answers DuckDB computes: another engine than that of their code."""
    shop: dict[str, list[Row]] = yaml.load((_FOLDER / "shop_tables.yaml").read_bytes(), Loader=yaml.CSafeLoader)
    with duckdb.connect(config={"threads": 1}) as database:
        for table, rows in shop.items():
            places = ", ".join([f"({', '.join('?' * len(rows[0]))})"] * len(rows))
            cells = [cell for row in rows for cell in row.values()]
            database.execute(f"CREATE TABLE {table} AS SELECT * FROM (VALUES {places}) t({', '.join(rows[0])})", cells)
        return tuple(
            Task(
                each["name"],
                each["text"],
                [list(map(_plain, row)) for row in database.execute(each["sql"]).fetchall()],
                each["pandas"],
                sql=each["sql"],
                rows={name: shop[name] for name in each["tables"]},
            )
            for each in _read("shop.yaml")
        )


def _plain(cell: object) -> object:
    return float(cell) if isinstance(cell, Decimal) else cell


def same(one: Cells, two: Cells, ordered: bool) -> bool:
    """Return whether two tables agree, floats to a relative 1e-6."""
    if not ordered:
        one, two = (sorted(cells, key=_sortable) for cells in (one, two))
    return len(one) == len(two) and all(
        len(left) == len(right) and all(map(_agree, left, right)) for left, right in zip(one, two, strict=True)
    )


def _agree(one: object, two: object) -> bool:
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        return abs(one - two) <= 1e-6 * max(1.0, abs(one), abs(two))
    return bool(one == two)


def _sortable(row: list[Any]) -> list[str]:
    return [f"{cell:.6f}" if isinstance(cell, (int, float)) else str(cell) for cell in row]


def diagram(text: str) -> dict[str, Any]:
    """Return the diagram as a flow's document; edges are called e1, e2 in their order."""
    ids: dict[str, str] = {}
    edges: list[dict[str, Any]] = []
    for chain in filter(None, map(str.strip, text.split(";"))):
        parts = _ARROW.split(chain)
        labels, arrows = parts[::2], parts[1::2]
        for label in labels:
            ids.setdefault(label, _id_of(label))
        for source, arrow, target in zip(labels, arrows, labels[1:], strict=False):
            data = {"data": {"label": arrow}} if arrow else {}
            edges.append({"id": f"e{len(edges) + 1}", "source": ids[source], "target": ids[target], **data})
    nodes = [
        {"id": id, "position": {"x": 250 * number, "y": 0}, "data": {"label": label.rstrip("'")}}
        for number, (label, id) in enumerate(ids.items())
    ]
    return {"nodes": nodes, "edges": edges}


def _id_of(label: str) -> str:
    """Return the id of a new node with that label; ``Review'`` is a second node with the label ``Review``."""
    return re.sub(r"\W+", "_", label.lower()).strip("_") + ("_2" if label.endswith("'") else "")


TRANSFORM = tuple(Task(**each) for each in _read("transform.yaml"))
SHOP = _shop_tasks()
FLOWS = tuple(FlowTask(**each) for each in _read("flows.yaml"))
DOCUMENTS = tuple(DocumentTask(**each) for each in _read("documents.yaml"))
DETECT = tuple(DetectTask(**each) for each in _read("detect.yaml"))
