"""Conversations: the exchanges that a later job builds on."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from shared.contracts.common import Answer, Time


class Message(Answer):
    role: Literal["user", "assistant"]
    content: str
    tool_calls: list[dict[str, JsonValue]] = []
    job_id: str | None = None
    time: Time


class ConversationSummary(Answer):
    id: str
    created_at: Time
    updated_at: Time
    messages_count: int
    title: str | None = None  #: what its first job was about
    kinds: list[str] = []  #: of its jobs


class Conversation(ConversationSummary):
    messages: list[Message]
