"""The model lists of llama.cpp, vLLM, Ollama and LM Studio servers."""

from __future__ import annotations

import json
from typing import Any

from shared.llm.scripted.script import ServedModels


def list_at(path: str, body: bytes, server: ServedModels | None) -> dict[str, Any] | None:  # noqa: PLR0911
    """Return the list at a path; None when this server has no such list."""
    if path.endswith("/v1/models"):
        return {"object": "list", "data": [] if server is None else [_model(server, each) for each in server.models]}
    if server is None:
        return None
    first = server.models[0] if server.models else ""
    if path.endswith("/tokenize") and server.tokenizes:
        return _tokenized(json.loads(body or b"{}"), server)
    match server.kind, path.rpartition("/")[2]:
        case "llama.cpp", "props":
            settings = {"n_ctx": server.window}
            return {
                "default_generation_settings": settings,
                "total_slots": server.slots or 1,
                "build_info": server.version,
                "model_path": f"/models/{first}",
            }
        case "vllm" | "ollama", "version":
            return {"version": server.version}
        case "ollama", "tags":
            return {"models": [{"name": each, "model": each} for each in server.models]}
        case "ollama", "ps":
            return {"models": []}
        case "ollama", "show":
            known = json.loads(body or b"{}").get("model") in server.models
            parameters = f"num_ctx                        {server.window}"
            return {"parameters": parameters, "model_info": {"x.context_length": 131072}} if known else None
        case "lm-studio", "models" if path.endswith("/api/v0/models"):
            return {"data": [{"id": each, "loaded_context_length": server.window} for each in server.models]}
    return None


def _tokenized(asked: dict[str, Any], server: ServedModels) -> dict[str, Any]:
    count = len(str(asked.get("prompt" if server.kind == "vllm" else "content", ""))) // 4 + 1
    answer: dict[str, Any] = {"tokens": list(range(count))}
    return {**answer, "count": count, "max_model_len": server.window} if server.kind == "vllm" else answer


def _model(server: ServedModels, name: str) -> dict[str, Any]:
    model: dict[str, Any] = {"id": name, "object": "model", "created": 0, "owned_by": server.kind}
    if server.kind == "vllm":
        model["max_model_len"] = server.window
    if server.kind == "llama.cpp":
        model["meta"] = {"n_ctx_train": 131072}
    return model
