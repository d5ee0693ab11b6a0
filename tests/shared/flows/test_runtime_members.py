"""What React Flow writes for itself is not a step of the history: it joins the last one, and cuts nothing off."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from sqlalchemy import Engine, func, update

from shared.flows.calls import Call
from shared.flows.document import Json, Kind, label_of
from shared.flows.runtime import Weight, weight_of
from shared.flows.store import Author, Flow
from shared.flows.tables import versions
from tests.shared.flows.drafts import call, diagram
from tests.shared.flows.stored_flow import ANNE, BERT, StoredFlow, add, names
from tests.shared.flows.test_history import edits

RUNTIME: Json = {
    "measured": {"width": 172, "height": 76},
    "width": 172,
    "height": 76,
    "selected": True,
    "dragging": False,
    "positionAbsolute": {"x": 1, "y": 1},
    "sourcePosition": "right",
    "targetPosition": "left",
}


class Page:
    """A page that saves the whole flow, decorated as React Flow shows it."""

    def __init__(self, stored: StoredFlow, page: bool = True) -> None:
        self.stored = stored
        self.page = page

    def save(self, /, **more: JsonValue) -> None:
        document = self.stored.now.document
        nodes: list[JsonValue] = [{**body, **RUNTIME, **more} for body in document.listed(Kind.NODE)]
        edges: list[JsonValue] = [{**body, "selected": True} for body in document.listed(Kind.EDGE)]
        self.stored.save(nodes, edges, page=self.page)

    def save_later(self, **more: JsonValue) -> None:
        """The same, long after whatever happened before."""
        then = func.clock_timestamp() - timedelta(minutes=5)
        mine = update(versions).where(versions.c.flow_id == self.stored.id).values(at=then)
        self.stored.transact(lambda c, s: c.execute(mine))
        self.stored.set_age(300)
        self.save(**more)


@pytest.mark.parametrize("page", [True, False])
def test_a_save_of_runtime_members_is_no_step_and_keeps_what_can_be_redone(engine: Engine, page: bool) -> None:
    stored = StoredFlow(engine, diagram())
    for label in "ABC":
        stored.edit(add(label))
    stored.undo()
    Page(stored, page).save()
    assert stored.entries() == 3
    assert stored.now.document.nodes["a"].body["selected"] is True
    assert names(stored.undo()) == ["a"]
    Page(stored, page).save()
    assert names(stored.redo()) == ["a", "b"]
    assert names(stored.redo()) == ["a", "b", "c"]
    assert [names(stored.undo()) for _ in range(3)] == [["a", "b"], ["a"], []]
    assert stored.undo() is None


def test_undo_and_redo_lead_to_the_very_same_flow_however_often_the_page_saves(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    page = Page(stored)
    stored.edit(add("A"), call("updateNode", nodeId="x", label="new"))
    page.save()
    before = stored.now.document
    for _ in range(3):
        stored.undo()
        page.save(selected=False)
        stored.redo()
        page.save()
    assert stored.now.document.nodes == before.nodes
    assert stored.entries() == 1


def test_positions_are_no_step_while_something_can_be_redone(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    stored.edit(add("A"))
    stored.edit(call("updateNode", nodeId="x", position={"x": 5, "y": 5}))
    stored.edit(call("deleteNode", nodeId="a"))
    for _ in range(2):
        stored.undo()
        Page(stored).save_later(position={"x": 70, "y": 70}, style={"color": "red"})
    assert stored.entries() == 3
    assert names(stored.redo()) == ["x", "a"]
    assert names(stored.redo()) == ["x"]
    assert stored.redo() is None
    assert [names(stored.undo()) for _ in range(3)] == [["x", "a"], ["x", "a"], ["x"]]


def test_a_page_that_places_what_was_just_made_adds_no_step(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    stored.edit(add("A"), author=BERT)
    Page(stored).save(position={"x": 70, "y": 70})
    Page(stored).save(position={"x": 71, "y": 70})
    assert stored.entries() == 1
    stored.undo(BERT)
    stored.redo(BERT)
    Page(stored).save(position={"x": 72, "y": 70})
    assert stored.entries() == 1
    assert names(stored.undo()) == ["x"]
    assert stored.now.document.nodes["x"].body["position"] == stored.at(1).nodes["x"].body["position"]


def test_a_drag_and_any_other_change_are_steps_that_cut_what_could_be_redone(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    stored.edit(add("A"))
    Page(stored).save_later(position={"x": 70, "y": 70})
    assert stored.entries() == 2, "nothing was made or undone just now, so somebody dragged"
    stored.undo()
    Page(stored).save(data={"label": "other"})
    assert stored.redo() is None
    assert stored.entries() == 2
    stored.undo()
    stored.save([], [], page=True)
    assert stored.redo() is None


def test_a_program_that_saves_a_document_cuts_what_could_be_redone_with_a_position(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    stored.edit(add("A"))
    stored.undo()
    Page(stored, page=False).save(position={"x": 70, "y": 70})
    assert stored.redo() is None


def test_undo_of_mine_ignores_that_another_page_has_shown_the_flow(engine: Engine) -> None:
    stored = StoredFlow(engine, diagram("x"))
    stored.edit(add("A"))
    stored.edit(call("updateNode", nodeId="x", label="Theirs"), author=BERT)
    Page(stored).save()
    assert names(stored.undo(ANNE, "mine")) == ["x"]
    assert names(stored.undo(BERT, "mine")) == ["x"], "what it held of the removed node does not stand in the way"
    assert names(stored.redo(ANNE, "mine")) == ["x", "a"]
    assert names(stored.redo(BERT, "mine")) == ["x", "a"]


@pytest.mark.parametrize(
    ("kind", "changed", "body", "weight"),
    [
        (Kind.NODE, {"width"}, {"width": 10}, Weight.RUNTIME),
        (Kind.NODE, {"width", "measured"}, {"width": 10, "measured": {"width": 10}}, Weight.RUNTIME),
        (Kind.NODE, {"width"}, {"width": 10, "measured": {"width": 9}}, Weight.CHANGE),
        (Kind.NODE, {"position", "dragging"}, {}, Weight.PLACEMENT),
        (Kind.NODE, {"position", "data"}, {}, Weight.CHANGE),
        (Kind.NODE, {"hidden"}, {}, Weight.CHANGE),
        (Kind.EDGE, {"selected"}, {}, Weight.RUNTIME),
        (Kind.EDGE, {"width"}, {}, Weight.CHANGE),
        (Kind.EDGE, {"hidden", "markerEnd", "style"}, {}, Weight.PLACEMENT),
        (Kind.EDGE, {"target"}, {}, Weight.CHANGE),
        (Kind.NODE, {"zIndex", "className"}, {}, Weight.PLACEMENT),
        (Kind.NODE, {"parentGroupId"}, {}, Weight.CHANGE),
        (Kind.SETTING, {"value"}, {}, Weight.CHANGE),
    ],
)
def test_the_weight_of_a_write(kind: Kind, changed: set[str], body: Json, weight: Weight) -> None:
    assert weight_of(kind, changed, body) is weight


def meaning(flow: Flow) -> tuple[object, ...]:
    """What matters to those who undo: ids, labels and edges."""
    document = flow.document
    nodes = sorted((key, label_of(item.body)) for key, item in document.nodes.items())
    return nodes, sorted(document.edges)


steps: st.SearchStrategy[tuple[str, list[Call], int]] = st.one_of(
    st.tuples(st.just("edit"), st.lists(edits, min_size=1, max_size=3), st.just(0)),
    st.tuples(st.sampled_from(["undo", "redo"]), st.just([]), st.just(0)),
    st.tuples(st.just("page"), st.just([]), st.integers(0, 3)),
)


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, max_size=16))
def test_whatever_a_page_saves_in_between_undo_and_redo_move_along_one_line_of_edits(
    engine: Engine, walk: list[tuple[str, list[Call], int]]
) -> None:
    stored = StoredFlow(engine, diagram("x"))
    now = stored.now
    line, place = [meaning(now)], 0
    for what, calls, x in walk:
        if what == "edit":
            edited = stored.edit(*calls, author=Author("anne", "ui.node.update")).flow
            if edited.version != now.version:
                line, place = [*line[: place + 1], meaning(edited)], place + 1
        elif what == "page":
            before = stored.entries()
            moved: Json = {"position": {"x": x, "y": 0}} if before else {}
            Page(stored).save(selected=x == 1, **moved)
            assert stored.entries() == before
        else:
            wanted = place + (-1 if what == "undo" else 1)
            after = stored.undo() if what == "undo" else stored.redo()
            assert (after is not None) == (0 <= wanted < len(line))
            place = wanted if after is not None else place
        now = stored.now
        assert meaning(now) == line[place]
        assert now.document == stored.at(now.version)
