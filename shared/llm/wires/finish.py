"""Why an answer ended: the reasons that are known good ends, and what the known bad ones mean.

An unknown reason is a fault: half an answer must not count as a whole one.
"""

from __future__ import annotations

from collections.abc import Mapping

from shared.llm.chat import Finish
from shared.llm.faults import ContentFiltered, Mark, ProviderFault, ProviderOverloaded, StreamCut, ToolUseFailed

#: Groq, Cerebras, OpenAI, Azure, OpenRouter, vLLM, SGLang, llama.cpp, LM Studio, Ollama, DeepSeek and Mistral
#: (``model_length``); Together and TGI (``eos``, ``eos_token``); Anthropic, and gateways that pass its reasons on.
GOOD_ENDS: Mapping[str, Finish] = {
    "stop": Finish.STOP,
    "eos": Finish.STOP,
    "eos_token": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "end_turn": Finish.STOP,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "tool_calls": Finish.TOOL_CALLS,
    "tool_use": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "refusal": Finish.REFUSAL,
}
_FILTERED = frozenset(  # OpenAI, Azure, DeepSeek, OpenRouter; the rest are Gemini's
    {"content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "language", "image_safety"}
)
_MALFORMED = frozenset({"malformed_function_call", "unexpected_tool_call"})  # Gemini
_OVERLOADED = frozenset({"insufficient_system_resource"})  # DeepSeek
#: vLLM and SGLang (``abort``), OpenRouter and Mistral (``error``): the server gave up.
_BROKEN = frozenset({"abort", "aborted", "cancelled", "error"})


def finish_of(reason: object, unsaid: Finish) -> Finish:
    """Return the finish of a known good end, ``unsaid`` where none is given. Raises: ProviderFault."""
    if reason is None or reason == "":
        return unsaid
    written = reason if isinstance(reason, str) else str(reason)
    word = written.strip().lower().replace(" ", "_").replace("-", "_").partition(":")[0]
    if (finish := GOOD_ENDS.get(word)) is not None:
        return finish
    raise _fault(word, written[:60])


def _fault(word: str, written: str) -> ProviderFault:
    if word in _FILTERED:
        return ContentFiltered(f"The provider's content filter ended the answer (finish reason `{written}`).")
    if word in _MALFORMED:
        return ToolUseFailed(f"The model's tool call does not fit its format (finish reason `{written}`).", "")
    if word in _OVERLOADED:
        return ProviderOverloaded(f"It had too few resources to end the answer (finish reason `{written}`).")
    if word in _BROKEN:
        return StreamCut(f"It gave up in the middle of the answer (finish reason `{written}`).")
    words = f"The answer ended with the finish reason `{written}`, which is not a known good end."
    return StreamCut(words, mark=Mark.NOTE)
