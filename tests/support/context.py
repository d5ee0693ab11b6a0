"""A job's context in memory: for capabilities that are tested without a database and without a worker."""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Event as Flag
from typing import BinaryIO

from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment
from pydantic import JsonValue

from shared.contracts.files import FileInfo
from shared.contracts.jobs import JobState
from shared.errors import NoProviderConfigured, NotFound
from shared.jobs.job import Context, Effect, FinishedJob, Job
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, PromptVersion, RenderedPrompt
from shared.llm.prompts import default_prompts
from shared.loop import Budget

#: A reply, several in turn, or whatever a function of the request says or raises.
Script = str | Sequence[str] | Callable[[ChatRequest], str | ChatReply]


@dataclass
class ScriptedProvider:
    """Answers by role; a role without a script has no provider. Keeps every request."""

    scripts: dict[str, Script] = field(default_factory=dict)
    requests: list[ChatRequest] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "scripted"

    def complete(self, request: ChatRequest) -> ChatReply:
        script = self.scripts.get(request.role)
        if script is None:
            raise NoProviderConfigured("no model provider is configured")
        asked = [kept for kept in self.requests if kept.role == request.role]
        self.requests.append(request)
        if isinstance(script, str):
            text = script
        elif callable(script):
            said = script(request)
            if isinstance(said, ChatReply):
                return said
            text = said
        else:
            text = script[min(len(asked), len(script) - 1)]
        return ChatReply(text, "scripted", "scripted-1", source="scripted")

    def asked(self, role: str) -> int:
        return sum(request.role == role for request in self.requests)


class PromptFiles:
    """The default prompts, straight from their files."""

    def render(self, key: str, **variables: object) -> RenderedPrompt:
        environment = SandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
        text = environment.from_string(default_prompts()[key]).render(variables)
        return RenderedPrompt(text, PromptVersion(key, 1))


@dataclass
class MemoryFiles:
    contents: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    media_types: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, content: bytes) -> str:
        identity = f"file-{len(self.contents) + 1}"
        self.contents[identity] = (name, content)
        return identity

    def info(self, file_id: str) -> FileInfo:
        if file_id not in self.contents:
            raise NotFound("there is no such file")
        name, content = self.contents[file_id]
        sha256 = hashlib.sha256(content).hexdigest()
        media_type = self.media_types.get(file_id, "application/octet-stream")
        return FileInfo(id=file_id, name=name, size=len(content), sha256=sha256, media_type=media_type)

    @contextmanager
    def open(self, file_id: str) -> Iterator[BinaryIO]:
        self.info(file_id)
        with io.BytesIO(self.contents[file_id][1]) as stream:
            yield stream

    def fetch(self, file_id: str, target: Path) -> FileInfo:
        info = self.info(file_id)
        target.write_bytes(self.contents[file_id][1])
        return info

    def save(self, name: str, content: bytes | Path | BinaryIO, media_type: str) -> FileInfo:
        if isinstance(content, Path):
            data = content.read_bytes()
        elif isinstance(content, bytes):
            data = content
        else:
            buffer = io.BytesIO()
            shutil.copyfileobj(content, buffer)
            data = buffer.getvalue()
        identity = self.add(name, data)
        self.media_types[identity] = media_type
        return self.info(identity)


@dataclass
class MemoryReport:
    """Everything that a job reported."""

    events: list[tuple[str, dict[str, JsonValue]]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    said: list[tuple[str, str]] = field(default_factory=list)
    forms: dict[str, bytes] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)

    def event(self, type: str, **data: JsonValue) -> None:
        self.events.append((type, data))

    def turn(self, number: int, proposal: JsonValue, outcome: JsonValue) -> None:
        self.event("turn_taken", number=number, proposal=proposal, outcome=outcome)

    def thinking(self, message: str, **data: JsonValue) -> None:
        self.event("thinking", message=message, **data)

    def output(self, stream: str, text: str) -> None:
        self.event("output", stream=stream, text=text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def remember(self, user: str, assistant: str, tool_calls: Sequence[Mapping[str, JsonValue]] = ()) -> None:
        self.said.append((user, assistant))

    def form(self, name: str, media_type: str, body: bytes) -> None:
        self.forms[name] = body

    def effect(self, apply: Effect) -> None:
        self.effects.append(apply)

    def of(self, type: str) -> list[dict[str, JsonValue]]:
        return [data for name, data in self.events if name == type]


class NoResults:
    def of(self, job_id: str) -> FinishedJob | None:
        return None

    def latest(self, kind: str) -> FinishedJob | None:
        return None


@dataclass
class MemoryContext:
    """What a test holds of a context."""

    llm: ScriptedProvider = field(default_factory=ScriptedProvider)
    report: MemoryReport = field(default_factory=MemoryReport)
    files: MemoryFiles = field(default_factory=MemoryFiles)
    budget: Budget = field(default_factory=Budget)
    history: Sequence[ChatMessage] = ()
    cancelled: Flag = field(default_factory=Flag)
    tenant: str = "tenant"
    labels: Mapping[str, str] = field(default_factory=dict)

    def context(self, kind: str) -> Context:
        job = Job(
            id="job-1",
            tenant_id=self.tenant,
            kind=kind,
            state=JobState.RUNNING,
            input={},
            attempt=1,
            fence=1,
            lease_until=datetime.now(UTC),
            conversation_id="conversation-1",
            labels=self.labels,
            actor="key-1",
        )
        return Context(
            job=job,
            llm=self.llm,
            prompts=PromptFiles(),
            history=self.history,
            files=self.files,
            results=NoResults(),
            budget=self.budget,
            report=self.report,
            cancelled=self.cancelled,
        )
