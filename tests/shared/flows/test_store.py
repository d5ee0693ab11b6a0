"""Flows in Postgres: versions, one change set a write, undo and redo in any order and at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from sqlalchemy import Engine, func, select

from shared.db import connect
from shared.errors import InvalidRequest, NotFound, PreconditionFailed
from shared.flows import editing, history, proposals, statements
from shared.flows.batch import Batch
from shared.flows.calls import Call
from shared.flows.document import Document, Kind, label_of
from shared.flows.errors import FlowTooLarge, ProposalClosed, UndoConflict
from shared.flows.operations import difference
from shared.flows.store import Author, Flow, FlowStore
from shared.flows.tables import change_sets, snapshots, versions
from tests.shared.flows.drafts import call, diagram, edge, node
from tests.shared.flows.stored_flow import ANNE, BERT, StoredFlow


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url, pool_size=8)
    yield engine
    engine.dispose()


def names(flow: Flow | Document | None) -> list[JsonValue]:
    assert flow is not None
    document = flow.document if isinstance(flow, Flow) else flow
    return [body.get("id") for body in document.listed(Kind.NODE)]


def add(label: str) -> Call:
    return call("addNode", label=label)


def test_the_first_edit_can_be_undone_and_redone_any_number_of_times(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    edited = stored.edit(add("A"), add("B"), call("deleteNode", nodeId="x"))
    assert (edited.flow.version, names(edited.flow), stored.entries()) == (2, ["a", "b"], 1)
    for _ in range(5):
        assert names(stored.undo()) == ["x"]
        assert names(stored.redo()) == ["a", "b"]
    assert stored.now.document.nodes == edited.flow.document.nodes
    assert (stored.now.version, stored.entries()) == (12, 1)
    assert stored.undo() is not None
    assert stored.undo() is None
    assert stored.now.version == 13


def test_a_new_change_cuts_off_what_could_be_redone(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram())
    for label in "ABC":
        stored.edit(add(label))
    stored.undo()
    stored.undo()
    stored.edit(add("D"))
    assert stored.redo() is None
    assert names(stored.now) == ["a", "d"]
    assert stored.entries() == 2


def test_nothing_is_written_when_nothing_changes(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram(node("x", "X")))
    stored.edit(call("updateNode", nodeId="x", label="X"))
    stored.edit(add("A"), call("undo"))
    stored.edit(call("deleteNode", nodeId="nope"))
    stored.edit(add("A"), call("deleteNode", nodeId="nope"), atomic=True)
    stored.save([node("x", "X")], [])
    assert (stored.now.version, stored.entries()) == (1, 0)


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


def test_two_undos_at_once_take_back_two_different_changes(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram())
    for label in "ABCDEF":
        stored.edit(add(label))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: stored.undo(), range(4)))
    assert names(stored.now) == ["a", "b"]


def test_undo_of_mine_leaves_the_work_of_others_alone(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    stored.edit(add("A"))
    stored.edit(add("B"), author=BERT)
    assert names(stored.undo(ANNE, "mine")) == ["x", "b"]
    assert stored.undo(ANNE, "mine") is None
    assert names(stored.undo(BERT)) == ["x"]
    assert names(stored.redo(ANNE, "mine")) == ["x", "a"]
    assert names(stored.redo()) == ["x", "a", "b"]


@pytest.mark.parametrize(
    ("mine", "theirs", "conflict"),
    [
        (add("A"), call("updateNode", nodeId="a", label="New"), ("node", "a")),
        (call("updateNode", nodeId="x", label="Mine"), call("updateNode", nodeId="x", label="Theirs"), ("node", "x")),
        (call("deleteEdge", edgeId="x-y"), call("deleteNode", nodeId="y"), ("edge", "x-y")),
    ],
)
def test_undo_of_mine_refuses_when_others_have_built_on_it(
    engine: Engine, mine: Call, theirs: Call, conflict: tuple[str, str]
) -> None:
    stored = StoredFlow(engine, diagram("x", "y", edges=(edge("x", "y"),)))
    stored.edit(mine)
    stored.edit(theirs, author=BERT)
    before = stored.now
    with pytest.raises(UndoConflict) as refused:
        stored.undo(ANNE, "mine")
    assert {"kind": conflict[0], "id": conflict[1]} in refused.value.extra["conflicts"]  # type: ignore[operator]
    assert stored.now == before


def test_undo_of_a_node_that_others_have_connected_names_their_edge(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    stored.edit(add("A"))
    theirs = stored.edit(call("addEdge", sourceNodeId="x", targetNodeId="a"), author=BERT).outcomes[0].edge_id
    with pytest.raises(UndoConflict) as refused:
        stored.undo(ANNE, "mine")
    assert refused.value.extra["conflicts"] == [{"kind": "edge", "id": theirs}]


def test_a_batch_of_undos_and_redos_leaves_the_history_as_it_is(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram())
    for label in "AB":
        stored.edit(add(label))
    stored.edit(call("undo"), call("undo"), call("redo"))
    assert (names(stored.now), stored.entries()) == (["a"], 2)
    assert names(stored.redo()) == ["a", "b"]
    stored.edit(call("undo"), add("C"))
    assert (names(stored.now), stored.entries()) == (["a", "c"], 3)
    assert names(stored.undo()) == ["a", "b"]


def test_drags_of_the_same_node_within_a_second_are_one_step(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x", "y"))
    for x in (1, 2, 3):
        stored.edit(call("updateNode", nodeId="x", position={"x": x, "y": 0}))
    assert (stored.now.version, stored.entries()) == (4, 1)
    stored.edit(call("updateNode", nodeId="y", position={"x": 9, "y": 0}))
    stored.edit(call("updateNode", nodeId="x", position={"x": 9, "y": 0}), author=BERT)
    assert stored.entries() == 3
    for _ in range(3):
        stored.undo()
    assert stored.now.document.nodes == stored.at(1).nodes
    for _ in range(3):
        stored.redo()
    assert stored.now.document.nodes == stored.at(6).nodes


def test_a_save_that_skips_the_snapshot_joins_the_one_before(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram())
    stored.save([node("a")], [], join=True)
    assert stored.undo() is None
    stored.save([node("a"), node("b")], [])
    stored.save([node("b"), node("c")], [edge("b", "c")], join=True)
    assert stored.entries() == 1
    assert names(stored.undo()) == ["a"]
    assert names(stored.redo()) == ["b", "c"]


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


def test_a_proposal_is_applied_once_and_only_on_its_base(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    flow = stored.now
    batch = Batch(flow.document)
    batch.run([add("A"), call("addNode", label="B", parentNodeId="a")])
    forward, _ = batch.draft.operations()
    for proposal_id in ("p1" + stored.id, "p2" + stored.id):
        stored.transact(lambda c, s, key=proposal_id: proposals.propose(c, key, flow, "anne", "Add", forward))  # type: ignore[misc]

    def accept(proposal_id: str, chosen: list[int] | None = None) -> Flow:
        return stored.transact(
            lambda c, s: proposals.accept(s, c, s.lock(c, "t", stored.id), proposal_id + stored.id, ANNE, chosen)
        )

    for wrong in ([9], [1, 2]):
        with pytest.raises(InvalidRequest):
            accept("p1", wrong)
    assert names(accept("p1", [0])) == ["x", "a"]
    with pytest.raises(ProposalClosed):
        accept("p1")
    with pytest.raises(PreconditionFailed):
        accept("p2")
    stored.transact(lambda c, s: proposals.discard(c, s.lock(c, "t", stored.id), "p2" + stored.id))
    with pytest.raises(ProposalClosed):
        accept("p2")
    with pytest.raises(NotFound):
        accept("p3")
    assert names(stored.undo()) == ["x"]


def test_deleting_a_flow_leaves_nothing_of_it(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    stored.edit(add("A"))
    stored.transact(lambda c, s: c.execute(statements.remove("t", stored.id)))
    for table in (versions, snapshots, change_sets):
        count = select(func.count()).select_from(table).where(table.c.flow_id == stored.id)
        assert stored.transact(lambda c, s, q=count: c.execute(q).scalar_one()) == 0  # type: ignore[misc]
    assert label_of({"data": "x"}) == ""


def test_the_oldest_changes_are_dropped_beyond_a_number_of_bytes_but_never_the_last_one(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram(), most_bytes=3_000)
    for number in range(10):
        noise = "".join(chr(0x4E00 + (number * 7919 + place * 104_729) % 20_000) for place in range(400))
        stored.edit(call("addNode", label=f"N{number}", description=noise))
    assert 1 <= stored.entries() < 5
    assert stored.undo() is not None
    assert len(stored.now.document.nodes) == 9


WORDS = st.sampled_from(["A", "B", "C", "Login"])
edits = st.one_of(
    st.builds(lambda label: call("addNode", label=label), WORDS),
    st.builds(lambda label: call("addNode", label=label + "x", parentNodeId="a"), WORDS),
    st.builds(lambda label: call("deleteNode", nodeId=label.lower()), WORDS),
    st.builds(lambda label: call("updateNode", nodeId="x", label=label), WORDS),
    st.builds(
        lambda label: call("changeVisuals", target="node", nodeId="a", color=label), st.sampled_from(["red", "tan"])
    ),
)
actors = st.sampled_from([ANNE, BERT])
steps: st.SearchStrategy[tuple[str, Author, list[Call]]] = st.one_of(
    st.tuples(st.just("edit"), actors, st.lists(edits, min_size=1, max_size=3)),
    st.tuples(st.sampled_from(["undo", "redo"]), actors, st.just([])),
)


def look(document: Document) -> tuple[object, ...]:
    return document.listed(Kind.NODE), document.listed(Kind.EDGE), {k: i.body for k, i in document.settings.items()}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, max_size=14))
def test_edits_undos_and_redos_in_any_order_move_along_one_line_of_states(
    engine: Engine, walk: list[tuple[str, Author, list[Call]]]
) -> None:
    stored = StoredFlow(engine, diagram("x"))
    line, place = [look(stored.now.document)], 0
    for what, author, calls in walk:
        if what == "edit":
            now = look(stored.edit(*calls, author=author).flow.document)
            if now != line[place]:
                line, place = [*line[: place + 1], now], place + 1
        else:
            wanted = place + (-1 if what == "undo" else 1)
            moved = stored.undo(author) if what == "undo" else stored.redo(author)
            assert (moved is not None) == (0 <= wanted < len(line))
            place = wanted if moved is not None else place
        assert look(stored.now.document) == line[place]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, max_size=14), st.data())
def test_undoing_only_ones_own_work_breaks_nothing_and_can_be_redone(
    engine: Engine, walk: list[tuple[str, Author, list[Call]]], data: st.DataObject
) -> None:
    stored = StoredFlow(engine, diagram("x"))
    for what, author, calls in walk:
        scope: history.Scope = "mine" if data.draw(st.booleans()) else "all"
        before = look(stored.now.document)
        if what == "edit":
            stored.edit(*calls, author=author)
            continue
        try:
            if what == "redo":
                stored.redo(author, scope)
            elif stored.undo(author, scope) is not None:
                stored.redo(author, scope)
                assert look(stored.now.document) == before
                stored.undo(author, scope)
        except UndoConflict:
            assert scope == "mine"
            assert look(stored.now.document) == before
        document = stored.now.document
        ends = {body[end] for body in document.listed(Kind.EDGE) for end in ("source", "target")}
        assert ends <= set(document.nodes)
        assert document == stored.at(stored.now.version)
