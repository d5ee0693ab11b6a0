"""A process whose cached copy is older than the kept versions reads the flow from the newest snapshot."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest
from sqlalchemy import Connection, Engine, func, select

from shared.errors import NotFound
from shared.flows import editing, history
from shared.flows.session import FlowEditor
from shared.flows.statements import FlowKey
from shared.flows.store import Author, Flow, FlowStore
from shared.flows.tables import snapshots, versions
from tests.shared.flows.drafts import call, diagram
from tests.shared.flows.stored_flow import ANNE, BERT, StoredFlow, add, names

T = TypeVar("T")

#: Of about three hundred versions each; ASSAY_RETENTION_ROUNDS=10 takes a minute.
ROUNDS = int(os.environ.get("ASSAY_RETENTION_ROUNDS", "2"))


def relabel(stored: StoredFlow, times: int, author: Author = BERT) -> None:
    for number in range(times):
        stored.edit(call("updateNode", nodeId="x", label=f"{author.actor} {number}"), author=author)


def relabel_many(flow_id: str, round: int, steps: range, connection: Connection, store: FlowStore) -> None:
    flow = store.lock(connection, "t", flow_id)
    for step in steps:
        relabelled = call("updateNode", nodeId="x", label=f"{round}.{step}")
        flow = editing.edit(store, connection, flow, [relabelled], ANNE).flow


@pytest.mark.slow
@pytest.mark.parametrize("limits", [{"kept_versions": 70}, {"most_bytes": 6_000}], ids=["by count", "by bytes"])
def test_every_use_of_a_stale_process_works_after_its_version_was_dropped(
    engine: Engine, limits: dict[str, int]
) -> None:
    stored = StoredFlow(engine, diagram("x"), **limits)
    uses: list[Callable[[Connection, FlowStore], object]] = [
        lambda c, s: s.read(c, "t", stored.id),
        lambda c, s: editing.edit(s, c, s.lock(c, "t", stored.id), [add("New")], ANNE),
        lambda c, s: history.undo(s, c, s.lock(c, "t", stored.id), ANNE),
        lambda c, s: history.redo(s, c, s.lock(c, "t", stored.id), ANNE),
        lambda c, s: s.at(c, s.read(c, "t", stored.id), stored.now.version - 1),
        lambda c, s: s.keep_snapshot(c, FlowKey("t", stored.id), stored.now.version - 1),
    ]
    stale = [FlowStore(*stored.limits) for _ in uses]
    for store in stale:
        stored.transact(lambda c, s: s.read(c, "t", stored.id), store)
    relabel(stored, 200)
    with pytest.raises(NotFound, match="Version 2 is not kept"):
        stored.at(2)
    for store, use in zip(stale, uses, strict=True):
        stored.transact(use, store)
        assert names(stored.transact(lambda c, s: s.read(c, "t", stored.id), store)) == names(stored.now)


def test_a_read_that_writers_overtake_between_its_statements_still_gives_a_whole_version(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"), kept_versions=70)
    stored.edit(add("A"))
    overtaken: list[int] = []

    def overtake(connection: Connection, work: Callable[[], T], /) -> T:
        """Let others write while the first snapshot is decoded."""
        if not overtaken:
            overtaken.append(1)
            relabel(stored, 240)
        return work()

    store = FlowStore(200, 70, offload=overtake)
    flow: Flow = stored.transact(lambda c, s: s.read(c, "t", stored.id), store)
    assert overtaken
    assert flow.version == 242
    assert flow.content() == stored.now.content()


@pytest.mark.slow
@pytest.mark.parametrize("limits", [{"kept_versions": 100}, {"most_bytes": 20_000}], ids=["by count", "by bytes"])
def test_two_gateways_and_a_worker_read_and_write_through_hundreds_of_versions(
    engine: Engine, limits: dict[str, int]
) -> None:
    stored = StoredFlow(engine, diagram("x"), **limits)
    gateways, worker = (FlowStore(*stored.limits), FlowStore(*stored.limits)), FlowStore(*stored.limits)
    job = FlowEditor(engine, worker)
    for number in range(ROUNDS):
        # One process writes alone long enough to drop everything that the others have cached.
        busy, idle = gateways[number % 2], gateways[1 - number % 2]
        for first in range(0, 300, 5):
            stored.transact(partial(relabel_many, stored.id, number, range(first, first + 5)), busy)
        before = stored.transact(lambda c, s: s.read(c, "t", stored.id), idle)
        assert before.document.nodes["x"].body["data"] == {"label": f"{number}.299"}
        undone = stored.transact(lambda c, s: history.undo(s, c, s.lock(c, "t", stored.id), ANNE), idle)
        assert undone is not None
        assert undone.document.nodes["x"].body["data"] == {"label": f"{number}.298"}
        assert stored.transact(lambda c, s: history.redo(s, c, s.lock(c, "t", stored.id), ANNE), idle) is not None
        session = job.begin("t", stored.id, BERT)
        session.attempt([add(f"Job {number}")])
        with engine.begin() as connection:
            session.commit("by a job", dict)(connection)
        added = [add(f"Gateway {number}")]
        stored.transact(lambda c, s, a=added: editing.edit(s, c, s.lock(c, "t", stored.id), a, ANNE), idle)  # type: ignore[misc]
    last = stored.now
    assert last.version == 1 + ROUNDS * (300 + 4)
    assert len(last.document.nodes) == 1 + 2 * ROUNDS
    for store in (*gateways, worker):
        assert stored.transact(lambda c, s: s.read(c, "t", stored.id), store).content() == last.content()
    kept = [
        stored.transact(lambda c, s, t=table: c.execute(_count(t, stored.id)).scalar_one())  # type: ignore[misc]
        for table in (versions, snapshots)
    ]
    assert kept[0] < 300
    assert kept[1] < 8


def _count(table: object, flow_id: str) -> object:
    return select(func.count()).select_from(table).where(table.c.flow_id == flow_id)  # type: ignore[arg-type,attr-defined]
