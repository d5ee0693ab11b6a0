"""One attempt at a provider, as it is told to the ledger, the events and the caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from shared.llm.chain import Link
from shared.llm.chat import ChatReply, ChatRequest

Reason = Literal["primary", "failover", "retry", "hedge"]

SKIPPED = "skipped"


@dataclass(frozen=True)
class Attempt:
    number: int  #: within its turn, from 1
    request: ChatRequest
    link: Link
    reason: Reason
    outcome: str  #: ``ok``, a fault's code, or ``skipped``
    cause: str | None = None  #: the outcome that made this attempt necessary
    reply: ChatReply | None = None
    http_status: int | None = None
    detail: str | None = None
    seconds: float = 0.0
    first_token: float | None = None
    scripted: bool = False  #: a faulty answer that the scripted server gave

    @property
    def reached(self) -> bool:
        """Whether the provider was asked at all."""
        return self.outcome != SKIPPED


Tell = Callable[[Attempt], None]
