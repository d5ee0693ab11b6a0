"""What servers say in words only: a prompt that does not fit, images or schemas that are not taken, a model that loads.

The words are those of llama.cpp, vLLM, SGLang, TGI, Ollama, LM Studio, OpenAI, Azure, Anthropic, Groq, Cerebras,
OpenRouter, DeepSeek, Mistral, Gemini, xAI and DashScope; ``shared.llm.scripted.server_errors`` has examples, and
``tests/shared/llm/conformance`` the vendors' own with their sources.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_OVERFLOW = re.compile(
    r"context[ _-]?(size|length|window|limit)|exceed_context_size|context the overflows"
    r"|prompt is too long|input (is too long|length exceeds)|reduce the length of the (messages|prompt|input)"
    r"|maximum (model|sequence|prompt) length|too many (input |prompt )?tokens"
    r"|(input|prompt)( token)?( count)?\b.{0,40}exceeds? the (maximum|limit|model)"
    r"|max_(completion_)?tokens must be at least 1\b|max_new_tokens`? must be <= \d|is longer than the model"
    r"|range of input length|too large to process|inputs`? must have less than \d",
    re.I,
)
_IMAGES = re.compile(
    r"mmproj|multi-?modal|(image|vision)[\w ()']*(not supported|unsupported|not enabled)|at most 0 image"
    r"|does ?n[o']t? support (image|vision)|(not|no) support for (image|vision)|image_url"
    r"|missing data required for image"
    r"|(invalid|unknown|unsupported)[\w ]* (type|content)[^.]{0,40}image|support image input",
    re.I,
)
_SCHEMA = re.compile(
    r"response_format|json[_ ]schema|output_config(?!\.effort)|structured output|guided_(json|grammar|decoding)|grammar"
    r"|initialize samplers?|generate parser|invalid (format|schema)",
    re.I,
)
_LOADING = re.compile(
    r"(?<!\berror )(?<!\bfailed )loading (the )?model|model (is |was )?(still |currently )?(being )?load(ed|ing)"
    r"|warming up|scaling up|scaled to zero|model is not ready",
    re.I,
)
#: llama.cpp, Ollama, TGI: what the model wrote cannot be read as a call or as the asked format.
_MALFORMED_CALL = re.compile(r"failed to parse input at pos|error parsing tool call|^tool error\b", re.I)
_TEMPLATE = re.compile(r"\bjinja\b|chat[_ ]template|template error|roles must alternate", re.I)
_USAGE = re.compile(r"stream_options|include_usage", re.I)
_AFFORDABLE = re.compile(r"can only afford (\d+)", re.I)
_MIN_AFFORDABLE = 512  #: tokens of an answer; with less the credit is used up
_NUMBER = r"[`'\"(]*(\d[\d,]*)"
#: The window's and the prompt's position in the message. Sums are split first.
_WINDOWS = (
    rf"\d[\d,]* \+ \d[\d,]* > {_NUMBER}",
    rf"context (?:length|size|window|limit)(?: of| is|:)?(?: only)? {_NUMBER}",
    rf"(\d[\d,]*) maximum context length|maximum (?:prompt|sequence|model) length (?:of|is) {_NUMBER}",
    rf"maximum number of tokens allowed {_NUMBER}|must be <= {_NUMBER}",
    rf"context length \({_NUMBER}",
    rf"limit is {_NUMBER}",
    rf"n_ctx: {_NUMBER}",
    rf"inputs`? must have less than {_NUMBER}",
    rf"range of input length should be \[\d+, ?{_NUMBER}",
    rf"> {_NUMBER}",
)
_PROMPTS = (
    r"(\d[\d,]*) \+ \d[\d,]* >",
    r"(\d[\d,]*) tokens from the (?:input|messages|prompt)",
    r"request contains (\d[\d,]*)",
    r"(\d[\d,]*) (?:in (?:the|your) (?:messages|prompt)|of text input|input tokens|`inputs` tokens|tokens > )",
    r"(?:resulted in|(?<!context )length is|keep the first|request \(|prompt contains (?:at least )?"
    r"|the input \(|token count \(|is too long:|n_keep:) ?(\d[\d,]*)",
    r"(?<!you )requested (?:about )?(\d[\d,]*) (?!output)",
    r"you requested (\d[\d,]*) tokens(?! \(\d)",
)
_CAP_NAMES = r"max_?(?:completion|output)?_?tokens"
#: The most tokens that the model can write, in a refusal of the cap that was sent.
_CAPS = (
    rf"{_CAP_NAMES}\W.{{0,60}}?(?:less than or equal to|at most|no more than|(?:can|must )not exceed|<=|≤) {_NUMBER}",
    rf"supports at most {_NUMBER} (?:completion|output) tokens",
    rf"(?<!\+ `)max_new_tokens`? must be <= {_NUMBER}",
    rf"{_CAP_NAMES} > {_NUMBER} must have stream",
    rf"{_CAP_NAMES}: \d[\d,]* > {_NUMBER}, which is the maximum",
    rf"range\b.{{0,40}}?{_CAP_NAMES}.{{0,20}}?\[\s*\d+\s*,\s*{_NUMBER}",
    rf"{_CAP_NAMES}\W.{{0,60}}?range\b.{{0,40}}?\[\s*\d+\s*,\s*{_NUMBER}",
    rf"maximum (?:value |allowed )?(?:for|of) [`'\"]?{_CAP_NAMES}[`'\"]? (?:is|of) {_NUMBER}",
    rf"maximum (?:number of )?(?:output|completion) tokens\b.{{0,40}}?(?:is|of|:) {_NUMBER}",
)
_CAP_BELOW = re.compile(rf"{_CAP_NAMES} value of \d+ but the supported range is from \d+ \(inclusive\) to (\d+)", re.I)
_CAP_REFUSED = re.compile(rf"{_CAP_NAMES}\W.{{0,40}}(too (large|big|high)|exceeds)", re.I)
_NOT_TAKEN = r"(?:unsupported|not supported|unrecogni[sz]ed|unknown|extra (?:inputs?|fields?)|not permitted|unexpected)"
_CAP_NAME = re.compile(
    rf"{_NOT_TAKEN}.{{0,60}}max_(?:completion_)?tokens|max_(?:completion_)?tokens\b.{{0,40}}{_NOT_TAKEN}"
    r"|use [`'\"]?max_(?:completion_)?tokens",
    re.I,
)
#: A request that exceeds the limit of one minute, however long one waits: Groq, OpenAI.
_MINUTE = re.compile(r"request too large.*?limit:? (\d[\d,]*),? *requested:? \d", re.I | re.S)


def overflows(text: str) -> bool:
    """Return whether the prompt, alone or with the answer's cap, does not fit the window."""
    return _OVERFLOW.search(text) is not None


