"""Requests to a model and its replies, in one shape for every provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from pydantic import Base64Bytes, JsonValue

Json = Mapping[str, JsonValue]
_MAX_TOKENS = 100_000_000  #: of one call


@dataclass(frozen=True)
class ImagePart:
    """An image in a message, for models that see."""

    media_type: str
    data: Base64Bytes  #: the bytes themselves; as JSON in base 64


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
    """A structured answer: requested from providers that support it; the text is validated either way."""

    name: str
    schema: Json


class Compacted(NamedTuple):
    """A request's messages, made shorter, and what was left out of them, in words."""

    messages: tuple[ChatMessage, ...]
    left_out: tuple[str, ...]


#: Shortens the messages to about the given number of tokens, as only the job's kind can; None when it cannot.
Compact = Callable[[int], Compacted | None]


@dataclass(frozen=True)
class PromptVersion:
    key: str
    version: int
    #: What the text was filled in with, where that is plain and short: a draft is tested with it.
    variables: Json = field(default_factory=dict, compare=False, repr=False)


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
    grows: bool = False  #: the next turn's messages are these and more, so that keeping them at the vendor pays
    #: Explicit ``provider/model`` or partial model ids, in order; no other model answers.
    selector: tuple[str, ...] = ()
    compact: Compact | None = field(default=None, compare=False, repr=False)  #: the job's side uses it; never sent


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
    cached: int | None = None  #: of the input, read from the provider's cache
    written: int | None = None  #: of the input, put into the cache, where that has a price

    @classmethod
    def reported(cls, input: object, output: object, cached: object = None, written: object = None) -> TokenUsage:
        """Return the usage; invalid counts (negative, absurdly large, text) are treated as missing."""
        return cls(_count(input), _count(output), _count(cached), _count(written))

    def over(self, earlier: TokenUsage) -> TokenUsage:
        """Return these counts, with the earlier ones where this report has none."""
        names = ("input", "output", "cached", "written")
        later = {name: value for name in names if (value := getattr(self, name)) is not None}
        return replace(earlier, **later) if later else earlier

    @property
    def total(self) -> int:
        return (self.input or 0) + (self.output or 0)


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MAX_TOKENS else None


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
    reasoning: str = ""  #: the model's reasoning before the answer, where the provider returns it
    unseen: int = 0  #: images that were left out because the model does not see
    ignored: tuple[str, ...] = ()  #: parameters that were left out because the vendor or the model does not take them
    http_status: int | None = None  #: of a refusal that the answer was read from
    note: str | None = None  #: how the answer was come by, where it was not simply given


#: ``examples``: briefly, after short solved examples; ``plain``: in full, without any.
Prompting = Literal["examples", "plain"]


@dataclass(frozen=True)
class ChainLink:
    """One model of one provider, with the parameters of its calls by the provider's own names."""

    provider: str
    model: str
    parameters: Json = field(default_factory=dict)
    prompting: Prompting | None = None  #: None: by the model's size


Reason = Literal["primary", "failover", "retry", "hedge"]

SKIPPED = "skipped"


@dataclass(frozen=True)
class ProviderAttempt:
    """One attempt at a provider, as reported to usage, ledger and events."""

    number: int  #: within its turn, from 1
    request: ChatRequest
    link: ChainLink
    reason: Reason
    outcome: str  #: ``ok``, a fault's code, or ``skipped``
    before: ChainLink | None = None  #: of the attempt before
    cause: str | None = None  #: its outcome, which made this attempt necessary
    reply: ChatReply | None = None
    usage: TokenUsage | None = None  #: of an answer that was none
    finish: Finish | None = None  #: of an answer that was none
    http_status: int | None = None
    detail: str | None = None
    seconds: float = 0.0
    first_token: float | None = None
    queued: float | None = None  #: seconds for which it waited for a slot, before it was sent
    scripted: bool = False  #: a faulty answer that the scripted server gave
    request_id: str | None = None  #: a UUID that all attempts of one request have

    @property
    def reached(self) -> bool:
        """Return whether the provider was called at all."""
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
        """Return the US dollars of a call to the first model in line; None when the price is unknown.

        Raises: NoSuchModel.
        """
        ...


@runtime_checkable
class KnowsModels(Protocol):
    """Knows which models it would call, in their order."""

    def links_of(self, request: ChatRequest) -> Sequence[ChainLink]:
        """Return the configured models of the request; ``prompting`` is set in each.

        Raises: NoSuchModel, ModelNotAllowed.
        """
        ...


@runtime_checkable
class Meter(Protocol):
    """Counts a job's use of providers other than chat: embeddings."""

    def admit(self, link: ChainLink) -> None:
        """Admit one call. Raises: BudgetSpent, QuotaExceeded, ModelNotAllowed."""
        ...

    def spend(self, link: ChainLink, role: str, usage: TokenUsage, seconds: float) -> None: ...


@dataclass(frozen=True)
class RenderedPrompt:
    text: str
    version: PromptVersion


class Prompts(Protocol):
    """The prompt registry as a capability sees it."""

    def render(self, key: str, **variables: object) -> RenderedPrompt:
        """Render the prompt's current version with the given variables."""
        ...
