"""Errors as real servers word them: what a test or a demo has to see as those servers send it.

Sources: what llama.cpp, vLLM, Ollama and LM Studio are reported to answer, and the error pages of the vendors'
documentation; those of llama.cpp were seen on the wire, 2026-11-22.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue


@dataclass(frozen=True)
class SeenError:
    status: int
    body: JsonValue


def _llama(status: int, message: str, kind: str, **more: JsonValue) -> SeenError:
    return SeenError(status, {"error": {"code": status, "message": message, "type": kind, **more}})


def _vllm(message: str) -> SeenError:
    error: JsonValue = {"message": message, "type": "BadRequestError", "param": None, "code": 400}
    return SeenError(400, {"error": error})


def _openai(message: str, code: str, param: str | None = None) -> SeenError:
    error: JsonValue = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return SeenError(400, {"error": error})


SEEN: dict[str, SeenError] = {
    # A model that is being loaded.
    "llama.cpp loading": _llama(503, "Loading model", "unavailable_error"),
    "ollama loading": SeenError(503, {"error": "model is loading, please retry"}),
    # Images to a model that does not see.
    "llama.cpp images": _llama(
        500,
        "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        "server_error",
    ),
    "vllm images": _vllm("smollm2 is not a multimodal model"),
    "vllm no images": _vllm("At most 0 image(s) may be provided in one prompt."),
    "ollama images": SeenError(
        500, {"error": {"message": "this model is missing data required for image input", "type": "api_error"}}
    ),
    "lm-studio images": SeenError(400, {"error": "Model does not support images. Please use a model that does."}),
    # Schemas that cannot be used.
    "llama.cpp samplers": _llama(
        400, "Failed to initialize samplers: failed to parse grammar", "invalid_request_error"
    ),
    "llama.cpp parser": _llama(
        400, "Unable to generate parser for this template. JSON schema error at /items", "invalid_request_error"
    ),
    "vllm schema": _vllm('Grammar error: Unimplemented keys: ["pattern"]'),
    "ollama schema": SeenError(400, {"error": {"message": 'invalid format: expected "json" or a JSON schema'}}),
    "fastapi schema": SeenError(
        422,
        {"detail": [{"loc": ["body", "response_format", "type"], "msg": "unexpected value", "type": "value_error"}]},
    ),
    # A prompt that does not fit.
    "llama.cpp overflow": _llama(
        400,
        "the request exceeds the available context size (2048 tokens), try increasing it",
        "exceed_context_size_error",
        n_prompt_tokens=6311,
        n_ctx=2048,
    ),
    "vllm overflow": _vllm(
        "This model's maximum context length is 2048 tokens. However, you requested 6567 tokens (6311 in the messages, "
        "256 in the completion). Please reduce the length of the messages or completion."
    ),
    "ollama overflow": SeenError(400, {"error": {"message": "the input length exceeds the context length"}}),
    "lm-studio overflow": SeenError(
        400,
        {
            "error": "Trying to keep the first 6311 tokens when context the overflows. However, the model is loaded "
            "with context length of only 2048 tokens, which is not enough. Try to load the model with a larger context "
            "length, or provide a shorter input"
        },
    ),
    "openai overflow": _openai(
        "This model's maximum context length is 2048 tokens. However, your messages resulted in 6311 tokens. Please "
        "reduce the length of the messages.",
        "context_length_exceeded",
        "messages",
    ),
    "groq overflow": _openai(
        "Please reduce the length of the messages or completion.", "context_length_exceeded", "messages"
    ),
    "cerebras overflow": SeenError(
        400,
        {
            "message": "Please reduce the length of the messages or completion. "
            "Current length is 6311 while limit is 2048",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        },
    ),
    "anthropic overflow": SeenError(
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 6311 tokens > 2048 maximum"},
        },
    ),
    # The cap leaves no space for the prompt in the window.
    "vllm cap": _vllm(
        "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 2048 "
        "tokens and your request has 311 input tokens (8192 > 2048 - 311)."
    ),
    # Errors in other forms than an object with a message.
    "string error": SeenError(400, {"error": "the template could not be applied"}),
    "fastapi detail": SeenError(422, {"detail": "the template could not be applied"}),
    "bare message": SeenError(400, {"object": "error", "message": "the template could not be applied", "code": 400}),
    "no json": SeenError(400, "the template could not be applied"),
}
