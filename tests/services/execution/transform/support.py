"""Transform jobs without a server: scripted replies, files in memory, the real sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event as Flag
from typing import Any

import polars as pl
from pydantic import JsonValue

from services.execution.transform.loading import Loader
from services.execution.transform.runner import CodeRunner, TransformLimits
from services.execution.transform.transform import Transform
from shared.contracts.transform import TransformInput, TransformResult
from shared.errors import ProvidersFailed
from shared.jobs.job import Context, FinishedJob
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Finish, ToolUse
from shared.loop import Budget
from tests.support.context import MemoryContext, MemoryFiles, MemoryReport


@dataclass
class Script:
    """A provider that answers with the given replies, then fails as a chain of providers would."""

    replies: list[str | ChatReply]
    asked: list[ChatRequest] = field(default_factory=list)
    name: str = "script"

    def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        if not self.replies:
            raise ProvidersFailed("the script is over")
        reply = self.replies.pop(0)
        return reply if isinstance(reply, ChatReply) else ChatReply(reply, "script", "scripted")

    def said(self) -> str:
        """Everything that any request held."""
        return "\n".join(message.content for request in self.asked for message in request.messages)

    def last(self) -> str:
        return self.asked[-1].messages[-1].content


def cut(text: str) -> ChatReply:
    return ChatReply(text, "script", "scripted", finish=Finish.LENGTH)


def calls(*tools: tuple[str, Mapping[str, JsonValue]]) -> ChatReply:
    uses = tuple(ToolUse(f"call-{number}", name, params) for number, (name, params) in enumerate(tools))
    return ChatReply("", "script", "scripted", finish=Finish.TOOL_CALLS, tool_calls=uses)


@dataclass
class Past:
    """``Results`` kept in memory."""

    jobs: list[FinishedJob] = field(default_factory=list)

    def of(self, job_id: str) -> FinishedJob | None:
        return next((job for job in self.jobs if job.id == job_id), None)

    def latest(self, kind: str) -> FinishedJob | None:
        return self.jobs[-1] if self.jobs else None


@dataclass
class TransformJobs:
    """Everything a transform needs, and what it left behind."""

    sandbox: Any
    files: MemoryFiles = field(default_factory=MemoryFiles)
    past: Past = field(default_factory=Past)
    report: MemoryReport = field(default_factory=MemoryReport)
    script: Script = field(default_factory=lambda: Script([]))
    history: list[ChatMessage] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)
    cancelled: Flag = field(default_factory=Flag)
    limits: TransformLimits = field(default_factory=TransformLimits)

    def transform(self, *replies: str | ChatReply, data: object = None, **wanted: object) -> TransformResult:
        """Run one job with scripted replies; ``data`` is CSV text, rows, or the API's list."""
        self.script = Script(list(replies))
        self.report = MemoryReport()
        sets = data
        if isinstance(data, str):
            sets = [{"csv": data}]
        elif isinstance(data, list) and data and "name" not in data[0]:
            sets = [{"rows": data}]
        body = {"task": "do it", "data": sets, **wanted}
        context = self.context()
        self.budget = Budget()
        return Transform(self.sandbox, self.limits)(context, TransformInput.model_validate(body))

    def table(self, data: list[dict[str, str]], code: str, **wanted: object) -> pl.DataFrame | None:
        """Return what the code gives on the data in one run, which nothing verifies; it costs a tenth of a job."""
        request = TransformInput.model_validate({"task": "do it", "data": data, "code": code, **wanted})
        with self.sandbox.scratch() as folder, ThreadPoolExecutor(1) as pool:
            loader = Loader(
                self.sandbox,
                self.files,
                folder,
                pool,
                self.limits,
                request.reader,
                request.preview.rows,
                self.cancelled,
            )
            sets = [loader.load(at, each) for at, each in enumerate(request.data)]
            run = CodeRunner(self.sandbox, request, sets, self.limits, Budget(), self.cancelled).run(code)
            return None if run.table is None else run.table.frame

    def context(self) -> Context:
        memory = MemoryContext(
            report=self.report, files=self.files, budget=self.budget, history=self.history, cancelled=self.cancelled
        )
        return replace(memory.context("transform"), llm=self.script, results=self.past)

    def keep(self, job_id: str, result: TransformResult, **wanted: JsonValue) -> None:
        """The job is part of the conversation from now on."""
        self.past.jobs.append(FinishedJob(job_id, "transform", wanted, result.model_dump(mode="json")))


def confirmed(second: str, language: str = "sql") -> str:
    """Return a reply that confirms the result with its second computation."""
    return f"DONE\n```{language} check\n{second}\n```"


def python(code: str) -> str:
    return f"```python\n{code}\n```"
