"""``/mcp`` over real HTTP, by the SDK's own client; the tests end jobs in place of a worker."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from sqlalchemy import text
from sqlalchemy.exc import NoResultFound

from services.gateway.settings import Settings
from shared.contracts.keys import Scope
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway, serving, with_http

RESULT: dict[str, Any] = {
    "verdict": "ok", "stdout": "42\n", "stderr": "", "truncated": False, "error": None, "value": None, "displays": [],
    "artifacts": [], "usage": {"wall_ms": 1, "cpu_ms": 1, "peak_memory_mb": 1}, "isolation": {"tier": "bubblewrap"},
}  # fmt: skip
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_jobs", "arguments": {}}}
ACCEPT = {"Accept": "application/json, text/event-stream"}
_PATIENCE = 240  #: seconds that an answer may take on a machine that others use
_WAITS = 4  #: of 50 s each, until a job of one among fifty clients has to have ended


@asynccontextmanager
async def connected(url: str, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=_PATIENCE) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def message_of(stream: str) -> dict[str, Any]:
    """The one message of an event stream."""
    (line,) = [line for line in stream.splitlines() if line.startswith("data: {")]
    message: dict[str, Any] = json.loads(line[6:])
    return message


def talk(gateway: Gateway, use: Callable[[Client], Awaitable[None]], *scopes: Scope, mode: str = "auto") -> None:
    """Connect with a new key of the tenant ``acme``, and do that."""

    async def main() -> None:
        async with connected(gateway.url, gateway.key("acme", *scopes), mode) as client:
            await use(client)

    anyio.run(main)


@contextmanager
def working(gateway: Gateway) -> Iterator[None]:
    """A worker that ends whatever job of the kind ``execute`` comes."""
    done = threading.Event()
    workers.advertise(gateway.engine)

    def work() -> None:
        while not done.wait(0.01):
            try:
                job_id, fence = workers.claim(gateway.engine)
            except NoResultFound:
                continue
            workers.complete(gateway.engine, job_id, fence, RESULT, gateway.settings.stores.redis_url)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(20)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_job_is_run_told_of_and_read_again(gateway: Gateway, mode: str) -> None:
    told: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def use(client: Client) -> None:
        ran = await client.call_tool("run_code", {"code": "print(42)"}, progress_callback=on_progress)
        report = ran.structured_content
        assert not ran.is_error
        assert report["result"]["stdout"] == "42\n"
        again = await client.call_tool("get_job", {"job_id": report["job_id"], "wait_seconds": 50})
        assert again.structured_content["result"] == report["result"]
        whole = (await client.read_resource(report["result_uri"])).contents[0]
        assert json.loads(getattr(whole, "text", ""))["stdout"] == "42\n"
        listed = (await client.list_resources()).resources
        assert report["result_uri"] in [resource.uri for resource in listed]

    with working(gateway):
        talk(gateway, use, mode=mode)
    assert told[0] is not None
    assert "is queued" in told[0]
    assert told[-1] == "job succeeded"


@pytest.mark.slow
def test_fifty_clients_at_once_get_each_their_own_answer(gateway: Gateway) -> None:
    keys = [gateway.key(f"tenant{number % 5}") for number in range(50)]
    seen: dict[int, str] = {}

    async def by_sdk(number: int) -> None:
        async with connected(gateway.url, keys[number]) as client:
            ran = await client.call_tool("run_code", {"code": f"print({number})", "wait_seconds": 50})
            for _ in range(_WAITS):
                if ran.structured_content["finished"]:
                    break
                again = {"job_id": ran.structured_content["job_id"], "wait_seconds": 50}
                ran = await client.call_tool("get_job", again)
            assert ran.structured_content["finished"]
            seen[number] = ran.structured_content["job_id"]

    async def by_hand(number: int) -> None:
        """The SDK's client spends a tenth of a second of processor time on the schema of each tool."""
        params = {"name": "run_code", "arguments": {"code": f"print({number})", "wait_seconds": 50}}
        headers = {**ACCEPT, "Authorization": f"Bearer {keys[number]}"}
        async with httpx2.AsyncClient(base_url=gateway.url, headers=headers, timeout=_PATIENCE) as client:
            for _ in range(_WAITS):
                told = message_of((await client.post("/mcp", json={**CALL, "id": number, "params": params})).text)
                assert told["id"] == number
                report = told["result"]["structuredContent"]
                if report["finished"]:
                    break
                params = {"name": "get_job", "arguments": {"job_id": report["job_id"], "wait_seconds": 50}}
        assert report["finished"]
        seen[number] = report["job_id"]

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(by_sdk if number % 10 == 0 else by_hand, number)

    with working(gateway):
        anyio.run(main)
    assert len(set(seen.values())) == 50
    with gateway.engine.connect() as connection:
        for number in (0, 49):
            row = connection.execute(
                text("select tenant_id, input ->> 'code' as code from jobs where id = :id"), {"id": seen[number]}
            ).one()
            assert (row.tenant_id, row.code) == (f"tenant{number % 5}", f"print({number})")


