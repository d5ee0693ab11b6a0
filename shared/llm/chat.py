"""Requests to a model and its replies, in one shape for every provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, runtime_checkable

from pydantic import JsonValue

Json = Mapping[str, JsonValue]


@dataclass(frozen=True)
class ImagePart:
    """An image in a message, for models that see."""

    media_type: str
    data: bytes


@dataclass(frozen=True)
class ToolUse:
    """A native tool call of the model."""

    id: str
    name: str
    params: Json


@dataclass(frozen=True)
class ChatMessage:
    """One message; ``tool_calls`` only on the assistant's, ``tool_call_id`` only on a tool's answer."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    images: tuple[ImagePart, ...] = ()
    tool_calls: tuple[ToolUse, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    parameters: Json  #: JSON schema of an object


@dataclass(frozen=True)
class JsonSchema:
    """A structured answer: the provider is asked for it where it can, and the text is checked anyway."""

    name: str
    schema: Json


@dataclass(frozen=True)
class PromptVersion:
    key: str
    version: int


@dataclass(frozen=True)
class ChatRequest:
    """One question to a role's model; ``provider`` and ``model`` are filled in by the router."""

    role: str  #: ``service.purpose``, for example ``execution.transform``
    messages: tuple[ChatMessage, ...]
    tools: tuple[Tool, ...] = ()
    schema: JsonSchema | None = None
    max_tokens: int = 8192
    parameters: Json | None = None  #: sampling and reasoning options, by the provider's own names
    deadline: float | None = None  #: monotonic clock; no provider is started that cannot finish by then
    prompt: PromptVersion | None = None
    turn: int = 1
    provider: str | None = None
    model: str | None = None
    #: Explicit ``provider/model`` or partial model ids, in order; no other model answers.
    selector: tuple[str, ...] = ()


class Finish(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    REFUSAL = "refusal"


@dataclass(frozen=True)
class TokenUsage:
    """Tokens as the provider counted them; ``None`` when it did not say."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None


@dataclass(frozen=True)
class ChatReply:
    text: str
    provider: str
    model: str
    finish: Finish = Finish.STOP
    tool_calls: tuple[ToolUse, ...] = ()
    usage: TokenUsage = TokenUsage()
    source: Literal["live", "replay", "scripted"] = "live"
    seconds: float = 0.0


@dataclass(frozen=True)
class ChainLink:
    """One model of one provider, with the parameters of its calls by the provider's own names."""

    provider: str
    model: str
    parameters: Json = field(default_factory=dict)


Reason = Literal["primary", "failover", "retry", "hedge"]

SKIPPED = "skipped"


@dataclass(frozen=True)
class ProviderAttempt:
    """One attempt at a provider, as the usage, the ledger and the events are told of it."""

    number: int  #: within its turn, from 1
    request: ChatRequest
    link: ChainLink
    reason: Reason
    outcome: str  #: ``ok``, a fault's code, or ``skipped``
    before: ChainLink | None = None  #: of the attempt before
    cause: str | None = None  #: its outcome, which made this attempt necessary
    reply: ChatReply | None = None
    http_status: int | None = None
    detail: str | None = None
    seconds: float = 0.0
    first_token: float | None = None
    scripted: bool = False  #: a faulty answer that the scripted server gave

    @property
    def reached(self) -> bool:
        """Whether the provider was asked at all."""
        return self.outcome != SKIPPED

    @property
    def source(self) -> Literal["live", "replay", "scripted"]:
        if self.reply is not None:
            return self.reply.source
        return "scripted" if self.scripted else "live"


OnAttempt = Callable[[ProviderAttempt], None]


class Provider(Protocol):
    """Answers chat requests: a failover over several vendors, a recorder, the models of a job."""

    @property
    def name(self) -> str: ...

    def complete(self, request: ChatRequest) -> ChatReply:
        """Answer the request.

        Raises: ProviderFault (one vendor), ProvidersFailed (a chain).
        """
        ...


@runtime_checkable
class Estimates(Protocol):
    """Knows beforehand what an answer would cost."""

    def estimate(self, request: ChatRequest, usage: TokenUsage) -> float | None:
        """US dollars of a call to the first model that would be asked; None when the price is unknown.

        Raises: NoSuchModel.
        """
        ...


@dataclass(frozen=True)
class RenderedPrompt:
    text: str
    version: PromptVersion


class Prompts(Protocol):
    """The prompt registry as a capability sees it."""

    def render(self, key: str, **variables: object) -> RenderedPrompt:
        """The prompt's current version with the variables filled in."""
        ...
