"""The original front end works unchanged: paths, bodies and statuses are exactly those of its server."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2 as httpx
import pytest

from services.gateway.settings import Settings
from tests.services.gateway.conftest import Gateway, serving, with_http
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until

Json = dict[str, Any]


@pytest.fixture
def app(gateway: Gateway) -> Iterator[httpx.Client]:
    """A client of a tenant of the test's own."""
    with gateway.client(f"tenant-{uuid.uuid4().hex}") as client:
        yield client


def say(client: httpx.Client, method: str, path: str, body: object = None) -> tuple[int, Any]:
    answer = client.request(method, path, json=body)
    return answer.status_code, answer.json()


def test_a_new_tenant_has_an_empty_flow_with_default_settings(app: httpx.Client) -> None:
    for path in ("/api/flow", "/api/flow/", "/api", "/api/"):
        status, flow = say(app, "GET", path)
        assert (status, flow["nodes"], flow["edges"]) == (200, [], [])
        assert flow["settings"]["colors"]["allNodes"] == {
            "background": "#1a192b",
            "border": "#2b2253",
            "text": "#ffffff",
        }
    status, seen = say(app, "GET", "/api/flow/history-status")
    wanted = {"canUndo": False, "canRedo": False, "snapshotCount": 0, "currentTimestamp": None, "currentIndex": -1}
    assert (status, seen) == (200, wanted)


@pytest.mark.parametrize("base", ["/api/flow", "/api"])
def test_every_edit_answers_as_the_original_server_did(app: httpx.Client, base: str) -> None:
    status, made = say(app, "POST", f"{base}/node", {"label": "Login", "description": "User auth", "junk": 1})
    assert (status, made["success"], made["nodeId"], set(made["flow"])) == (
        200,
        True,
        "login",
        {"nodes", "edges", "settings"},
    )
    status, made = say(app, "POST", f"{base}/node", {"label": "Home", "parentNodeId": "Login", "edgeLabel": None})
    assert made["flow"]["nodes"][1]["position"] == {"x": 200, "y": 0}
    status, made = say(app, "POST", f"{base}/edge", {"sourceNodeId": "home", "targetNodeId": "login", "label": "back"})
    edge = made["edgeId"]
    assert (status, made["flow"]["edges"][1]["data"]) == (200, {"label": "back"})
    assert say(app, "PUT", f"{base}/edge/{edge}", {"label": "away"})[1]["flow"]["edges"][1]["data"] == {"label": "away"}
    status, made = say(app, "PUT", f"{base}/node/login", {"position": {"x": 5, "y": 6}})
    assert made["flow"]["nodes"][0]["position"] == {"x": 5, "y": 6}
    assert say(app, "DELETE", f"{base}/edge/{edge}")[1]["success"] is True
    status, made = say(app, "POST", f"{base}/group", {"memberIds": ["login", "home"], "label": "G"})
    group = made["groupId"]
    assert made["flow"]["nodes"][2]["isCollapsed"] is True
    status, made = say(app, "PUT", f"{base}/group/{group}/expand", {"expand": True})
    assert [node.get("hidden") for node in made["flow"]["nodes"]] == [False, False, None]
    assert say(app, "PUT", f"{base}/group/{group}/expand", {})[1]["flow"]["nodes"][0]["hidden"] is True
    assert len(say(app, "DELETE", f"{base}/group/{group}")[1]["flow"]["nodes"]) == 2
    status, made = say(app, "PUT", f"{base}/subtree/login/collapse", {"collapsed": True})
    assert [node.get("hidden") for node in made["flow"]["nodes"]] == [False, True]
    say(app, "PUT", f"{base}/subtree/login/collapse", {"collapsed": False})
    status, made = say(app, "POST", f"{base}/auto-layout")
    assert (status, made["tool"], "didChange" in made) == (200, "autoLayout", False)
    assert say(app, "POST", f"{base}/auto-layout", {})[1]["didChange"] is False
    assert [node["id"] for node in say(app, "DELETE", f"{base}/node/login")[1]["flow"]["nodes"]] == ["home"]
    _, seen = say(app, "GET", f"{base}/history-status")
    assert (seen["canUndo"], seen["currentIndex"], seen["snapshotCount"]) == (True, 14, 14)
    assert len(say(app, "POST", f"{base}/undo")[1]["flow"]["nodes"]) == 2
    assert say(app, "GET", f"{base}/history-status")[1]["canRedo"] is True
    assert len(say(app, "POST", f"{base}/redo")[1]["flow"]["nodes"]) == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "error"),
    [
        ("POST", "/node", {}, "label is required"),
        ("POST", "/node", None, "label is required"),
        ("POST", "/node", {"label": "x", "parentNodeId": "nope"}, "Parent node nope not found"),
        ("PUT", "/node/nope", {"label": "x"}, "Node nope not found"),
        ("DELETE", "/node/nope", None, "Node nope not found"),
        ("DELETE", "/node/a%2Fb", None, "Node a/b not found"),
        ("POST", "/edge", {"sourceNodeId": "a"}, "sourceNodeId and targetNodeId are required"),
        ("PUT", "/edge/nope", {"label": "x"}, "Edge nope not found"),
        ("PUT", "/edge/nope", {}, "edgeId and label are required"),
        ("DELETE", "/edge/nope", None, "Edge nope not found"),
        ("POST", "/group", {"memberIds": ["a"]}, "At least 2 memberIds are required"),
        ("DELETE", "/group/nope", None, "Group nope not found"),
        ("PUT", "/group/nope/expand", {"expand": True}, "Group nope not found"),
        ("PUT", "/subtree/nope/collapse", {"collapsed": "yes"}, "collapsed must be a boolean"),
        ("PUT", "/subtree/nope/collapse", {"collapsed": True}, "Node nope not found"),
    ],
)
def test_a_call_that_fails_is_a_400_with_its_error(
    client: httpx.Client, method: str, path: str, body: object, error: str
) -> None:
    assert say(client, method, f"/api/flow{path}", body) == (400, {"success": False, "error": error})


