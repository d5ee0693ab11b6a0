"""Flows in Postgres: one change set a write, every version readable, nothing lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import JsonValue
from sqlalchemy import Engine, func, select

from shared.errors import NotFound, PreconditionFailed
from shared.flows import editing, statements
from shared.flows.document import label_of
from shared.flows.errors import FlowTooLarge
from shared.flows.operations import difference
from shared.flows.store import FlowStore
from shared.flows.tables import change_sets, snapshots, versions
from tests.shared.flows.drafts import call, diagram, node
from tests.shared.flows.stored_flow import ANNE, StoredFlow, add, names


def test_nothing_is_written_when_nothing_changes(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram(node("x", "X")))
    stored.edit(call("updateNode", nodeId="x", label="X"))
    stored.edit(add("A"), call("undo"))
    stored.edit(call("deleteNode", nodeId="nope"))
    stored.edit(add("A"), call("deleteNode", nodeId="nope"), atomic=True)
    stored.save([node("x", "X")], [])
    assert (stored.now.version, stored.entries()) == (1, 0)


@pytest.mark.slow
def test_every_version_can_be_looked_up_and_compared(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram())
    for number in range(150):
        stored.edit(add(f"N{number}"))
    stored.undo()
    assert [len(stored.at(version).nodes) for version in (1, 2, 64, 66, 150, 151, 152)] == [0, 1, 63, 65, 149, 150, 149]
    changed = difference(stored.at(150), stored.at(152))
    assert changed == []
    kept = stored.transact(
        lambda c, s: c.execute(select(snapshots.c.version).where(snapshots.c.flow_id == stored.id)).all()
    )
    assert len(kept) >= 3
    with pytest.raises(NotFound):
        stored.at(153)


def test_a_warm_cache_reads_only_what_is_new_and_never_an_uncommitted_version(engine: Engine) -> None:
    stored, store = StoredFlow(engine, diagram()), FlowStore()
    stored.transact(lambda c, s: s.read(c, "t", stored.id), store)
    stored.edit(add("A"))
    assert names(stored.transact(lambda c, s: s.read(c, "t", stored.id), store)) == ["a"]
    with engine.connect() as connection:
        editing.edit(store, connection, store.lock(connection, "t", stored.id), [add("Lost")], ANNE)
        connection.rollback()
    stored.edit(add("B"))
    assert names(stored.transact(lambda c, s: s.read(c, "t", stored.id), store)) == ["a", "b"]


@pytest.mark.slow
def test_the_history_has_a_depth_and_old_versions_are_dropped(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram(), depth=5, kept_versions=70)
    for number in range(200):
        stored.edit(add(f"N{number}"))
    undone = 0
    while stored.undo() is not None:
        undone += 1
    assert undone == 5
    oldest = select(func.min(versions.c.version)).where(versions.c.flow_id == stored.id)
    assert stored.transact(lambda c, s: c.execute(oldest).scalar_one()) == 65
    with pytest.raises(NotFound, match="not kept"):
        stored.at(2)


@pytest.mark.slow
def test_a_stale_writer_is_refused_and_nothing_is_lost(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram())

    def write(number: int) -> None:
        while True:
            try:
                stored.edit(add(f"N{number}"), expected=stored.now.version)
            except PreconditionFailed:
                continue
            return

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(60)))
    assert sorted(map(str, names(stored.now))) == sorted(f"n{number}" for number in range(60))
    assert stored.now.version == 61


def test_a_save_in_another_order_is_kept_in_that_order(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("a", "b", "c"))
    assert names(stored.save([node("c"), node("a"), node("new"), node("b")], [])) == ["c", "a", "new", "b"]
    assert names(stored.now) == ["c", "a", "new", "b"]
    assert names(stored.undo()) == ["a", "b", "c"]


def test_a_lenient_save_keeps_what_it_got_word_for_word(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram())
    nodes: list[JsonValue] = [{}, "text", 5, None, {"id": 7}, node("a"), {"id": "a", "twin": True}]
    assert stored.save(nodes, [[1]]).content()["nodes"] == nodes
    content = stored.now.content()
    assert (content["nodes"], content["edges"]) == (nodes, [[1]])
    stored.edit(call("autoLayout"), call("deleteNode", nodeId="a"))
    assert len(stored.now.document.nodes) == 6


def test_another_tenants_flow_is_not_there(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram())
    with pytest.raises(NotFound):
        stored.transact(lambda c, s: s.read(c, "other", stored.id))
    with pytest.raises(NotFound):
        stored.transact(lambda c, s: s.lock(c, "other", stored.id))


def test_a_flow_that_is_too_large_is_refused(engine: Engine) -> None:
    with pytest.raises(FlowTooLarge):
        StoredFlow(engine, diagram(*[str(number) for number in range(20_001)]))


def test_deleting_a_flow_leaves_nothing_of_it(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    stored.edit(add("A"))
    stored.transact(lambda c, s: c.execute(statements.remove("t", stored.id)))
    for table in (versions, snapshots, change_sets):
        count = select(func.count()).select_from(table).where(table.c.flow_id == stored.id)
        assert stored.transact(lambda c, s, q=count: c.execute(q).scalar_one()) == 0  # type: ignore[misc]
    assert label_of({"data": "x"}) == ""


def test_one_look_tells_which_of_many_flows_have_changed(engine: Engine) -> None:
    first, second, third = (StoredFlow(engine, diagram()) for _ in range(3))
    second.edit(add("A"))
    known = {first.id: 1, second.id: 1, third.id: -1, "gone": 4, "known to be gone": None}
    with engine.connect() as connection:
        told = {row.id: row.version for row in connection.execute(statements.progressed(known))}
    assert told == {second.id: 2, third.id: 1, "gone": None}
