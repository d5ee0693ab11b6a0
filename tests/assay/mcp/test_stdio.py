"""``assay mcp`` as a host starts it: a process with real clients, next to a running installation.

The strange clients start it with Python; the others get a fork of a process that has its imports.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from tests.assay.terminal import DATA, Shell
from tests.support.forks import commands

Use = Callable[[Client], Awaitable[None]]


def parameters(shell: Shell, *options: str) -> StdioServerParameters:
    command = str(commands() / "assay")
    return StdioServerParameters(command=command, args=["mcp", *options], env=dict(shell.env), cwd=shell.folder)


def talk(shell: Shell, use: Use, *options: str) -> None:
    async def main() -> None:
        async with Client(stdio_client(parameters(shell, *options))) as client:
            await use(client)

    anyio.run(main)


async def called(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured answer of a call that works."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return answer.structured_content


@pytest.mark.slow(seconds=5)
def test_the_tools_do_what_the_commands_do(shell: Shell) -> None:
    async def use(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"run_code", "transform_data", "run_document", "search_collection", "edit_flow", "detect_stack",
                "get_job", "list_jobs", "cancel_job", "upload_file"} == names  # fmt: skip
        kept = await called(client, "upload_file", name="cities.csv", text=DATA)
        file = {"path": "in/cities.csv", "file_id": kept["file_id"]}
        ran = await called(client, "run_code", code="open('in/cities.csv').read().count('Oslo')", files=[file])
        assert ran["result"]["value"]["text"] == "2"
        first = await called(client, "run_code", code="def double(x): return 2 * x", session="new")
        then = await called(client, "run_code", code="double(21)", session=first["job_id"])
        assert then["result"]["value"]["text"] == "42"
        assert then["result"]["session"] == {"calls": 2, "repeated": 0, "alive": True}
        assert then["next"] == f"run_code with session {then['job_id']} continues where this call ended"
        short = {"path": "a.txt", "text": "short"}
        ran = await called(client, "run_code", code="open('b.txt', 'w').write(open('a.txt').read())", files=[short])
        artifact = ran["result"]["artifacts"][0]
        content = (await client.read_resource(f"assay://files/{artifact['file_id']}")).contents[0]
        assert getattr(content, "text", "") == "short"
        document = await called(client, "run_document", markdown="```python exec\nprint(6 * 7)\n```\n")
        assert document["result"]["blocks"][0]["outputs"][0]["text"] == "42\n"
        listed = await called(client, "list_jobs", mine=True, limit=2)
        assert [job["kind"] for job in listed["jobs"]] == ["document", "execute"]
        following = await called(client, "list_jobs", mine=True, limit=1, cursor=listed["next_cursor"])
        assert [job["kind"] for job in following["jobs"]] == ["execute"]
        assert following["jobs"][0]["job_id"] not in [job["job_id"] for job in listed["jobs"]]

    talk(shell, use)


@pytest.mark.slow(seconds=3)
def test_a_long_job_is_asked_for_again_and_can_be_cancelled(shell: Shell) -> None:
    async def use(client: Client) -> None:
        code = "import time; time.sleep(200)"
        begun = await called(client, "run_code", code=code, limit_seconds=250, wait_seconds=0)
        assert not begun["finished"]
        assert begun["next"] == f"get_job with job_id {begun['job_id']} and wait_seconds 50"
        await called(client, "cancel_job", job_id=begun["job_id"])
        ended = await called(client, "get_job", job_id=begun["job_id"], wait_seconds=50)
        assert ended["state"] == "cancelled"
        assert ended["error"]["code"] == "job_cancelled"

    talk(shell, use)


@pytest.mark.slow(seconds=4)
def test_only_opened_folders_are_read_and_a_read_only_server_changes_nothing(shell: Shell) -> None:
    folder = shell.folder / "open"
    folder.mkdir(exist_ok=True)
    (folder / "x.csv").write_text(DATA)
    (shell.folder / "secret.csv").write_text("secret\n")
    (folder / "link.csv").unlink(missing_ok=True)
    (folder / "link.csv").symlink_to(shell.folder / "secret.csv")

    async def use(client: Client) -> None:
        assert (await called(client, "upload_file", name="x.csv", path="x.csv"))["size"] == len(DATA)
        outside = ["../secret.csv", str(shell.folder / "secret.csv"), "link.csv", "/etc/passwd", "nothing", ".", "\0"]
        for path in outside:
            refused = await client.call_tool("upload_file", {"name": "x.csv", "path": path})
            assert refused.is_error
            assert getattr(refused.content[0], "text", "").startswith("path_not_allowed: ")

    talk(shell, use, "--folder", "open")

    async def look(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {"search_collection", "detect_stack", "get_job", "list_jobs"}
        refused = await client.call_tool("run_code", {"code": "1"})
        assert refused.is_error

    talk(shell, look, "--readonly")
    assert shell("mcp", "--folder", "nowhere").status == 2


@pytest.mark.slow(seconds=3)
def test_a_wrong_key_is_told_as_such(shell: Shell) -> None:
    async def stranger(client: Client) -> None:
        refused = await client.call_tool("list_jobs", {})
        assert refused.is_error
        told = getattr(refused.content[0], "text", "")
        assert told.startswith("not_authenticated: ")
        assert "assay keys create" in told

    talk(shell, stranger, "--api-key", "ask_wrong")


@pytest.mark.slow(seconds=3)
def test_lines_that_are_no_messages_do_not_end_the_server(shell: Shell) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
             "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                        "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    hostile = ["", "{", "[" * 5000, "null", '{"jsonrpc": "1.0"}', "\ufeff{}", '"x"', '{"jsonrpc":"2.0","id":[]}']
    lines = [json.dumps(hello), json.dumps(ready), *hostile, json.dumps(ping)]
    with subprocess.Popen(
        Shell.command(["mcp"]), env=dict(shell.env), cwd=shell.folder, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("\n".join(lines) + "\n")
        server.stdin.flush()
        answers: list[Any] = []
        while not answers or answers[-1].get("id") != 2:  # whatever is still unanswered when the input ends stays so
            answers.append(json.loads(server.stdout.readline()))
        _, complaint = server.communicate(timeout=60)
    assert server.returncode == 0, complaint
    assert {"jsonrpc": "2.0", "id": 2, "result": {}} in answers
    assert answers[0]["result"]["serverInfo"]["name"] == "assay"


@pytest.mark.slow(seconds=4)
def test_another_library_is_served_as_well(shell: Shell) -> None:
    fastmcp = pytest.importorskip("fastmcp", reason="fastmcp is not installed")
    transports = pytest.importorskip("fastmcp.client.transports")
    command, *words = Shell.command(["mcp"])

    async def main() -> None:
        transport = transports.StdioTransport(command, words, env=dict(shell.env), cwd=str(shell.folder))
        async with fastmcp.Client(transport) as client:
            ran = await client.call_tool("run_code", {"code": "6 * 7"})
            assert ran.structured_content["result"]["value"]["text"] == "42"

    anyio.run(main)


@pytest.mark.slow(seconds=4)
def test_the_inspector_is_served_as_well(shell: Shell, tmp_path: Path) -> None:
    inspector = shutil.which("mcp-inspector")
    if inspector is None:
        pytest.skip("mcp-inspector is not installed: npm install -g @modelcontextprotocol/inspector")
    command, *words = Shell.command(["mcp"])
    names = ("ASSAY_HOME", "PYTHONPATH", "PATH")
    server = {"command": command, "args": words, "env": {name: shell.env[name] for name in names}}
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"assay": server}}))
    call = ["--method", "tools/call", "--tool-name", "run_code", "--tool-arg", "code=6*7"]
    ran = subprocess.run(
        [inspector, "--cli", "--config", str(config), "--server", "assay", *call],
        capture_output=True, text=True, timeout=120, cwd=shell.folder, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["structuredContent"]["result"]["value"]["text"] == "42"
