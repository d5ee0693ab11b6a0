"""Keys, capabilities, conversations, collections, health."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.calls.call import Call, as_model, as_page, nothing, raw, segment, without_none

if TYPE_CHECKING:
    from shared.contracts.capabilities import Capabilities
    from shared.contracts.common import Page
    from shared.contracts.conversations import Conversation, ConversationSummary
    from shared.contracts.keys import KeyInfo, NewKey
    from shared.contracts.search import Collection


def create_key(tenant: str, name: str, scopes: Sequence[str], expires_at: str | None = None) -> Call[NewKey]:
    body = without_none(tenant=tenant, name=name, scopes=list(scopes), expires_at=expires_at)
    return Call("POST", "/v1/keys", as_model("keys.NewKey"), body=body)


def keys(limit: int | None = None, cursor: str | None = None) -> Call[Page[KeyInfo]]:
    return Call("GET", "/v1/keys", as_page("keys.KeyInfo"), query={"limit": limit, "cursor": cursor})


def revoke_key(id: str) -> Call[None]:
    return Call("DELETE", f"/v1/keys/{segment(id)}", nothing)


def capabilities() -> Call[Capabilities]:
    return Call("GET", "/v1/capabilities", as_model("capabilities.Capabilities"))


def ready() -> Call[Any]:
    return Call("GET", "/readyz", raw)


def conversations(limit: int | None = None, cursor: str | None = None) -> Call[Page[ConversationSummary]]:
    return Call(
        "GET",
        "/v1/conversations",
        as_page("conversations.ConversationSummary"),
        query={"limit": limit, "cursor": cursor},
    )


def conversation(id: str) -> Call[Conversation]:
    return Call("GET", f"/v1/conversations/{segment(id)}", as_model("conversations.Conversation"))


def delete_conversation(id: str) -> Call[None]:
    return Call("DELETE", f"/v1/conversations/{segment(id)}", nothing)


def create_collection(name: str, tables: Mapping[str, Any], embedding: str | None = None) -> Call[Collection]:
    body = without_none(name=name, tables=tables, embedding=embedding)
    return Call("POST", "/v1/collections", as_model("search.Collection"), body=body)


def collections(limit: int | None = None, cursor: str | None = None) -> Call[Page[Collection]]:
    return Call("GET", "/v1/collections", as_page("search.Collection"), query={"limit": limit, "cursor": cursor})


def collection(name: str) -> Call[Collection]:
    return Call("GET", f"/v1/collections/{segment(name)}", as_model("search.Collection"))


def delete_collection(name: str) -> Call[None]:
    return Call("DELETE", f"/v1/collections/{segment(name)}", nothing)