def test_a_save_takes_any_items_and_refuses_any_other_shape(app: httpx.Client) -> None:
    wrong: list[object] = [None, [], "x", {}, {"nodes": []}, {"nodes": {}, "edges": []}, {"nodes": [], "edges": None}]
    for body in wrong:
        assert say(app, "POST", "/api/flow", body) == (400, {"error": "Invalid flow data structure"})
    nodes = [{"id": "a", "data": {"label": "A"}, "own": [1]}, {"odd": True}, 7]
    assert say(app, "POST", "/api/flow", {"nodes": nodes, "edges": [{}]}) == (200, {"success": True})
    _, flow = say(app, "GET", "/api/flow")
    assert (flow["nodes"], flow["edges"]) == (nodes, [{}])
    assert say(app, "POST", "/api", {"nodes": [], "edges": []}) == (200, {"success": True})
    assert say(app, "POST", "/api/flow/undo")[1]["flow"]["nodes"] == nodes


def test_a_save_that_skips_the_snapshot_joins_the_one_before(app: httpx.Client) -> None:
    say(app, "POST", "/api/flow", {"nodes": [{"id": "a"}], "edges": []})
    say(app, "POST", "/api/flow?skipSnapshot=true", {"nodes": [{"id": "a"}, {"id": "b"}], "edges": []})
    assert say(app, "GET", "/api/flow/history-status")[1]["snapshotCount"] == 1
    assert say(app, "POST", "/api/undo")[1]["flow"]["nodes"] == []
    assert say(app, "POST", "/api/undo") == (200, {"success": False, "message": "Nothing to undo"})
    assert len(say(app, "POST", "/api/redo")[1]["flow"]["nodes"]) == 2
    assert say(app, "POST", "/api/redo") == (200, {"success": False, "message": "Nothing to redo"})


def test_without_a_provider_a_message_says_so_and_everything_else_works(app: httpx.Client) -> None:
    say(app, "POST", "/api/node", {"label": "A"})
    status, told = say(app, "POST", "/api/conversation/message", {"message": "add B"})
    assert (status, told["success"], told["iterations"]) == (200, False, 0)
    assert told["thinking"] == "LLM disabled: missing API keys"
    assert told["response"].startswith("LLM is not configured")
    assert [node["id"] for node in told["updatedFlow"]["nodes"]] == ["a"]
    wrong: list[Json | None] = [None, {}, {"message": ""}, {"message": 5}]
    for body in wrong:
        status, told = say(app, "POST", "/api/conversation/message", body)
        assert (status, told) == (400, {"error": "Message is required and must be a string"})


