"""What was said before in a job's conversation, read when a capability first looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from sqlalchemy import Engine

from shared import conversations
from shared.llm.chat import ChatMessage


@dataclass(frozen=True, eq=False)
class History(Sequence[ChatMessage]):
    """The last 6 pairs, oldest first; most kinds of job never ask for them."""

    engine: Engine
    tenant_id: str
    conversation_id: str

    @cached_property
    def _messages(self) -> tuple[ChatMessage, ...]:
        with self.engine.connect() as connection:
            said = connection.execute(conversations.history(self.tenant_id, self.conversation_id)).all()
        return conversations.as_chat([(line.role, line.content) for line in said])

    @overload
    def __getitem__(self, index: int) -> ChatMessage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ChatMessage]: ...
    def __getitem__(self, index: int | slice) -> ChatMessage | Sequence[ChatMessage]:
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)
