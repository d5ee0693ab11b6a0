"""Conversations: what was said, and forgetting it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import Response
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Cursor, Limit, page, read_cursor
from services.gateway.http.rules import Id
from services.gateway.routing import routes
from shared import conversations
from shared.contracts.common import Page
from shared.contracts.conversations import Conversation, ConversationSummary, Message
from shared.errors import NotFound
from shared.jobs.record import listing

router = routes("/v1/conversations", "Conversations")


@router.get("", summary="List conversations, newest first")
async def list_conversations(
    caller: CurrentCaller, db: Db, limit: Limit = 50, cursor: Cursor = None
) -> Page[ConversationSummary]:
    statement = conversations.listing(caller.tenant, limit + 1, read_cursor(cursor))
    rows = (await db.execute(statement)).mappings().all()
    about = await _about(db, caller.tenant, [row["id"] for row in rows])
    return page(rows, limit, lambda row: ConversationSummary.model_validate({**row, **about.get(row["id"], {})}))


@router.get("/{id}", summary="Read a conversation")
async def get_conversation(id: Id, caller: CurrentCaller, db: Db) -> Conversation:
    """Return the newest 1,000 messages, in chronological order."""
    row = (await db.execute(conversations.one(caller.tenant, id))).mappings().one_or_none()
    if row is None:
        raise _missing(id)
    rows = (await db.execute(conversations.messages_of(caller.tenant, id))).mappings().all()
    about = await _about(db, caller.tenant, [id])
    messages = [Message.model_validate(dict(row)) for row in reversed(rows)]
    return Conversation(**dict(row), **about.get(id, {}), messages=messages, messages_count=len(messages))


@router.delete("/{id}", summary="Delete a conversation", status_code=204, response_class=Response)
async def delete_conversation(id: Id, caller: CurrentCaller, db: Db) -> None:
    """Delete the conversation with its messages; its jobs stay."""
    if (await db.execute(conversations.forget(caller.tenant, id))).rowcount != 1:
        raise _missing(id)


async def _about(db: AsyncConnection, tenant: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the titles and kinds of each conversation's jobs."""
    rows = (await db.execute(listing.of_conversations(tenant, ids))).mappings()
    return {row["conversation_id"]: {"title": row["title"] or None, "kinds": row["kinds"]} for row in rows}


def _missing(id: str) -> NotFound:
    return NotFound(f"There is no conversation {id}.")