def test_notes_are_kept_per_tenant(app: httpx.Client) -> None:
    assert say(app, "GET", "/api/notes") == (200, {"bullets": [], "conversationHistory": []})
    assert say(app, "PUT", "/api/notes", {"bullets": ["one"]}) == (200, {"success": True, "bullets": ["one"]})
    status, told = say(app, "POST", "/api/notes", {"message": "- two\n- three"})
    assert (status, told["success"], told["bullets"], told["newBullets"]) == (200, False, ["one"], [])
    assert told["thinking"] == "LLM disabled: missing API keys"
    assert told["error"].startswith("LLM is not configured")
    unfit: list[tuple[str, Json]] = [("PUT", {"bullets": "x"}), ("PUT", {}), ("POST", {})]
    for method, body in unfit:
        status, told = say(app, method, "/api/notes", body)
        assert (status, told["success"]) == (400, False)
    assert say(app, "GET", "/api/notes")[1] == {"bullets": ["one"], "conversationHistory": []}


def test_two_first_edits_at_once_make_one_flow(gateway: Gateway) -> None:
    with gateway.client("twins") as client, ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(lambda n: say(client, "POST", "/api/node", {"label": f"N{n}"})[0], range(4)))
        assert statuses == [200] * 4
        assert len(say(client, "GET", "/api/flow")[1]["nodes"]) == 4
        assert len(client.get("/v1/flows").json()["items"]) == 1


@pytest.mark.slow
def test_a_browser_without_a_key_gets_the_configured_one_on_these_routes_only(
    gateway: Gateway, settings: Settings
) -> None:
    key = gateway.key("browser")
    own = with_http(settings, compatibility_key=key, cors_origins="http://app.example")
    with serving(own) as url, httpx.Client(base_url=url) as browser:
        answer = browser.post("/api/node", json={"label": "A"}, headers={"Origin": "http://app.example"})
        assert answer.json()["success"] is True
        assert answer.headers["access-control-allow-origin"] == "http://app.example"
        assert browser.get("/v1/flows").status_code == 401
        assert browser.get("/api/flow", headers={"Authorization": "Bearer wrong"}).status_code == 401
    with httpx.Client(base_url=gateway.url) as stranger:
        assert stranger.get("/api/flow").status_code == 401


@pytest.mark.slow
def test_a_browser_without_a_key_is_of_this_gateway_or_of_a_named_origin(gateway: Gateway, settings: Settings) -> None:
    """A foreign page can neither send a form here nor reach us by a name of its own."""
    own = with_http(settings, compatibility_key=gateway.key("pages"), cors_origins="http://app.example")
    node, as_json = b'{"label": "A"}', {"Content-Type": "application/json"}
    with serving(own) as url, httpx.Client(base_url=url) as browser:

        def answered(method: str, content: bytes | None = None, **headers: str) -> tuple[int, str | None]:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            path = "/api/node" if content else "/api/flow/undo" if method == "POST" else "/api/flow"
            answer = browser.request(method, path, content=content, headers=named)
            return answer.status_code, answer.json().get("code")

        assert answered("GET") == (200, None)
        assert answered("POST", Origin=url) == (200, None)
        assert answered("POST", node, **as_json, Origin=url) == (200, None)
        assert answered("POST", b'{"label": "B"}', **as_json, Origin="http://app.example") == (200, None)
        for origin in ("http://evil.example", "null", "http://127.0.0.1.evil.example"):
            assert answered("POST", node, **as_json, Origin=origin) == (403, "origin_not_allowed")
            assert answered("POST", Origin=origin) == (403, "origin_not_allowed")
        assert answered("GET", Host="evil.example") == (403, "origin_not_allowed")
        assert answered("POST", node, Content_Type="text/plain") == (415, "unsupported_media_type")
        assert answered("POST", node) == (415, "unsupported_media_type")


# With a worker and a model.


def tagged(*calls: tuple[str, Mapping[str, object]]) -> str:
    body = [{"type": "tool_use", "id": str(n), "name": name, "input": params} for n, (name, params) in enumerate(calls)]
    return f"<thinking>I see</thinking><response>{json.dumps(body)}</response>"


STEPS = [
    tagged(
        ("addNode", {"label": "Login"}),
        ("addNode", {"label": "Verify", "parentNodeId": "logn"}),
    ),
    tagged(
        ("addNode", {"label": "Verify", "parentNodeId": "login"}),
        ("addNode", {"label": "Home", "parentNodeId": "verify"}),
    ),
]