def test_another_tenants_job_is_not_found_by_its_id(gateway: Gateway) -> None:
    with gateway.client("other") as other:
        body = {"kind": "execute", "input": {"language": "python", "code": "1"}}
        id = other.post("/v1/jobs", json=body).json()["id"]

    async def use(client: Client) -> None:
        for tool in ("get_job", "cancel_job"):
            looked = await client.call_tool(tool, {"job_id": id})
            assert looked.is_error
            assert getattr(looked.content[0], "text", "").startswith("not_found: ")
        with pytest.raises(Exception, match="job"):
            await client.read_resource(f"assay://jobs/{id}/result")

    talk(gateway, use)


def test_a_key_that_reads_has_only_tools_that_read(gateway: Gateway) -> None:
    async def use(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"get_job", "list_jobs"}
        refused = await client.call_tool("run_code", {"code": "1"})
        assert refused.is_error
        assert getattr(refused.content[0], "text", "").startswith("missing_scope: ")

    talk(gateway, use, "read")


def test_a_client_that_goes_away_leaves_its_job(gateway: Gateway) -> None:
    key = gateway.key("gone")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "run_code", "arguments": {"code": "1", "wait_seconds": 50},
                       "_meta": {"progressToken": "t"}}}  # fmt: skip
    with gateway.client_of(key) as client:
        with client.stream("POST", "/mcp", json=call, headers=ACCEPT) as response:
            lines = response.iter_lines()
            progress = json.loads(next(line for line in lines if line.startswith("data: {"))[6:])
        assert progress["method"] == "notifications/progress"
        id = progress["params"]["message"].split()[1]

        async def look() -> None:
            async with connected(gateway.url, key) as again:
                jobs = await again.call_tool("list_jobs", {"mine": True, "state": "queued"})
                assert [job["job_id"] for job in jobs.structured_content["jobs"]] == [id]
                ended = await again.call_tool("cancel_job", {"job_id": id})
                assert ended.structured_content["state"] == "cancelled"

        anyio.run(look)


def test_who_shows_no_key_is_told_where_to_read_about_it(gateway: Gateway) -> None:
    with httpx2.Client(base_url=gateway.url) as client:
        for headers in ({}, {"Authorization": "Bearer ask_wrong"}, {"Authorization": "Basic x"}):
            answer = client.post("/mcp", json=CALL, headers={**ACCEPT, **headers})
            assert answer.status_code == 401
            assert answer.json()["code"] == "not_authenticated"
            where = answer.headers["www-authenticate"].partition('resource_metadata="')[2].rstrip('"')
            resource = client.get(where).json()
            assert resource["resource"] == f"{gateway.url}/mcp"
            assert resource["bearer_methods_supported"] == ["header"]
        assert client.get("/.well-known/oauth-protected-resource").json() == resource


