"""A transform without a server: scripted replies in memory, files in a folder, the real sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Event as Flag
from typing import Any, BinaryIO

import jinja2
from pydantic import JsonValue

from services.execution.transform.runner import TransformLimits
from services.execution.transform.transform import Transform
from shared.contracts.files import FileInfo
from shared.contracts.jobs import JobState
from shared.contracts.transform import TransformInput, TransformResult
from shared.errors import NotFound, ProvidersFailed
from shared.jobs.job import Context, FinishedJob, Job
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Finish, PromptVersion, RenderedPrompt, ToolUse
from shared.loop import Budget

PROMPTS = Path(__file__).parents[4] / "services/execution/prompts"


class PromptFiles:
    """The prompts as they are in the tree; a variable that is missing is an error."""

    def __init__(self) -> None:
        self.environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)

    def render(self, key: str, **variables: object) -> RenderedPrompt:
        text = (PROMPTS / f"{key.removeprefix('execution.')}.md").read_text()
        return RenderedPrompt(self.environment.from_string(text).render(**variables), PromptVersion(key, 1))


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


class Folder:
    """``Files`` in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.infos: dict[str, FileInfo] = {}

    def info(self, file_id: str) -> FileInfo:
        if file_id not in self.infos:
            raise NotFound("no such file")
        return self.infos[file_id]

    @contextmanager
    def open(self, file_id: str) -> Iterator[BinaryIO]:
        with (self.root / self.info(file_id).id).open("rb") as file:
            yield file

    def fetch(self, file_id: str, target: Path) -> FileInfo:
        shutil.copyfile(self.root / self.info(file_id).id, target)
        return self.infos[file_id]

    def save(self, name: str, content: bytes | Path | BinaryIO, media_type: str) -> FileInfo:
        data = content if isinstance(content, bytes) else content.read_bytes() if isinstance(content, Path) else b""
        file_id = f"file{len(self.infos)}"
        (self.root / file_id).write_bytes(data)
        self.infos[file_id] = FileInfo(id=file_id, name=name, size=len(data), sha256="", media_type=media_type)
        return self.infos[file_id]


@dataclass
class Notebook:
    """``Report`` kept in memory."""

    turns: list[tuple[int, Any, Any]] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    pairs: list[tuple[str, str]] = field(default_factory=list)

    def event(self, type: str, **data: JsonValue) -> None: ...

    def turn(self, number: int, proposal: JsonValue, outcome: JsonValue) -> None:
        self.turns.append((number, proposal, outcome))

    def thinking(self, message: str, **data: JsonValue) -> None:
        self.thoughts.append(message)

    def output(self, stream: str, text: str) -> None: ...

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def remember(self, user: str, assistant: str, tool_calls: Sequence[Mapping[str, JsonValue]] = ()) -> None:
        self.pairs.append((user, assistant))

    def form(self, name: str, media_type: str, body: bytes) -> None: ...

    def effect(self, apply: object) -> None: ...


@dataclass
class Past:
    """``Results`` kept in memory."""

    jobs: list[FinishedJob] = field(default_factory=list)

    def of(self, job_id: str) -> FinishedJob | None:
        return next((job for job in self.jobs if job.id == job_id), None)

    def latest(self, kind: str) -> FinishedJob | None:
        return self.jobs[-1] if self.jobs else None


@dataclass
class Lab:
    """Everything a transform needs, and what it left behind."""

    files: Folder
    sandbox: Any
    past: Past = field(default_factory=Past)
    report: Notebook = field(default_factory=Notebook)
    script: Script = field(default_factory=lambda: Script([]))
    history: list[ChatMessage] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)
    cancelled: Flag = field(default_factory=Flag)
    limits: TransformLimits = field(default_factory=TransformLimits)

    def transform(self, *replies: str | ChatReply, data: object = None, **wanted: object) -> TransformResult:
        """Run one job with scripted replies; ``data`` is CSV text, rows, or the API's list."""
        self.script = Script(list(replies))
        self.report = Notebook()
        sets = data
        if isinstance(data, str):
            sets = [{"csv": data}]
        elif isinstance(data, list) and data and "name" not in data[0]:
            sets = [{"rows": data}]
        body = {"task": "do it", "data": sets, **wanted}
        context = self.context()
        self.budget = Budget()
        return Transform(self.sandbox, self.limits)(context, TransformInput.model_validate(body))

    def context(self) -> Context:
        job = Job(
            "job", "tenant", "transform", JobState.RUNNING, {}, 1, 1, datetime.now(UTC), "conversation", {}, "key"
        )
        return Context(
            job,
            self.script,
            PromptFiles(),
            self.history,
            self.files,
            self.past,
            self.budget,
            self.report,
            self.cancelled,
        )

    def keep(self, job_id: str, result: TransformResult, **wanted: JsonValue) -> None:
        """The job is part of the conversation from now on."""
        self.past.jobs.append(FinishedJob(job_id, "transform", wanted, result.model_dump(mode="json")))


def python(code: str) -> str:
    return f"```python\n{code}\n```"
