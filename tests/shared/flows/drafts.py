"""Small documents and batches for the tests of the engine."""

from __future__ import annotations

from pydantic import JsonValue

from shared.flows.batch import Batch, HistoryWindow
from shared.flows.calls import Call, CallOutcome
from shared.flows.document import Document, Json, document_of


def node(key: str, label: str | None = None, **more: JsonValue) -> Json:
    body: Json = {"id": key, "type": "default", "position": {"x": 0, "y": 0}, "data": {"label": label or key}}
    return {**body, **more}


def edge(source: str, target: str, key: str | None = None) -> Json:
    return {"id": key or f"{source}-{target}", "source": source, "target": target}


def diagram(*nodes: str | Json, edges: tuple[Json, ...] = ()) -> Document:
    return document_of([node(one) if isinstance(one, str) else one for one in nodes], list(edges))


def call(name: str, **params: JsonValue) -> Call:
    return Call(name, params)


def run(
    document: Document, *calls: Call, atomic: bool = False, history: HistoryWindow | None = None
) -> tuple[Batch, list[CallOutcome]]:
    batch = Batch(document, history)
    return batch, batch.run(calls, atomic)


def error(document: Document, name: str, **params: JsonValue) -> str | None:
    """The error of one call; the document must then be as before."""
    batch, (outcome,) = run(document, call(name, **params))
    if outcome.error is not None:
        assert batch.draft.document().nodes == document.nodes
        assert batch.draft.document().edges == document.edges
        assert batch.draft.document().settings == document.settings
        assert batch.draft.operations() == ([], [])
    return outcome.error
