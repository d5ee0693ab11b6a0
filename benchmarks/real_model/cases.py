"""Jobs of each kind: what is submitted, and what would be a lie in its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay import Client
from assay._sync.job import Job
from assay.calls import flows, rest
from benchmarks.real_model import honest

_BUDGET = {"seconds": 90.0}
_SALES = "region,amount\nnorth,2\nsouth,3\nnorth,4\nwest,1\n"
_TASK = "Total amount by region, largest first"
_RECORDS = [
    {"id": "1", "text": "Queues in Postgres: SKIP LOCKED and advisory locks", "facets": {"purpose": "databases"}},
    {"id": "2", "text": "Baking bread with rye", "facets": {"purpose": "cooking"}},
    {"id": "3", "text": "Rate limits for web servers", "facets": {"purpose": "networks"}},
]


@dataclass(frozen=True)
class Case:
    name: str
    submit: Callable[[Client], Job[Any]]
    lies: Callable[[Mapping[str, Any]], str | None]


def execute(client: Client) -> Job[Any]:
    return client.execute("print(6 * 7)")


def transform(client: Client) -> Job[Any]:
    data = [{"name": "data", "csv": _SALES}]
    input = {"task": _TASK, "data": data, "assertions": ["rows == 3"], "max_iterations": 3}
    return client.submit("transform", input, {"budget": _BUDGET})


def document(client: Client, *, reproducible: bool = False) -> Job[Any]:
    words = "```python exec\nx = 6 * 7\n```\n\n::: describe Say in one sentence what {{ x }} is. :::\n"
    return client.document(markdown=words, submit={"budget": _BUDGET, "reproducible": reproducible})


def search(client: Client) -> Job[Any]:
    return client.submit(
        "search", {"collection": "talks", "question": "Which talk is about queues?"}, {"budget": _BUDGET}
    )


def flow(client: Client) -> Job[Any]:
    nodes = [{"id": name, "position": {"x": 0, "y": 0}, "data": {"label": name}} for name in ("Cart", "Payment")]
    edges = [{"id": "e1", "source": "Cart", "target": "Payment"}]
    made = client.send(flows.create({"nodes": nodes, "edges": edges}))
    return client.edit_flow(str(made["id"]), "Put a review between Cart and Payment", submit={"budget": _BUDGET})


def detect(client: Client) -> Job[Any]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "native").mkdir()
        (folder / "native" / "main.zig").write_text('const std = @import("std");\npub fn main() void {}\n')
        (folder / "native" / "build.zig").write_text('const std = @import("std");\n')
        return client.detect(folder, submit={"budget": _BUDGET}, mode="llm_only")


def collection(client: Client) -> None:
    """The question of ``search``."""
    client.send(rest.create_collection("talks", {"talks": {"facets": {"purpose": 1.0}}}))
    client.ingest("talks", "talks", records=_RECORDS).result(60)


def story(client: Client) -> Job[Any]:
    """Return an answer of some seconds."""
    words = "::: describe Tell a story of a ship, with its sailors and what they ate, in ten sentences. :::\n"
    return client.document(markdown=words, submit={"budget": _BUDGET})


def long_document(client: Client) -> Job[Any]:
    """Return a prompt of several windows."""
    words = "The review took place on a Friday. " * 2500
    return client.document(
        markdown=f"{words}\n\n::: describe Summarise this: {words} :::\n", submit={"budget": _BUDGET}
    )


CASES = (
    Case("execute", execute, lambda result: None if result["stdout"] == "42\n" else f"stdout {result['stdout']!r}"),
    Case("transform", transform, honest.transform_lies),
    Case("document", document, honest.document_lies),
    Case("search", search, honest.search_lies),
    Case("flow", flow, honest.flow_lies),
    Case("detect", detect, honest.detect_lies),
)
