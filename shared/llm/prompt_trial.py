"""A prompt tried on a model outside of jobs, with the caller's own text or with the messages of a job's call."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import JsonValue

from shared.contracts.models import CallMessage, ModelName, PromptTest, PromptTestInput
from shared.errors import AssayError
from shared.llm import templates, texts
from shared.llm.catalog import cost
from shared.llm.chat import ChatMessage, ChatRequest, ToolUse
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.registry import model_roles
from shared.loop import Budget, BudgetSpent

_SECONDS = 120.0


@dataclass(frozen=True)
class Trial:
    """A trial's messages, and the answer of the job's own call."""

    request: ChatRequest
    before: str | None
    before_version: int | None

    def run(self, layer: LlmLayer, tenant: str) -> PromptTest:
        """Call the model; failures are part of the result. Raises: QuotaExceeded and the like, before any call."""
        models = layer.for_job(Owner(tenant, None), Budget(seconds=_SECONDS))
        models.admission(())
        began = time.monotonic()
        asked = [
            CallMessage(
                role=each.role,
                content=texts.clean(each.content),
                tool_calls=_uses(each.tool_calls),
                tool_call_id=each.tool_call_id,
            )
            for each in self.request.messages
        ]
        fields: dict[str, Any] = {"messages": asked, "before": self.before, "before_version": self.before_version}
        try:
            reply = models.complete(self.request)
        except (AssayError, BudgetSpent) as failed:
            why = f"{failed.code}: {failed.detail}" if isinstance(failed, AssayError) else str(failed)
            return PromptTest(ok=False, seconds=time.monotonic() - began, error=why, **fields)
        return PromptTest(
            ok=True,
            answer=texts.clean(reply.text),
            tool_calls=_uses(reply.tool_calls),
            served=ModelName(provider=reply.provider, model=reply.model),
            seconds=time.monotonic() - began,
            input_tokens=reply.usage.input,
            output_tokens=reply.usage.output,
            cost_usd=cost(reply.provider, reply.model, reply.usage),
            **fields,
        )


def _uses(uses: Sequence[ToolUse]) -> list[dict[str, JsonValue]]:
    return [texts.clean({"id": use.id, "name": use.name, "params": dict(use.params)}) for use in uses]


@dataclass(frozen=True)
class TrialTemplate:
    """A template that is to be tried, before it is filled in; ``kept`` is what is kept of the job's call."""

    text: str
    default: str
    values: Mapping[str, Any]
    old: str | None
    given: PromptTestInput
    role: str
    kept: dict[str, Any] | None
    old_version: int | None

    def argument(self) -> JsonValue:
        """Return the argument of ``templates.try_template``, which runs in a bounded process because the text is a
        caller's.
        """
        old_values = {} if self.kept is None else self.kept["variables"]
        return {
            "text": self.text,
            "default": self.default,
            "values": {**self.values},
            "old": self.old,
            "old_values": old_values,
        }

    def filled(self, answer: JsonValue) -> Trial:
        """Return the trial, given the result of ``templates.try_template``. Raises: InvalidRequest, PromptBroken ..."""
        made = templates.answered(answer)
        rendered, given = str(made["rendered"]), self.given
        selector = () if given.model is None else (given.model,)
        if self.kept is None:
            words: tuple[ChatMessage, ...] = (ChatMessage("user", rendered),)
            if given.message is not None:
                words = (ChatMessage("system", rendered), ChatMessage("user", given.message))
            return Trial(ChatRequest(self.role, words, selector=selector), None, None)
        messages = _filled(texts.messages_of(self.kept), made["before"], rendered)
        if given.message is not None:
            messages = [*messages[:1], ChatMessage("user", given.message)]
        request = texts.request_of(self.kept, self.role, messages)
        return Trial(replace(request, selector=selector), self.kept["answer"], self.old_version)


def template_of(layer: LlmLayer, key: str, given: PromptTestInput, row: Mapping[str, Any] | None) -> TrialTemplate:
    """``row``: of ``ledger.latest_text``. Raises: NotFound."""
    registry = layer.prompts
    text = given.text if given.text is not None else registry.active(key).text
    role = key if key in model_roles() else next(iter(model_roles()))
    kept, old = None, None
    if row is not None:
        kept, role = texts.unpacked(row["body"]), str(row["role"])
        version = registry.version(key, int(row["prompt_version"]))
        old = None if version is None else version.text
    return TrialTemplate(
        text=text,
        default=registry.default(key),
        values={**({} if kept is None else kept.get("variables", {})), **given.variables},
        old=old,
        given=given,
        role=role,
        kept=kept,
        old_version=None if row is None else row["prompt_version"],
    )


def _filled(messages: Sequence[ChatMessage], before: JsonValue, rendered: str) -> Sequence[ChatMessage]:
    """Return the call's messages with the new text in place of the prompt's old version, or as the first message."""
    place = 0
    if isinstance(before, str):
        same = (at for at, message in enumerate(messages) if message.content.strip() == before.strip())
        place = next(same, 0)
    return [replace(each, content=rendered) if at == place else each for at, each in enumerate(messages)]
