"""Prompts, models, providers, keys, collections, conversations, capabilities, health."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.calls.call import ApiCall, as_model, as_page, nothing, raw, segment, without_none

if TYPE_CHECKING:
    from shared.contracts.common import Page
    from shared.contracts.models import (
        AllowedModels,
        Endpoint,
        EndpointTest,
        Models,
        ModelTest,
        Prompt,
        PromptTest,
        Providers,
        ProviderState,
    )


def prompts() -> ApiCall[Page[Prompt]]:
    return ApiCall("GET", "/v1/prompts", as_page("models.Prompt"))


def prompt(key: str) -> ApiCall[Prompt]:
    return ApiCall("GET", f"/v1/prompts/{segment(key)}", as_model("models.Prompt"))


def try_prompt(
    key: str,
    text: str | None = None,
    *,
    job_id: str | None = None,
    variables: Mapping[str, Any] | None = None,
    message: str | None = None,
    model: str | None = None,
) -> ApiCall[PromptTest]:
    """Call a model with the given text or the one in use, on a job's variables or on ``variables`` and a
    ``message``.
    """
    body = without_none(text=text, job_id=job_id, variables=variables, message=message, model=model)
    path = f"/v1/prompts/{segment(key)}/test"
    return ApiCall("POST", path, as_model("models.PromptTest"), body=body, wait_seconds=120)


def label_prompt(key: str, label: str, version: int | None = None) -> ApiCall[None]:
    """Let a label mean this version; without one it means none."""
    body = {"label": label, "version": version}
    return ApiCall("POST", f"/v1/prompts/{segment(key)}/labels", nothing, body=body)


def set_prompt(key: str, text: str, if_match: str | None = None, note: str | None = None) -> ApiCall[Prompt]:
    headers = {"If-Match": if_match} if if_match is not None else {}
    return ApiCall(
        "PUT",
        f"/v1/prompts/{segment(key)}",
        as_model("models.Prompt"),
        body=without_none(text=text, note=note),
        headers=headers,
    )


def draft_prompt(key: str, text: str) -> ApiCall[Prompt]:
    """Save a prompt version that is not used until it is published."""
    body = {"text": text, "use": False}
    return ApiCall("PUT", f"/v1/prompts/{segment(key)}", as_model("models.Prompt"), body=body)


def publish_prompt(
    key: str, version: int, evaluation: str | None = None, require: float | None = None
) -> ApiCall[Prompt]:
    """Use a version; with an evaluation only if that has passed with it."""
    body = without_none(version=version, evaluation=evaluation, require=require)
    return ApiCall("POST", f"/v1/prompts/{segment(key)}/publish", as_model("models.Prompt"), body=body)


def prompt_versions(key: str) -> ApiCall[Page[Prompt]]:
    return ApiCall("GET", f"/v1/prompts/{segment(key)}/versions", as_page("models.Prompt"))


def roll_back_prompt(key: str, version: int) -> ApiCall[Prompt]:
    return ApiCall("POST", f"/v1/prompts/{segment(key)}/rollback", as_model("models.Prompt"), body={"version": version})


def reset_prompt(key: str) -> ApiCall[Prompt]:
    return ApiCall("POST", f"/v1/prompts/{segment(key)}/reset", as_model("models.Prompt"))


def models() -> ApiCall[Models]:
    return ApiCall("GET", "/v1/models", as_model("models.Models"))


def set_chain(
    role: str, chain: Sequence[Mapping[str, Any]], evaluation: str | None = None, require: float | None = None
) -> ApiCall[Any]:
    """Set a role's chain; its first model is called first. With an evaluation, the chain has to pass it."""
    body = without_none(chain=list(chain), evaluation=evaluation, require=require)
    return ApiCall("PUT", f"/v1/models/{segment(role)}", raw, body=body)


def test_model(role: str, link: Mapping[str, Any] | None = None) -> ApiCall[ModelTest]:  # noqa: PT028 - no test of ours
    """Send a short test message to the role's first model, or to a ``link`` that is not saved."""
    body = None if link is None else {"link": link}
    return ApiCall("POST", f"/v1/models/{segment(role)}/test", as_model("models.ModelTest"), body=body, wait_seconds=60)


def release_provider(name: str) -> ApiCall[ProviderState]:
    """Allow calls to a provider again, whatever the state of its breaker."""
    return ApiCall("POST", f"/v1/providers/{segment(name)}/release", as_model("models.ProviderState"))


def endpoints() -> ApiCall[Page[Endpoint]]:
    """Return the vendors, and the model servers that the operator has named."""
    return ApiCall("GET", "/v1/endpoints", as_page("models.Endpoint"))


def set_endpoint(name: str, settings: Mapping[str, Any]) -> ApiCall[Endpoint]:
    """Name an endpoint, or change it; of a vendor (``groq``), set its model and the limits of its calls."""
    path = f"/v1/endpoints/{segment(name)}"
    return ApiCall("PUT", path, as_model("models.Endpoint"), body=settings, wait_seconds=60)


