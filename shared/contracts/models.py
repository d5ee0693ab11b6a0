"""Prompts, models and providers: what asks which model with what words."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from shared.contracts.common import Answer, Request, Time


class Link(Request):
    """One link of a chain: a provider, one of its models, and the parameters of the call."""

    provider: Annotated[str, Field(min_length=1, max_length=64)]
    model: Annotated[str, Field(min_length=1, max_length=200)]
    parameters: dict[str, JsonValue] = {}


class ChainInput(Request):
    chain: Annotated[list[Link], Field(min_length=1, max_length=10)]


class Models(Answer):
    available: list[dict[str, JsonValue]]
    roles: dict[str, list[Link]]


class ModelTest(Answer):
    ok: bool
    provider: str | None
    model: str | None
    seconds: float
    error: str | None = None


class ProviderState(Answer):
    name: str
    configured: bool
    state: Literal["closed", "open", "half_open", "parked", "unconfigured"]
    until: Time | None = None
    last_error: str | None = None


class Providers(Answer):
    items: list[ProviderState]


class PromptVariables(Answer):
    required: list[str]
    optional: list[str]


class Prompt(Answer):
    key: str
    text: str
    version: int
    is_default: bool
    variables: PromptVariables
    updated_at: Time | None


class PromptInput(Request):
    text: Annotated[str, Field(min_length=1, max_length=200_000)]


class RollbackInput(Request):
    version: Annotated[int, Field(ge=1, le=2**31 - 1)]


class ModelName(Answer):
    provider: str
    model: str


class PromptUsed(Answer):
    key: str
    version: int


class LlmCall(Answer):
    """One attempt at a provider; unknown tokens and prices are null, never 0."""

    turn: int
    attempt: int
    role: str
    requested: ModelName
    served: ModelName | None
    reason: Literal["primary", "failover", "retry", "hedge"]
    outcome: str
    http_status: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    prompt: PromptUsed | None
    seconds: float
    source: Literal["live", "replay", "scripted"]


class LlmCalls(Answer):
    items: list[LlmCall]
