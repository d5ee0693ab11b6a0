"""The roles that models play, and who plays them unless an operator says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shared.llm.chain import Link

_FAST: Mapping[str, str | int] = MappingProxyType({"temperature": 1, "top_p": 1, "reasoning_effort": "low"})
_GROQ = Link("groq", "openai/gpt-oss-120b", _FAST)
_CEREBRAS = Link("cerebras", "gpt-oss-120b", _FAST)
_CLAUDE = Link("anthropic", "claude-haiku-5-5")

_EDIT = (_GROQ, _CEREBRAS)
_REASON = (_CLAUDE, _GROQ, _CEREBRAS)

#: The same string in configuration, registry, prompt key and call.
DEFAULTS: Mapping[str, tuple[Link, ...]] = MappingProxyType(
    {
        "execution.transform": _EDIT,
        "flows.edit": _EDIT,
        "stacks.identify": _EDIT,
        "search.plan": _REASON,
        "search.reflect": _REASON,
        "search.answer": _REASON,
        "documents.instruction": _EDIT,
    }
)


def last_resort(openai_model: str) -> tuple[Link, ...]:
    """Whoever is configured when nobody of a default chain is."""
    return (_CLAUDE, Link("openai", openai_model))
