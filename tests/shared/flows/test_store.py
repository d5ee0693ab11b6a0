"""Flows in Postgres: versions, one change set a write, undo and redo that survive anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from sqlalchemy import Connection, Engine, func, select

from shared.db import connect
from shared.errors import InvalidRequest, NotFound, PreconditionFailed
from shared.flows import editing, history, proposals, statements
from shared.flows.batch import Batch
from shared.flows.calls import Call
from shared.flows.document import Document, Kind, document_of, label_of
from shared.flows.editing import Edited, replacement
from shared.flows.errors import FlowTooLarge, ProposalClosed, UndoConflict
from shared.flows.operations import difference
from shared.flows.store import Author, Flow, Store
from shared.flows.tables import change_sets, snapshots, versions
from tests.shared.flows.drafts import call, diagram, edge, node

ANNE, BERT = Author("anne", "api"), Author("bert", "api")
T = TypeVar("T")


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url, pool_size=8)
    yield engine
    engine.dispose()


class Desk:
    """One flow, edited one transaction at a time; every call may come from a process that knows nothing yet."""

    def __init__(
        self,
        engine: Engine,
        document: Document,
        depth: int = 200,
        kept_versions: int = 2_000,
        most_bytes: int = 64_000_000,
    ) -> None:
        self.engine = engine
        self.settings = (depth, kept_versions, most_bytes)
        self.id = self.transact(lambda c, s: s.create(c, "t", "Test", document, ANNE)).id

    def transact(self, work: Callable[[Connection, Store], T], store: Store | None = None) -> T:
        with self.engine.begin() as connection:
            return work(connection, store or Store(*self.settings))

    def edit(self, *calls: Call, author: Author = ANNE, expected: int | None = None, atomic: bool = False) -> Edited:
        return self.transact(lambda c, s: editing.edit(s, c, s.lock(c, "t", self.id, expected), calls, author, atomic))

    def undo(self, author: Author = ANNE, scope: history.Scope = "all") -> Flow | None:
        return self.transact(lambda c, s: history.undo(s, c, s.lock(c, "t", self.id), author, scope))

    def redo(self, author: Author = ANNE, scope: history.Scope = "all") -> Flow | None:
        return self.transact(lambda c, s: history.redo(s, c, s.lock(c, "t", self.id), author, scope))

    def save(self, nodes: list[JsonValue], edges: list[JsonValue], *, join: bool = False) -> Flow:
        def work(connection: Connection, store: Store) -> Flow:
            flow = store.lock(connection, "t", self.id)
            document = document_of(nodes, edges, flow.document.settings)
            return history.change(
                store, connection, flow, ANNE, replacement(flow.document, document, "Saved", join=join)
            )

        return self.transact(work)

    @property
    def now(self) -> Flow:
        return self.transact(lambda c, s: s.read(c, "t", self.id))

    def at(self, version: int) -> Document:
        return self.transact(lambda c, s: s.document_at(c, self.id, version))

    def entries(self) -> int:
        count = select(func.count()).select_from(change_sets).where(change_sets.c.flow_id == self.id)
        return self.transact(lambda c, s: c.execute(count).scalar_one())


def names(flow: Flow | Document | None) -> list[JsonValue]:
    assert flow is not None
    document = flow.document if isinstance(flow, Flow) else flow
    return [body.get("id") for body in document.listed(Kind.NODE)]


def add(label: str) -> Call:
    return call("addNode", label=label)


def test_the_first_edit_can_be_undone_and_redone_any_number_of_times(engine: Engine) -> None:
    desk = Desk(engine, diagram("x"))
    edited = desk.edit(add("A"), add("B"), call("deleteNode", nodeId="x"))
    assert (edited.flow.version, names(edited.flow), desk.entries()) == (2, ["a", "b"], 1)
    for _ in range(5):
        assert names(desk.undo()) == ["x"]
        assert names(desk.redo()) == ["a", "b"]
    assert desk.now.document.nodes == edited.flow.document.nodes
    assert (desk.now.version, desk.entries()) == (12, 1)
    assert desk.undo() is not None
    assert desk.undo() is None
    assert desk.now.version == 13


def test_a_new_change_cuts_off_what_could_be_redone(engine: Engine) -> None:
    desk = Desk(engine, diagram())
    for label in "ABC":
        desk.edit(add(label))
    desk.undo()
    desk.undo()
    desk.edit(add("D"))
    assert desk.redo() is None
    assert names(desk.now) == ["a", "d"]
    assert desk.entries() == 2


def test_nothing_is_written_when_nothing_changes(engine: Engine) -> None:
    desk = Desk(engine, diagram(node("x", "X")))
    desk.edit(call("updateNode", nodeId="x", label="X"))
    desk.edit(add("A"), call("undo"))
    desk.edit(call("deleteNode", nodeId="nope"))
    desk.edit(add("A"), call("deleteNode", nodeId="nope"), atomic=True)
    desk.save([node("x", "X")], [])
    assert (desk.now.version, desk.entries()) == (1, 0)


def test_every_version_can_be_looked_up_and_compared(engine: Engine) -> None:
    desk = Desk(engine, diagram())
    for number in range(150):
        desk.edit(add(f"N{number}"))
    desk.undo()
    assert [len(desk.at(version).nodes) for version in (1, 2, 64, 66, 150, 151, 152)] == [0, 1, 63, 65, 149, 150, 149]
    changed = difference(desk.at(150), desk.at(152))
    assert changed == []
    kept = desk.transact(
        lambda c, s: c.execute(select(snapshots.c.version).where(snapshots.c.flow_id == desk.id)).all()
    )
    assert len(kept) >= 3
    with pytest.raises(NotFound):
        desk.at(153)


def test_a_warm_cache_reads_only_what_is_new_and_never_an_uncommitted_version(engine: Engine) -> None:
    desk, store = Desk(engine, diagram()), Store()
    desk.transact(lambda c, s: s.read(c, "t", desk.id), store)
    desk.edit(add("A"))
    assert names(desk.transact(lambda c, s: s.read(c, "t", desk.id), store)) == ["a"]
    with engine.connect() as connection:
        editing.edit(store, connection, store.lock(connection, "t", desk.id), [add("Lost")], ANNE)
        connection.rollback()
    desk.edit(add("B"))
    assert names(desk.transact(lambda c, s: s.read(c, "t", desk.id), store)) == ["a", "b"]


def test_the_history_has_a_depth_and_old_versions_are_dropped(engine: Engine) -> None:
    desk = Desk(engine, diagram(), depth=5, kept_versions=70)
    for number in range(200):
        desk.edit(add(f"N{number}"))
    undone = 0
    while desk.undo() is not None:
        undone += 1
    assert undone == 5
    oldest = select(func.min(versions.c.version)).where(versions.c.flow_id == desk.id)
    assert desk.transact(lambda c, s: c.execute(oldest).scalar_one()) == 65
    with pytest.raises(NotFound, match="not kept"):
        desk.at(2)


def test_a_stale_writer_is_refused_and_nothing_is_lost(engine: Engine) -> None:
    desk = Desk(engine, diagram())

    def write(number: int) -> None:
        while True:
            try:
                desk.edit(add(f"N{number}"), expected=desk.now.version)
            except PreconditionFailed:
                continue
            return

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(60)))
    assert sorted(map(str, names(desk.now))) == sorted(f"n{number}" for number in range(60))
    assert desk.now.version == 61


def test_two_undos_at_once_take_back_two_different_changes(engine: Engine) -> None:
    desk = Desk(engine, diagram())
    for label in "ABCDEF":
        desk.edit(add(label))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: desk.undo(), range(4)))
    assert names(desk.now) == ["a", "b"]


def test_undo_of_mine_leaves_the_work_of_others_alone(engine: Engine) -> None:
    desk = Desk(engine, diagram("x"))
    desk.edit(add("A"))
    desk.edit(add("B"), author=BERT)
    assert names(desk.undo(ANNE, "mine")) == ["x", "b"]
    assert desk.undo(ANNE, "mine") is None
    assert names(desk.undo(BERT)) == ["x"]
    assert names(desk.redo(ANNE, "mine")) == ["x", "a"]
    assert names(desk.redo()) == ["x", "a", "b"]


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
    desk = Desk(engine, diagram("x", "y", edges=(edge("x", "y"),)))
    desk.edit(mine)
    desk.edit(theirs, author=BERT)
    before = desk.now
    with pytest.raises(UndoConflict) as refused:
        desk.undo(ANNE, "mine")
    assert {"kind": conflict[0], "id": conflict[1]} in refused.value.extra["conflicts"]  # type: ignore[operator]
    assert desk.now == before


def test_undo_of_a_node_that_others_have_connected_names_their_edge(engine: Engine) -> None:
    desk = Desk(engine, diagram("x"))
    desk.edit(add("A"))
    theirs = desk.edit(call("addEdge", sourceNodeId="x", targetNodeId="a"), author=BERT).outcomes[0].edge_id
    with pytest.raises(UndoConflict) as refused:
        desk.undo(ANNE, "mine")
    assert refused.value.extra["conflicts"] == [{"kind": "edge", "id": theirs}]


def test_a_batch_that_only_walks_leaves_the_history_as_it_is(engine: Engine) -> None:
    desk = Desk(engine, diagram())
    for label in "AB":
        desk.edit(add(label))
    desk.edit(call("undo"), call("undo"), call("redo"))
    assert (names(desk.now), desk.entries()) == (["a"], 2)
    assert names(desk.redo()) == ["a", "b"]
    desk.edit(call("undo"), add("C"))
    assert (names(desk.now), desk.entries()) == (["a", "c"], 3)
    assert names(desk.undo()) == ["a", "b"]


def test_drags_of_the_same_node_within_a_second_are_one_step(engine: Engine) -> None:
    desk = Desk(engine, diagram("x", "y"))
    for x in (1, 2, 3):
        desk.edit(call("updateNode", nodeId="x", position={"x": x, "y": 0}))
    assert (desk.now.version, desk.entries()) == (4, 1)
    desk.edit(call("updateNode", nodeId="y", position={"x": 9, "y": 0}))
    desk.edit(call("updateNode", nodeId="x", position={"x": 9, "y": 0}), author=BERT)
    assert desk.entries() == 3
    for _ in range(3):
        desk.undo()
    assert desk.now.document.nodes == desk.at(1).nodes
    for _ in range(3):
        desk.redo()
    assert desk.now.document.nodes == desk.at(6).nodes


def test_a_save_that_skips_the_snapshot_joins_the_one_before(engine: Engine) -> None:
    desk = Desk(engine, diagram())
    desk.save([node("a")], [], join=True)
    assert desk.undo() is None
    desk.save([node("a"), node("b")], [])
    desk.save([node("b"), node("c")], [edge("b", "c")], join=True)
    assert desk.entries() == 1
    assert names(desk.undo()) == ["a"]
    assert names(desk.redo()) == ["b", "c"]


def test_a_save_in_another_order_is_kept_in_that_order(engine: Engine) -> None:
    desk = Desk(engine, diagram("a", "b", "c"))
    assert names(desk.save([node("c"), node("a"), node("new"), node("b")], [])) == ["c", "a", "new", "b"]
    assert names(desk.now) == ["c", "a", "new", "b"]
    assert names(desk.undo()) == ["a", "b", "c"]


def test_a_lenient_save_keeps_what_it_got_word_for_word(engine: Engine) -> None:
    desk = Desk(engine, diagram())
    nodes: list[JsonValue] = [{}, "text", 5, None, {"id": 7}, node("a"), {"id": "a", "twin": True}]
    assert desk.save(nodes, [[1]]).content()["nodes"] == nodes
    content = desk.now.content()
    assert (content["nodes"], content["edges"]) == (nodes, [[1]])
    desk.edit(call("autoLayout"), call("deleteNode", nodeId="a"))
    assert len(desk.now.document.nodes) == 6


def test_another_tenants_flow_is_not_there(engine: Engine) -> None:
    desk = Desk(engine, diagram())
    with pytest.raises(NotFound):
        desk.transact(lambda c, s: s.read(c, "other", desk.id))
    with pytest.raises(NotFound):
        desk.transact(lambda c, s: s.lock(c, "other", desk.id))


def test_a_flow_that_is_too_large_is_refused(engine: Engine) -> None:
    with pytest.raises(FlowTooLarge):
        Desk(engine, diagram(*[str(number) for number in range(20_001)]))


def test_a_proposal_is_applied_once_and_only_on_its_base(engine: Engine) -> None:
    desk = Desk(engine, diagram("x"))
    flow = desk.now
    batch = Batch(flow.document)
    batch.run([add("A"), call("addNode", label="B", parentNodeId="a")])
    forward, _ = batch.draft.operations()
    for proposal_id in ("p1" + desk.id, "p2" + desk.id):
        desk.transact(lambda c, s, key=proposal_id: proposals.propose(c, key, flow, "anne", "Add", forward))  # type: ignore[misc]

    def accept(proposal_id: str, chosen: list[int] | None = None) -> Flow:
        return desk.transact(
            lambda c, s: proposals.accept(s, c, s.lock(c, "t", desk.id), proposal_id + desk.id, ANNE, chosen)
        )

    for wrong in ([9], [1, 2]):
        with pytest.raises(InvalidRequest):
            accept("p1", wrong)
    assert names(accept("p1", [0])) == ["x", "a"]
    with pytest.raises(ProposalClosed):
        accept("p1")
    with pytest.raises(PreconditionFailed):
        accept("p2")
    desk.transact(lambda c, s: proposals.discard(c, s.lock(c, "t", desk.id), "p2" + desk.id))
    with pytest.raises(ProposalClosed):
        accept("p2")
    with pytest.raises(NotFound):
        accept("p3")
    assert names(desk.undo()) == ["x"]


def test_deleting_a_flow_leaves_nothing_of_it(engine: Engine) -> None:
    desk = Desk(engine, diagram("x"))
    desk.edit(add("A"))
    desk.transact(lambda c, s: c.execute(statements.remove("t", desk.id)))
    for table in (versions, snapshots, change_sets):
        count = select(func.count()).select_from(table).where(table.c.flow_id == desk.id)
        assert desk.transact(lambda c, s, q=count: c.execute(q).scalar_one()) == 0  # type: ignore[misc]
    assert label_of({"data": "x"}) == ""


def test_what_weighs_too_much_is_forgotten_but_never_the_last_change(engine: Engine) -> None:
    desk = Desk(engine, diagram(), most_bytes=3_000)
    for number in range(10):
        noise = "".join(chr(0x4E00 + (number * 7919 + place * 104_729) % 20_000) for place in range(400))
        desk.edit(call("addNode", label=f"N{number}", description=noise))
    assert 1 <= desk.entries() < 5
    assert desk.undo() is not None
    assert len(desk.now.document.nodes) == 9


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
def test_any_walk_of_edits_undos_and_redos_is_a_walk_along_one_line(
    engine: Engine, walk: list[tuple[str, Author, list[Call]]]
) -> None:
    desk = Desk(engine, diagram("x"))
    line, place = [look(desk.now.document)], 0
    for what, author, calls in walk:
        if what == "edit":
            now = look(desk.edit(*calls, author=author).flow.document)
            if now != line[place]:
                line, place = [*line[: place + 1], now], place + 1
        else:
            wanted = place + (-1 if what == "undo" else 1)
            moved = desk.undo(author) if what == "undo" else desk.redo(author)
            assert (moved is not None) == (0 <= wanted < len(line))
            place = wanted if moved is not None else place
        assert look(desk.now.document) == line[place]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, max_size=14), st.data())
def test_whoever_undoes_only_their_own_work_breaks_nothing_and_can_redo_it(
    engine: Engine, walk: list[tuple[str, Author, list[Call]]], data: st.DataObject
) -> None:
    desk = Desk(engine, diagram("x"))
    for what, author, calls in walk:
        scope: history.Scope = "mine" if data.draw(st.booleans()) else "all"
        before = look(desk.now.document)
        if what == "edit":
            desk.edit(*calls, author=author)
            continue
        try:
            if what == "redo":
                desk.redo(author, scope)
            elif desk.undo(author, scope) is not None:
                desk.redo(author, scope)
                assert look(desk.now.document) == before
                desk.undo(author, scope)
        except UndoConflict:
            assert scope == "mine"
            assert look(desk.now.document) == before
        document = desk.now.document
        ends = {body[end] for body in document.listed(Kind.EDGE) for end in ("source", "target")}
        assert ends <= set(document.nodes)
        assert document == desk.at(desk.now.version)
