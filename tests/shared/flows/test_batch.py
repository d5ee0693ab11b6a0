"""A batch is one change: calls, failures, undos and attempts together."""

from __future__ import annotations

from shared.flows.batch import Batch, HistoryEntry, HistoryWindow
from shared.flows.document import Document, label_of
from shared.flows.operations import apply, from_json, to_json
from tests.shared.flows.drafts import call, diagram, edge, node, run


def past(document: Document, seq: int, *calls: tuple[str, dict[str, object]]) -> tuple[Document, HistoryEntry]:
    batch = Batch(document)
    batch.run([call(name, **params) for name, params in calls])  # type: ignore[arg-type]
    forward, inverse = batch.draft.operations()
    return batch.draft.document(), HistoryEntry(seq, tuple(forward), tuple(inverse))


def test_a_failed_call_does_not_stop_the_rest() -> None:
    batch, outcomes = run(
        diagram(),
        call("addNode", label="Login"),
        call("addNode", label="Home", parentNodeId="logn"),
        call("addNode", label="Shop", parentNodeId="login"),
    )
    assert [outcome.success for outcome in outcomes] == [True, False, True]
    assert outcomes[1].suggestions[:1] == ("login",) or "Login" in outcomes[1].suggestions
    assert list(batch.draft.nodes) == ["login", "shop"]


def test_an_atomic_batch_with_a_failure_changes_nothing() -> None:
    batch, outcomes = run(diagram("x"), call("addNode", label="A"), call("deleteNode", nodeId="nope"), atomic=True)
    assert [(outcome.success, outcome.rolled_back) for outcome in outcomes] == [(True, True), (False, False)]
    assert batch.draft.operations() == ([], [])
    assert batch.only_moves


def test_undo_inside_a_batch_takes_back_the_last_applied_call_and_redo_repeats_it() -> None:
    batch, outcomes = run(
        diagram(),
        call("addNode", label="A"),
        call("addNode", label="B"),
        call("undo"),
        call("undo"),
        call("redo"),
        call("undo"),
        call("undo"),
    )
    assert [outcome.error for outcome in outcomes] == [None] * 6 + ["Nothing to undo"]
    assert batch.draft.operations() == ([], [])
    (again,) = batch.run([call("redo")])
    assert again.success
    assert list(batch.draft.nodes) == ["a"]


def test_undo_beyond_the_batch_goes_back_in_the_history_and_redo_forward_again() -> None:
    start = diagram("x")
    second, first_past = past(start, 1, ("addNode", {"label": "One"}))
    third, second_past = past(second, 2, ("addNode", {"label": "Two"}))
    history = HistoryWindow((first_past, second_past))
    batch, outcomes = run(third, call("addNode", label="Own"), *[call("undo")] * 3, history=history)
    assert all(outcome.success for outcome in outcomes)
    assert list(batch.draft.nodes) == ["x"]
    assert [(move.seq, move.undone) for move in batch.moves] == [(2, True), (1, True)]
    assert batch.only_moves
    outcomes = batch.run([call("redo")] * 4)
    assert [outcome.error for outcome in outcomes] == [None, None, None, "Nothing to redo"]
    assert sorted(batch.draft.nodes) == ["one", "own", "two", "x"]


def test_a_call_cuts_off_what_could_have_been_redone() -> None:
    start = diagram("x")
    second, first = past(start, 1, ("addNode", {"label": "One"}))
    batch, outcomes = run(start, call("addNode", label="Own"), call("redo"), history=HistoryWindow((), (first,)))
    assert [outcome.error for outcome in outcomes] == [None, "Nothing to redo"]
    batch, outcomes = run(start, call("redo"), history=HistoryWindow((), (first,)))
    assert batch.draft.document().nodes == second.nodes


def test_an_undo_with_edits_on_top_is_one_change_that_can_be_taken_back_exactly() -> None:
    start = diagram("x")
    second, first = past(start, 1, ("addNode", {"label": "One"}))
    batch, _ = run(second, call("undo"), call("addNode", label="Two"), history=HistoryWindow((first,)))
    assert not batch.only_moves
    forward, inverse = batch.draft.operations()
    after = apply(second, forward)
    assert set(after.nodes) == {"x", "two"}
    assert apply(after, inverse).nodes == second.nodes


def test_a_retry_does_not_do_again_what_its_first_attempt_did() -> None:
    batch, first = run(
        diagram("x", edges=(edge("x", "x", "loop"),)),
        call("addNode", label="🎉"),
        call("addEdge", sourceNodeId="x", targetNodeId="x"),
        call("deleteEdge", edgeId="loop"),
        call("changeDimensions", target="zoom", direction="increase"),
        call("deleteNode", nodeId="nope"),
    )
    again = batch.run([outcome.call for outcome in first[:4]], earlier=first)
    assert [outcome.success for outcome in again] == [True] * 4
    assert [outcome.node_id for outcome in again[:1]] == [first[0].node_id]
    assert (len(batch.draft.nodes), len(batch.draft.edges)) == (2, 1)
    assert next(iter(batch.draft.settings.values())).body == {"value": 1.1}
    (third,) = batch.run([call("addNode", label="🎉")], earlier=[])
    assert third.node_id != first[0].node_id


def test_operations_survive_being_stored() -> None:
    batch, _ = run(
        diagram("a", "b", edges=(edge("a", "b"),)),
        call("updateNode", nodeId="a", label="New"),
        call("deleteNode", nodeId="b"),
        call("addNode", label="C", parentNodeId="a"),
        call("changeVisuals", target="all_nodes", color="red"),
    )
    forward, inverse = batch.draft.operations()
    assert from_json(to_json(forward)) == forward
    assert from_json(to_json(inverse)) == inverse


def test_taking_a_deletion_back_restores_the_order_of_the_list() -> None:
    document = diagram("a", "b", "c")
    batch, _ = run(document, call("deleteNode", nodeId="b"), call("addNode", label="d"))
    forward, inverse = batch.draft.operations()
    after = apply(document, forward)
    assert [body["id"] for body in apply(after, inverse).listed(next(iter(forward)).kind)] == ["a", "b", "c"]


def test_only_the_first_failures_of_a_batch_get_suggestions() -> None:
    document = diagram(*[node(f"n{number}", f"Node {number}") for number in range(5000)])
    _, outcomes = run(document, *[call("deleteNode", nodeId=f"m{number}") for number in range(1000)])
    assert sum(bool(outcome.suggestions) for outcome in outcomes) == 5
    assert label_of(document.nodes["n1"].body) == "Node 1"