def refuses_images(text: str) -> bool:
    return _IMAGES.search(text) is not None


def refuses_schema(text: str) -> bool:
    return _SCHEMA.search(text) is not None


def refuses_cap_name(text: str) -> bool:
    """Return whether the parameter name of the answer's cap is refused."""
    return _CAP_NAME.search(text) is not None


def refuses_usage(text: str) -> bool:
    """Return whether the wish for a stream's usage is refused."""
    return _USAGE.search(text) is not None


def refuses_template(text: str) -> bool:
    """Return whether the model's own template cannot hold the messages, which no other try changes."""
    return _TEMPLATE.search(text) is not None


def is_malformed_call(text: str) -> bool:
    return _MALFORMED_CALL.search(text) is not None


def affordable(text: str) -> int | None:
    """Return the tokens of an answer that the rest of an account's credit pays for; None if they are too few."""
    match = _AFFORDABLE.search(text)
    tokens = None if match is None else _count(int(match[1]))
    return tokens if tokens is not None and tokens >= _MIN_AFFORDABLE else None


def is_loading(text: str) -> bool:
    return _LOADING.search(text) is not None


def cap_of(text: str) -> int | None:
    """Return the maximum tokens of an answer that the message names; 0 if it only reports a cap that is too large."""
    if (match := _CAP_BELOW.search(text)) is not None:
        return _count(int(match[1]) - 1)
    if (cap := _first(_CAPS, text)) is not None:
        return cap
    return 0 if _CAP_REFUSED.search(text) is not None and not overflows(text) else None


def tokens_of_a_minute(text: str) -> int | None:
    """Return the maximum tokens of one request, if it was refused as larger than a whole minute's limit."""
    match = _MINUTE.search(text)
    return None if match is None else _count(int(match[1].replace(",", "")))


def window_of(inner: Mapping[str, Any], text: str) -> int | None:
    """Return the window in tokens, from a member of the error or from its message."""
    return _count(inner.get("n_ctx")) or _first(_WINDOWS, text)


def prompt_of(inner: Mapping[str, Any], text: str) -> int | None:
    """Return the prompt's tokens, without the answer's cap where the message separates them."""
    return _count(inner.get("n_prompt_tokens")) or _first(_PROMPTS, text)


def _first(patterns: tuple[str, ...], text: str) -> int | None:
    match = next((match for pattern in patterns if (match := re.search(pattern, text, re.I))), None)
    if match is None:
        return None
    number = next((group for group in match.groups() if group), "0")
    return _count(int(number.replace(",", "")))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else None