@pytest.mark.slow
def test_the_original_example_runs_with_a_failing_call_that_the_retry_repairs(
    chatting: httpx.Client, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"reply": {"text": STEPS[0]}, "times": 1}, {"reply": {"text": STEPS[1]}})
    message = "create a login flow with 3 steps"
    status, told = say(chatting, "POST", "/api/conversation/message", {"message": message})
    assert (status, told["success"], told["iterations"], told["thinking"]) == (200, True, 2, "I see")
    assert [node["id"] for node in told["updatedFlow"]["nodes"]] == ["login", "verify", "home"]
    assert [entry["nodeId"] for entry in told["execution"]] == ["login", "verify", "home"]
    assert [call["name"] for call in told["toolCalls"]] == ["addNode"] * 3
    *_, said, _, retry = scripted_llm.requests()[1]["body"]["messages"]
    assert said["content"] == message
    assert retry["content"].startswith('Current Flow State:\n{\n  "nodes": [\n    {\n      "id": "login",')
    assert "Parent node logn not found" in retry["content"].partition("User Request: ")[2]
    debug = say(chatting, "GET", "/api/conversation/debug")[1]
    assert (debug["messageCount"], debug["history"][0]["content"]) == (4, message)
    assert [entry["role"] for entry in debug["history"]] == ["user", "assistant"] * 2
    assert say(chatting, "POST", "/api/undo")[1]["flow"]["nodes"] == []
    assert say(chatting, "POST", "/api/undo")[1]["success"] is False
    scripted_llm.play({"reply": {"text": tagged(("redo", {}))}})
    status, told = say(chatting, "POST", "/api/conversation/message", {"message": "do it again"})
    assert len(told["updatedFlow"]["nodes"]) == 3
    asked = scripted_llm.requests()[0]["body"]["messages"]
    assert sum("do it again" in str(entry["content"]) for entry in asked) == 1
    assert [message == entry["content"] for entry in asked].count(True) == 1
    assert say(chatting, "DELETE", "/api/conversation/history") == (200, {"success": True})
    assert say(chatting, "GET", "/api/conversation/debug")[1] == {
        "history": [],
        "messageCount": 0,
        "oldestTimestamp": None,
        "newestTimestamp": None,
    }


@pytest.mark.slow
def test_a_repeated_message_with_the_same_key_is_answered_like_the_first(
    chatting: httpx.Client, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"reply": {"text": tagged(("addNode", {"label": "Only once"}))}})
    request: Json = {"json": {"message": "add a node"}, "headers": {"Idempotency-Key": "said-once"}}
    first, second = (chatting.post("/api/conversation/message", **request) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json()
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert len(scripted_llm.requests()) == 1


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("<thinking>no</thinking><response>[]</response>", {"success": True, "response": "No tool calls generated"}),
        ("<thinking>no</thinking><response>{x</response>", {"success": False, "iterations": 1}),
        (
            tagged(("deleteNode", {"nodeId": "nope"})),
            {
                "success": False,
                "iterations": 3,
                "message": "Failed after 3 attempts",
                "errors": [{"success": False, "error": "Node nope not found"}],
            },
        ),
    ],
)
def test_other_answers_have_the_bodies_of_the_contract(
    chatting: httpx.Client, scripted_llm: ScriptedLlm, reply: str, wanted: Json
) -> None:
    scripted_llm.play({"reply": {"text": reply}})
    status, told = say(chatting, "POST", "/api/conversation/message", {"message": "try"})
    assert status == 200
    assert {name: told[name] for name in wanted} == wanted
    if "{x" in reply:
        assert told["parseError"].startswith("Failed to parse tool calls: ")
        assert set(told) == {"success", "parseError", "thinking", "response", "iterations"}


def test_when_every_provider_fails_the_message_fails_with_500(
    chatting: httpx.Client, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"fault": "server_error"})
    told = say(chatting, "POST", "/api/conversation/message", {"message": "try"})
    assert told == (500, {"error": "Failed to process message"})


