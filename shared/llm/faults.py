"""What can go wrong at a provider: one class per kind, each with a stable code and a plan for what comes next."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from shared.errors import AssayError


class NextStep(StrEnum):
    """What the failover does after a fault."""

    SAME_AGAIN = "same_again"  #: once more at the same provider, at once
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
    alarming: ClassVar[bool] = False  #: an operator has to act: the key, the bill or the model id is wrong

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


class ServerError(ProviderFault):
    code, mark = "server_error", Mark.COUNT


class StreamCut(ProviderFault):
    code, mark = "stream_cut", Mark.COUNT


class UnreadableAnswer(ProviderFault):
    """A broken chunk, or something that is no answer of a model: a proxy's HTML page."""

    code, mark = "unreadable_answer", Mark.COUNT


class EmptyAnswer(ProviderFault):
    code = "empty_answer"


class InvalidKey(ProviderFault):
    code, mark, alarming = "invalid_key", Mark.PARK, True


class PaymentRequired(ProviderFault):
    code, mark, alarming = "payment_required", Mark.PARK, True


class Forbidden(ProviderFault):
    code, alarming = "forbidden", True


class UnknownModel(ProviderFault):
    code, mark, alarming = "unknown_model", Mark.PARK, True


class EndpointNotFound(ProviderFault):
    code, mark, alarming = "endpoint_not_found", Mark.PARK, True


class RequestRefused(ProviderFault):
    """400 or 422: the provider does not take this request; another one may."""

    code = "request_refused"


class SchemaUnsupported(ProviderFault):
    """The model has no structured answers; the text is checked anyway, so ask again without."""

    code, plan = "schema_unsupported", NextStep.SAME_AGAIN


class ToolUseFailed(ProviderFault):
    """The model's tool call does not fit its format; ``generation`` is what it wrote."""

    code = "tool_use_failed"

    def __init__(self, detail: str, generation: str, http_status: int | None = None) -> None:
        super().__init__(detail, http_status)
        self.generation = generation


class UnknownProvider(AssayError):
    code, title, status = "unknown_provider", "There is no such model provider", 422


class NoSuchModel(AssayError):
    code, title, status = "no_such_model", "No configured provider has that model", 422
