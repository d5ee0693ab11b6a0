"""What vendors refuse and how they say it, as data: whose fault it is, its code here, and how long it lasts.

Each row is a fact of a vendor's public page or of a public report, in our own words. The rows are tried in their order
under every vendor's name, because gateways pass on what the vendor behind them says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shared.llm.faults import (
    AccountRestricted,
    ContentFiltered,
    EndpointMoved,
    EndpointNotFound,
    Forbidden,
    InvalidKey,
    PaymentRequired,
    ProviderFault,
    ProviderOverloaded,
    RateLimited,
    RequestRefused,
    SchemaMissed,
    ServerError,
    UnknownModel,
)

_MINUTES, _HOUR = 60.0, 3600.0


@dataclass(frozen=True)
class Refusal:
    """One row. An error matches with one of ``codes`` as its code, type or status word, or with words that ``says``."""

    vendor: str
    fault: type[ProviderFault]
    words: str  #: what the attempt says before the vendor's own words
    source: str
    seen: str  #: the day on which the source said so
    codes: tuple[str, ...] = ()
    says: str = ""  #: a pattern
    statuses: tuple[int, ...] = ()  #: any error if empty
    park: float | None = None  #: seconds for which it is not called; None: the response's own time, or the default

    def matches(self, status: int, codes: Sequence[str], message: str) -> bool:
        if self.statuses and status not in self.statuses:
            return False
        if any(code in self.codes for code in codes):
            return True
        return bool(self.says) and re.search(self.says, message, re.I) is not None


_CLIENT = tuple(range(400, 500))

REFUSALS: tuple[Refusal, ...] = (
    # One bad generation says nothing about the model's next one.
    Refusal(
        "groq", SchemaMissed, "The model's answer did not match the schema.",
        "https://console.groq.com/docs/structured-outputs", "2026-11-26",
        codes=("json_validate_failed",), says=r"failed to (validate|generate) JSON",
    ),
    # The request's content, which says nothing about the provider.
    Refusal(
        "azure", ContentFiltered, "Its content filter refuses the prompt.",
        "https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter", "2026-11-26",
        codes=("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"),
        says=r"content (management|moderation) policy|content filter", statuses=_CLIENT,
    ),
    Refusal(
        "openrouter", ContentFiltered, "Its moderation refuses the prompt.",
        "https://openrouter.ai/docs/api/reference/errors-and-debugging", "2026-11-26",
        says=r"requires moderation|input was flagged|flagged (for|by|as)|guardrail", statuses=(400, 403),
    ),
    Refusal(
        "deepseek", ContentFiltered, "Its moderation refuses the prompt.",
        "https://github.com/deepseek-ai/DeepSeek-V3/issues", "2026-11-26",
        says=r"content exists risk", statuses=_CLIENT,
    ),
    Refusal(
        "xai", ContentFiltered, "Its usage guidelines forbid the content.",
        "https://docs.x.ai/docs/key-information/debugging", "2026-11-27",
        codes=("cyber_policy_violation", "invalid_prompt"),
        says=r"violates (our |its |the )?usage (guidelines|polic)|SAFETY_CHECK", statuses=_CLIENT,
    ),
    # Money: it does not heal by itself, whatever the status.
    Refusal(
        "openrouter", RateLimited, "Its budget for open calls is used up.",
        "https://openrouter.ai/docs/api/reference/errors-and-debugging", "2026-11-26",
        codes=("in_flight_budget_exhausted", "openrouter_in_flight_budget"), says=r"in[- ]flight (spending )?budget",
        statuses=(402, 429),
    ),
    # Google's words are the same for a plan without the model, and for the quota of a minute or of a day.
    Refusal(
        "gemini", PaymentRequired, "The account's plan does not include this model.",
        "https://ai.google.dev/gemini-api/docs/rate-limits", "2026-11-27",
        says=r"quota exceeded for (quota )?metric: \S+ limit: 0\b", statuses=(429,), park=5 * _MINUTES,
    ),
    Refusal(
        "gemini", RateLimited, "Its quota of the day is used up.",
        "https://ai.google.dev/gemini-api/docs/rate-limits", "2026-11-27",
        says=r"\bGenerate\w*PerDay", statuses=(429,), park=15 * _MINUTES,
    ),
    Refusal(
        "gemini", RateLimited, "Its rate limit is reached.",
        "https://ai.google.dev/gemini-api/docs/rate-limits", "2026-11-27",
        says=r"quota exceeded for (quota )?metric|exceeded your current quota.*\bplease retry in \d"
        r"|\bGenerate\w*PerMinute", statuses=(429,),
    ),
    Refusal(
        "openai", PaymentRequired, "The account's quota or credit is used up.",
        "https://developers.openai.com/docs/guides/error-codes", "2026-11-26",
        codes=("insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached", "billing_not_active"),
        says=r"exceeded your current quota|billing hard limit|account is not active|check your (plan and )?billing",
        park=5 * _MINUTES,
    ),
    Refusal(
        "anthropic", PaymentRequired, "The account's credit is used up.",
        "https://docs.claude.com/en/api/errors", "2026-11-26",
        codes=("billing_error",),
        says=r"credit balance is too low|purchase credits|add (more )?(credits|funds)|any credits( or licenses)? yet"
        r"|(needs?|requires?|add) a (credit card|payment method|subscription)|upgrade to .{0,40}\bpaid\b",
        park=5 * _MINUTES,
    ),
    Refusal(
        "anthropic", PaymentRequired, "The account's spend limit is reached.",
        "https://learn.microsoft.com/microsoft-cloud/dev/dev-proxy/concepts/anthropic-529-overloaded-error",
        "2026-11-26",
        codes=("enforced_spend_limit_reached", "spend_limit_reached", "budget_exceeded"),
        says=r"(spend(ing)?|budget|credit|\bkey) (limit|cap)s?\b[^.]{0,60}(reached|exceeded|hit)"
        r"|(reach(ed|ing)|exceeded|hit)[^.]{0,60}(spend(ing)?|specified (api )?usage|budget|credit) (limit|cap)"
        r"|budget has been exceeded|(exceeded ?|over |crossed )budget\b",
        statuses=_CLIENT, park=15 * _MINUTES,
    ),
    Refusal(
        "anthropic", PaymentRequired, "The account's usage limit is reached.",
        "https://docs.claude.com/en/api/errors", "2026-11-26",
        says=r"(usage|quota) (limit|cap)?s?\b[^.]{0,40}(reached|exceeded|hit)|reached[^.]{0,40}usage limit",
        statuses=(400, 401, 402, 403), park=15 * _MINUTES,
    ),
    Refusal(
        "ollama", PaymentRequired, "The account's usage limit is reached.",
        "https://docs.ollama.com/cloud", "2026-11-27",
        says=r"(daily|weekly|monthly) (usage|free) (limit|allocation)|daily free allocation",
        statuses=_CLIENT, park=15 * _MINUTES,
    ),
    Refusal(
        "groq", PaymentRequired, "The organization's spend limit is reached.",
        "https://console.groq.com/docs/spend-limits", "2026-11-26",
        codes=("blocked_api_access", "spend_limit_exceeded"), statuses=_CLIENT, park=15 * _MINUTES,
    ),
    Refusal(
        "deepseek", PaymentRequired, "The account's balance is used up.",
        "https://api-docs.deepseek.com/quick_start/error_codes", "2026-11-26",
        codes=("insufficient_balance", "payment_required", "insufficient_credits"),
        says=r"insufficient (account )?(balance|credits?|funds)|not enough credits|payment required", park=5 * _MINUTES,
    ),
    # The account.
    Refusal(
        "groq", AccountRestricted, "The organization is restricted.",
        "https://console.groq.com/docs/errors", "2026-11-26",
        codes=("organization_restricted", "account_deactivated", "account_suspended", "access_terminated"),
        says=r"(organi[sz]ation|account|project|workspace|team|user) (has been|is|was|has|have been)( temporarily)? "
        r"(restricted|disabled|suspended|deactivated|banned|blocked|terminated|archived)"
        r"|\baccount \S+ is (suspended|disabled)|project you are requesting has been archived",
        statuses=_CLIENT, park=15 * _MINUTES,
    ),
    Refusal(
        "azure", AccountRestricted, "The resource is blocked.",
        "https://learn.microsoft.com/azure/ai-foundry/openai/quotas-limits", "2026-11-26",
        says=r"resource has been (temporarily )?blocked", statuses=_CLIENT, park=15 * _MINUTES,
    ),
    # Where the call comes from.
    Refusal(
        "openai", Forbidden, "It does not serve this region.",
        "https://developers.openai.com/docs/guides/error-codes", "2026-11-26",
        codes=("unsupported_country_region_territory",),
        says=r"(country|region|territory|location)\b[^.]{0,40}(not (supported|available)|unsupported)"
        r"|not available in your (country|region|location)",
        statuses=_CLIENT, park=_HOUR,
    ),
    Refusal(
        "openai", Forbidden, "It does not accept calls from this address.",
        "https://developers.openai.com/docs/guides/error-codes", "2026-11-26",
        codes=("ip_not_authorized",), says=r"\bIP\b[^.]{0,40}not (authori[sz]ed|allowed)|network access denied"
        r"|virtual network/firewall rules|host not in allowlist",
        statuses=(401, 403), park=5 * _MINUTES,
    ),
    # What the key may do.
    Refusal(
        "litellm", Forbidden, "The key may not call this model.",
        "https://docs.litellm.ai/docs/proxy/error_reference", "2026-11-27",
        codes=(
            "key_model_access_denied", "team_model_access_denied", "PermissionDenied", "missing_scope",
            "model_terms_required", "model_permission_blocked_project", "model_permission_blocked_org",
        ),
        says=r"not allowed to access model|lacks the required|insufficient permissions|requires terms acceptance"
        r"|AccessDeniedException|have access to the model with|must be verified to (stream|use)",
        statuses=(400, 401, 403, 500),
    ),
    # The key, also where the status is not 401. The vendor's words may hold a part of the key, so they are left out.
    Refusal(
        "gemini", InvalidKey, "It does not accept the API key.",
        "https://ai.google.dev/gemini-api/docs/troubleshooting", "2026-11-26",
        codes=("API_KEY_INVALID", "invalid_api_key", "authentication_error", "UNAUTHENTICATED", "expired_key"),
        says=r"API key (not valid|is invalid|expired|not found)|(invalid|incorrect|missing) (api|authentication) key"
        r"|API key (is |was )?(currently |reported as )?(blocked|disabled|leaked|revoked)|\bexpired key\b"
        r"|(OAuth|security|access) token .{0,40}(revoked|expired|invalid)",
        statuses=(400, 401, 403),
    ),
    # The model.
    Refusal(
        "lm-studio", ServerError, "It could not load the model.",
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues", "2026-11-27",
        codes=("no_db_connection",),
        says=r"(failed|could not|unable|error) (to )?load(ing)? (the )?model|model loading (was stopped|failed)"
        r"|model has crashed|model (is |was )?(not loaded|unloaded)\b", statuses=(400, 404),
    ),
    Refusal(
        "groq", UnknownModel, "It no longer has this model",
        "https://console.groq.com/docs/deprecations", "2026-11-26",
        codes=("model_decommissioned", "model_deprecated", "ModelDeprecated", "ServiceModelDeprecated"),
        says=r"model\b.{0,80}(decommissioned|deprecated and|been (retired|removed|deprecated|sunset|shut down)"
        r"|is retired|no longer (supported|available)|end[- ]of[- ](its )?life)",
        statuses=_CLIENT, park=_HOUR,
    ),
    Refusal(
        "openrouter", RequestRefused, "None of its providers takes this request.",
        "https://openrouter.ai/docs/guides/routing/provider-selection", "2026-11-27",
        says=r"no endpoints found that (can handle|support) (?!image)", statuses=(404,),
    ),
    Refusal(
        "openai", UnknownModel, "It does not have this model",
        "https://developers.openai.com/docs/guides/error-codes", "2026-11-26",
        codes=(
            "model_not_found", "unknown_model", "invalid_model", "DeploymentNotFound", "model_not_available",
            "dedicated_endpoint_not_running", "OperationNotSupported",
        ),
        says=r"model\b.{0,120}(does ?n[o']t exist|not found|not exist|is not a valid model|not available (to|for) you)"
        r"|(unknown|invalid|no such) model|not a valid model( id)?|try pulling it first|no endpoints found"
        r"|deployment\b.{0,60}does not exist|(does not work with the specified|non-serverless|unsupported) model"
        r"|only supported in v1/responses|dedicated endpoint\b.{0,80}not running",
        statuses=(400, 403, 404, 422),
    ),
    Refusal(
        "bedrock", UnknownModel, "It has this model under another name only",
        "https://github.com/aws-samples/bedrock-access-gateway/issues/73", "2026-11-27",
        says=r"on-demand throughput isn.t supported", statuses=_CLIENT,
    ),
    Refusal(
        "tgi", ServerError, "It failed while it generated the answer.",
        "https://github.com/huggingface/text-generation-inference/issues/439", "2026-11-27",
        codes=("generation",), says=r"failed during generation|failed dependency", statuses=(424,),
    ),
    # Capacity: soon again.
    Refusal(
        "groq", ProviderOverloaded, "Its flex tier has no capacity.",
        "https://console.groq.com/docs/flex-processing", "2026-11-26",
        codes=("capacity_exceeded",), statuses=(498,),
    ),
    Refusal(
        "cerebras", RateLimited, "Its queue is full.",
        "https://inference-docs.cerebras.ai/support/error", "2026-11-26",
        codes=("queue_exceeded",), says=r"experiencing high traffic", statuses=(429,), park=1.0,
    ),
    Refusal(
        "bedrock", RateLimited, "Its rate limit is reached.",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html", "2026-11-27",
        codes=("throttlingException", "ThrottlingException"),
        says=r"\bThrottlingException\b|too many (requests|tokens), please wait", statuses=(400, 424, 429, 500, 503),
    ),
    Refusal(
        "openai", ProviderOverloaded, "It is overloaded.",
        "https://developers.openai.com/docs/guides/error-codes", "2026-11-26",
        codes=("server_is_overloaded", "engine_overloaded", "overloaded_error", "NoCapacity"),
        says=r"\boverloaded\b|no (healthy|available) (upstream|workers?|providers?)|experiencing high demand",
        statuses=(429, 498, 500, 502, 503, 529),
    ),
    Refusal(
        "anthropic", EndpointNotFound, "There is no model API at its address: check the base URL.",
        "https://docs.claude.com/en/api/errors", "2026-11-26",
        says=r"^(not found|404 page not found|cannot post .*)$", statuses=(404, 405),
    ),
    Refusal(
        "lm-studio", EndpointNotFound, "There is no model API at its address: check the base URL.",
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues", "2026-11-27",
        says=r"^(unexpected endpoint or method|no route matched|missing authentication token$)", statuses=_CLIENT,
    ),
    Refusal(
        "nginx", EndpointMoved, "Its address is https: set https in its base URL.",
        "https://nginx.org/en/docs/http/ngx_http_ssl_module.html", "2026-11-27",
        says=r"plain HTTP request was sent to (an )?HTTPS|sent an HTTP request to an HTTPS server", statuses=(400,),
    ),
)  # fmt: skip


def refusal_of(status: int, codes: Sequence[str], message: str) -> Refusal | None:
    """Return the row of a known refusal."""
    return next((row for row in REFUSALS if row.matches(status, codes, message)), None)