def test_a_layout_by_message_says_so_in_its_entry(chatting: httpx.Client, scripted_llm: ScriptedLlm) -> None:
    until(lambda: _answers(chatting, scripted_llm), "the providers are asked again", 120)
    flow = say(chatting, "POST", "/api/node", {"label": "Near"})[1]["flow"]
    astray = [{**node, "position": {"x": 999, "y": 10 * rank}} for rank, node in enumerate(flow["nodes"])]
    assert say(chatting, "POST", "/api/flow", {"nodes": astray, "edges": flow["edges"]})[0] == 200
    calls = tagged(("addNode", {"label": "Far"}), ("autoLayout", {}), ("autoLayout", {}))
    scripted_llm.play({"reply": {"text": calls}})
    answer = chatting.post("/api/conversation/message", json={"message": "arrange it"})
    added, first, second = answer.json()["execution"]
    assert (added, first) == ({"success": True, "nodeId": "far"}, {"success": True, "tool": "autoLayout"})
    assert second == {"success": True, "tool": "autoLayout", "didChange": False}
    assert answer.headers["etag"] == chatting.get("/api/flow").headers["etag"]
    chatting.post("/api/undo")


def test_a_message_is_one_undo_for_a_page_that_saves_its_layout(
    chatting: httpx.Client, scripted_llm: ScriptedLlm
) -> None:
    until(lambda: _answers(chatting, scripted_llm), "the providers are asked again", 120)
    before = chatting.get("/api/flow").json()
    wrong = tagged(("addNode", {"label": "Ask"}), ("addNode", {"label": "Pay", "parentNodeId": "asc"}))
    scripted_llm.play({"reply": {"text": wrong}, "times": 1}, {"reply": {"text": wrong.replace("asc", "ask")}})
    told = say(chatting, "POST", "/api/conversation/message", {"message": "ask, then pay"})[1]
    flow = told["updatedFlow"]
    assert (told["iterations"], len(flow["nodes"])) == (2, len(before["nodes"]) + 2)
    for x in (40, 250):
        moved = [{**node, "position": {"x": x * rank, "y": 9}} for rank, node in enumerate(flow["nodes"])]
        shown = [{**node, "measured": {"width": 172, "height": 76}, "selected": x == 250} for node in moved]
        assert say(chatting, "POST", "/api/flow", {"nodes": shown, "edges": flow["edges"]})[0] == 200
    undone = say(chatting, "POST", "/api/undo")[1]["flow"]
    assert [node["id"] for node in undone["nodes"]] == [node["id"] for node in before["nodes"]]


def test_notes_have_a_conversation_of_their_own(chatting: httpx.Client, scripted_llm: ScriptedLlm) -> None:
    until(lambda: _answers(chatting, scripted_llm), "the providers are asked again", 120)
    said = say(chatting, "GET", "/api/conversation/debug")[1]["messageCount"]
    first = '<thinking>Noted</thinking><response>["Users log in by mail"]</response>'
    second = '<thinking>More</thinking><response>{"Points": ["Sessions last a day"]}</response>'
    scripted_llm.play({"reply": {"text": first}, "times": 1}, {"reply": {"text": second}})
    assert say(chatting, "POST", "/api/notes", {"message": "log in by MAIL"})[1] == {
        "success": True, "bullets": ["Users log in by mail"], "newBullets": ["Users log in by mail"], "thinking": "Noted",  # noqa: E501
    }  # fmt: skip
    told = say(chatting, "POST", "/api/notes", {"message": "sessions"})[1]
    assert told["bullets"] == ["Users log in by mail", "Sessions last a day"]
    asked = [message["content"] for message in scripted_llm.requests()[1]["body"]["messages"]]
    assert asked[:2] == ["log in by MAIL", first]
    history = say(chatting, "GET", "/api/notes")[1]["conversationHistory"]
    assert [(one["role"], one["content"]) for one in history] == [
        ("user", "log in by MAIL"), ("assistant", first), ("user", "sessions"), ("assistant", second),
    ]  # fmt: skip
    assert say(chatting, "GET", "/api/conversation/debug")[1]["messageCount"] == said
    say(chatting, "DELETE", "/api/conversation/history")
    assert len(say(chatting, "GET", "/api/notes")[1]["conversationHistory"]) == 4


def test_a_failed_message_is_answered_again_with_the_first_status(
    chatting: httpx.Client, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"fault": "server_error"})
    request: Json = {"json": {"message": "add a node"}, "headers": {"Idempotency-Key": "failed-once"}}
    first = chatting.post("/api/conversation/message", **request)
    scripted_llm.play({"reply": {"text": tagged(("addNode", {"label": "Later"}))}})
    second = chatting.post("/api/conversation/message", **request)
    assert [(answer.status_code, answer.json()) for answer in (first, second)] == [
        (500, {"error": "Failed to process message"})
    ] * 2
    assert second.headers["idempotency-replayed"] == "true"


