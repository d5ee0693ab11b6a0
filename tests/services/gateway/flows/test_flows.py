"""Flows over HTTP: documents, operations, undo, versions, proposals, forms."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2 as httpx
import pytest
from sqlalchemy import text

from shared.flows import editing, proposals
from shared.flows.batch import Batch
from shared.flows.calls import Call
from shared.flows.store import Author, FlowStore
from tests.services.gateway.conftest import Gateway

Json = dict[str, Any]

EDITS = 100  #: of each of two clients at once


def make(client: httpx.Client, *labels: str, **more: Any) -> Json:
    nodes = [{"id": label, "position": {"x": 0, "y": 0}, "data": {"label": label}} for label in labels]
    answer = client.post("/v1/flows", json={"name": "Test", "nodes": nodes, **more})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def operate(client: httpx.Client, flow: Json, *calls: tuple[str, Json], **more: Any) -> Json:
    body = {"tool_calls": [{"name": name, "params": params} for name, params in calls], **more}
    answer = client.post(f"/v1/flows/{flow['id']}/operations", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def ids(flow: Json) -> list[str]:
    return [node["id"] for node in flow["nodes"]]


@pytest.mark.slow
def test_a_flow_is_created_read_listed_and_deleted(client: httpx.Client, other: httpx.Client) -> None:
    answer = client.post("/v1/flows", json={"name": "Shop", "nodes": [{"id": "a"}], "edges": []})
    flow = answer.json()
    assert (answer.status_code, answer.headers["etag"]) == (201, '"v1"')
    assert answer.headers["location"] == f"/v1/flows/{flow['id']}"
    assert flow["nodes"] == [{"id": "a", "type": "default", "position": {"x": 0, "y": 0}, "data": {"label": ""}}]
    assert flow["settings"]["dimensions"]["node"]["default"] == {"width": 172, "height": 76, "borderRadius": 4}
    read = client.get(f"/v1/flows/{flow['id']}")
    assert read.json() == flow
    assert client.get(f"/v1/flows/{flow['id']}", headers={"If-None-Match": '"v1"'}).status_code == 304
    assert other.get(f"/v1/flows/{flow['id']}").status_code == 404
    assert other.post(f"/v1/flows/{flow['id']}/undo").status_code == 404
    listed = client.get("/v1/flows", params={"limit": 1}).json()
    assert listed["items"][0]["id"] == flow["id"]
    assert listed["items"][0]["nodes_count"] == 1
    versions = client.get(f"/v1/flows/{flow['id']}/versions").json()
    assert listed["items"][0]["actor_name"] == versions["items"][0]["actor_name"] is not None
    assert client.delete(f"/v1/flows/{flow['id']}").status_code == 204
    assert client.get(f"/v1/flows/{flow['id']}").status_code == 404


@pytest.mark.parametrize(
    ("node", "label"),
    [
        ({"label": "Start"}, "Start"),
        ({"label": "Start", "data": {"shape": "round"}}, "Start"),
        ({"label": "Start", "data": {"label": "Begin"}}, "Begin"),
        ({"label": 5}, ""),
    ],
)
def test_a_label_beside_the_data_of_a_node_is_its_label(client: httpx.Client, node: Json, label: str) -> None:
    flow = client.post("/v1/flows", json={"name": "Checkout", "nodes": [{"id": "a", **node}]}).json()
    assert flow["nodes"][0]["data"]["label"] == label
    assert {**node.get("data", {}), "label": label} == flow["nodes"][0]["data"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"name": "x", "nodes": [{"id": "a"}, {"id": "a"}]}, 422, "invalid_request"),
        ({"name": "x", "nodes": [{}]}, 422, "invalid_request"),
        ({"name": "x", "nodes": [{"id": "a", "position": {"x": "1", "y": 0}}]}, 422, "invalid_request"),
        ({"name": "x", "nodes": [{"id": "i" * 10_000}]}, 422, "invalid_request"),
        ({"name": "x", "edges": [{"id": "e", "source": "a"}]}, 422, "invalid_request"),
        ({"name": "x", "settings": {"colors": {"background": "url(x)"}}}, 422, "invalid_request"),
        ({"name": "x", "settings": {"dimensions": {"zoom": 9}}}, 422, "invalid_request"),
        ({"name": "x", "bogus": 1}, 422, "invalid_request"),
        ({"name": "x", "nodes": [{"id": str(n)} for n in range(20_001)]}, 413, "flow_too_large"),
        ({"name": "x", "nodes": "many"}, 422, "invalid_request"),
    ],
)
def test_a_document_that_does_not_fit_is_refused(client: httpx.Client, body: Json, status: int, code: str) -> None:
    answer = client.post("/v1/flows", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_what_a_front_end_keeps_in_its_nodes_comes_back_word_for_word(client: httpx.Client) -> None:
    node = {
        "id": "a",
        "type": "custom",
        "position": {"x": 1.5, "y": -2},
        "data": {"label": "<b>x</b>", "extra": [1, {"deep": None}]},
        "measured": {"width": 10},
        "selected": True,
    }
    flow = make(client, nodes=[node])
    assert client.get(f"/v1/flows/{flow['id']}").json()["nodes"] == [node]


def test_what_react_flow_writes_as_an_object_is_accepted_without_what_a_page_shows(client: httpx.Client) -> None:
    written: Json = {"nodes": [{"id": "a"}], "edges": [], "viewport": {"x": 12, "y": -3.5, "zoom": 0.8}}
    made = client.post("/v1/flows", json=written)
    assert made.status_code == 201, made.text
    assert "viewport" not in made.json()
    assert client.put(f"/v1/flows/{made.json()['id']}", json=written).status_code == 200
    wrong = {**written, "viewport": {"x": "left"}}
    assert client.post("/v1/flows", json=wrong).json()["errors"][0]["loc"] == ["body", "viewport", "x"]


def test_operations_run_in_order_and_answer_one_by_one(client: httpx.Client) -> None:
    flow = make(client)
    done = operate(
        client,
        flow,
        ("addNode", {"label": "Login"}),
        ("addNode", {"label": "Home", "parentNodeId": "logn"}),
        ("addEdge", {"sourceNodeId": "login", "targetNodeId": "login"}),
    )
    assert done["success"] is False
    assert [entry["success"] for entry in done["execution"]] == [True, False, True]
    assert done["execution"][0]["node_id"] == "login"
    assert done["execution"][1]["error"] == "Parent node logn not found"
    assert "Login" in done["execution"][1]["suggestions"] or "login" in done["execution"][1]["suggestions"]
    assert done["execution"][2]["edge_id"] == done["flow"]["edges"][0]["id"]
    assert (ids(done["flow"]), done["version"], done["flow"]["version"]) == (["login"], 2, 2)


def test_an_atomic_batch_is_all_or_nothing(client: httpx.Client) -> None:
    flow = make(client)
    calls = [("addNode", {"label": "A"}), ("deleteNode", {"nodeId": "nope"})]
    done = operate(client, flow, *calls, atomic=True)
    assert (done["success"], done["version"], done["flow"]["nodes"]) == (False, 1, [])
    assert done["execution"][1]["error"] == "Node nope not found"


def test_undo_and_redo_go_step_by_step_and_say_when_there_is_nothing_left(client: httpx.Client) -> None:
    flow = make(client, "x")
    path = f"/v1/flows/{flow['id']}"
    operate(client, flow, ("addNode", {"label": "A"}))
    undone = client.post(f"{path}/undo").json()
    assert (undone["success"], ids(undone["flow"]), undone["version"]) == (True, ["x"], 3)
    assert undone["summary"] == "addNode"
    assert client.get(f"{path}/history").json()["items"][0]["undone_version"] == 3
    assert client.post(f"{path}/undo", json={"scope": "all"}).json()["message"] == "Nothing to undo"
    assert client.post(f"{path}/undo").json()["success"] is False
    redone = client.post(f"{path}/redo").json()
    assert (ids(redone["flow"]), redone["version"], redone["summary"]) == (["x", "a"], 4, "addNode")
    assert client.post(f"{path}/redo").json() == {"success": False, "message": "Nothing to redo", "version": 4}
    history = client.get(f"{path}/history").json()["items"]
    assert [(entry["version"], entry["summary"], entry["undone"]) for entry in history] == [(2, "addNode", False)]
    assert client.post(f"{path}/undo", json={"scope": "theirs"}).status_code == 422


def test_a_branch_goes_on_from_a_version_and_says_from_which(client: httpx.Client) -> None:
    flow = make(client, "x")
    path = f"/v1/flows/{flow['id']}"
    operate(client, flow, ("addNode", {"label": "A", "parentNodeId": "x"}))
    then = client.get(f"{path}/versions/2").json()
    operate(client, flow, ("deleteNode", {"nodeId": "x"}))
    made = client.post(f"{path}/versions/2/branch", json={"name": "Other way"})
    branch = made.json()
    assert (made.status_code, branch["name"], branch["version"]) == (201, "Other way", 1)
    assert all(branch[part] == then[part] for part in ("nodes", "edges", "settings")), "the same ids"
    assert client.get(path).json()["version"] == 3, "the other stays as it is"

    def source() -> object:
        versions = client.get(f"/v1/flows/{branch['id']}/versions").json()["items"]
        assert [each["kind"] for each in versions] == ["change", "create"]
        assert versions[0]["branched_from"] is None
        return versions[1]["branched_from"]

    operate(client, branch, ("addNode", {"label": "B"}))
    assert source() == {"flow_id": flow["id"], "version": 2, "name": flow["name"]}
    named = client.post(f"{path}/versions/1/branch").json()["name"]
    assert named == f"{flow['name']}, from version 1"
    assert client.post(f"{path}/versions/9/branch").status_code == 404
    assert client.post(f"{path}/versions/1/branch", json={"name": ""}).status_code == 422
    client.delete(path)
    assert source() == {"flow_id": flow["id"], "version": 2, "name": None}


def test_undo_of_mine_conflicts_with_what_another_key_built_on_it(gateway: Gateway) -> None:
    with gateway.client("duo") as anne, gateway.client("duo") as bert:
        flow = make(anne)
        path = f"/v1/flows/{flow['id']}"
        operate(anne, flow, ("addNode", {"label": "A"}))
        operate(bert, flow, ("updateNode", {"nodeId": "a", "label": "B"}))
        refused = anne.post(f"{path}/undo", json={"scope": "mine"})
        assert (refused.status_code, refused.json()["conflicts"]) == (409, [{"kind": "node", "id": "a"}])
        assert bert.post(f"{path}/undo", json={"scope": "mine"}).json()["success"] is True
        assert anne.post(f"{path}/undo", json={"scope": "mine"}).json()["flow"]["nodes"] == []
        entries = anne.get(f"{path}/history").json()["items"]
        assert len({entry["actor"] for entry in entries}) == 2
        assert all(entry["actor_name"] for entry in entries), "as its key is called"


def test_a_stale_if_match_is_refused_and_a_current_one_is_not(client: httpx.Client) -> None:
    flow = make(client)
    path = f"/v1/flows/{flow['id']}"
    body = {"tool_calls": [{"name": "addNode", "params": {"label": "A"}}]}
    assert client.post(f"{path}/operations", json=body, headers={"If-Match": '"v1"'}).headers["etag"] == '"v2"'
    for method, target, sent in [
        ("POST", f"{path}/operations", body),
        ("PUT", path, {"nodes": [], "edges": []}),
        ("POST", f"{path}/undo", None),
        ("POST", f"{path}/layout", None),
        ("DELETE", path, None),
    ]:
        answer = client.request(method, target, json=sent, headers={"If-Match": '"v1"'})
        assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    assert client.get(path).json()["version"] == 2
    assert client.put(path, json={"nodes": [], "edges": []}, headers={"If-Match": 'W/"v1", "v2"'}).status_code == 200


@pytest.mark.slow
def test_two_clients_with_if_match_lose_nothing(gateway: Gateway, client: httpx.Client) -> None:
    flow = make(client)
    path = f"/v1/flows/{flow['id']}"
    conflicts = []

    def edit(who: int) -> None:
        with gateway.client() as own:
            version = 1
            for number in range(EDITS):
                body = {"tool_calls": [{"name": "addNode", "params": {"label": f"W{who} N{number}"}}]}
                while True:
                    answer = own.post(f"{path}/operations", json=body, headers={"If-Match": f'"v{version}"'})
                    if answer.status_code == 200:
                        version = answer.json()["version"]
                        break
                    assert answer.status_code == 412
                    conflicts.append(who)
                    version = own.get(path).json()["version"]

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(edit, range(2)))
    current = client.get(path).json()
    assert sorted(ids(current)) == sorted(f"w{who}_n{number}" for who in range(2) for number in range(EDITS))
    assert current["version"] == 2 * EDITS + 1


def test_a_repeated_request_with_an_idempotency_key_is_done_once(client: httpx.Client) -> None:
    flow = make(client)
    body = {"tool_calls": [{"name": "addNode", "params": {"label": "🎉"}}]}
    answers = [
        client.post(f"/v1/flows/{flow['id']}/operations", json=body, headers={"Idempotency-Key": "k1"})
        for _ in range(2)
    ]
    assert answers[0].json() == answers[1].json()
    assert len(client.get(f"/v1/flows/{flow['id']}").json()["nodes"]) == 1


def test_a_save_replaces_the_document_and_can_be_undone(client: httpx.Client) -> None:
    flow = make(client, "a", "b", settings={"dimensions": {"zoom": 2}})
    path = f"/v1/flows/{flow['id']}"
    assert client.put(path, json=client.get(path).json()).json()["version"] == 1
    saved = client.put(path, json={**flow, "nodes": flow["nodes"][:1], "settings": {}}).json()
    assert (ids(saved), saved["version"], saved["settings"]["dimensions"]["zoom"]) == (["a"], 2, 1)
    undone = client.post(f"{path}/undo").json()["flow"]
    assert (ids(undone), undone["settings"]) == (["a", "b"], flow["settings"])
    renamed = client.put(path, json={"name": "New", "nodes": undone["nodes"], "edges": []}).json()
    assert (renamed["name"], renamed["settings"]["dimensions"]["zoom"]) == ("New", 2)
    assert client.put(path, json={"nodes": []}).status_code == 422


def test_versions_can_be_read_compared_named_and_restored(client: httpx.Client) -> None:
    flow = make(client, "a")
    path = f"/v1/flows/{flow['id']}"
    operate(client, flow, ("addNode", {"label": "B", "parentNodeId": "a"}))
    operate(client, flow, ("deleteNode", {"nodeId": "a"}))
    assert [ids(client.get(f"{path}/versions/{n}").json()) for n in (1, 2, 3)] == [["a"], ["a", "b"], ["b"]]
    diff = client.get(f"{path}/diff", params={"from": 1, "to": 3}).json()
    assert [(entry["op"], entry["kind"], entry["id"]) for entry in diff["operations"]] == [
        ("remove", "node", "a"),
        ("add", "node", "b"),
    ]
    assert diff["mermaid"].startswith("flowchart")
    named = client.put(f"{path}/versions/2", json={"name": "Before the cut"}).json()
    assert (named["version"], named["name"]) == (2, "Before the cut")
    listed = client.get(f"{path}/versions").json()["items"]
    assert [(entry["version"], entry["kind"], entry["name"]) for entry in listed] == [
        (3, "change", None),
        (2, "change", "Before the cut"),
        (1, "create", None),
    ]
    assert all(entry["actor_name"] for entry in listed)
    restored = client.post(f"{path}/versions/2/restore").json()
    assert (ids(restored["flow"]), restored["version"]) == (["a", "b"], 4)
    assert ids(client.post(f"{path}/undo").json()["flow"]) == ["b"]
    for wrong in ("9", "0", "x"):
        assert client.get(f"{path}/versions/{wrong}").status_code in (404, 422)
    assert client.get(f"{path}/diff", params={"from": 1, "to": 99}).status_code == 404
    assert client.get(f"{path}/diff").status_code == 422


def test_the_history_comes_in_pages(client: httpx.Client) -> None:
    flow = make(client)
    for number in range(5):
        operate(client, flow, ("addNode", {"label": f"N{number}"}))
    seen: list[int] = []
    cursor = None
    while True:
        params = {"limit": "2", **({"cursor": cursor} if cursor else {})}
        page = client.get(f"/v1/flows/{flow['id']}/history", params=params).json()
        seen += [entry["version"] for entry in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [6, 5, 4, 3, 2]
    assert client.get(f"/v1/flows/{flow['id']}/history", params={"cursor": "!"}).status_code == 422


def propose(gateway: Gateway, flow: Json, *calls: Call) -> str:
    store, proposal_id = FlowStore(), proposals.new_id()
    with gateway.engine.begin() as connection:
        read = store.read(connection, "acme", flow["id"])
        batch = Batch(read.document)
        batch.run(calls)
        proposals.propose(connection, proposal_id, read, "test", "Add things", batch.draft.operations()[0])
    return proposal_id


def test_a_proposal_is_read_applied_once_and_never_on_another_version(gateway: Gateway, client: httpx.Client) -> None:
    flow = make(client, "x")
    path = f"/v1/flows/{flow['id']}"
    first, second = (propose(gateway, flow, Call("addNode", {"label": "A", "parentNodeId": "x"})) for _ in range(2))
    shown = client.get(f"{path}/proposals/{first}").json()
    assert [entry["kind"] for entry in shown["operations"]] == ["node", "edge"]
    assert (shown["state"], shown["base_version"], shown["lint"]) == ("open", 1, [])
    assert client.post(f"{path}/proposals/{first}/apply", json={"accept": [1]}).status_code == 422
    applied = client.post(f"{path}/proposals/{first}/apply", headers={"If-Match": '"v1"'}).json()
    assert (ids(applied["flow"]), applied["version"]) == (["x", "a"], 2)
    assert client.post(f"{path}/proposals/{first}/apply").status_code == 409
    assert client.post(f"{path}/proposals/{second}/apply").status_code == 412
    assert client.post(f"{path}/proposals/{second}/discard").json()["state"] == "discarded"
    assert client.post(f"{path}/proposals/{second}/discard").status_code == 409
    assert client.post(f"{path}/proposals/nope/apply").status_code == 404
    assert ids(client.post(f"{path}/undo").json()["flow"]) == ["x"]


def test_a_proposal_outlives_the_version_that_it_was_made_on(gateway: Gateway, client: httpx.Client) -> None:
    flow = make(client, "x")
    path = f"/v1/flows/{flow['id']}"
    first, second = (propose(gateway, flow, Call("addNode", {"label": "A", "parentNodeId": "x"})) for _ in range(2))
    operate(client, flow, ("addNode", {"label": "B"}))
    whole = client.get(f"{path}/proposals/{first}").json()
    with gateway.engine.begin() as connection:
        connection.execute(text("DELETE FROM flow_versions WHERE flow_id = :id AND version < 2"), {"id": flow["id"]})
    shown = client.get(f"{path}/proposals/{first}")
    assert shown.status_code == 200, shown.text
    assert whole["mermaid"] != ""
    assert shown.json() == {**whole, "lint": [], "mermaid": ""}
    assert [each["id"] for each in client.get(f"{path}/proposals").json()["items"]] == [second, first]
    assert client.post(f"{path}/proposals/{first}/apply").status_code == 412
    assert client.post(f"{path}/proposals/{first}/discard").json()["state"] == "discarded"


def test_exports_are_raw_text_and_come_back_by_import(client: httpx.Client) -> None:
    flow = make(client, "a")
    operate(client, flow, ("addNode", {"label": 'B "<i>"', "parentNodeId": "a", "edgeLabel": "x|y"}))
    path = f"/v1/flows/{flow['id']}/export"
    forms = {name: client.get(path, params={"format": name}) for name in ("mermaid", "dot", "json", "svg")}
    assert [answer.headers["content-type"].split(";")[0] for answer in forms.values()] == [
        "text/plain",
        "text/vnd.graphviz",
        "application/json",
        "image/svg+xml",
    ]
    assert forms["mermaid"].text.startswith("flowchart LR\n")
    assert all("<i>" not in forms[name].text for name in ("mermaid", "svg"))
    assert client.get(path, params={"format": "png"}).status_code == 422
    for name in ("mermaid", "json"):
        answer = client.post("/v1/flows/import", json={"format": name, "text": forms[name].text})
        assert (answer.status_code, answer.json()["warnings"]) == (201, [])
        assert [node["data"]["label"] for node in answer.json()["nodes"]] == ["a", 'B "<i>"']


def test_lines_that_an_import_does_not_understand_are_reported(client: httpx.Client) -> None:
    text = "graph LR\nA --> B\nclick A href\nB ~~~ C"
    answer = client.post("/v1/flows/import", json={"format": "mermaid", "text": text})
    assert answer.json()["warnings"] == [{"line": 3, "text": "click A href"}, {"line": 4, "text": "B ~~~ C"}]
    for wrong in (
        {"format": "mermaid", "text": "pie"},
        {"format": "json", "text": "{"},
        {"format": "dot", "text": "x"},
    ):
        assert client.post("/v1/flows/import", json=wrong).status_code == 422
    large = json.dumps({"nodes": [{"id": str(n)} for n in range(20_001)], "edges": []})
    refused = client.post("/v1/flows/import", json={"format": "json", "text": large})
    assert (refused.status_code, refused.json()["code"]) == (413, "flow_too_large")


def test_a_layout_is_one_change_and_the_second_one_none(client: httpx.Client) -> None:
    edges = [{"id": "e", "source": "a", "target": "b"}]
    flow = make(client, "a", "b", edges=edges)
    path = f"/v1/flows/{flow['id']}"
    first = client.post(f"{path}/layout", json={"direction": "TB"}).json()
    assert [node["position"] for node in first["flow"]["nodes"]] == [{"x": 0, "y": 0}, {"x": 0, "y": 126}]
    assert (first["did_change"], first["version"]) == (True, 2)
    again = client.post(f"{path}/layout", json={"direction": "TB"}).json()
    assert (again["did_change"], again["version"]) == (False, 2)
    assert client.post(f"{path}/layout", json={"direction": "up"}).status_code == 422


def test_a_reader_may_not_write(gateway: Gateway) -> None:
    with gateway.client("acme", "read") as reader:
        assert reader.post("/v1/flows", json={"name": "x"}).status_code == 403
        assert reader.get("/v1/flows").status_code == 200


def test_two_clients_follow_one_flow_live_and_resume(gateway: Gateway, client: httpx.Client) -> None:
    flow = make(client, "x")
    path = f"/v1/flows/{flow['id']}/events"
    heard: list[tuple[str, Json]] = []
    ready = threading.Event()

    def follow() -> None:
        with gateway.client() as own, own.stream("GET", path, params={"after": 1}) as stream:
            name = ""
            for line in stream.iter_lines():
                ready.set()
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    heard.append((name, json.loads(line.removeprefix("data: "))))
                    if len(heard) == 2:
                        return

    thread = threading.Thread(target=follow)
    thread.start()
    assert ready.wait(60)
    operate(client, flow, ("addNode", {"label": "two\u2028lines"}))  # many a client ends a line there
    client.post(f"/v1/flows/{flow['id']}/undo")
    thread.join(60)
    assert not thread.is_alive()
    assert [(name, data["version"], data["operations"][0]["op"]) for name, data in heard] == [
        ("change", 2, "add"),
        ("undo", 3, "remove"),
    ]
    with client.stream("GET", path, headers={"Last-Event-ID": "2"}) as stream:
        first = next(line for line in stream.iter_lines() if line.startswith("id: "))
    assert first == "id: 3"
    with client.stream("GET", path) as stream:
        data = next(line for line in stream.iter_lines() if line.startswith("data: "))
    beginning = json.loads(data.removeprefix("data: "))
    assert [(entry["op"], entry["id"]) for entry in beginning["operations"]] == [("add", "x")]
    assert client.get("/v1/flows/nope/events").status_code == 404


def test_a_workers_change_is_heard_though_no_notification_tells_it(gateway: Gateway, client: httpx.Client) -> None:
    flow = make(client, "x")
    with client.stream("GET", f"/v1/flows/{flow['id']}/events", params={"after": 1}) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("retry:")
        with gateway.engine.begin() as connection:
            store = FlowStore()
            locked = store.lock(connection, "acme", flow["id"])
            editing.edit(store, connection, locked, [Call("addNode", {"label": "two"})], Author("worker", "job"))
        assert next(line for line in lines if line.startswith("id: ")) == "id: 2"


def test_a_saved_answer_says_itself_which_version_it_was_made_from(client: httpx.Client) -> None:
    flow = make(client, "a")
    read = client.get(f"/v1/flows/{flow['id']}").json()
    operate(client, flow, ("addNode", {"label": "Theirs"}))
    read["nodes"][0]["data"]["label"] = "changed"
    refused = client.put(f"/v1/flows/{flow['id']}", json=read)
    assert (refused.status_code, refused.json()["version"]) == (412, 2)
    assert [change["id"] for change in refused.json()["changed"]] == ["theirs"]
    assert ids(client.get(f"/v1/flows/{flow['id']}").json()) == ["a", "theirs"]
    newer = client.put(f"/v1/flows/{flow['id']}", json={**read, "version": 99})
    assert newer.status_code == 412
    forced = client.put(f"/v1/flows/{flow['id']}", json=read, headers={"If-Match": '"v2"'})
    assert (forced.status_code, ids(forced.json())) == (200, ["a"])
    again = client.put(f"/v1/flows/{flow['id']}", json={**forced.json(), "name": "Again"})
    assert (again.status_code, again.json()["name"]) == (200, "Again")
