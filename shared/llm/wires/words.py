"""What servers say in words only: a prompt that does not fit, images or schemas that are not taken, a model that loads.

The words are those of llama.cpp, vLLM, Ollama, LM Studio, OpenAI, Anthropic, Groq and Cerebras;
``shared.llm.scripted.server_errors`` has an example of each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_OVERFLOW = re.compile(
    r"context[ _-]?(size|length|window|limit)|exceed_context_size|context the overflows"
    r"|prompt is too long|input (is too long|length exceeds)|reduce the length of the (messages|prompt|input)"
    r"|maximum (model|sequence|prompt) length|too many (input |prompt )?tokens",
    re.I,
)
_IMAGES = re.compile(
    r"mmproj|multi-?modal|(image|vision)[\w ()']*(not supported|unsupported|not enabled)|at most 0 image"
    r"|does ?n[o']t? support (image|vision)|(not|no) support for (image|vision)|image_url"
    r"|missing data required for image"
    r"|(invalid|unknown|unsupported)[\w ]* (type|content)[^.]{0,40}image",
    re.I,
)
_SCHEMA = re.compile(
    r"response_format|json[_ ]schema|output_config(?!\.effort)|structured output|guided_(json|grammar|decoding)|grammar"
    r"|initialize samplers?|generate parser|invalid (format|schema)",
    re.I,
)
_LOADING = re.compile(
    r"loading (the )?model|model (is |was )?(still |currently )?(being )?load(ed|ing)|warming up", re.I
)
#: Where the window stands in the words, and where the prompt's tokens do.
_WINDOWS = (
    r"context (?:length|size|window|limit)(?: of| is|:)?(?: only)? \(?(\d[\d,]*)",
    r"limit is (\d[\d,]*)",
    r"> (\d[\d,]*)",
)
_PROMPTS = (
    r"(\d[\d,]*) (?:in the messages|input tokens|tokens > )",
    r"(?:resulted in|(?<!context )length is|keep the first|request \(|prompt contains (?:at least )?) ?(\d[\d,]*)",
    r"requested (\d[\d,]*)",
    r"(\d[\d,]*) \+ \d",
)


def overflows(text: str) -> bool:
    """Whether the prompt, or the prompt with the answer's cap, does not fit into the window."""
    return _OVERFLOW.search(text) is not None


def refuses_images(text: str) -> bool:
    return _IMAGES.search(text) is not None


def refuses_schema(text: str) -> bool:
    return _SCHEMA.search(text) is not None


def is_loading(text: str) -> bool:
    return _LOADING.search(text) is not None


def window_of(inner: Mapping[str, Any], text: str) -> int | None:
    """The window in tokens, by a member of the error or by its words."""
    return _count(inner.get("n_ctx")) or _first(_WINDOWS, text)


def prompt_of(inner: Mapping[str, Any], text: str) -> int | None:
    """The tokens of the prompt, without the answer's cap where the words tell them apart."""
    return _count(inner.get("n_prompt_tokens")) or _first(_PROMPTS, text)


def _first(patterns: tuple[str, ...], text: str) -> int | None:
    match = next((match for pattern in patterns if (match := re.search(pattern, text, re.I))), None)
    return None if match is None else _count(int(match[1].replace(",", "")))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else None
