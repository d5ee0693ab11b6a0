"""What can go wrong at a provider: one class per kind, each with a stable code and a plan for what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Literal

from shared.errors import AssayError, ContextTooLong
from shared.llm.chat import Finish, TokenUsage

#: Of a request: what may be left out, and the vendor's usual name for the answer's cap.
Part = Literal["schema", "images", "sampling", "effort", "cap", "usage"]
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
    NOTE = "note"  #: it refused this request; a row of these is shown, but another request may be taken
    COUNT = "count"  #: one more failure for the breaker
    PARK = "park"  #: do not call it before a known time


_OF_THE_PROVIDER = "Nothing: Assay calls the next model of the chain. `assay jobs llm-calls ID` shows each attempt."


class ProviderFault(AssayError):
    """One provider did not answer; ``detail`` is safe to show."""

    title, status = "Model provider failed", 502
    code: ClassVar[str] = "provider_fault"
    cause = "A provider did not answer."
    remedy = _OF_THE_PROVIDER
    plan: ClassVar[NextStep] = NextStep.NEXT
    mark: Mark = Mark.NOTHING

    def __init__(
        self,
        detail: str,
        http_status: int | None = None,
        retry_after: float | None = None,
        mark: Mark | None = None,
    ) -> None:
        super().__init__(detail)
        self.http_status = http_status
        self.retry_after = retry_after  #: seconds, as the provider said, or as its error is known to last
        self.usage: TokenUsage | None = None  #: what the provider had counted before it failed
        self.finish: Finish | None = None  #: of an answer that says nothing
        if mark is not None:
            self.mark = mark


class ConnectionFailed(ProviderFault):
    code, mark = "connection_failed", Mark.COUNT
    cause = "The provider's address cannot be reached."
    remedy = "Check that the server runs, and that its address is reachable from Assay."


class StaleConnection(ProviderFault):
    """A kept-alive connection was closed before the first byte, which is not the provider's fault: retry."""

    code, plan = "stale_connection", NextStep.SAME_AGAIN
    cause = "The provider had closed a kept-alive connection."
    remedy = "Nothing: Assay sends the request again at once."


class EndpointMoved(ProviderFault):
    """A redirect, which is not followed: the key goes to no other address than the operator's."""

    code, mark = "endpoint_moved", Mark.PARK
    cause = "The provider's address redirects to another one."
    remedy = "Set the address that the attempt's `detail` names as base URL; often `https` or a slash differs."


class TimedOut(ProviderFault):
    code, mark = "timed_out", Mark.COUNT
    cause = "The provider exceeded its timeout for the first token, between tokens or in total."
    remedy = (
        "For a slow server of your own, use `assay endpoints add ... --first-token`, or ASSAY_LLM_FIRST_TOKEN_SECONDS."
    )


class RateLimited(ProviderFault):
    code, mark = "rate_limited", Mark.PARK
    cause = "The provider accepts no more requests for now."
    remedy = _OF_THE_PROVIDER


class ProviderOverloaded(ProviderFault):
    code, mark = "overloaded", Mark.COUNT
    cause = "The provider is overloaded."
    remedy = _OF_THE_PROVIDER


class Busy(ProviderFault):
    """All its slots were taken for as long as could be waited."""

    code = "busy"
    cause = "All slots of the server were taken for as long as the job could wait."
    remedy = "Raise the endpoint's `--concurrency` if the server has more slots, or the job's budget of seconds."


class Starting(ProviderFault):
    """The server is loading its model: not a failure, and worth waiting for when no other provider answers."""

    code = "starting"
    cause = "The server is loading its model."
    remedy = "Wait: Assay retries for ASSAY_LLM_STARTING_SECONDS."


class ServerError(ProviderFault):
    code, mark = "server_error", Mark.COUNT
    cause = "The provider answered 500 or another server error."
    remedy = _OF_THE_PROVIDER


class StreamCut(ProviderFault):
    code, mark = "stream_cut", Mark.COUNT
    cause = "The answer was cut off before its end."
    remedy = _OF_THE_PROVIDER


