"""An edit by a message: failures go back to the model with the current state, and all of it is one change."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, select

from services.flows.settings import EditSettings
from shared.db import connect
from shared.errors import NotFound, ProvidersFailed
from shared.flows.calls import Call
from shared.flows.document import label_of
from shared.flows.errors import UndoConflict
from shared.flows.tables import change_sets, proposals
from shared.llm.chat import ChatMessage, ChatReply, Finish, ToolUse
from shared.loop import Budget, BudgetSpent
from tests.services.flows.chat_flow import ChatFlow, ScriptedModel, tagged
from tests.shared.flows.drafts import diagram, edge, node
from tests.shared.flows.stored_flow import BERT


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url)
    yield engine
    engine.dispose()


def entries(flow: ChatFlow) -> list[str]:
    wanted = select(change_sets.c.summary).where(change_sets.c.flow_id == flow.id).order_by(change_sets.c.seq)
    with flow.engine.connect() as connection:
        return list(connection.execute(wanted).scalars())


def state_in(request: str) -> str:
    return request.partition("Current Flow State:\n")[2].partition("\n\nVisual Settings:")[0]


LOGIN = ("addNode", {"label": "Login", "description": "User authentication"})
WRONG = ("addNode", {"label": "Home", "parentNodeId": "logn"})
RIGHT = ("addNode", {"label": "Home", "parentNodeId": "login"})


def test_a_failed_call_is_repaired_by_the_retry_and_one_undo_restores_the_state_before(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram("x"))
    result, report = flow.send(ScriptedModel([tagged(LOGIN, WRONG), tagged(RIGHT)]), "create a login flow")
    assert (result.success, result.iterations, result.errors) == (True, 2, [])
    assert [
        (call.name, execution.node_id) for call, execution in zip(result.tool_calls, result.execution, strict=True)
    ] == [
        ("addNode", "login"),
        ("addNode", "home"),
    ]
    assert (result.version, flow.now.version, entries(flow)) == (2, 2, ["create a login flow"])
    assert result.flow["nodes"] == flow.now.view()["nodes"]
    assert len(report.turns) == 2
    undone = flow.undo()
    assert undone is not None
    assert list(undone.document.nodes) == ["x"]


def test_the_retry_says_what_happened_in_the_words_of_the_contract(engine: Engine) -> None:
    flow, script = ChatFlow(engine, diagram()), ScriptedModel([tagged(LOGIN, WRONG), tagged(RIGHT)])
    flow.send(script)
    _, _, feedback = script.last().partition("User Request: ")
    assert feedback == (
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


def test_a_retry_shows_the_current_flow_beside_its_message_and_no_earlier_state(engine: Engine) -> None:
    flow, script = ChatFlow(engine, diagram("x")), ScriptedModel([tagged(LOGIN, WRONG), tagged(RIGHT)])
    flow.send(script, "create a login flow")
    (_, first), (_, said, reply, retry) = (request.messages for request in script.asked)
    assert json.loads(state_in(first.content))["nodes"][0]["id"] == "x"
    assert (said.content, reply.content) == ("create a login flow", tagged(LOGIN, WRONG))
    assert [shown["id"] for shown in json.loads(state_in(retry.content))["nodes"]] == ["x", "login"]
    assert "\n\nVisual Settings:\n{" in retry.content
    assert "\naddNode: Creates a new node." in retry.content
    assert "\n\nUser Request: Previous tool execution results:\n" in retry.content


def test_a_retry_after_an_unreadable_answer_shows_what_somebody_else_has_changed(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram("x"))
    script = ScriptedModel(
        ["<response>{no</response>", tagged()],
        before=lambda number: flow.edit(Call("addNode", {"label": f"B{number}"}), author=BERT),
    )
    flow.send(script, retry_parse_errors=True)
    nodes = json.loads(state_in(script.last()))["nodes"]
    assert [shown["id"] for shown in nodes] == ["x", "b1"]


def test_a_retry_lists_edges_and_says_when_there_is_nothing(engine: Engine) -> None:
    empty = ScriptedModel([tagged(("deleteNode", {"nodeId": "x"})), tagged()])
    ChatFlow(engine, diagram()).send(empty)
    assert "  No nodes exist yet.\n\n🔧" in empty.last()
    some = ScriptedModel([tagged(("deleteNode", {"nodeId": "x"})), tagged()])
    labelled = edge("a", "b") | {"data": {"label": "go"}}
    ChatFlow(engine, diagram("a", "b", edges=(labelled, edge("b", "a")))).send(some)
    assert "\n\n  Existing Edges (2 total):\n    • a → b [go]\n    • b → a\n\n🔧" in some.last()


def test_the_request_holds_history_state_settings_tools_and_the_message_once(engine: Engine) -> None:
    past = [ChatMessage("user", "earlier"), ChatMessage("assistant", "done")]
    flow = ChatFlow(engine, diagram(node("a", "Ä")), history=past)
    script = ScriptedModel([tagged()])
    flow.send(script, "make it blue")
    system, earlier, reply, question = script.asked[0].messages
    assert (system.role, earlier.content, reply.content) == ("system", "earlier", "done")
    assert question.content.startswith('Current Flow State:\n{\n  "nodes": [\n    {\n      "id": "a",')
    assert '"label": "Ä"' in question.content
    assert '"background": "linear-gradient(180deg, #0f0a1a 0%, #1a0f2e 100%)"' in question.content
    assert "\naddNode: Creates a new node." in question.content
    assert question.content.endswith("User Request: make it blue")
    assert question.content.count("make it blue") == 1
    assert (script.asked[0].role, script.asked[0].turn) == ("flows.edit", 1)


def test_three_failures_end_the_edit_and_keep_what_worked(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram())
    result, report = flow.send(ScriptedModel([tagged(LOGIN, WRONG), tagged(WRONG), tagged(WRONG)]))
    assert (result.success, result.iterations) == (False, 3)
    assert result.errors == ["Parent node logn not found"]
    assert (flow.labels, len(entries(flow)), len(report.pairs)) == (["login"], 1, 3)


def test_an_atomic_edit_keeps_nothing_of_a_failed_attempt(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram())
    script = ScriptedModel([tagged(LOGIN, WRONG), tagged(LOGIN, RIGHT)])
    result, _ = flow.send(script, atomic=True)
    assert "Nothing has been applied" in script.last()
    assert "No nodes exist yet." in script.last()
    assert (result.success, flow.labels) == (True, ["home", "login"])
    failed, _ = ChatFlow(engine, diagram()).send(ScriptedModel([tagged(LOGIN, WRONG)]), atomic=True, max_iterations=1)
    assert (failed.success, failed.flow["nodes"], failed.execution[0].rolled_back) == (False, [], True)


def test_a_retry_that_repeats_everything_duplicates_nothing(engine: Engine) -> None:
    party = ("addNode", {"label": "🎉"})
    flow = ChatFlow(engine, diagram())
    result, _ = flow.send(ScriptedModel([tagged(party, WRONG), tagged(party, LOGIN, RIGHT)]))
    assert result.success
    assert sorted(label_of(item.body) for item in flow.now.document.nodes.values()) == ["Home", "Login", "🎉"]
    assert [call.name for call in result.tool_calls] == ["addNode"] * 3


@pytest.mark.parametrize("attempts", [2, 3, 5])
def test_a_call_that_every_attempt_repeats_is_listed_once(engine: Engine, attempts: int) -> None:
    keep, lost = ("addNode", {"label": "Keep"}), ("addNode", {"label": "Lost", "parentNodeId": "nowhere"})
    flow = ChatFlow(engine, diagram())
    result, _ = flow.send(ScriptedModel([tagged(keep, lost)] * attempts), max_iterations=attempts)
    assert (result.success, result.iterations, flow.labels) == (False, attempts, ["keep"])
    assert [
        (use.params["label"], done.success) for use, done in zip(result.tool_calls, result.execution, strict=True)
    ] == [
        ("Keep", True),
        ("Lost", False),
    ]


def test_an_answer_without_calls_is_a_success_with_nothing_done(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram("x"))
    for reply in (
        "<thinking>fine</thinking><response>[]</response>",
        "<thinking>fine</thinking>",
        "<response></response>",
    ):
        result, report = flow.send(ScriptedModel([reply]))
        assert (result.success, result.response, result.iterations) == (True, "No tool calls generated", 1)
        assert (flow.now.version, report.effects) == (1, [])


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
    flow, script = ChatFlow(engine, diagram("x")), ScriptedModel([reply])
    result, report = flow.send(script)
    assert (result.success, result.iterations, len(script.asked)) == (False, 1, 1)
    assert (result.parse_error or "").startswith("Failed to parse tool calls: ")
    assert (result.thinking, result.response) == ("hm", reply)
    assert (flow.now.version, report.pairs) == (1, [("please", reply)])


def test_reading_errors_are_tried_again_when_the_caller_wants_it(engine: Engine) -> None:
    flow, script = ChatFlow(engine, diagram()), ScriptedModel(["<response>{no</response>", tagged(LOGIN)])
    result, _ = flow.send(script, retry_parse_errors=True)
    assert (result.success, result.iterations) == (True, 2)
    assert "could not be read" in script.last()


def test_a_truncated_answer_runs_its_complete_calls_only_and_says_so(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram())
    cut = tagged(LOGIN, RIGHT).partition('{"type": "tool_use", "id": "1"')[0]
    result, _ = flow.send(ScriptedModel([ChatReply(cut, "script", "scripted", finish=Finish.LENGTH)]))
    assert (result.success, result.truncated, flow.labels) == (True, True, ["login"])


def test_small_faults_in_the_answer_are_repaired_and_flagged_and_urls_stay(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram())
    reply = (
        '<response>[ // first\n{"name": "addNode", "input": {"label": "See https://x.io/a /* b */", "id": "u",}},]'
        "</response>"
    )
    result, _ = flow.send(ScriptedModel([reply]))
    assert (result.success, result.repaired) == (True, True)
    assert label_of(flow.now.document.nodes["u"].body) == "See https://x.io/a /* b */"


def test_ten_thousand_calls_are_refused_and_the_flow_is_untouched(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram())
    result, _ = flow.send(ScriptedModel([tagged(*[("addNode", {"label": f"N{n}"}) for n in range(10_000)])]))
    assert (result.success, flow.now.version) == (False, 1)
    assert result.parse_error == "Failed to parse tool calls: 10000 calls in one answer; at most 1000 are taken"


def test_native_tool_calls_are_taken_where_the_provider_gives_them(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram(), settings=EditSettings(native_tools=True))
    reply = ChatReply("Sure", "script", "s", Finish.TOOL_CALLS, (ToolUse("c1", "addNode", {"label": "A"}),))
    script = ScriptedModel([reply])
    result, _ = flow.send(script)
    assert (result.success, result.thinking, result.tool_calls[0].id) == (True, "Sure", "c1")
    assert script.asked[0].tools[0].name == "addNode"


def test_the_model_can_undo_what_was_done_before_the_message_and_by_it(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram("x"))
    flow.edit(Call("addNode", {"label": "A"}), author=BERT)
    result, _ = flow.send(ScriptedModel([tagged(("undo", {}))]))
    assert (result.success, result.version, flow.labels) == (True, 3, ["x"])
    assert len(entries(flow)) == 1
    result, _ = flow.send(ScriptedModel([tagged(("redo", {}), ("addNode", {"label": "B"}), ("undo", {}))]))
    assert (result.version, flow.labels) == (4, ["a", "x"])
    nothing, _ = ChatFlow(engine, diagram()).send(ScriptedModel([tagged(("undo", {})), tagged()]))
    assert (nothing.success, nothing.errors) == (False, ["Nothing to undo"])


def test_a_change_of_somebody_else_meanwhile_is_kept_and_seen_by_the_retry(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram())

    def meanwhile(number: int) -> None:
        flow.edit(Call("addNode", {"label": f"Theirs {number}"}), author=BERT)

    script = ScriptedModel([tagged(("addNode", {"label": "🎉"}), WRONG), tagged(LOGIN, RIGHT)], before=meanwhile)
    result, _ = flow.send(script)
    assert '"Theirs 1" (ID: "theirs_1")' in script.last()
    assert result.success
    assert sorted(label_of(item.body) for item in flow.now.document.nodes.values()) == [
        "Home",
        "Login",
        "Theirs 1",
        "Theirs 2",
        "🎉",
    ]
    assert (result.version, flow.now.version) == (4, 4)
    undone = flow.undo()
    assert undone is not None
    assert sorted(undone.document.nodes) == ["theirs_1", "theirs_2"]


def test_a_change_between_the_answer_and_its_commit_is_kept_too(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram("x"))
    late = Call("addNode", {"label": "Late"})
    result, _ = flow.send(ScriptedModel([tagged(LOGIN)]), between=lambda: flow.edit(late, author=BERT))
    assert (result.success, flow.labels) == (True, ["late", "login", "x"])
    assert (result.version, result.flow["nodes"]) == (flow.now.version, flow.now.view()["nodes"])
    undone = flow.undo()
    assert undone is not None
    assert sorted(undone.document.nodes) == ["late", "x"]


def test_an_undo_by_message_never_undoes_what_came_in_between(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram("x"))
    flow.edit(Call("addNode", {"label": "First"}), author=BERT)
    late = Call("addNode", {"label": "Late"})
    result, _ = flow.send(ScriptedModel([tagged(("undo", {}))]), between=lambda: flow.edit(late, author=BERT))
    assert (result.success, flow.labels) == (True, ["late", "x"])
    undone = flow.undo()
    assert undone is not None
    assert sorted(undone.document.nodes) == ["first", "late", "x"]
    built = Call("addNode", {"label": "On it", "parentNodeId": "first"})
    flow.edit(Call("addNode", {"label": "Second"}), author=BERT)
    flow.edit(Call("deleteNode", {"nodeId": "late"}), author=BERT)
    with pytest.raises(UndoConflict):
        flow.send(ScriptedModel([tagged(*[("undo", {})] * 4)]), between=lambda: flow.edit(built, author=BERT))


def test_a_proposal_changes_nothing_until_it_is_applied(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram("x"))
    result, _ = flow.send(ScriptedModel([tagged(LOGIN)]), mode="propose")
    assert (result.success, result.version, flow.now.version, flow.labels) == (True, 1, 1, ["x"])
    assert [operation.op for operation in result.operations or []] == ["add"]
    assert len(result.flow["nodes"]) == 2  # type: ignore[arg-type]
    with engine.connect() as connection:
        states = list(
            connection.execute(select(proposals.c.id, proposals.c.state).where(proposals.c.flow_id == flow.id))
        )
    assert [tuple(row) for row in states] == [(result.proposal_id, "open")]
    empty, _ = flow.send(ScriptedModel([tagged(("updateNode", {"nodeId": "x", "label": "x"}))]), mode="propose")
    assert empty.proposal_id is None


def test_the_budget_of_the_job_ends_the_edit_too(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram())
    result, report = flow.send(ScriptedModel([tagged(LOGIN, WRONG)]), budget=Budget(turns=1))
    assert report.warnings == ["The model was not called again: the budget of turns is spent."]
    assert (result.success, result.iterations, flow.labels) == (False, 1, ["login"])
    with pytest.raises(BudgetSpent):
        flow.send(ScriptedModel([tagged(LOGIN)]), budget=Budget(seconds=-1))


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("I have added the node for you.", "the answer has no <response>"),
        (
            ChatReply("<thinking>first I", "script", "x", finish=Finish.LENGTH),
            "the answer was cut before its <response>",
        ),
        (ChatReply("I cannot help.", "script", "x", finish=Finish.REFUSAL), "the model refused to answer"),
    ],
)
def test_prose_a_cut_answer_and_a_refusal_are_no_success(engine: Engine, reply: str | ChatReply, why: str) -> None:
    flow = ChatFlow(engine, diagram("x"))
    result, report = flow.send(ScriptedModel([reply]))
    assert (result.success, result.parse_error) == (False, f"Failed to parse tool calls: {why}")
    assert (flow.now.version, report.effects) == (1, [])


ADD_PROFILE = '{"name": "addNode", "input": {"label": "Profile", "parentNodeId": "home"}}'


@pytest.mark.parametrize(
    "reply",
    [
        f"<thinking>A profile page after home.</thinking>\n[{ADD_PROFILE}]",
        f"I'll add the page.\n```json\n[{ADD_PROFILE}]\n```",
        f"<response>[{ADD_PROFILE.replace('addNode', 'functions.addNode')}]</response>",
        f"<tool_call>\n{ADD_PROFILE.replace('input', 'arguments')}\n</tool_call>",
        '<response>\naddNode(label="Profile", parentNodeId="home")\n</response>',
    ],
)
def test_an_answer_in_another_dialect_is_run_and_flagged(engine: Engine, reply: str) -> None:
    flow = ChatFlow(engine, diagram("login", "home"))
    result, _ = flow.send(ScriptedModel([reply]))
    assert (result.success, result.repaired, result.version, result.response) == (True, True, 2, reply)
    assert flow.labels == ["home", "login", "profile"]
    assert [item.body["target"] for item in flow.now.document.edges.values()] == ["profile"]


@pytest.mark.parametrize(
    "reply",
    [
        "<thinking>fine</thinking>I have added the page Profile.",
        "<thinking>I call addNode(label='Profile')</thinking>",
        '<thinking>fine</thinking><invoke name="addNode"><parameter name="label">Prof',
    ],
)
def test_an_answer_that_was_not_understood_is_no_success_and_is_shown(engine: Engine, reply: str) -> None:
    result, _ = ChatFlow(engine, diagram("home")).send(ScriptedModel([reply]))
    assert (result.success, result.response) == (False, reply)
    assert result.parse_error


def test_native_calls_get_the_names_of_our_tools(engine: Engine) -> None:
    use = ToolUse("c", "functions.add_node", {"arguments": {"label": "Profile", "parent_node_id": "home"}})
    flow = ChatFlow(engine, diagram("home"))
    result, _ = flow.send(ScriptedModel([ChatReply("", "script", "x", Finish.TOOL_CALLS, (use,))]))
    assert (result.success, result.repaired, flow.labels) == (True, True, ["home", "profile"])


def test_what_was_done_stays_when_the_model_cannot_be_asked_again(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram())
    result, report = flow.send(ScriptedModel([tagged(LOGIN, WRONG)]))
    assert (result.success, flow.labels, flow.now.version) == (False, ["login"], 2)
    assert "could not be called again (providers_failed)" in result.errors[-1]
    assert report.effects


def test_without_a_flow_or_an_answer_nothing_is_written(engine: Engine) -> None:
    flow = ChatFlow(engine, diagram())
    with pytest.raises(ProvidersFailed):
        flow.send(ScriptedModel([]))
    assert flow.now.version == 1
    flow.id = "nope"
    with pytest.raises(NotFound):
        flow.send(ScriptedModel([tagged(LOGIN)]))


def test_a_large_flow_is_shortened_and_what_the_message_names_comes_first(engine: Engine) -> None:
    nodes = [node(f"n{number}", f"Thing {number}") for number in range(3000)]
    links = tuple(edge(f"n{number}", f"n{number + 1}") for number in range(2999))
    document = diagram(*nodes, node("zebra", "Zebra crossing"), edges=links)
    flow = ChatFlow(engine, document, settings=EditSettings(state_tokens=2_000))
    script = ScriptedModel([tagged()])
    flow.send(script, "delete the zebra")
    content = script.asked[0].messages[-1].content
    assert len(content) < 30_000
    assert "3001 nodes, one a line as ID | label (only " in content
    assert content.index("zebra | Zebra crossing") < content.index("n0 | Thing 0")