@pytest.mark.parametrize(
    "host", ['a", error="x', "evil.example/path", "user@evil.example", "a b", "evil.example:80:80", "-", "[::1"]
)
def test_what_is_not_the_name_of_a_host_is_not_in_the_metadata(gateway: Gateway, host: str) -> None:
    where = f"{gateway.url}/.well-known/oauth-protected-resource/mcp"
    answer = httpx2.get(where, headers={"Host": host})
    if answer.status_code == 200:  # else the server took it for no request
        assert re.fullmatch(r"http://[a-z0-9.]+:\d+/mcp", answer.json()["resource"])
    refused = httpx2.post(f"{gateway.url}/mcp", json=CALL, headers={**ACCEPT, "Host": host})
    assert re.fullmatch(
        r'(Bearer resource_metadata="http://[a-z0-9.:/-]+")?', refused.headers.get("www-authenticate", "")
    )


def test_a_name_of_a_host_is_that_of_its_own_client_and_kept_by_no_cache(gateway: Gateway) -> None:
    with gateway.client() as client:
        for host in ("assay.example", "assay.example:8443", "10.0.0.1:80", "[2001:db8::1]:8000"):
            answer = client.get("/.well-known/oauth-protected-resource/mcp", headers={"Host": host})
            assert answer.json()["resource"] == f"http://{host}/mcp"
            assert answer.headers["cache-control"] == "no-store"


def test_pages_of_other_addresses_and_other_names_for_this_host_are_refused(gateway: Gateway) -> None:
    with gateway.client() as client:
        for headers in (
            {"Origin": "http://evil.example"},
            {"Host": "evil.example", "Origin": "http://evil.example"},
            {"Host": "evil.example"},
            {"Origin": "null"},
        ):
            answer = client.post("/mcp", json=CALL, headers={**ACCEPT, **headers})
            assert (answer.status_code, answer.json()["code"]) == (403, "origin_not_allowed")
        own = client.post("/mcp", json=CALL, headers={**ACCEPT, "Origin": gateway.url})
        assert own.status_code == 200