def remove_endpoint(name: str) -> ApiCall[None]:
    return ApiCall("DELETE", f"/v1/endpoints/{segment(name)}", nothing)


def test_endpoint(name: str) -> ApiCall[EndpointTest]:
    """Probe an endpoint's server and send its model a short test message."""
    path = f"/v1/endpoints/{segment(name)}/test"
    return ApiCall("POST", path, as_model("models.EndpointTest"), wait_seconds=600)


def tenant_models(tenant: str) -> ApiCall[AllowedModels]:
    """Return the models that a tenant may use."""
    return ApiCall("GET", f"/v1/tenants/{segment(tenant)}/models", as_model("models.AllowedModels"))


def set_tenant_models(tenant: str, models: Sequence[str]) -> ApiCall[AllowedModels]:
    """Choose the models that a tenant may use: patterns like ``groq/*``."""
    path, body = f"/v1/tenants/{segment(tenant)}/models", {"models": list(models)}
    return ApiCall("PUT", path, as_model("models.AllowedModels"), body=body)


def reset_tenant_models(tenant: str) -> ApiCall[None]:
    """Let the installation's models hold for the tenant again."""
    return ApiCall("DELETE", f"/v1/tenants/{segment(tenant)}/models", nothing)


def reset_models() -> ApiCall[Any]:
    """Give every role its default models again."""
    return ApiCall("POST", "/v1/models/reset", raw)


def reset_role(role: str) -> ApiCall[Any]:
    """Give a role its default models again."""
    return ApiCall("POST", f"/v1/models/{segment(role)}/reset", raw)


def providers() -> ApiCall[Providers]:
    return ApiCall("GET", "/v1/providers", as_model("models.Providers"))


if TYPE_CHECKING:
    from shared.contracts.audit import AuditEntry, AuditVerification
    from shared.contracts.capabilities import Capabilities
    from shared.contracts.common import Page
    from shared.contracts.conversations import Conversation, ConversationSummary
    from shared.contracts.keys import KeyInfo, NewKey, NewSession, Session, SessionCode
    from shared.contracts.limits import TenantLimits
    from shared.contracts.operations import Doctor, QueueHistory, Queues, Served, SettingStates, Stats, Workers
    from shared.contracts.search import Collection, PastAttempt
    from shared.contracts.webhooks import WebhookSecret


def create_key(tenant: str, name: str, scopes: Sequence[str], expires_at: str | None = None) -> ApiCall[NewKey]:
    body = without_none(tenant=tenant, name=name, scopes=list(scopes), expires_at=expires_at)
    return ApiCall("POST", "/v1/keys", as_model("keys.NewKey"), body=body)


def keys(limit: int | None = None, cursor: str | None = None, tenant: str | None = None) -> ApiCall[Page[KeyInfo]]:
    query = {"limit": limit, "cursor": cursor, "tenant": tenant}
    return ApiCall("GET", "/v1/keys", as_page("keys.KeyInfo"), query=query)


def revoke_key(id: str, force: bool = False) -> ApiCall[None]:
    """``force``: also the last key with the scope admin."""
    query = {"force": "true"} if force else {}
    return ApiCall("DELETE", f"/v1/keys/{segment(id)}", nothing, query=query)


def delete_tenant(tenant: str) -> ApiCall[None]:
    """Delete a tenant with all that belongs to it; its keys end at once."""
    return ApiCall("DELETE", f"/v1/tenants/{segment(tenant)}", nothing)


def rotate_key(id: str, overlap_seconds: int | None = None) -> ApiCall[NewKey]:
    """Create a key like the old one, which stays valid for ``overlap_seconds`` more (default: a day)."""
    body = without_none(overlap_seconds=overlap_seconds)
    return ApiCall("POST", f"/v1/keys/{segment(id)}/rotate", as_model("keys.NewKey"), body=body)


def webhook_secrets() -> ApiCall[Page[WebhookSecret]]:
    return ApiCall("GET", "/v1/webhooks/secrets", as_page("webhooks.WebhookSecret"))


def add_webhook_secret(secret: str | None = None) -> ApiCall[WebhookSecret]:
    """Sign deliveries by this one too; without ``secret`` one is drawn."""
    body = without_none(secret=secret)
    return ApiCall("POST", "/v1/webhooks/secrets", as_model("webhooks.WebhookSecret"), body=body)


def delete_webhook_secret(id: str) -> ApiCall[None]:
    return ApiCall("DELETE", f"/v1/webhooks/secrets/{segment(id)}", nothing)


def audit(
    tenant: str | None = None, action: str | None = None, limit: int | None = None, cursor: str | None = None
) -> ApiCall[Page[AuditEntry]]:
    query = {"tenant": tenant, "action": action, "limit": limit, "cursor": cursor}
    return ApiCall("GET", "/v1/audit", as_page("audit.AuditEntry"), query=query)


