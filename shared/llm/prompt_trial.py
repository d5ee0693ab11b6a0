"""A prompt tried on a model, outside of jobs: with words of one's own, or with those of a job's call."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import JsonValue

from shared.contracts.models import CallMessage, ModelName, PromptTest, PromptTestInput
from shared.errors import AssayError, InvalidRequest
from shared.llm import templates, texts
from shared.llm.catalog import cost
from shared.llm.chat import ChatMessage, ChatRequest, ToolUse
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.prompts import PromptRegistry
from shared.llm.registry import model_roles
from shared.loop import Budget, BudgetSpent

_SECONDS = 120.0


@dataclass(frozen=True)
class Trial:
    """What will be asked, and what the job's own call said."""

    request: ChatRequest
    before: str | None
    before_version: int | None

    def run(self, layer: LlmLayer, tenant: str) -> PromptTest:
        """Ask; what fails is told in the answer. Raises: QuotaExceeded and the like, before anything is asked."""
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
        told: dict[str, Any] = {"messages": asked, "before": self.before, "before_version": self.before_version}
        try:
            reply = models.complete(self.request)
        except (AssayError, BudgetSpent) as failed:
            why = f"{failed.code}: {failed.detail}" if isinstance(failed, AssayError) else str(failed)
            return PromptTest(ok=False, seconds=time.monotonic() - began, error=why, **told)
        return PromptTest(
            ok=True,
            answer=texts.clean(reply.text),
            tool_calls=_uses(reply.tool_calls),
            served=ModelName(provider=reply.provider, model=reply.model),
            seconds=time.monotonic() - began,
            input_tokens=reply.usage.input,
            output_tokens=reply.usage.output,
            cost_usd=cost(reply.provider, reply.model, reply.usage),
            **told,
        )


def _uses(uses: Sequence[ToolUse]) -> list[dict[str, JsonValue]]:
    return [texts.clean({"id": use.id, "name": use.name, "params": dict(use.params)}) for use in uses]


def trial_of(layer: LlmLayer, key: str, given: PromptTestInput, kept: Mapping[str, Any] | None) -> Trial:
    """``kept``: a row of ``ledger.latest_text``. Raises: NotFound, PromptBroken and its like, InvalidRequest."""
    registry = layer.prompts
    text = given.text if given.text is not None else registry.active(key).text
    registry.check(key, text)
    told = {} if kept is None else texts.unpacked(kept["body"])
    variables = {**told.get("variables", {}), **given.variables}
    if missing := sorted(templates.variables(text).required - set(variables)):
        said = f"give a value for {', '.join(missing)}"
        raise InvalidRequest(f"variables: {said}.", [(["body", "variables"], said)])
    rendered = templates.render(text, variables)
    selector = () if given.model is None else (given.model,)
    if kept is None:
        words: tuple[ChatMessage, ...] = (ChatMessage("user", rendered),)
        if given.message is not None:
            words = (ChatMessage("system", rendered), ChatMessage("user", given.message))
        role = key if key in model_roles() else next(iter(model_roles()))
        return Trial(ChatRequest(role, words, selector=selector), None, None)
    messages = _filled(registry, key, kept, told, rendered)
    if given.message is not None:
        messages = [*messages[:1], ChatMessage("user", given.message)]
    request = texts.request_of(told, str(kept["role"]), messages)
    return Trial(replace(request, selector=selector), told["answer"], kept["prompt_version"])


def _filled(
    registry: PromptRegistry, key: str, kept: Mapping[str, Any], told: dict[str, Any], rendered: str
) -> Sequence[ChatMessage]:
    """The messages of the call, with the new words where those of its version of the prompt stood; else first."""
    messages = texts.messages_of(told)
    old = registry.version(key, int(kept["prompt_version"]))
    place = 0
    if old is not None and templates.variables(old.text).required <= set(told["variables"]):
        said = templates.render(old.text, told["variables"]).strip()
        place = next((at for at, message in enumerate(messages) if message.content.strip() == said), 0)
    return [replace(each, content=rendered) if at == place else each for at, each in enumerate(messages)]
