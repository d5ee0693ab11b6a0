"""Flows: batches, undo, layout compared with dagre in Node, and what a flow job adds to its model.

What only computes is measured in time on the processor, so that a busy machine does not count.
``python -m benchmarks.flows``; npm fetches dagre into a temporary folder (without npm that part is left out).
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx2 as httpx
from pydantic import JsonValue
from sqlalchemy import Engine

from benchmarks.installation import Installation, installation
from benchmarks.table import Line, at_most, show
from services.gateway.http.responses import encode
from shared.flows import editing, history
from shared.flows.batch import Batch
from shared.flows.calls import Call
from shared.flows.document import Document, document_of
from shared.flows.layout.document_layout import layout
from shared.flows.store import Author, FlowStore
from tests.support.scripted import ScriptedLlm, started
from tests.support.wait import until

DAGRE = "@dagrejs/dagre@3.1.3"
ANNE = Author("anne", "bench")
JOBS = 40


def main() -> None:
    lines = [*batches(), *layouts()]
    with installation() as assay, assay.platform() as platform:
        lines += undo(platform.engine)
        lines += job(assay)
    show("Flows", lines)


def diagram(nodes: int, edges: int) -> Document:
    """Return a random diagram, the same in every run."""
    chance = random.Random(nodes)
    bodies: list[JsonValue] = [
        {"id": f"n{n}", "type": "default", "position": {"x": 0, "y": n}, "data": {"label": f"Node {n}"}}
        for n in range(nodes)
    ]
    ends = [(chance.randrange(nodes), chance.randrange(nodes)) for _ in range(edges)]
    return document_of(
        bodies,
        [{"id": f"e{n}", "source": f"n{a}", "target": f"n{b}"} for n, (a, b) in enumerate(ends)],
    )


def batches() -> list[Line]:
    """Tool calls on a draft, the change set's operations and their inverse included."""
    document = diagram(1_000, 1_300)
    hundred = _median(lambda: _batch(document, 100), 15)
    thousand = _median(lambda: _batch(document, 1_000), 5)
    return [
        at_most("batch of 100 calls, 1,000 nodes (peer: the target)", hundred, 50, "ms", 1.0),
        at_most("batch of 1,000 calls against 10 of 100", thousand, hundred * 10, "ms", 1.3),
    ]


def _batch(document: Document, count: int) -> None:
    calls = [
        call
        for n in range(count // 4)
        for call in (
            Call("addNode", {"label": f"New {n}", "parentNodeId": f"Node {n}"}),
            Call("updateNode", {"nodeId": f"n{n + 300}", "label": "Changed", "position": {"x": 1, "y": 2}}),
            Call("addEdge", {"sourceNodeId": f"n{n}", "targetNodeId": f"n{n + 5}"}),
            Call("deleteNode", {"nodeId": f"n{n + 600}"}),
        )
    ]
    batch = Batch(document)
    outcomes = batch.run(calls)
    assert all(outcome.success for outcome in outcomes)
    assert batch.draft.operations()


def layouts() -> list[Line]:
    lines = [at_most("layout of 200 nodes (peer: the target)", _laid_out(200), 25, "ms", 1.0)]
    peers = _dagre((200, 1_000))
    for size, peer in peers.items():
        lines.append(at_most(f"layout of {size:,} nodes against dagre in Node", _laid_out(size), peer, "ms", 1.0))
    return lines


def _laid_out(size: int) -> float:
    document = diagram(size, size * 13 // 10)
    return _median(lambda: layout(document), 5)


def _dagre(sizes: tuple[int, ...]) -> dict[int, float]:
    """Milliseconds of dagre on the same graphs, the cold first run left out."""
    if shutil.which("npm") is None:
        return {}
    graphs = []
    for size in sizes:
        document = diagram(size, size * 13 // 10)
        ends = [(item.body["source"], item.body["target"]) for item in document.edges.values()]
        graphs.append({"nodes": list(document.nodes), "edges": ends})
    with tempfile.TemporaryDirectory(prefix="assay-dagre-") as folder:
        Path(folder, "package.json").write_text("{}")
        install = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", folder, DAGRE]
        subprocess.run(install, check=True, capture_output=True)
        script = Path(__file__).with_name("flows_dagre.mjs")
        ran = subprocess.run(
            ["node", str(script), folder, "2"], input=json.dumps(graphs), capture_output=True, text=True, check=True
        )
    taken = json.loads(ran.stdout)
    return {size: statistics.median(times[1:]) for size, times in zip(sizes, taken, strict=True)}


def undo(engine: Engine) -> list[Line]:
    """Undo of one change on a large flow, from the lock to the commit, and with the whole answer written as JSON."""
    store = FlowStore()
    with engine.begin() as connection:
        flow = store.create(connection, "t", "Large", diagram(10_000, 13_000), ANNE)
    bare, answered = [], []
    for number in range(40):
        with engine.begin() as connection:
            locked = store.lock(connection, "t", flow.id)
            store.committed(
                editing.edit(store, connection, locked, [Call("addNode", {"label": f"X{number}"})], ANNE).flow
            )
        began = time.perf_counter()
        with engine.begin() as connection:
            after = history.undo(store, connection, store.lock(connection, "t", flow.id), ANNE)
        assert after is not None
        store.committed(after)
        bare.append(time.perf_counter() - began)
        encode({"success": True, "flow": after.view(), "version": after.version})
        answered.append(time.perf_counter() - began)
    return [
        at_most("undo on 10,000 nodes (peer: the target)", statistics.median(bare) * 1e3, 20, "ms", 1.0),
        at_most("the same with the whole flow as JSON", statistics.median(answered) * 1e3, 20, "ms", 1.0),
    ]


def job(assay: Installation) -> list[Line]:
    """Return a flow job over HTTP with a model that answers at once; the ledger says what the model took."""
    scripted, address = started()
    model = ScriptedLlm(address)
    reply = '<thinking>ok</thinking><response>[{"name": "addNode", "input": {"label": "Login"}}]</response>'
    model.play({"reply": {"text": reply}})
    asked = model.environment(["groq"])
    try:
        with (
            assay.process("services.flows", **asked),
            assay.gateway(**asked) as port,
            httpx.Client(
                base_url=f"http://127.0.0.1:{port}",
                headers={**assay.authorization, "Prefer": "wait=30"},
                timeout=60,
            ) as client,
        ):
            until(lambda: _ready(client), "a flows worker", 30)
            overheads = [_overhead(client, number) for number in range(JOBS)]
    finally:
        scripted.terminate()
        scripted.wait(30)
    return [at_most("flow job without its model, HTTP to result", statistics.median(overheads), 40, "ms", 1.0)]


def _ready(client: httpx.Client) -> bool:
    return bool(client.get("/v1/capabilities").json()["kinds"].get("flow", {}).get("state") == "ready")


def _overhead(client: httpx.Client, number: int) -> float:
    flow = client.post("/v1/flows", json={"name": f"Flow {number}"}).json()
    given = {"kind": "flow", "input": {"flow_id": flow["id"], "message": "add a login page"}}
    began = time.perf_counter()
    done = client.post("/v1/jobs", json=given).json()
    taken = time.perf_counter() - began
    assert done["result"]["success"], done
    calls = client.get(f"/v1/jobs/{done['id']}/llm-calls").json()["items"]
    model = sum(float(call["seconds"]) for call in calls)
    return (taken - model) * 1e3


def _median(work: Callable[[], object], times: int) -> float:
    """Milliseconds on the processor."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return statistics.median(taken) * 1e3


if __name__ == "__main__":
    main()