class UnreadableAnswer(ProviderFault):
    """A broken chunk, or a response that is not a model's answer, such as a proxy's HTML page."""

    code, mark = "unreadable_answer", Mark.COUNT
    cause = "The response is not a model's answer, such as a proxy's HTML page."
    remedy = "Check the provider's address and your proxies."


class ContentFiltered(ProviderFault):
    """The provider's own filter kept or cut the answer; another provider may have another one."""

    code, mark = "content_filtered", Mark.NOTE
    cause = "The provider's content filter withheld the answer or cut it short."
    remedy = _OF_THE_PROVIDER


class AdapterFault(ProviderFault):
    """A defect of ours while a provider was called: the next one is called all the same, and the log has the trace."""

    code, mark = "adapter_fault", Mark.NOTE
    cause = "Assay could not process the provider's response. This is a defect in Assay."
    remedy = "Report it with the log's `model_call_defect` entry. Assay calls the next model of the chain."


class EmptyAnswer(ProviderFault):
    """An answer that says nothing; its tokens were spent all the same."""

    code, mark = "empty_answer", Mark.NOTE
    cause = "The model's answer is empty."
    remedy = _OF_THE_PROVIDER

    def __init__(self, detail: str, usage: TokenUsage | None = None, finish: Finish | None = None) -> None:
        super().__init__(detail)
        self.usage = usage
        self.finish = finish


class OnlyThought(EmptyAnswer):
    """The model reasoned, and stopped or was cut before it answered."""

    code = "only_thought"
    cause = "The model used all its tokens for reasoning before it answered."
    remedy = "Give it more tokens or less effort: `assay models set`."


class InvalidKey(ProviderFault):
    code, mark = "invalid_key", Mark.PARK
    cause = "The provider rejects the API key."
    remedy = "Set the right key and restart; docs/settings.md names the variable."


class PaymentRequired(ProviderFault):
    code, mark = "payment_required", Mark.PARK
    cause = "The account at the provider has no credit."
    remedy = "Add credit at the provider, or change the chain."


class AccountRestricted(ProviderFault):
    code, mark = "account_restricted", Mark.PARK
    cause = "The provider has restricted or disabled the account."
    remedy = "Contact the provider's support, or change the chain."


class Forbidden(ProviderFault):
    code, mark = "forbidden", Mark.PARK
    cause = "The provider's key may not use this model, or the provider refuses the request's origin."
    remedy = "Use another key or another model."


class UnknownModel(ProviderFault):
    code, mark = "unknown_model", Mark.PARK
    cause = "The provider has no model of that name."
    remedy = "Correct the name: `assay models ls --all`, `assay models set ROLE`."


class EndpointNotFound(ProviderFault):
    code, mark = "endpoint_not_found", Mark.PARK
    cause = "The address has no such path."
    remedy = "Check the base URL; most end in `/v1`. `assay endpoints test NAME` checks it."


class RequestRefused(ProviderFault):
    """400 or 422: the provider does not take this request; another one may."""

    code, mark = "request_refused", Mark.NOTE
    cause = "The provider answered 400 or 422: it does not accept this request."
    remedy = _OF_THE_PROVIDER


class PartUnsupported(ProviderFault):
    """The model does not accept a part of the request, so retry without it."""

    plan = NextStep.WITHOUT
    part: ClassVar[Part]
    cause = "The model does not support a part of the request."
    remedy = "Nothing: Assay sends the request again without that part."


class SchemaUnsupported(PartUnsupported):
    """The model has no structured answers; the text is checked anyway."""

    code, part = "schema_unsupported", "schema"
    cause = "The model does not support structured answers."
    remedy = "Nothing: Assay checks the text against the schema anyway."


class ImagesUnsupported(PartUnsupported):
    """The model does not see."""

    code, part = "images_unsupported", "images"
    cause = "The model does not accept images."
    remedy = "Nothing: Assay sends the request without images, and a warning says so."