def test_notes_that_no_model_could_take_down_are_an_error(chatting: httpx.Client, scripted_llm: ScriptedLlm) -> None:
    bullets = say(chatting, "GET", "/api/notes")[1]["bullets"]
    scripted_llm.play({"fault": "server_error"})
    status, told = say(chatting, "POST", "/api/notes", {"message": "sessions"})
    assert (status, told["success"], told["error"]) == (500, False, "Failed to process notes")
    assert "groq" in told["detail"]
    assert say(chatting, "GET", "/api/notes")[1]["bullets"] == bullets


@pytest.mark.slow
def test_a_job_whose_time_was_spent_by_its_providers_names_them(
    chatting: httpx.Client, scripted_llm: ScriptedLlm
) -> None:
    until(lambda: _answers(chatting, scripted_llm), "the providers are asked again", 120)
    scripted_llm.play({"fault": "hang"})
    given = {"flow_id": chatting.post("/v1/flows", json={"name": "Slow"}).json()["id"], "message": "try"}
    body = {"kind": "flow", "input": given, "budget": {"seconds": 2}}
    job = chatting.post("/v1/jobs", json=body, headers={"Prefer": "wait=30"}).json()
    assert (job["state"], job["error"]["code"]) == ("failed", "budget_spent")
    attempts = job["error"]["attempts"]
    asked = [each for each in attempts if each["outcome"] != "skipped"]  # who still rests from an earlier test
    assert asked[0]["provider"] == "groq"
    assert all(each["outcome"] == "timed_out" and each["seconds"] > 0.2 for each in asked)
    assert "groq (openai/gpt-oss-120b): timed_out after " in job["error"]["detail"]


def test_the_same_message_runs_as_a_job_and_as_a_proposal(chatting: httpx.Client, scripted_llm: ScriptedLlm) -> None:
    until(lambda: _answers(chatting, scripted_llm), "the providers are asked again", 120)
    scripted_llm.play({"reply": {"text": STEPS[0]}, "times": 1}, {"reply": {"text": STEPS[1]}})
    flow = chatting.post("/v1/flows", json={"name": "Shop"}).json()
    given: Json = {"flow_id": flow["id"], "message": "create a login flow with 3 steps"}
    job = chatting.post("/v1/jobs", json={"kind": "flow", "input": given}, headers={"Prefer": "wait=30"}).json()
    assert (job["state"], job["result"]["success"], job["result"]["iterations"]) == ("succeeded", True, 2)
    assert job["result"]["flow"]["nodes"] == chatting.get(f"/v1/flows/{flow['id']}").json()["nodes"]
    entry = chatting.get(f"/v1/flows/{flow['id']}/history").json()["items"][0]
    assert (entry["origin"], entry["summary"]) == ("llm.tool", given["message"])
    assert (entry["job_id"], entry["tokens"]) == (job["id"], _tokens(job))
    scripted_llm.play({"reply": {"text": tagged(("addNode", {"label": "Extra", "parentNodeId": "home"}))}})
    given |= {"mode": "propose"}
    job = chatting.post("/v1/jobs", json={"kind": "flow", "input": given}, headers={"Prefer": "wait=30"}).json()
    path = f"/v1/flows/{flow['id']}/proposals/{job['result']['proposal_id']}"
    assert chatting.get(path).json()["state"] == "open"
    assert len(chatting.post(f"{path}/apply").json()["flow"]["nodes"]) == 4
    entry = chatting.get(f"/v1/flows/{flow['id']}/history").json()["items"][0]
    assert (entry["origin"], entry["job_id"], entry["tokens"]) == ("proposal", job["id"], _tokens(job))
    chatting.delete(f"/v1/jobs/{job['id']}")
    entry = chatting.get(f"/v1/flows/{flow['id']}/history").json()["items"][0]
    assert (entry["job_id"], entry["tokens"]) == (None, None), "a job that is gone is not named"


def _tokens(job: Json) -> int:
    """Return the job's tokens: more than none, or the test would show nothing."""
    tokens = int(job["usage"]["input_tokens"] + job["usage"]["output_tokens"])
    assert tokens
    return tokens


def _answers(client: httpx.Client, scripted_llm: ScriptedLlm) -> bool:
    scripted_llm.play({"reply": {"text": tagged()}})
    return say(client, "POST", "/api/conversation/message", {"message": "hello"})[0] == 200
