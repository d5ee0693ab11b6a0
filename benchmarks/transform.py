"""Both strategies on the same tasks, replies and run: model calls, tokens, wall time; then reading a large file.

    python -m benchmarks.transform [strategies] [overhead] [large] [all]

``all`` runs every task, which takes some minutes; without it every sixth one is run. Every model call takes 400 ms and
5 ms for each token written, in text or in the parameters of a tool (four characters count as a token; the scripted
server of ``shared.llm.scripted`` waits that long and then answers). The deterministic strategy is scripted with the
code; the tools strategy as tool-calling models behave: read the data, run the code, read the result, finish with
a short summary.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import polars as pl
from obstore.store import ObjectStore

from benchmarks.tasks import TRANSFORM, Task, content, same
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.settings import SandboxSettings
from services.execution.transform.transform import Transform
from services.execution.wiring import open_sandbox
from shared import blobs
from shared.contracts.files import FileInfo
from shared.contracts.transform import TransformInput
from shared.errors import ProvidersFailed
from shared.jobs.job import Context
from shared.llm.chat import ChatReply, ChatRequest, Provider
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.settings import CallSettings, ProviderSettings
from shared.loop import Budget
from tests.support.context import MemoryContext, MemoryFiles

CALL_MS, TOKEN_MS = 400, 5


@dataclass
class Watched:
    """A provider that notes when it was called and when it had answered."""

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
    ours: float  #: of the seconds, those in which no model was called: reading, running code, judging


Reply = dict[str, Any]


def text_script(task: Task, confirmed: bool, checked: bool = False) -> list[Reply]:
    stated = _checks(task) if checked else ""
    return [{"text": f"```python\n{task.pandas}\n```{stated}"}, *([{"text": "DONE"}] if confirmed else [])]


def _checks(task: Task) -> str:
    """Return what a careful model states of its result: forms for one row of numbers, else the second computation."""
    if checks := worth_stating(task):
        return "\n```checks\n" + "\n".join(checks) + "\n```"
    return f"\n```sql check\n{task.sql}\n```"


def worth_stating(task: Task) -> Sequence[str]:
    """Return the checks that the prompt requires of a single row of counts and sums."""
    return task.stated if len(task.answer) == 1 and any(check.startswith("sum(") for check in task.stated) else ()


#: What the model of the tools strategy says and calls, turn by turn; the same for every task.
TOOLS_SCRIPT = (
    ("I'll look at the data first.", "look", "code", "print({name}.dtypes)\nprint({name}.head())"),
    ("Now I'll run the transformation.", "run_code", "code", "{code}"),
    ("Let me check the result.", "look", "code", "{code}\nprint(result.shape)\nprint(result.head())"),
    ("", "finish", "second", "{second}"),
)


def tools_script(task: Task) -> list[Reply]:
    parts = {"name": task.data[0], "code": task.pandas, "second": task.sql}
    return [
        {"text": says, "tool_calls": [{"name": tool, "params": {parameter: _filled(template, parts)}}]}
        for says, tool, parameter, template in TOOLS_SCRIPT
    ]


def _filled(template: str, parts: Mapping[str, str]) -> str:
    for name, text in parts.items():
        template = template.replace("{" + name + "}", text)
    return template


def timed(reply: Reply) -> Reply:
    """Return the reply as a rule of the script, after the time that a model needs to write it."""
    written = reply["text"] + "".join(json.dumps(use) for use in reply.get("tool_calls", []))
    tokens = max(1, len(written) // 4)
    return {"reply": {**reply, "output_tokens": tokens}, "times": 1, "latency_ms": CALL_MS + TOKEN_MS * tokens}


def measure(
    sandbox: Sandbox, llm: LlmLayer, url: str, task: Task, script: Sequence[Reply], wanted: Mapping[str, object]
) -> Measured:
    play(url, {"rules": [timed(reply) for reply in script]})
    held = MemoryContext()
    data = [{"name": name, "file_id": held.files.add(*content(name))} for name in task.data]
    body = {"task": task.text, "data": [*data, *({"name": n, "rows": list(r)} for n, r in task.rows.items())], **wanted}
    budget = Budget()
    watched = Watched(llm.for_job(Owner("benchmark", None), budget))
    context = replace(held.context("transform"), llm=watched, budget=budget)
    began = time.perf_counter()
    result = Transform(sandbox)(context, TransformInput.model_validate(body))
    seconds = time.perf_counter() - began
    answer = task.answer
    right = result.status == "done" and result.table is not None
    right = right and same(result.table.rows, [list(r) for r in answer[:50]], task.ordered)  # type: ignore[union-attr]
    ours = seconds - sum(done - asked for asked, done in zip(watched.asked, watched.answered, strict=True))
    return Measured(right, len(watched.asked), watched.input_tokens, watched.output_tokens, seconds, ours)


def layer(url: str) -> LlmLayer:
    variables = {"OPENAI_API_KEY": "scripted", "OPENAI_BASE_URL": f"{url}/local/v1"}
    return LlmLayer(ProviderSettings(variables), CallSettings(), None, None)


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
    names = ("deterministic, asserted", "deterministic, self-checked", "deterministic, confirmed", "tools")
    rows: dict[str, list[Measured]] = {name: [] for name in names}
    with scripted_server() as url, closing(layer(url)) as llm:  # one layer, as in a worker
        measure(
            sandbox, llm, url, tasks[0], text_script(tasks[0], confirmed=False), {"confirm": "never"}
        )  # loads the SDK
        for task in tasks:
            asserted = {"assertions": [f"rows == {len(task.answer)}"]}
            one = measure(sandbox, llm, url, task, text_script(task, confirmed=False), asserted)
            stated = text_script(task, confirmed=True, checked=True)
            two = measure(sandbox, llm, url, task, stated, {})
            three = measure(sandbox, llm, url, task, text_script(task, confirmed=True), {"confirm": "always"})
            four = measure(sandbox, llm, url, task, tools_script(task), {"strategy": "tools"})
            for name, once in zip(rows, (one, two, three, four), strict=True):
                rows[name].append(once)
    print("\nthe script of the tools strategy, turn by turn:")
    for says, tool, parameter, template in TOOLS_SCRIPT:
        print(f"  {says!r:<36} {tool}({parameter}={template!r})")
    base = [measured.seconds for measured in rows["tools"]]
    print(f"\n{len(tasks)} tasks, {CALL_MS} ms a call + {TOKEN_MS} ms a token written; ours: time without the model\n")
    print(
        f"{'strategy':<28}{'right':>8}{'calls':>8}{'tokens in':>11}{'out':>6}{'wall s':>8}{'ours ms':>9}{'':>3}tools/it"
    )
    for name, measured in rows.items():
        ratio = median(tools / one.seconds for tools, one in zip(base, measured, strict=True))
        print(
            f"{name:<28}{sum(m.right for m in measured):>5}/{len(tasks)}{mean(m.calls for m in measured):>8.2f}"
            f"{mean(m.input_tokens for m in measured):>11.0f}{mean(m.output_tokens for m in measured):>6.0f}"
            f"{median(m.seconds for m in measured):>8.2f}{median(m.ours for m in measured) * 1000:>9.0f}{ratio:>11.2f}x"
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
        time.sleep(CALL_MS / 1000)
        return ChatReply(self.replies.pop(0), "benchmark", "none")


def overhead(sandbox: Sandbox) -> None:
    """Between a reply and the next request, of code that itself takes less than a millisecond."""
    rows = "".join(f"{n},{n % 7},x{n % 100}\n" for n in range(1000))
    codes = [f"```python\nresult = data.head({n})\n```" for n in range(10, 17)]
    first, between, last = [], [], []
    for _ in range(6):
        held = MemoryContext()
        watched = Watched(Replies([*codes, "DONE"]))
        context: Context = replace(held.context("transform"), llm=watched)
        body = {"task": "t", "data": [{"csv": "a,b,c\n" + rows}], "max_iterations": 9}
        began = time.perf_counter()
        Transform(sandbox)(context, TransformInput.model_validate(body))
        last.append(time.perf_counter() - watched.answered[-1])
        first.append(watched.asked[0] - began)
        between += [later - done for done, later in zip(watched.answered, watched.asked[1:], strict=False)]
    print("\nour own time, median and best in ms (goal: 30 for an iteration)")
    for what, spent in (("start to first request", first), ("iteration", between), ("DONE to result", last)):
        print(f"{what:<26}{median(spent) * 1000:>8.0f}{min(spent) * 1000:>8.0f}")


@dataclass
class Stored(MemoryFiles):
    """Uploads as a worker finds them: in a folder of blobs."""

    store: ObjectStore = field(kw_only=True)

    def upload(self, name: str, path: Path) -> str:
        blob = blobs.write(self.store, path)
        file_id = self.add(name, b"")
        self.infos[file_id] = FileInfo(id=file_id, name=name, size=blob.size, sha256=blob.sha256, media_type="text/csv")
        return file_id

    infos: dict[str, FileInfo] = field(default_factory=dict, kw_only=True)

    def info(self, file_id: str) -> FileInfo:
        return self.infos.get(file_id) or super().info(file_id)

    def fetch(self, file_id: str, target: Path) -> FileInfo:
        blobs.fetch(self.store, self.infos[file_id].sha256, target)
        return self.infos[file_id]


_ALONE = """
import sys, time, polars
began = time.perf_counter()
polars.read_csv(sys.argv[1], try_parse_dates=True)
print(time.perf_counter() - began)
"""


def large_file(sandbox: Sandbox, rows: int = 1_000_000) -> None:
    """Polars in a process of its own is what our reader is, too: each read has a fresh sandbox."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        large_table(rows).write_csv(path)
        held = Stored(store=blobs.open_store((Path(folder) / "blobs").as_uri()))
        body = {"task": "t", "data": [{"name": "data", "file_id": held.upload("large.csv", path)}]}
        context = replace(MemoryContext().context("transform"), files=held)
        alone, warm, preview = [], [], []
        for _ in range(5):
            spoken = subprocess.run([sys.executable, "-c", _ALONE, path], capture_output=True, text=True, check=True)
            alone.append(float(spoken.stdout))
            began = time.perf_counter()
            pl.read_csv(path, try_parse_dates=True)
            warm.append(time.perf_counter() - began)
            stop = Stop()
            began = time.perf_counter()
            try:
                Transform(sandbox)(replace(context, llm=stop), TransformInput.model_validate(body))
            except ProvidersFailed:
                preview.append(stop.asked - began)
    print(f"\n{rows:,} rows, {6} columns; best of 5, in ms, and the preview as a multiple of it (goal 1.5x)")
    ready = min(preview)
    for what, seconds in (("polars, in a new process", min(alone)), ("polars, again and again", min(warm))):
        print(f"{what:<26}{seconds * 1000:>8.0f}{ready / seconds:>8.2f}x")
    print(f"{'upload to preview':<26}{ready * 1000:>8.0f}")


def large_table(rows: int) -> pl.DataFrame:
    numbers = pl.int_range(rows, eager=True)
    cities = ["Berlin", "Paris", "Rome", "Oslo, N", "Wien"]
    return pl.DataFrame(
        {
            "id": numbers,
            "name": "customer " + (numbers % 50_000).cast(pl.String),
            "city": (numbers % 5).replace_strict(list(range(5)), cities),
            "amount": (numbers * 7919 % 100_000) / 100,
            "day": (numbers % 1500).cast(pl.Int32).cast(pl.Date),
            "flag": numbers % 3 == 0,
        }
    )


def main() -> None:
    parts = sys.argv[1:] or ["strategies", "overhead", "large"]
    with open_sandbox(SandboxSettings(slots=2)) as opened:
        opened.wait_ready()
        if "strategies" in parts or "all" in parts:
            strategies(opened, TRANSFORM if "all" in parts else TRANSFORM[::6])
        if "overhead" in parts:
            overhead(opened)
        if "large" in parts:
            large_file(opened)


if __name__ == "__main__":
    main()
