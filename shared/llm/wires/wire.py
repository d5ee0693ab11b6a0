"""What a format of requests and answers provides, whichever vendor uses it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from pydantic import JsonValue

from shared.llm.chat import ChatReply, ChatRequest
from shared.llm.watch import Watch
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.sdk import Json


class ReceivedAnswer(Protocol):
    """An answer while it arrives: in one piece, or as the events of a stream."""

    def take_whole(self, answer: Json) -> None:
        """Raises: UnreadableAnswer."""
        ...

    def take_events(self, events: Iterable[Json], watch: Watch) -> None:
        """Read a stream to its end. Raises: StreamCut when it stops too early."""
        ...

    def reply(self, provider: str, request: ChatRequest) -> ChatReply:
        """Raises: UnreadableAnswer for a tool call that is not a JSON object."""
        ...


class Wire(Protocol):
    """A format; the scripted server speaks its other side under the same name."""

    @property
    def name(self) -> str: ...

    def body(self, request: ChatRequest, endpoint: Endpoint, with_schema: bool) -> dict[str, JsonValue]:
        """The request without ``stream``."""
        ...

    def answer(self) -> ReceivedAnswer:
        """An empty one, for one call."""
        ...
