"""Conversations: the exchanges that a later job builds on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Time

MessageRole = TypeAliasType(
    "MessageRole", Annotated[Literal["user", "assistant"], Field(description="Author of a message")]
)


class Message(Answer):
    """One message of a conversation."""

    role: MessageRole
    """Author of the message"""
    content: str
    """Text of the message"""
    tool_calls: list[dict[str, JsonValue]] = []
    """Tool calls that the assistant's message made"""
    job_id: str | None = None
    """Id of the job that added the message; null if unknown"""
    time: Time
    """Time at which the message was added"""


class ConversationSummary(Answer):
    """A conversation without its messages."""

    id: str
    """Conversation id"""
    created_at: Time
    """Time of the first message"""
    updated_at: Time
    """Time of the latest message"""
    messages_count: int
    """Number of messages"""
    title: str | None = None
    """First line of what its first job was about; null if unknown"""
    kinds: list[str] = []
    """Kinds of the conversation's jobs"""


class Conversation(ConversationSummary):
    """A conversation with its messages."""

    messages: list[Message]
    """Messages, oldest first"""
