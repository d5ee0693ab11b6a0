"""A flow in Postgres, edited by a scripted model with the real prompts; the end of a job is one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event as Flag
from typing import Any, cast

from pydantic import JsonValue
from sqlalchemy import Engine

from services.flows.mutate import Mutate
from services.flows.settings import EditSettings
from shared.contracts.flow import FlowInput, FlowResult
from shared.contracts.jobs import JobState
from shared.errors import ProvidersFailed
from shared.flows.document import Document
from shared.flows.session import FlowEditor
from shared.flows.store import FlowStore
from shared.jobs.job import Context, Effect, Files, Job, Results
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest
from shared.llm.prompts import PromptRegistry
from shared.loop import Budget
from tests.shared.flows.stored_flow import StoredFlow


def tagged(*calls: tuple[str, Mapping[str, JsonValue]], thinking: str = "I see") -> str:
    body = [{"type": "tool_use", "id": str(n), "name": name, "input": params} for n, (name, params) in enumerate(calls)]
    return f"<thinking>{thinking}</thinking>\n<response>\n{json.dumps(body)}\n</response>"


@dataclass
class ScriptedModel:
    """A provider that gives these replies; ``before`` happens while the model thinks."""

    replies: list[str | ChatReply]
    before: Callable[[int], object] = lambda number: None
    asked: list[ChatRequest] = field(default_factory=list)
    name: str = "script"

    def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        self.before(len(self.asked))
        if not self.replies:
            raise ProvidersFailed("the script is over")
        reply = self.replies.pop(0)
        return reply if isinstance(reply, ChatReply) else ChatReply(reply, "script", "scripted")

    def last(self) -> str:
        return self.asked[-1].messages[-1].content


@dataclass
class RecordedReport:
    """``Report``: keeps what is reported."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    turns: list[tuple[int, JsonValue, JsonValue]] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

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

    def effect(self, apply: Effect) -> None:
        self.effects.append(apply)


class ChatFlow(StoredFlow):
    """One flow, and messages about it."""

    def __init__(
        self,
        engine: Engine,
        document: Document,
        settings: EditSettings | None = None,
        history: Sequence[ChatMessage] = (),
    ) -> None:
        super().__init__(engine, document)
        self.settings = settings or EditSettings()
        self.history = history

    def send(
        self,
        script: ScriptedModel,
        message: str = "please",
        budget: Budget | None = None,
        between: Callable[[], object] = lambda: None,
        **fields: Any,
    ) -> tuple[FlowResult, RecordedReport]:
        """Run a job to its end, effects included; ``between`` happens after the answer and before its commit."""
        report = RecordedReport()
        moment = datetime.now(UTC)
        job = Job("j", "t", "flow", JobState.RUNNING, {}, 1, 1, moment, "c", {}, "anne")
        context = Context(
            job=job,
            llm=script,
            prompts=PromptRegistry(None),
            history=self.history,
            files=cast(Files, None),
            results=cast(Results, None),
            budget=budget or Budget(),
            report=report,
            cancelled=Flag(),
        )
        request = FlowInput(flow_id=self.id, message=message, **fields)
        result = Mutate(FlowEditor(self.engine, FlowStore()), self.settings)(context, request)
        between()
        with self.engine.begin() as connection:
            for effect in report.effects:
                corrected = effect(connection) or {}
                result = FlowResult.model_validate(result.model_dump(mode="json") | dict(corrected))
        return result, report

    @property
    def labels(self) -> list[str]:
        return sorted(self.now.document.nodes)
