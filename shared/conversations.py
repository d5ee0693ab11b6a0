"""Conversations: what was said in earlier jobs; statements that the gateway and the workers both execute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Identity,
    Index,
    Table,
    Text,
    delete,
    func,
    insert,
    literal,
    select,
    text,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.sql import Delete, Insert, Select

from shared.db import metadata
from shared.llm.chat import ChatMessage

HISTORY_PAIRS = 6  #: how many exchanges a model is shown

conversations = Table(
    "conversations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Index(None, "tenant_id", "created_at", "id"),
)

messages = Table(
    "messages",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("conversation_id", Text, nullable=False),
    Column("job_id", Text),
    Column("role", Text, CheckConstraint("role IN ('user', 'assistant')", name="role"), nullable=False),
    Column("content", Text, nullable=False),
    Column("tool_calls", JSONB, nullable=False, server_default=text("'[]'")),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Index(None, "conversation_id", "id"),
    ForeignKeyConstraint(
        ["conversation_id", "tenant_id"], ["conversations.id", "conversations.tenant_id"], ondelete="CASCADE"
    ),
)


def start(tenant: str, conversation: str) -> Insert:
    """Begin a conversation; harmless when it is there."""
    return upsert(conversations).values(id=conversation, tenant_id=tenant).on_conflict_do_nothing()


def add_pair(
    tenant: str,
    conversation: str,
    job: str | None,
    user: str,
    assistant: str,
    tool_calls: Sequence[Mapping[str, JsonValue]] = (),
) -> Insert:
    """Insert both halves of an exchange, or nothing when the conversation was deleted while the job ran.

    For the transaction that completes the job. The row lock on the conversation keeps pairs of two jobs apart.
    """
    touched = (
        update(conversations)
        .where(conversations.c.id == conversation, conversations.c.tenant_id == tenant)
        .values(updated_at=func.clock_timestamp())
        .returning(conversations.c.id)
        .cte("touched")
    )
    halves = union_all(
        _half(0, "user", user, ()),
        _half(1, "assistant", assistant, tool_calls),
    ).subquery("halves")
    rows = (
        select(
            literal(tenant).label("tenant_id"),
            touched.c.id,
            literal(job, Text).label("job_id"),
            halves.c.role,
            halves.c.content,
            halves.c.tool_calls,
        )
        .select_from(touched.join(halves, literal(True)))
        .order_by(halves.c.position)
    )
    columns = ["tenant_id", "conversation_id", "job_id", "role", "content", "tool_calls"]
    return insert(messages).inline().from_select(columns, rows)


def _half(
    position: int, role: str, content: str, tool_calls: Sequence[Mapping[str, JsonValue]]
) -> Select[int, str, str, Any]:
    calls = literal([dict(call) for call in tool_calls], JSONB)
    return select(
        literal(position).label("position"),
        literal(role).label("role"),
        literal(content.replace("\x00", "")).label("content"),  # Postgres text holds no NUL
        calls.label("tool_calls"),
    )


def history(tenant: str, conversation: str, pairs: int = HISTORY_PAIRS) -> Select[str, str]:
    """Select the last exchanges as ``role, content``, newest first: see :func:`as_chat`."""
    return (
        select(messages.c.role, messages.c.content)
        .where(messages.c.tenant_id == tenant, messages.c.conversation_id == conversation)
        .order_by(messages.c.id.desc())
        .limit(2 * pairs)
    )


def as_chat(rows: Iterable[Sequence[str]]) -> tuple[ChatMessage, ...]:
    """Return rows of :func:`history` in chronological order."""
    newest_first = [ChatMessage("user" if row[0] == "user" else "assistant", row[1]) for row in rows]
    return tuple(reversed(newest_first))


def listing(tenant: str, limit: int, after: tuple[object, str] | None = None) -> Select[*tuple[Any, ...]]:
    """``id, created_at, updated_at, messages_count``, newest first; ``after`` is the last row's (created_at, id)."""
    counted = (
        select(func.count())
        .where(messages.c.tenant_id == conversations.c.tenant_id, messages.c.conversation_id == conversations.c.id)
        .scalar_subquery()
        .label("messages_count")
    )
    rows = select(conversations.c.id, conversations.c.created_at, conversations.c.updated_at, counted).where(
        conversations.c.tenant_id == tenant
    )
    if after is not None:
        rows = rows.where(tuple_(conversations.c.created_at, conversations.c.id) < tuple_(*map(literal, after)))
    return rows.order_by(conversations.c.created_at.desc(), conversations.c.id.desc()).limit(limit)


def one(tenant: str, conversation: str) -> Select[*tuple[Any, ...]]:
    """``id, created_at, updated_at`` of one conversation of the tenant."""
    return select(conversations.c.id, conversations.c.created_at, conversations.c.updated_at).where(
        conversations.c.id == conversation, conversations.c.tenant_id == tenant
    )


def messages_of(tenant: str, conversation: str, limit: int = 1000) -> Select[*tuple[Any, ...]]:
    """``role, content, tool_calls, job_id, time`` of the newest messages, newest first."""
    return (
        select(
            messages.c.role,
            messages.c.content,
            messages.c.tool_calls,
            messages.c.job_id,
            messages.c.created_at.label("time"),
        )
        .where(messages.c.tenant_id == tenant, messages.c.conversation_id == conversation)
        .order_by(messages.c.id.desc())
        .limit(limit)
    )


def forget(tenant: str, conversation: str) -> Delete:
    """Delete a conversation with its messages; no row is affected if it does not exist."""
    return delete(conversations).where(conversations.c.id == conversation, conversations.c.tenant_id == tenant)
