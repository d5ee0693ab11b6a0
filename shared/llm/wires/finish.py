"""Why an answer ended: the reasons that are known good ends, and what the known bad ones mean.

An unknown reason is a fault: half an answer must not count as a whole one.
"""

from __future__ import annotations

from collections.abc import Mapping

from shared.llm.chat import Finish
from shared.llm.faults import ContentFiltered, Mark, ProviderFault, ProviderOverloaded, StreamCut, ToolUseFailed
from shared.llm.wires.shapes import clean

#: Groq, Cerebras, OpenAI, Azure, OpenRouter, vLLM, SGLang, llama.cpp, LM Studio, Ollama, DeepSeek and Mistral
#: (``model_length``); Together and TGI (``eos``, ``eos_token``); Anthropic, and gateways that pass its reasons on;
#: Cohere (``complete``), Llama Stack (``end_of_turn``, ``end_of_message``), watsonx (``token_limit``).
GOOD_ENDS: Mapping[str, Finish] = {
    "stop": Finish.STOP,
    "eos": Finish.STOP,
    "eos_token": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "end_turn": Finish.STOP,
    "end_of_turn": Finish.STOP,
    "end_of_message": Finish.STOP,
    "complete": Finish.STOP,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "max_new_tokens": Finish.LENGTH,
    "max_output_tokens": Finish.LENGTH,
    "max_length": Finish.LENGTH,
    "token_limit": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_calls": Finish.TOOL_CALLS,
    "tool_use": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "refusal": Finish.REFUSAL,
}
_FILTERED = frozenset(  # OpenAI, Azure, DeepSeek, OpenRouter; Bedrock, Cohere and Zhipu; the rest are Gemini's
    {"content_filter", "content_filtered", "guardrail_intervened", "error_toxic", "sensitive"}
    | {"safety", "recitation", "blocklist", "prohibited_content", "spii", "language", "image_safety"}
)
_MALFORMED = frozenset({"malformed_function_call", "unexpected_tool_call", "too_many_tool_calls"})  # Gemini
_LOOPED = frozenset({"repetition"})  # vLLM's detection of loops
_OVERLOADED = frozenset({"insufficient_system_resource"})  # DeepSeek
#: vLLM and SGLang (``abort``), OpenRouter and Mistral (``error``): the server gave up.
_BROKEN = frozenset({"abort", "aborted", "cancelled", "error"})


def finish_of(reason: object, unsaid: Finish) -> Finish:
    """Return the finish of a known good end, ``unsaid`` where none is given. Raises: ProviderFault."""
    if reason is None or reason == "":
        return unsaid
    if (finish := GOOD_ENDS.get(_word(reason))) is not None:
        return finish
    raise _fault(_word(reason), clean(_written(reason))[:60])


def lasting(before: object, reason: object, native: object = None) -> object:
    """Return the reason that counts of two that one answer names: nothing makes a bad or a cut end a whole one.

    ``native`` is the vendor's own, where a gateway passes it on; it says more than ``error``.
    """
    if native and _word(reason) == "error":
        reason = native
    if not reason:
        return before
    return reason if not before or GOOD_ENDS.get(_word(before)) is Finish.STOP else before


def _written(reason: object) -> str:
    if isinstance(reason, dict):  # SGLang's own form
        reason = reason.get("type", reason)
    return reason if isinstance(reason, str) else str(reason)


def _word(reason: object) -> str:
    return _written(reason).strip().lower().replace(" ", "_").replace("-", "_").partition(":")[0]


def _fault(word: str, written: str) -> ProviderFault:
    if word in _FILTERED:
        return ContentFiltered(f"The provider's content filter ended the answer (finish reason `{written}`).")
    if word in _MALFORMED:
        return ToolUseFailed(f"The model's tool call does not fit its format (finish reason `{written}`).", "")
    if word in _LOOPED:
        words = f"The server ended the answer because the model repeated itself (finish reason `{written}`)."
        return StreamCut(words, mark=Mark.NOTE)
    if word in _OVERLOADED:
        return ProviderOverloaded(f"It had too few resources to end the answer (finish reason `{written}`).")
    if word in _BROKEN:
        return StreamCut(f"It gave up in the middle of the answer (finish reason `{written}`).")
    words = f"The answer ended with the finish reason `{written}`, which is not a known good end."
    return StreamCut(words, mark=Mark.NOTE)
