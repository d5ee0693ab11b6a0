"""The turn: failures go back to the model with the current state, and all of it is one change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, select

from services.flows.settings import TurnSettings
from shared.db import connect
from shared.errors import NotFound, ProvidersFailed
from shared.flows.calls import Call
from shared.flows.document import label_of
from shared.flows.errors import UndoConflict
from shared.flows.tables import change_sets, proposals
from shared.llm.chat import ChatMessage, ChatReply, Finish, ToolUse
from shared.loop import Budget, BudgetSpent
from tests.services.flows.turns import Place, Script, place, tagged
from tests.shared.flows.drafts import diagram, edge, node


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url)
    yield engine
    engine.dispose()


def entries(where: Place) -> list[str]:
    wanted = select(change_sets.c.summary).where(change_sets.c.flow_id == where.id).order_by(change_sets.c.seq)
    with where.engine.connect() as connection:
        return list(connection.execute(wanted).scalars())


LOGIN = ("addNode", {"label": "Login", "description": "User authentication"})
WRONG = ("addNode", {"label": "Home", "parentNodeId": "logn"})
RIGHT = ("addNode", {"label": "Home", "parentNodeId": "login"})


def test_a_failed_call_is_repaired_by_the_retry_and_one_undo_restores_the_state_before(engine: Engine) -> None:
    where = place(engine, diagram("x"))
    result, said = where.turn(Script([tagged(LOGIN, WRONG), tagged(RIGHT)]), "create a login flow")
    assert (result.success, result.iterations, result.errors) == (True, 2, [])
    assert [
        (call.name, execution.node_id) for call, execution in zip(result.tool_calls, result.execution, strict=True)
    ] == [
        ("addNode", "login"),
        ("addNode", "home"),
    ]
    assert (result.version, where.now.version, entries(where)) == (2, 2, ["create a login flow"])
    assert result.flow["nodes"] == where.now.view()["nodes"]
    assert len(said.turns) == 2
    undone = where.undo()
    assert undone is not None
    assert list(undone.document.nodes) == ["x"]


def test_the_retry_says_what_happened_in_the_words_of_the_contract(engine: Engine) -> None:
    where, script = place(engine, diagram()), Script([tagged(LOGIN, WRONG), tagged(RIGHT)])
    where.turn(script)
    assert script.last() == (
        "Previous tool execution results:\n"
        "\n"
        '✅ addNode({"label":"Login","description":"User authentication"}) → Success!\n'
        '   Created node with ID: "login"\n'
        '❌ addNode({"label":"Home","parentNodeId":"logn"}) → Failed\n'
        "   Error: Parent node logn not found\n"
        "   Did you mean: login, Login\n"
        "\n"
        "📊 Current Flow State:\n"
        "  Available Nodes (1 total):\n"
        '    • "Login" (ID: "login") - User authentication\n'
        "\n"
        "🔧 Instructions:\n"
        "Please retry the failed operations using the correct node IDs shown above.\n"
        "What succeeded is in place already; leave it out."
    )


def test_a_retry_lists_edges_and_says_when_there_is_nothing(engine: Engine) -> None:
    empty = Script([tagged(("deleteNode", {"nodeId": "x"})), tagged()])
    place(engine, diagram()).turn(empty)
    assert "  No nodes exist yet.\n\n🔧" in empty.last()
    some = Script([tagged(("deleteNode", {"nodeId": "x"})), tagged()])
    labelled = edge("a", "b") | {"data": {"label": "go"}}
    place(engine, diagram("a", "b", edges=(labelled, edge("b", "a")))).turn(some)
    assert "\n\n  Existing Edges (2 total):\n    • a → b [go]\n    • b → a\n\n🔧" in some.last()


def test_the_context_holds_history_state_settings_tools_and_the_message_once(engine: Engine) -> None:
    past = [ChatMessage("user", "earlier"), ChatMessage("assistant", "done")]
    where = place(engine, diagram(node("a", "Ä")), history=past)
    script = Script([tagged()])
    where.turn(script, "make it blue")
    system, earlier, reply, question = script.asked[0].messages
    assert (system.role, earlier.content, reply.content) == ("system", "earlier", "done")
    assert question.content.startswith('Current Flow State:\n{\n  "nodes": [\n    {\n      "id": "a",')
    assert '"label": "Ä"' in question.content
    assert '"background": "linear-gradient(180deg, #0f0a1a 0%, #1a0f2e 100%)"' in question.content
    assert "\naddNode: Creates a new node." in question.content
    assert question.content.endswith("User Request: make it blue")
    assert question.content.count("make it blue") == 1
    assert (script.asked[0].role, script.asked[0].turn) == ("flows.edit", 1)


def test_three_failures_end_the_turn_and_keep_what_worked(engine: Engine) -> None:
    where = place(engine, diagram())
    result, said = where.turn(Script([tagged(LOGIN, WRONG), tagged(WRONG), tagged(WRONG)]))
    assert (result.success, result.iterations) == (False, 3)
    assert result.errors == ["Parent node logn not found"]
    assert (where.labels, len(entries(where)), len(said.pairs)) == (["login"], 1, 3)


def test_an_atomic_turn_keeps_nothing_of_a_failed_attempt(engine: Engine) -> None:
    where = place(engine, diagram())
    script = Script([tagged(LOGIN, WRONG), tagged(LOGIN, RIGHT)])
    result, _ = where.turn(script, atomic=True)
    assert "Nothing has been applied" in script.last()
    assert "No nodes exist yet." in script.last()
    assert (result.success, where.labels) == (True, ["home", "login"])
    failed, _ = place(engine, diagram()).turn(Script([tagged(LOGIN, WRONG)]), atomic=True, max_iterations=1)
    assert (failed.success, failed.flow["nodes"], failed.execution[0].rolled_back) == (False, [], True)


def test_a_retry_that_repeats_everything_doubles_nothing(engine: Engine) -> None:
    party = ("addNode", {"label": "🎉"})
    where = place(engine, diagram())
    result, _ = where.turn(Script([tagged(party, WRONG), tagged(party, LOGIN, RIGHT)]))
    assert result.success
    assert sorted(label_of(item.body) for item in where.now.document.nodes.values()) == ["Home", "Login", "🎉"]
    assert [call.name for call in result.tool_calls] == ["addNode"] * 3


def test_an_answer_without_calls_is_a_success_with_nothing_done(engine: Engine) -> None:
    where = place(engine, diagram("x"))
    for reply in (
        "<thinking>fine</thinking><response>[]</response>",
        "<thinking>fine</thinking>",
        "<response></response>",
    ):
        result, said = where.turn(Script([reply]))
        assert (result.success, result.response, result.iterations) == (True, "No tool calls generated", 1)
        assert (where.now.version, said.effects) == (1, [])


@pytest.mark.parametrize(
    "reply",
    [
        "<thinking>hm</thinking><response>{nonsense</response>",
        "<thinking>hm</thinking><response>[",
        '<thinking>hm</thinking><response>[{"name": "addNode", "input": {"label": "half',
        '<thinking>hm</thinking><response>[{"input": {}}]</response>',
        "<thinking>hm</thinking><response>" + "[" * 500 + "]" * 500 + "</response>",
    ],
)
def test_an_answer_that_cannot_be_read_is_returned_and_not_tried_again(engine: Engine, reply: str) -> None:
    where, script = place(engine, diagram("x")), Script([reply])
    result, said = where.turn(script)
    assert (result.success, result.iterations, len(script.asked)) == (False, 1, 1)
    assert (result.parse_error or "").startswith("Failed to parse tool calls: ")
    assert (result.thinking, result.response) == ("hm", reply)
    assert (where.now.version, said.pairs) == (1, [("please", reply)])


def test_reading_errors_are_tried_again_when_the_caller_wants_it(engine: Engine) -> None:
    where, script = place(engine, diagram()), Script(["<response>{no</response>", tagged(LOGIN)])
    result, _ = where.turn(script, retry_parse_errors=True)
    assert (result.success, result.iterations) == (True, 2)
    assert "could not be read" in script.last()


def test_a_cut_answer_runs_its_whole_calls_only_and_says_so(engine: Engine) -> None:
    where = place(engine, diagram())
    cut = tagged(LOGIN, RIGHT).partition('{"type": "tool_use", "id": "1"')[0]
    result, _ = where.turn(Script([ChatReply(cut, "script", "scripted", finish=Finish.LENGTH)]))
    assert (result.success, result.truncated, where.labels) == (True, True, ["login"])


def test_slips_in_the_answer_are_mended_and_flagged_and_urls_survive(engine: Engine) -> None:
    where = place(engine, diagram())
    reply = (
        '<response>[ // first\n{"name": "addNode", "input": {"label": "See https://x.io/a /* b */", "id": "u",}},]'
        "</response>"
    )
    result, _ = where.turn(Script([reply]))
    assert (result.success, result.repaired) == (True, True)
    assert label_of(where.now.document.nodes["u"].body) == "See https://x.io/a /* b */"


def test_ten_thousand_calls_are_refused_and_the_flow_is_untouched(engine: Engine) -> None:
    where = place(engine, diagram())
    result, _ = where.turn(Script([tagged(*[("addNode", {"label": f"N{n}"}) for n in range(10_000)])]))
    assert (result.success, where.now.version) == (False, 1)
    assert result.parse_error == "Failed to parse tool calls: 10000 calls in one answer; at most 1000 are taken"


def test_native_tool_calls_are_taken_where_the_provider_gives_them(engine: Engine) -> None:
    where = place(engine, diagram(), settings=TurnSettings(native_tools=True))
    reply = ChatReply("Sure", "script", "s", Finish.TOOL_CALLS, (ToolUse("c1", "addNode", {"label": "A"}),))
    script = Script([reply])
    result, _ = where.turn(script)
    assert (result.success, result.thinking, result.tool_calls[0].id) == (True, "Sure", "c1")
    assert script.asked[0].tools[0].name == "addNode"


def test_the_model_can_undo_what_was_done_before_the_turn_and_in_it(engine: Engine) -> None:
    where = place(engine, diagram("x"))
    where.edit(Call("addNode", {"label": "A"}))
    result, _ = where.turn(Script([tagged(("undo", {}))]))
    assert (result.success, result.version, where.labels) == (True, 3, ["x"])
    assert len(entries(where)) == 1
    result, _ = where.turn(Script([tagged(("redo", {}), ("addNode", {"label": "B"}), ("undo", {}))]))
    assert (result.version, where.labels) == (4, ["a", "x"])
    nothing, _ = place(engine, diagram()).turn(Script([tagged(("undo", {})), tagged()]))
    assert (nothing.success, nothing.errors) == (False, ["Nothing to undo"])


def test_a_change_of_somebody_else_meanwhile_is_kept_and_seen_by_the_retry(engine: Engine) -> None:
    where = place(engine, diagram())

    def meanwhile(number: int) -> None:
        where.edit(Call("addNode", {"label": f"Theirs {number}"}))

    script = Script([tagged(("addNode", {"label": "🎉"}), WRONG), tagged(LOGIN, RIGHT)], before=meanwhile)
    result, _ = where.turn(script)
    assert '"Theirs 1" (ID: "theirs_1")' in script.last()
    assert result.success
    assert sorted(label_of(item.body) for item in where.now.document.nodes.values()) == [
        "Home",
        "Login",
        "Theirs 1",
        "Theirs 2",
        "🎉",
    ]
    assert (result.version, where.now.version) == (4, 4)
    undone = where.undo()
    assert undone is not None
    assert sorted(undone.document.nodes) == ["theirs_1", "theirs_2"]


def test_a_change_between_the_answer_and_its_commit_is_kept_too(engine: Engine) -> None:
    where = place(engine, diagram("x"))
    late = Call("addNode", {"label": "Late"})
    result, _ = where.turn(Script([tagged(LOGIN)]), between=lambda: where.edit(late))
    assert (result.success, where.labels) == (True, ["late", "login", "x"])
    assert (result.version, result.flow["nodes"]) == (where.now.version, where.now.view()["nodes"])
    undone = where.undo()
    assert undone is not None
    assert sorted(undone.document.nodes) == ["late", "x"]


def test_an_undo_by_message_never_takes_back_what_came_in_between(engine: Engine) -> None:
    where = place(engine, diagram("x"))
    where.edit(Call("addNode", {"label": "First"}))
    late = Call("addNode", {"label": "Late"})
    result, _ = where.turn(Script([tagged(("undo", {}))]), between=lambda: where.edit(late))
    assert (result.success, where.labels) == (True, ["late", "x"])
    undone = where.undo()
    assert undone is not None
    assert sorted(undone.document.nodes) == ["first", "late", "x"]
    built = Call("addNode", {"label": "On it", "parentNodeId": "first"})
    where.edit(Call("addNode", {"label": "Second"}))
    where.edit(Call("deleteNode", {"nodeId": "late"}))
    with pytest.raises(UndoConflict):
        where.turn(Script([tagged(*[("undo", {})] * 4)]), between=lambda: where.edit(built))


def test_a_proposal_changes_nothing_until_it_is_applied(engine: Engine) -> None:
    where = place(engine, diagram("x"))
    result, _ = where.turn(Script([tagged(LOGIN)]), mode="propose")
    assert (result.success, result.version, where.now.version, where.labels) == (True, 1, 1, ["x"])
    assert [operation.op for operation in result.operations or []] == ["add"]
    assert len(result.flow["nodes"]) == 2  # type: ignore[arg-type]
    with engine.connect() as connection:
        states = list(
            connection.execute(select(proposals.c.id, proposals.c.state).where(proposals.c.flow_id == where.id))
        )
    assert [tuple(row) for row in states] == [(result.proposal_id, "open")]
    empty, _ = where.turn(Script([tagged(("updateNode", {"nodeId": "x", "label": "x"}))]), mode="propose")
    assert empty.proposal_id is None


def test_the_budget_of_the_job_ends_the_turn_too(engine: Engine) -> None:
    where = place(engine, diagram())
    result, _ = where.turn(Script([tagged(LOGIN, WRONG)]), budget=Budget(turns=1))
    assert (result.success, result.iterations, where.labels) == (False, 1, ["login"])
    with pytest.raises(BudgetSpent):
        where.turn(Script([tagged(LOGIN)]), budget=Budget(seconds=-1))


def test_without_a_flow_or_an_answer_nothing_is_written(engine: Engine) -> None:
    where = place(engine, diagram())
    with pytest.raises(ProvidersFailed):
        where.turn(Script([tagged(LOGIN, WRONG)]))
    assert where.now.version == 1
    where.id = "nope"
    with pytest.raises(NotFound):
        where.turn(Script([tagged(LOGIN)]))


def test_a_large_flow_is_told_in_short_and_what_the_message_names_comes_first(engine: Engine) -> None:
    nodes = [node(f"n{number}", f"Thing {number}") for number in range(3000)]
    links = tuple(edge(f"n{number}", f"n{number + 1}") for number in range(2999))
    document = diagram(*nodes, node("zebra", "Zebra crossing"), edges=links)
    where = place(engine, document, settings=TurnSettings(state_tokens=2_000))
    script = Script([tagged()])
    where.turn(script, "delete the zebra")
    content = script.asked[0].messages[-1].content
    assert len(content) < 30_000
    assert "3001 nodes, one a line as ID | label (only " in content
    assert content.index("zebra | Zebra crossing") < content.index("n0 | Thing 0")
