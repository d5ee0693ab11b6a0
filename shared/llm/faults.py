"""What can go wrong at a provider: one class per kind, each with a stable code and a plan for what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Literal

from shared.errors import AssayError, ContextTooLong
from shared.llm.chat import Finish, TokenUsage

Part = Literal["schema", "images", "sampling", "effort"]  #: of a request, which may be left out
#: The parameters of calls that are parts.
PARAMETERS: Mapping[str, Part] = {
    "temperature": "sampling",
    "top_p": "sampling",
    "top_k": "sampling",
    "min_p": "sampling",
    "seed": "sampling",
    "presence_penalty": "sampling",
    "frequency_penalty": "sampling",
    "reasoning_effort": "effort",
}


class NextStep(StrEnum):
    """What the failover does after a fault."""

    SAME_AGAIN = "same_again"  #: once more at the same provider, at once
    WITHOUT = "without"  #: the same, without the part of the request that it does not take
    NEXT = "next"  #: the next provider of the chain


class Mark(StrEnum):
    """What a fault says about the provider's health."""

    NOTHING = "nothing"
    COUNT = "count"  #: one more failure for the breaker
    PARK = "park"  #: do not ask it before a moment that is known


class ProviderFault(AssayError):
    """One provider did not answer; ``detail`` is safe to show."""

    title, status = "The model provider failed", 502
    code: ClassVar[str] = "provider_fault"
    plan: ClassVar[NextStep] = NextStep.NEXT
    mark: ClassVar[Mark] = Mark.NOTHING

    def __init__(self, detail: str, http_status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.http_status = http_status
        self.retry_after = retry_after  #: seconds, as the provider said


class ConnectionFailed(ProviderFault):
    code, mark = "connection_failed", Mark.COUNT


class StaleConnection(ProviderFault):
    """A kept-alive connection was closed before the first byte, which is no fault of the provider: ask again."""

    code, plan = "stale_connection", NextStep.SAME_AGAIN


class TimedOut(ProviderFault):
    code, mark = "timed_out", Mark.COUNT


class RateLimited(ProviderFault):
    code, mark = "rate_limited", Mark.PARK


class ProviderOverloaded(ProviderFault):
    code, mark = "overloaded", Mark.COUNT


class Busy(ProviderFault):
    """All its slots were taken for as long as could be waited."""

    code = "busy"


class Starting(ProviderFault):
    """It is loading its model: not a failure, and worth waiting for when nobody else answers."""

    code = "starting"


class ServerError(ProviderFault):
    code, mark = "server_error", Mark.COUNT


class StreamCut(ProviderFault):
    code, mark = "stream_cut", Mark.COUNT


class UnreadableAnswer(ProviderFault):
    """A broken chunk, or something that is no answer of a model: a proxy's HTML page."""

    code, mark = "unreadable_answer", Mark.COUNT


class EmptyAnswer(ProviderFault):
    """An answer that says nothing; its tokens were spent all the same."""

    code = "empty_answer"

    def __init__(self, detail: str, usage: TokenUsage | None = None, finish: Finish | None = None) -> None:
        super().__init__(detail)
        self.usage = usage
        self.finish = finish


class OnlyThought(EmptyAnswer):
    """The model reasoned, and stopped or was cut before it answered."""

    code = "only_thought"


class InvalidKey(ProviderFault):
    code, mark = "invalid_key", Mark.PARK


class PaymentRequired(ProviderFault):
    code, mark = "payment_required", Mark.PARK


class Forbidden(ProviderFault):
    code = "forbidden"


class UnknownModel(ProviderFault):
    code, mark = "unknown_model", Mark.PARK


class EndpointNotFound(ProviderFault):
    code, mark = "endpoint_not_found", Mark.PARK


class RequestRefused(ProviderFault):
    """400 or 422: the provider does not take this request; another one may."""

    code = "request_refused"


class PartUnsupported(ProviderFault):
    """The model does not take a part of the request, so ask again without it."""

    plan = NextStep.WITHOUT
    part: ClassVar[Part]


class SchemaUnsupported(PartUnsupported):
    """The model has no structured answers; the text is checked anyway."""

    code, part = "schema_unsupported", "schema"


class ImagesUnsupported(PartUnsupported):
    """The model does not see."""

    code, part = "images_unsupported", "images"


class SamplingUnsupported(PartUnsupported):
    """The model does not let its temperature, its seed and the like be chosen."""

    code, part = "sampling_unsupported", "sampling"


class EffortUnsupported(PartUnsupported):
    """The model does not let its effort be chosen, or has other words for it."""

    code, part = "effort_unsupported", "effort"


class PromptTooLong(ProviderFault):
    """The prompt, or the prompt and the answer's cap, do not fit into the model's window (tokens)."""

    code = ContextTooLong.code

    def __init__(
        self, detail: str, http_status: int | None = None, window: int | None = None, prompt: int | None = None
    ) -> None:
        super().__init__(detail, http_status)
        self.window = window
        self.prompt = prompt


class ToolUseFailed(ProviderFault):
    """The model's tool call does not fit its format; ``generation`` is what it wrote."""

    code = "tool_use_failed"

    def __init__(self, detail: str, generation: str, http_status: int | None = None) -> None:
        super().__init__(detail, http_status)
        self.generation = generation


class UnknownProvider(AssayError):
    code, title, status = "unknown_provider", "There is no such model provider", 422


class ModelNotAllowed(AssayError):
    code, title, status = "model_not_allowed", "The tenant may not use that model", 403


class NoSuchModel(AssayError):
    code, title, status = "no_such_model", "No configured provider has that model", 422


class BrokerUnavailable(AssayError):
    code, title, status = "model_broker_unavailable", "The broker of models does not answer", 503


class BrokerRefused(AssayError):
    code, title, status = "model_broker_refused", "The broker does not ask models for this", 403
