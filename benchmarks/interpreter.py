"""A code interpreter for agents compared with plain subprocesses, in one run: ``python -m benchmarks.interpreter``.

The whole way is measured: client, gateway, Postgres, Redis, execution worker, sandbox, and the answer back. The peers
isolate nothing, limit nothing and keep no record: a new ``python -c`` for each call, and one Python that reads lines of
code. What is compared takes turns, because a shared machine is slower at one moment than at the next.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client as McpClient
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from assay import Client
from benchmarks.installation import ROOT, installation
from benchmarks.table import Line, at_most, show
from shared.contracts.execute import ExecuteResult
from tests.support.wait import until

TIMES = 25
PLAIN = "6 * 7"
PANDAS = "import pandas as pd\npd.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]}).groupby('k').v.sum()"
KEPT = (
    "import json,sys\nspace={}\nfor line in sys.stdin: print(json.dumps(repr(eval(json.loads(line),space))),flush=True)"
)


def median_ms(work: Callable[[], object], times: int = TIMES) -> float:
    return taking_turns(work, times=times)[0]


def taking_turns(*works: Callable[[], object], times: int = TIMES) -> list[float]:
    """Return the median ms of each."""
    rounds = [[_spent(work) for work in works] for _ in range(times)]
    return [statistics.median(spent) * 1000 for spent in zip(*rounds, strict=True)]


def _spent(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def new_process(code: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def kept_process() -> float:
    """Median ms of a call to one Python that was started before."""
    with subprocess.Popen([sys.executable, "-c", KEPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answered = process.stdin, process.stdout

        def call() -> None:
            asked.write(json.dumps(PLAIN).encode() + b"\n")
            asked.flush()
            assert answered.readline()

        call()
        spent = median_ms(call)
        asked.close()
        return spent


def first_result(url: str, key: str, code: str) -> Callable[[], object]:
    """Return a new client, a new connection, a new sandbox."""

    def work() -> None:
        with Client(url, key) as client:
            assert client.execute(code, wait=30).view.state.value == "succeeded"

    return work


def session_call(client: Client) -> Callable[[], object]:
    """Return a call that finds what the one before has left."""
    last = client.execute("n = 0", session=True, wait=30).id

    def call() -> None:
        nonlocal last
        job = client.execute("n += 1; n", session=True, continues=last, wait=30)
        assert repeated(job.result()) == 0
        last = job.id

    return call


def repeated(result: ExecuteResult) -> int:
    """Return how many earlier calls ran again for this one."""
    assert result.session is not None
    return result.session.repeated


def session_again(client: Client) -> float:
    """Median ms of a call whose interpreter is elsewhere: five earlier calls run again."""
    jobs = [client.execute("import pandas as pd", session=True, wait=30).id]
    for number in range(4):
        jobs.append(client.execute(f"n = {number}", session=True, continues=jobs[-1], wait=30).id)
    client.execute("n", session=True, continues=jobs[-1], wait=30)  # the interpreter continues with this one

    def branch() -> None:
        job = client.execute("n", session=True, continues=jobs[-1], wait=30)
        assert repeated(job.result()) == 5

    return median_ms(branch, 10)


async def mcp_calls(client: McpClient) -> float:
    """Median ms of ``run_code`` in a session."""
    await client.list_tools()
    ran = await client.call_tool("run_code", {"code": "n = 0", "session": "new"})
    spent = []
    for _ in range(TIMES):
        began = time.perf_counter()
        ran = await client.call_tool("run_code", {"code": "n += 1; n", "session": ran.structured_content["job_id"]})
        spent.append(time.perf_counter() - began)
        assert not ran.is_error
    return statistics.median(spent) * 1000


@asynccontextmanager
async def over_http(url: str, key: str) -> AsyncIterator[McpClient]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        McpClient(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(environment: Mapping[str, str]) -> AsyncIterator[McpClient]:
    words = ["-m", "assay", "mcp"]
    parameters = StdioServerParameters(command=sys.executable, args=words, env=dict(environment), cwd=ROOT)
    async with McpClient(stdio_client(parameters)) as client:
        yield client


async def mcp_first(connect: Callable[[], Any], times: int) -> float:
    """Median ms from nothing to the first result: connect, shake hands, call."""
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        async with connect() as client:
            ran = await client.call_tool("run_code", {"code": PLAIN})
            assert ran.structured_content["result"]["value"]["text"] == "42"
            spent.append(time.perf_counter() - began)
    return statistics.median(spent) * 1000


def within_ms(what: str, ours: float, most: float) -> Line:
    return Line(what, f"{ours:.1f} ms", "", ours / most, f"<= {most:g} ms", ours <= most)


def main() -> int:
    with installation() as install, install.gateway() as port, install.process("services.execution"):
        url = f"http://127.0.0.1:{port}"
        with Client(url, install.key) as client:
            until(lambda: client.execute(PLAIN, wait=60).done, "a worker", 120)
            lines = list(_measured(url, install.key, client))
        environment = {**install.environment, "ASSAY_URL": url, "ASSAY_API_KEY": install.key}
        lines += asyncio.run(_measured_mcp(url, install.key, environment))
    show("A code interpreter compared with plain subprocesses", lines)
    return 0 if all(line.met for line in lines) else 1


def _measured(url: str, key: str, client: Client) -> Sequence[Line]:
    first, plain, again = taking_turns(
        first_result(url, key, PLAIN), new_process(f"print({PLAIN})"), session_call(client)
    )
    first_pandas, pandas = taking_turns(first_result(url, key, PANDAS), new_process(PANDAS), times=10)
    return [
        at_most("first result from nothing / a new python -c", first, plain, "ms", 5),
        at_most("first result with pandas / a new python -c", first_pandas, pandas, "ms", 0.5),
        at_most("repeated call in a session / a new python -c", again, plain, "ms", 4),
        at_most("repeated call in a session / first result", again, first, "ms", 1),
        within_ms(f"repeated call (one kept Python: {kept_process():.2f} ms)", again, 50),
        within_ms("a call that has five earlier ones run again", session_again(client), 300),
    ]


async def _measured_mcp(url: str, key: str, environment: Mapping[str, str]) -> Sequence[Line]:
    async def kept(connect: Callable[[], Any], measure: Callable[[McpClient], Awaitable[float]]) -> float:
        async with connect() as client:
            return await measure(client)

    def http() -> Any:  # noqa: ANN401 - an asynchronous context manager
        return over_http(url, key)

    def stdio() -> Any:  # noqa: ANN401
        return over_stdio(environment)

    await mcp_first(http, 1)  # the gateway loads the SDK
    return [
        within_ms("MCP over HTTP: connection to first result", await mcp_first(http, 10), 150),
        within_ms("MCP over HTTP: repeated run_code in a session", await kept(http, mcp_calls), 60),
        within_ms("MCP on stdio: process start to first result", await mcp_first(stdio, 5), 2500),
        within_ms("MCP on stdio: repeated run_code in a session", await kept(stdio, mcp_calls), 60),
    ]


if __name__ == "__main__":
    sys.exit(main())