class SamplingUnsupported(PartUnsupported):
    """The model does not let its temperature, its seed and the like be chosen."""

    code, part = "sampling_unsupported", "sampling"
    cause = "The model does not support temperature or seed."
    remedy = "Nothing: Assay sends the request without them; leave the parameters out."


class EffortUnsupported(PartUnsupported):
    """The model does not let its effort be chosen, or has other words for it."""

    code, part = "effort_unsupported", "effort"
    cause = "The model does not support an effort setting, or names its levels differently."
    remedy = "Leave the parameter out."


class CapNameUnsupported(PartUnsupported):
    """The model takes its answer's cap under the other of the two names."""

    code, part = "cap_name_unsupported", "cap"
    cause = "The model takes the answer's token limit as `max_completion_tokens`, or as `max_tokens`."
    remedy = "Nothing: Assay sends the request again with the other name."


class UsageUnsupported(PartUnsupported):
    """The server does not know the parameter by which a stream is made to report its tokens."""

    code, part = "usage_unsupported", "usage"
    cause = "The server does not accept `stream_options`."
    remedy = "Nothing: Assay sends the request again without it; the call's tokens may be unknown then."


class CapTooLarge(ProviderFault):
    """The answer's cap is above what the model can write; ``cap`` is the most (tokens)."""

    code = "cap_too_large"
    cause = "The answer's token limit is higher than the model allows."
    remedy = "Nothing: Assay sends the request again with the model's limit."

    def __init__(self, detail: str, http_status: int | None, cap: int) -> None:
        super().__init__(detail, http_status)
        self.cap = cap


class SchemaMissed(ProviderFault):
    """One bad generation under a schema that the model supports: retry."""

    code, plan, mark = "schema_missed", NextStep.SAME_AGAIN, Mark.NOTE
    cause = "The model's answer did not match the schema that it was given."
    remedy = "Nothing: Assay sends the request again."


class PromptTooLong(ProviderFault):
    """The prompt, or the prompt and the answer's cap, do not fit into the model's window (tokens)."""

    code = ContextTooLong.code
    cause = "The prompt, with the answer's token limit, does not fit into the model's window."
    remedy = _OF_THE_PROVIDER

    def __init__(
        self, detail: str, http_status: int | None = None, window: int | None = None, prompt: int | None = None
    ) -> None:
        super().__init__(detail, http_status)
        self.window = window
        self.prompt = prompt


class ToolUseFailed(ProviderFault):
    """The model's tool call does not fit its format; ``generation`` is what it wrote."""

    code, mark = "tool_use_failed", Mark.NOTE
    cause = "The model's tool call does not match its format."
    remedy = _OF_THE_PROVIDER

    def __init__(self, detail: str, generation: str, http_status: int | None = None) -> None:
        super().__init__(detail, http_status)
        self.generation = generation


class UnknownProvider(AssayError):
    code, title, status = "unknown_provider", "Provider not found", 422
    cause = "No vendor or endpoint has that name."
    remedy = "`assay endpoints ls` and `assay providers` list them."


class ModelNotAllowed(AssayError):
    code, title, status = "model_not_allowed", "Model not allowed", 403
    cause = "The tenant's list of models does not include this one."
    remedy = "An administrator allows it: `PUT /v1/tenants/{id}/models`."


class NoSuchModel(AssayError):
    code, title, status = "no_such_model", "Model not found", 422
    cause = "No configured provider has the requested model."
    remedy = "`assay models ls --all` lists the models."


class BrokerUnavailable(AssayError):
    code, title, status = "model_broker_unavailable", "Model broker unavailable", 503
    cause = "The worker cannot reach the process that holds the providers' keys."
    remedy = "Check that `broker` runs (`assay status`), and that ASSAY_BROKER_URL is its address."


class BrokerRefused(AssayError):
    code, title, status = "model_broker_refused", "Model broker refused", 403
    cause = "The broker serves running jobs only: this one has ended, or the worker has another version."
    remedy = "Nothing if the job was cancelled; otherwise run the same version of all services."
