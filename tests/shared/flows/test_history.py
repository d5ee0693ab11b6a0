"""Change sets: undo and redo in any order, at the same time, and past the work of others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from shared.flows import history
from shared.flows.calls import Call
from shared.flows.document import Document, Kind, label_of
from shared.flows.errors import UndoConflict
from shared.flows.store import Author
from tests.shared.flows.drafts import call, diagram, edge, node
from tests.shared.flows.stored_flow import ANNE, BERT, StoredFlow, add, names


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
        stored.set_age(-60)  # however slow this machine is
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
    stored.set_age(1.1)
    stored.edit(call("updateNode", nodeId="x", position={"x": 10, "y": 0}), author=BERT)
    assert stored.entries() == 4


def test_a_node_that_is_deleted_and_made_again_as_it_was_is_no_step(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    stored.edit(add("C"))
    stored.edit(call("deleteNode", nodeId="c"), add("C"))
    assert (stored.now.version, stored.entries()) == (2, 1)


def test_a_save_that_skips_the_snapshot_joins_the_one_before(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram())
    stored.save([node("a")], [], join=True)
    assert stored.undo() is None
    stored.save([node("a"), node("b")], [])
    stored.save([node("b"), node("c")], [edge("b", "c")], join=True)
    assert stored.entries() == 1
    assert names(stored.undo()) == ["a"]
    assert names(stored.redo()) == ["b", "c"]


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


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        now = stored.now
        ends = {body[end] for body in now.document.listed(Kind.EDGE) for end in ("source", "target")}
        assert ends <= set(now.document.nodes)
        assert now.document == stored.at(now.version)


def relabel(key: str, label: str) -> Call:
    return call("updateNode", nodeId=key, label=label)


def labels(stored: StoredFlow) -> dict[str, str]:
    return {key: label_of(item.body) for key, item in stored.now.document.nodes.items()}


def test_my_redo_survives_an_edit_of_somebody_else(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("a", "b"))
    stored.edit(relabel("a", "mine"), author=ANNE)
    stored.undo(ANNE, "mine")
    stored.edit(relabel("b", "theirs"), author=BERT)
    assert stored.redo(BERT) is None
    assert stored.redo(BERT, "mine") is None
    assert stored.redo(ANNE, "mine") is not None
    assert labels(stored) == {"a": "mine", "b": "theirs"}
    assert stored.redo(ANNE, "mine") is None
    stored.undo(BERT)  # what came last goes first
    assert labels(stored) == {"a": "a", "b": "theirs"}
    stored.undo(BERT)
    assert labels(stored) == {"a": "a", "b": "b"}
    stored.redo(BERT)
    stored.redo(BERT)
    assert labels(stored) == {"a": "mine", "b": "theirs"}


def test_several_of_my_undone_changes_come_back_in_order(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("a", "b", "c"))
    for label in ("1", "2", "3"):
        stored.edit(relabel("a", label), author=ANNE)
    for _ in range(3):
        stored.undo(ANNE, "mine")
    stored.edit(relabel("b", "theirs"), author=BERT)
    stored.edit(call("deleteNode", nodeId="c"), author=BERT)
    for label in ("1", "2", "3"):
        stored.redo(ANNE, "mine")
        assert labels(stored) == {"a": label, "b": "theirs"}


def test_my_redo_is_refused_with_the_reason_when_somebody_built_on_it(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("a", "b"))
    stored.edit(relabel("a", "mine"), author=ANNE)
    stored.undo(ANNE, "mine")
    stored.edit(relabel("a", "theirs"), author=BERT)
    with pytest.raises(UndoConflict) as refused:
        stored.redo(ANNE, "mine")
    assert refused.value.extra["conflicts"] == [{"kind": "node", "id": "a"}]
    assert labels(stored)["a"] == "theirs"
    stored.undo(BERT, "mine")
    assert stored.redo(ANNE, "mine") is not None
    assert labels(stored)["a"] == "mine"


def test_my_own_new_change_cuts_my_redo_and_not_that_of_others(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("a", "b", "c"))
    stored.edit(relabel("a", "anne"), author=ANNE)
    stored.edit(relabel("b", "bert"), author=BERT)
    stored.undo(ANNE, "mine")
    stored.undo(BERT, "mine")
    stored.edit(relabel("c", "anne"), author=ANNE)
    assert stored.redo(ANNE, "mine") is None
    assert stored.redo(BERT, "mine") is not None
    assert labels(stored) == {"a": "a", "b": "bert", "c": "anne"}
