"""Both strategies on the same tasks, replies and run: model calls, tokens, wall time; then reading a large file.

    python -m benchmarks.transform [tasks]

Every model call takes 400 ms and 5 ms for each token written, in text or in the parameters of a tool (four characters
count as a token; the scripted server of ``shared.llm.scripted`` waits that long and then answers). The deterministic
strategy is scripted with the code; the tools strategy as tool-calling models behave: look at the data, run the code,
look at the result, finish with a short summary.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import polars as pl

from benchmarks.transform_tasks import TASKS
from benchmarks.transform_tasks.task import Task, content, same
from services.execution.sandbox.run import Sandbox
from services.execution.sandbox.sandbox import open_sandbox
from services.execution.sandbox.settings import SandboxSettings
from services.execution.transform.transform import Transform
from shared.contracts.transform import TransformInput
from shared.errors import ProvidersFailed
from shared.jobs.job import Context
from shared.llm.chat import ChatReply, ChatRequest, Provider
from shared.llm.client import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.settings import CallSettings, ProviderSettings
from shared.loop import Budget
from tests.support.context import MemoryContext

CALL_MS, TOKEN_MS = 400, 5


@dataclass
class Watched:
    """A provider that notes when it was asked and when it had answered."""

    inner: Provider
    asked: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    name: str = "watched"

    def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(time.perf_counter())
        reply = self.inner.complete(request)
        self.answered.append(time.perf_counter())
        self.input_tokens += reply.usage.input or 0
        self.output_tokens += reply.usage.output or 0
        return reply


@dataclass(frozen=True)
class Measured:
    right: bool
    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float


Reply = dict[str, Any]


def text_script(task: Task, confirmed: bool) -> list[Reply]:
    return [{"text": f"```python\n{task.pandas}\n```"}, *([{"text": "DONE"}] if confirmed else [])]


def tools_script(task: Task) -> list[Reply]:
    """Published here, and the same for every task."""
    name = task.data[0]

    def call(says: str, tool: str, params: Mapping[str, str]) -> Reply:
        return {"text": says, "tool_calls": [{"name": tool, "params": dict(params)}]}

    return [
        call("I'll look at the data first.", "look", {"code": f"print({name}.dtypes)\nprint({name}.head())"}),
        call("Now I'll run the transformation.", "run_code", {"code": task.pandas}),
        call("Let me check the result.", "look", {"code": task.pandas + "\nprint(result.shape)\nprint(result.head())"}),
        call("", "finish", {"explanation": f"The result answers the task: {task.text}"}),
    ]


def timed(reply: Reply) -> Reply:
    """The reply as a rule of the script, after the time that a model needs to write it."""
    written = reply["text"] + "".join(json.dumps(use) for use in reply.get("tool_calls", []))
    tokens = max(1, len(written) // 4)
    return {"reply": {**reply, "output_tokens": tokens}, "times": 1, "latency_ms": CALL_MS + TOKEN_MS * tokens}


def bench(sandbox: Sandbox, url: str, task: Task, script: Sequence[Reply], wanted: Mapping[str, object]) -> Measured:
    play(url, {"rules": [timed(reply) for reply in script]})
    held = MemoryContext()
    data = [{"name": name, "file_id": held.files.add(*content(name))} for name in task.data]
    body = {"task": task.text, "data": [*data, *({"name": n, "rows": list(r)} for n, r in task.rows.items())], **wanted}
    budget = Budget()
    watched = Watched(layer(url).for_job(Owner("benchmark", None), budget))
    context = replace(held.context("transform"), llm=watched, budget=budget)
    began = time.perf_counter()
    result = Transform(sandbox)(context, TransformInput.model_validate(body))
    seconds = time.perf_counter() - began
    answer = task.answer()
    right = result.status == "done" and result.table is not None
    right = right and same(result.table.rows, [list(r) for r in answer[:50]], task.ordered)  # type: ignore[union-attr]
    return Measured(right, len(watched.asked), watched.input_tokens, watched.output_tokens, seconds)


def layer(url: str) -> LlmLayer:
    settings: dict[str, Any] = {"openai_api_key": "scripted", "openai_base_url": f"{url}/local/v1"}
    return LlmLayer(ProviderSettings(**settings), CallSettings(), None, None)


def play(url: str, script: Mapping[str, object]) -> None:
    request = urllib.request.Request(f"{url}/_scripted/script", json.dumps(script).encode(), method="PUT")
    with urllib.request.urlopen(request, timeout=10):
        pass


@contextmanager
def scripted_server() -> Iterator[str]:
    command = [sys.executable, "-m", "shared.llm.scripted"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def strategies(sandbox: Sandbox, tasks: Sequence[Task]) -> None:
    rows: dict[str, list[Measured]] = {"deterministic, asserted": [], "deterministic, confirmed": [], "tools": []}
    with scripted_server() as url:
        for task in tasks:
            asserted = {"assertions": [f"rows == {len(task.answer())}"]}
            one = bench(sandbox, url, task, text_script(task, confirmed=False), asserted)
            two = bench(sandbox, url, task, text_script(task, confirmed=True), {})
            three = bench(sandbox, url, task, tools_script(task), {"strategy": "tools"})
            for name, once in zip(rows, (one, two, three), strict=True):
                rows[name].append(once)
    base = [measured.seconds for measured in rows["tools"]]
    print(f"\n{len(tasks)} tasks, {CALL_MS} ms a call + {TOKEN_MS} ms a token written\n")
    print(f"{'strategy':<26}{'right':>8}{'calls':>8}{'tokens in':>11}{'out':>6}{'wall s':>8}{'tools / it':>12}")
    for name, measured in rows.items():
        ratio = median(tools / one.seconds for tools, one in zip(base, measured, strict=True))
        print(
            f"{name:<26}{sum(m.right for m in measured):>5}/{len(tasks)}{mean(m.calls for m in measured):>8.2f}"
            f"{mean(m.input_tokens for m in measured):>11.0f}{mean(m.output_tokens for m in measured):>6.0f}"
            f"{median(m.seconds for m in measured):>8.2f}{ratio:>11.2f}x"
        )


class Stop:
    """A provider at which the walk ends: everything before the first call has happened by then."""

    name = "stop"

    def __init__(self) -> None:
        self.asked = 0.0

    def complete(self, request: ChatRequest) -> ChatReply:
        self.asked = time.perf_counter()
        raise ProvidersFailed("the benchmark ends here")


class Replies:
    name = "replies"

    def __init__(self, replies: Sequence[str]) -> None:
        self.replies = list(replies)

    def complete(self, request: ChatRequest) -> ChatReply:
        return ChatReply(self.replies.pop(0), "benchmark", "none")


def overhead(sandbox: Sandbox) -> None:
    """Between a reply and the next request, less the code itself."""
    rows = "".join(f"{n},{n % 7},x{n % 100}\n" for n in range(1000))
    codes = [f"```python\nresult = data[data.b == {n}]\n```" for n in range(7)]
    spent = []
    for _ in range(3):
        held = MemoryContext()
        watched = Watched(Replies([*codes, "DONE"]))
        context: Context = replace(held.context("transform"), llm=watched)
        body = {"task": "t", "data": [{"csv": "a,b,c\n" + rows}], "max_iterations": 9}
        Transform(sandbox)(context, TransformInput.model_validate(body))
        spent += [later - done for done, later in zip(watched.answered, watched.asked[1:], strict=False)]
    print(
        f"\nfrom a reply to the next request, code included: median {median(spent) * 1000:.0f} ms (goal: 30 + the code)"
    )


def large_file(sandbox: Sandbox, rows: int = 1_000_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        numbers = pl.int_range(rows, eager=True)
        pl.DataFrame(
            {
                "id": numbers,
                "name": "customer " + (numbers % 50_000).cast(pl.String),
                "city": (numbers % 5).replace_strict(list(range(5)), ["Berlin", "Paris", "Rome", "Oslo, N", "Wien"]),
                "amount": (numbers * 7919 % 100_000) / 100,
                "day": (numbers % 1500).cast(pl.Int32).cast(pl.Date),
                "flag": numbers % 3 == 0,
            }
        ).write_csv(path)
        polars, preview = [], []
        held = MemoryContext()
        file_id = held.files.add("large.csv", path.read_bytes())
        for _ in range(5):
            began = time.perf_counter()
            pl.read_csv(path, try_parse_dates=True)
            polars.append(time.perf_counter() - began)
            stop = Stop()
            body = {"task": "t", "data": [{"name": "data", "file_id": file_id}]}
            began = time.perf_counter()
            try:
                Transform(sandbox)(replace(held.context("transform"), llm=stop), TransformInput.model_validate(body))
            except ProvidersFailed:
                preview.append(stop.asked - began)
    print(f"\n{rows:,} rows: polars reads them in {min(polars):.3f} s, the preview stands after {min(preview):.3f} s")
    print(f"preview / polars: {min(preview) / min(polars):.2f}x (goal 1.5x)")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else len(TASKS)
    with open_sandbox(SandboxSettings(slots=2)) as opened:
        strategies(opened, TASKS[:count])
        overhead(opened)
        large_file(opened)


if __name__ == "__main__":
    main()