def create_session(code: str | None = None) -> ApiCall[NewSession]:
    """Create a key for 12 hours, authorized by this client's key or by a one-time code."""
    return ApiCall("POST", "/v1/sessions", as_model("keys.NewSession"), body=without_none(code=code))


def end_session() -> ApiCall[None]:
    return ApiCall("DELETE", "/v1/session", nothing)


def session() -> ApiCall[Session]:
    return ApiCall("GET", "/v1/session", as_model("keys.Session"))


def create_session_code() -> ApiCall[SessionCode]:
    return ApiCall("POST", "/v1/session-codes", as_model("keys.SessionCode"))


def queues() -> ApiCall[Queues]:
    return ApiCall("GET", "/v1/queues", as_model("operations.Queues"))


def workers() -> ApiCall[Workers]:
    return ApiCall("GET", "/v1/workers", as_model("operations.Workers"))


def settings() -> ApiCall[SettingStates]:
    return ApiCall("GET", "/v1/settings", as_model("operations.SettingStates"))


def doctor() -> ApiCall[Doctor]:
    return ApiCall("GET", "/v1/doctor", as_model("operations.Doctor"))


def queue_history() -> ApiCall[QueueHistory]:
    return ApiCall("GET", "/v1/queues/history", as_model("operations.QueueHistory"))


def stats(
    by: str = "kind",
    bucket: str = "day",
    since: str | None = None,
    until: str | None = None,
    source: str | None = None,
) -> ApiCall[Stats]:
    query = {"by": by, "bucket": bucket, "from": since, "to": until, "source": source}
    return ApiCall("GET", "/v1/stats", as_model("operations.Stats"), query=query)


def served(since: str | None = None, until: str | None = None, source: str | None = None) -> ApiCall[Served]:
    query = {"from": since, "to": until, "source": source}
    return ApiCall("GET", "/v1/stats/served", as_model("operations.Served"), query=query)


def audit_verification() -> ApiCall[AuditVerification]:
    return ApiCall("GET", "/v1/audit/verification", as_model("audit.AuditVerification"))


def limits() -> ApiCall[TenantLimits]:
    return ApiCall("GET", "/v1/limits", as_model("limits.TenantLimits"))


def tenant_limits(tenant: str) -> ApiCall[TenantLimits]:
    return ApiCall("GET", f"/v1/tenants/{segment(tenant)}/limits", as_model("limits.TenantLimits"))


def set_tenant_limits(tenant: str, limits: Mapping[str, int | None]) -> ApiCall[TenantLimits]:
    """Replace all limits of a tenant; a missing limit returns to the installation's default."""
    path = f"/v1/tenants/{segment(tenant)}/limits"
    return ApiCall("PUT", path, as_model("limits.TenantLimits"), body=limits)


def capabilities() -> ApiCall[Capabilities]:
    return ApiCall("GET", "/v1/capabilities", as_model("capabilities.Capabilities"))


def ready() -> ApiCall[Any]:
    return ApiCall("GET", "/readyz", raw)


def conversations(limit: int | None = None, cursor: str | None = None) -> ApiCall[Page[ConversationSummary]]:
    return ApiCall(
        "GET",
        "/v1/conversations",
        as_page("conversations.ConversationSummary"),
        query={"limit": limit, "cursor": cursor},
    )


def conversation(id: str) -> ApiCall[Conversation]:
    return ApiCall("GET", f"/v1/conversations/{segment(id)}", as_model("conversations.Conversation"))


def delete_conversation(id: str) -> ApiCall[None]:
    return ApiCall("DELETE", f"/v1/conversations/{segment(id)}", nothing)


def create_collection(name: str, tables: Mapping[str, Any], embedding: str | None = None) -> ApiCall[Collection]:
    body = without_none(name=name, tables=tables, embedding=embedding)
    return ApiCall("POST", "/v1/collections", as_model("search.Collection"), body=body)


def collections(limit: int | None = None, cursor: str | None = None) -> ApiCall[Page[Collection]]:
    return ApiCall("GET", "/v1/collections", as_page("search.Collection"), query={"limit": limit, "cursor": cursor})


def collection(name: str) -> ApiCall[Collection]:
    return ApiCall("GET", f"/v1/collections/{segment(name)}", as_model("search.Collection"))


def search_attempts(name: str, limit: int | None = None, cursor: str | None = None) -> ApiCall[Page[PastAttempt]]:
    """Return the attempts of searches in the collection, newest first."""
    path = f"/v1/collections/{segment(name)}/attempts"
    return ApiCall("GET", path, as_page("search.PastAttempt"), query={"limit": limit, "cursor": cursor})


def delete_collection(name: str) -> ApiCall[None]:
    return ApiCall("DELETE", f"/v1/collections/{segment(name)}", nothing)