HOSTILE = [
    b"", b"{", b"null", b"[]", b"1", b'"x"', b"[" * 100_000, b'{"a":' * 50_000, b"{}", b"\xff\xfe", b"NaN",
    b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"../../etc/passwd"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"assay://files/..%2f..%2fetc"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"files:\\u0000"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"x"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_job","arguments":{"job_id":"../keys"}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"code":"\\u0000"}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"wait_seconds":1e999}}}',
    b"[" + b",".join([json.dumps(CALL).encode()] * 1000) + b"]",
    b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[' + b"1," * 60_000 + b"1]}}",
    b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 1_000_001 + b'"}',
]  # fmt: skip


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_is_sent_is_answered_and_is_no_fault_of_ours(gateway: Gateway, body: bytes) -> None:
    with gateway.client() as client:
        answer = client.post("/mcp", content=body, headers={**ACCEPT, "Content-Type": "application/json"})
        assert answer.status_code < 500
        assert b"Traceback" not in answer.content
        assert b"/services/" not in answer.content
        if answer.status_code == 200:
            told = message_of(answer.text)
            assert "error" in told or told["result"]["isError"]
        assert client.post("/mcp", json=CALL, headers=ACCEPT).status_code == 200


def test_other_methods_and_other_content_are_refused(gateway: Gateway) -> None:
    with gateway.client() as client:
        for method in ("GET", "DELETE", "PUT"):
            answer = client.request(method, "/mcp", headers=ACCEPT)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        form = client.post("/mcp", content=b"{}", headers={**ACCEPT, "Content-Type": "text/plain"})
        assert form.status_code == 415


@pytest.mark.slow
def test_a_key_has_so_many_requests_under_way_and_no_more(settings: Settings, gateway: Gateway) -> None:
    key = gateway.key("acme")
    call = {**CALL, "params": {"name": "run_code", "arguments": {"code": "1", "wait_seconds": 50},
                               "_meta": {"progressToken": 1}}}  # fmt: skip
    headers = {**ACCEPT, "Authorization": f"Bearer {key}"}
    with (
        serving(with_http(settings, mcp_calls_per_key=1)) as url,
        httpx2.Client(base_url=url, timeout=60) as client,
        client.stream("POST", "/mcp", json=call, headers=headers) as first,
    ):
        lines = first.iter_lines()  # held: a generator that goes away closes the connection
        next(line for line in lines if line.startswith("data: {"))
        refused = client.post("/mcp", json=CALL, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (429, "quota_exceeded")
        other = {**headers, "Authorization": f"Bearer {gateway.key('acme')}"}
        assert client.post("/mcp", json=CALL, headers=other).status_code == 200


@pytest.mark.slow
def test_a_gateway_that_stops_answers_whom_it_holds(settings: Settings, gateway: Gateway) -> None:
    answered: list[str] = []
    began = threading.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        began.set()

    async def main(url: str) -> None:
        async with connected(url, gateway.key("acme")) as client:
            await client.list_tools()  # else the client requests them when it has the answer
            ran = await client.call_tool("run_code", {"code": "1", "wait_seconds": 50}, progress_callback=on_progress)
            answered.append(ran.structured_content["state"])

    with serving(settings) as url:
        thread = threading.Thread(target=anyio.run, args=(main, url))
        thread.start()
        assert began.wait(60)
    thread.join(60)
    assert answered == ["queued"]


@pytest.mark.slow
def test_a_large_message_is_read_by_another_process_and_its_job_runs(gateway: Gateway) -> None:
    rows = [{"a": number} for number in range(5_000)]

    async def use(client: Client) -> None:
        ran = await client.call_tool("run_code", {"code": "#" * 70_000, "wait_seconds": 50})
        report = ran.structured_content
        assert not ran.is_error, ran
        assert not report["finished"]  # such a process waits for no job
        listed = await client.call_tool("list_jobs", {})
        assert report["job_id"] in str(listed.structured_content)
        wrong = await client.call_tool("transform_data", {"data": [{"name": "d", "rows": rows}]})
        assert wrong.is_error
        assert "task" in str(wrong.content)

    workers.advertise(gateway.engine)
    talk(gateway, use)


def test_words_instead_of_ids_reach_no_other_route(gateway: Gateway) -> None:
    async def use(client: Client) -> None:
        for id in (".", "..", "counts", "batch", "a/b"):
            for tool in ("get_job", "cancel_job"):
                refused = await client.call_tool(tool, {"job_id": id})
                assert "not_found" in str(refused.meta), (tool, id)
            for uri in (f"assay://files/{id}", f"assay://jobs/{id}/result"):
                with pytest.raises(MCPError, match="not_found"):
                    await client.read_resource(uri)

    talk(gateway, use)


@pytest.mark.slow
def test_messages_of_many_values_hold_up_nobody(gateway: Gateway, other: httpx2.Client) -> None:
    headers = {**ACCEPT, "Authorization": f"Bearer {gateway.key('acme', 'read', 'write')}"}
    parameters = {str(number): {"a": [[[[[[1]]]]]]} for number in range(20_000)}
    arguments = {"markdown": "x", "parameters": parameters}
    message = {**CALL, "params": {"name": "run_document", "arguments": arguments}}
    slowest = 0.0

    def send() -> None:
        httpx2.post(f"{gateway.url}/mcp", json=message, headers=headers, timeout=_PATIENCE)

    senders = [threading.Thread(target=send) for _ in range(4)]
    with httpx2.Client(base_url=gateway.url, headers=ACCEPT) as client:
        client.post("/mcp", json=CALL, headers=headers)  # loads the SDK
    for sender in senders:
        sender.start()
    while any(sender.is_alive() for sender in senders):
        began = time.monotonic()
        assert other.get("/v1/jobs?limit=1").status_code == 200
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < 2.0
