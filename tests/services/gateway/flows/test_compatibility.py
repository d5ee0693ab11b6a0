"""The original front end works unchanged: paths, bodies and statuses are exactly those of its server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from services.gateway.settings import Settings
from shared.llm.settings import ProviderSettings
from tests.services.gateway.conftest import Gateway, serving, settings_of, with_http
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
    assert (status, told["bullets"], told["newBullets"]) == (200, ["one", "two", "three"], ["two", "three"])
    unfit: list[tuple[str, Json]] = [("PUT", {"bullets": "x"}), ("PUT", {}), ("POST", {})]
    for method, body in unfit:
        status, told = say(app, method, "/api/notes", body)
        assert (status, told["success"]) == (400, False)
    assert say(app, "GET", "/api/notes")[1]["bullets"] == ["one", "two", "three"]


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


# With a worker and a model.


def tagged(*calls: tuple[str, Mapping[str, object]]) -> str:
    body = [{"type": "tool_use", "id": str(n), "name": name, "input": params} for n, (name, params) in enumerate(calls)]
    return f"<thinking>I see</thinking><response>{json.dumps(body)}</response>"


@pytest.fixture(scope="module")
def chatting(gateway: Gateway, scripted_llm: ScriptedLlm) -> Iterator[httpx.Client]:
    """A client of a gateway with a flows worker and scripted models."""
    settings = settings_of(gateway.settings.stores)
    providers = ProviderSettings(scripted_llm.environment(["groq", "cerebras"]))
    stores = settings.stores
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")},
        **scripted_llm.environment(["groq", "cerebras"]),
        "DATABASE_URL": stores.database_url,
        "REDIS_URL": stores.redis_url,
        "BLOB_URL": stores.blob_url,
    }
    worker = subprocess.Popen([sys.executable, "-m", "services.flows"], env=environment, cwd=Path(__file__).parents[4])
    try:
        with serving(replace(settings, providers=providers)) as url:
            key = gateway.key("chat")
            with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
                until(lambda: _ready(client), "the flows worker", 90)
                yield client
    finally:
        worker.terminate()
        worker.wait(60)


def _ready(client: httpx.Client) -> bool:
    return bool(client.get("/v1/capabilities").json()["kinds"]["flow"]["state"] == "ready")


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
                "errors": ["Node nope not found"],
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
    scripted_llm.play({"reply": {"text": tagged(("addNode", {"label": "Extra", "parentNodeId": "home"}))}})
    given |= {"mode": "propose"}
    job = chatting.post("/v1/jobs", json={"kind": "flow", "input": given}, headers={"Prefer": "wait=30"}).json()
    path = f"/v1/flows/{flow['id']}/proposals/{job['result']['proposal_id']}"
    assert chatting.get(path).json()["state"] == "open"
    assert len(chatting.post(f"{path}/apply").json()["flow"]["nodes"]) == 4


def _answers(client: httpx.Client, scripted_llm: ScriptedLlm) -> bool:
    scripted_llm.play({"reply": {"text": tagged()}})
    return say(client, "POST", "/api/conversation/message", {"message": "hello"})[0] == 200
