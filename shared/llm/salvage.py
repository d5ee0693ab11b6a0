"""Calls out of a generation that the provider refused as malformed (``tool_use_failed``)."""

from __future__ import annotations

from shared.llm.chat import ChatReply, ChatRequest
from shared.llm.faults import ToolUseFailed


def salvaged(fault: ToolUseFailed, request: ChatRequest, provider: str) -> ChatReply:
    """Raises: the fault, when there is nothing to salvage."""
    if not fault.generation.strip() or request.tools:
        raise fault
    return ChatReply(fault.generation, provider, request.model or "")
