"""Three ways to have a model solve a transform: Assay's loop, one call with two examples, and tool calling."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import polars as pl

from benchmarks.tasks import Task, content, same
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.transform.transform import Transform
from shared.contracts.transform import TransformInput, TransformResult
from shared.errors import AssayError
from shared.llm.chat import ChainLink, ChatReply, ChatRequest
from shared.llm.job import JobLlm
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.settings import CallSettings, ProviderSettings
from shared.loop import Budget
from tests.support.context import MemoryContext

MAX_TOKENS = 400  #: of an answer
MAX_CALLS = 5  #: of one case
_SECONDS = 900  #: for one call
_CODE = re.compile(r"```(?:python)?\n(.*?)```", re.DOTALL)


@dataclass
class Outcome:
    """The outcome of one case."""

    case: str
    model: str
    way: str
    right: bool
    status: str  #: of the job, or the code of its error
    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float  #: that the model took; a recorded answer counts as when it was recorded
    code: str = ""
    detail: str = ""  #: the error, or what was wrong
    transcript: list[dict[str, str]] = field(default_factory=list)

    @property
    def accepted_wrong(self) -> bool:
        return not self.right and self.status == "done"

    def row(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Counted:
    """The models of a job, with the messages that they got and how long they took."""

    inner: JobLlm
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    transcript: list[dict[str, str]] = field(default_factory=list)
    name: str = "counted"

    def complete(self, request: ChatRequest) -> ChatReply:
        request = replace(request, max_tokens=MAX_TOKENS, parameters={"temperature": 0, **(request.parameters or {})})
        reply = self.inner.complete(request)
        self.calls += 1
        self.input_tokens += reply.usage.input or 0
        self.output_tokens += reply.usage.output or 0
        said = reply.text or json.dumps([[use.name, use.params] for use in reply.tool_calls], default=str)
        shown = [{"role": message.role, "text": message.content} for message in request.messages]
        self.transcript += [*shown[len(shown) - 1 if self.calls > 1 else 0 :], {"role": "assistant", "text": said}]
        return reply

    def links_of(self, request: ChatRequest) -> Sequence[ChainLink]:
        return self.inner.links_of(request)


@dataclass(frozen=True)
class Lab:
    """A sandbox and a model server."""

    sandbox: Sandbox
    url: str
    model: str
    max_calls: int = MAX_CALLS

    def spent(self) -> float:
        """Return the seconds that all answers took so far, recorded ones as when they were recorded."""
        with urllib.request.urlopen(f"{self.url.removesuffix('/v1')}/spent", timeout=_SECONDS) as response:
            return float(json.load(response)["ms"]) / 1000

    def layer(self) -> LlmLayer:
        """Return the models of this server alone, with time for busy processors."""
        providers = ProviderSettings({"OPENAI_BASE_URL": self.url, "OPENAI_MODEL": self.model})
        patient = CallSettings(first_token_seconds=_SECONDS, idle_seconds=_SECONDS, total_seconds=_SECONDS)
        return LlmLayer(providers, patient, None, None)


def by_assay(lab: Lab, llm: LlmLayer, task: Task, **wanted: object) -> Outcome:
    """The loop as a job runs it; ``wanted`` are further fields of its input."""
    held = MemoryContext()
    budget = Budget()
    counted = Counted(llm.for_job(Owner("lab", None), budget))
    context = replace(held.context("transform"), llm=counted, budget=budget)
    body = {**_body(task, held), "max_iterations": lab.max_calls, **wanted}
    status, code, detail, right = "", "", "", False
    before = lab.spent()
    try:
        result = Transform(lab.sandbox)(context, TransformInput.model_validate(body))
        status, code = result.status, result.code
        right, detail = judged(task, result)
    except AssayError as error:
        status, detail = error.code, str(error)
    name = "tools" if wanted.get("strategy") == "tools" else "assay"
    return Outcome(
        task.name,
        lab.model,
        name,
        right,
        status,
        counted.calls,
        counted.input_tokens,
        counted.output_tokens,
        lab.spent() - before,
        code,
        detail,
        counted.transcript,
    )


def by_tools(lab: Lab, llm: LlmLayer, task: Task) -> Outcome:
    return by_assay(lab, llm, task, strategy="tools")


def by_single_call(lab: Lab, llm: LlmLayer, task: Task) -> Outcome:
    """Return one call with two short examples, whose code is run once; what runs is accepted."""
    del llm
    messages = [*_SHOTS, {"role": "user", "content": _asked(_described(task), task.text, _names(task)[0])}]
    body = {"model": lab.model, "messages": messages, "temperature": 0, "max_tokens": MAX_TOKENS}
    request = urllib.request.Request(
        f"{lab.url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=1200) as response:
        answer = json.load(response)
    text = answer["choices"][0]["message"]["content"]
    match = _CODE.search(text)
    code = match[1] if match else text
    held = MemoryContext()
    status, right = "done", False
    try:
        result = Transform(lab.sandbox)(
            held.context("transform"), TransformInput.model_validate({**_body(task, held), "code": code})
        )
        right, detail = judged(task, result)
    except AssayError as error:
        status, detail = error.code, str(error)
    usage = answer["usage"]
    return Outcome(
        task.name,
        lab.model,
        "single",
        right,
        status,
        1,
        usage["prompt_tokens"],
        usage["completion_tokens"],
        answer["ms"] / 1000,
        code,
        detail,
    )


WAYS: Mapping[str, Callable[[Lab, LlmLayer, Task], Outcome]] = {
    "assay": by_assay,
    "single": by_single_call,
    "tools": by_tools,
}


def judged(task: Task, result: TransformResult) -> tuple[bool, str]:
    """Return whether the table is the right one, and else its first rows."""
    if result.table is None:
        return False, result.question or "no table"
    right = same(result.table.rows, [list(row) for row in task.answer[:50]], task.ordered)
    right = right and result.table.row_count == len(task.answer)
    return right, "" if right else json.dumps(result.table.rows[:3], default=str)[:300]


def _body(task: Task, held: MemoryContext) -> dict[str, Any]:
    data: list[dict[str, Any]] = [{"name": name, "file_id": held.files.add(*content(name))} for name in task.data]
    data += [{"name": name, "rows": list(rows)} for name, rows in task.rows.items()]
    return {"task": task.text, "data": data}


def _names(task: Task) -> list[str]:
    return [*task.data, *task.rows]


def _described(task: Task) -> str:
    lines = []
    for name in _names(task):
        columns = ", ".join(f"{column} ({kind})" for column, kind in _columns(task, name).items())
        lines.append(f"DataFrame `{name}` is loaded. Columns: {columns}.")
    return "\n".join(lines)


def _columns(task: Task, name: str) -> dict[str, str]:
    """Return the columns with their types as pandas calls them."""
    if name in task.rows:
        frame = pl.DataFrame(list(task.rows[name]), infer_schema_length=None)
    else:
        file, raw = content(name)
        frame = pl.read_csv(raw) if file.endswith(".csv") else pl.read_json(raw, infer_schema_length=None)
    return {column: _pandas(dtype) for column, dtype in frame.schema.items()}


def _pandas(dtype: pl.DataType) -> str:
    return (
        "int64"
        if dtype.is_integer()
        else "float64"
        if dtype.is_float()
        else "bool"
        if dtype == pl.Boolean
        else "object"
    )


def _asked(data: str, task: str, name: str) -> str:
    return f"{data} Task: {task}\nComplete the code. Do not create data.\n```python\nresult = {name}"


def _shot(data: str, task: str, code: str) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": _asked(data, task, "data")},
        {"role": "assistant", "content": f"```python\n{code}\n```"},
    ]


_SHOTS = [
    *_shot(
        "DataFrame `data` is loaded. Columns: name (object), age (int64).",
        "Keep rows where age is below 30. Columns: name",
        "result = data[data['age'] < 30][['name']]",
    ),
    *_shot(
        "DataFrame `data` is loaded. Columns: team (object), points (int64).",
        "Largest points by team. Columns: team, best",
        "result = data.groupby('team', as_index=False).agg(best=('points', 'max'))",
    ),
]
