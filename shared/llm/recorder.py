"""Recordings of model calls: made once with a real model, replayed without one."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Literal
from uuid import uuid4

from pydantic import BaseModel, JsonValue, ValidationError

from shared.errors import AssayError
from shared.llm.chat import (
    ChainLink,
    ChatMessage,
    ChatReply,
    ChatRequest,
    Finish,
    OnAttempt,
    ProviderAttempt,
    TokenUsage,
    ToolUse,
)
from shared.llm.failover import Failover

Mode = Literal["record", "replay", "auto"]

_COMPARED = 200  #: recordings that a miss is compared with


class RecordingMissing(AssayError):
    code, title, status = "recording_missing", "Recording missing", 502
    cause = "A replay from recordings made a model call that was never recorded."
    remedy = "Record it once (ASSAY_LLM_RECORD), or replay without recordings."


class Recording(BaseModel):
    """A file: the request, and the answer with its provider. It holds no key and no header."""

    recorded_at: datetime
    provider: str
    model: str
    prompt: dict[str, str | int] | None
    parameters: dict[str, JsonValue]
    request: dict[str, JsonValue]
    text: str
    finish: Finish
    tool_calls: list[dict[str, JsonValue]]
    input_tokens: int | None
    output_tokens: int | None
    seconds: float

    def reply(self) -> ChatReply:
        calls = tuple(ToolUse(str(call["id"]), str(call["name"]), _object(call["params"])) for call in self.tool_calls)
        usage = TokenUsage(self.input_tokens, self.output_tokens)
        return ChatReply(self.text, self.provider, self.model, self.finish, calls, usage, "replay", self.seconds)


@dataclass
class Recorder:
    """A recording provider around another one, for one job. Each repetition of a request has a separate recording."""

    folder: Path
    mode: Mode
    inner: Failover
    on_attempt: OnAttempt = lambda attempt: None
    counts: dict[str, int] = field(default_factory=dict)  #: how often each request was made
    name: str = "recorder"

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the recorded reply, or call and record. Raises: RecordingMissing; what the inner provider raises."""
        normalized = canonical(request)
        key = key_of(normalized)
        number = self.counts[key] = self.counts.get(key, 0) + 1
        if self.mode != "record" and (recorded := self._find(request.role, key, number)) is not None:
            reply = recorded.reply()
            link = ChainLink(recorded.provider, recorded.model)
            self.on_attempt(ProviderAttempt(1, request, link, "primary", "ok", reply=reply, request_id=str(uuid4())))
            return reply
        if self.mode == "replay":
            raise self._missing(request, normalized)
        reply = self.inner.complete(request)
        self._keep(self._file(request.role, key, number), request, normalized, reply)
        return reply

    def _file(self, role: str, key: str, number: int) -> Path:
        return self.folder / re.sub(r"[^\w.-]", "_", role) / f"{key}-{number}.json"

    def _find(self, role: str, key: str, number: int) -> Recording | None:
        """Return the recording of the request's n-th repetition, or of the last earlier one."""
        for each in range(number, 0, -1):
            recording = _read(self._file(role, key, each))
            if recording is not None:
                return recording
        return None

    def _keep(self, file: Path, request: ChatRequest, normalized: dict[str, JsonValue], reply: ChatReply) -> None:
        recording = Recording(
            recorded_at=datetime.now(UTC),
            provider=reply.provider,
            model=reply.model,
            prompt=None if request.prompt is None else {"key": request.prompt.key, "version": request.prompt.version},
            parameters=dict(request.parameters or {}),
            request=normalized,
            text=without_secrets(reply.text),
            finish=reply.finish,
            tool_calls=[
                {"id": call.id, "name": call.name, "params": cleaned(dict(call.params))} for call in reply.tool_calls
            ],
            input_tokens=reply.usage.input,
            output_tokens=reply.usage.output,
            seconds=reply.seconds,
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, suffix=".part", delete=False, encoding="utf-8") as part:
            part.write(recording.model_dump_json(indent=2))
        os.replace(part.name, file)

    def _missing(self, request: ChatRequest, normalized: dict[str, JsonValue]) -> RecordingMissing:
        """Name the nearest recording, and where it differs first."""
        ours = _lines(normalized)
        nearest: tuple[float, Path, list[str]] | None = None
        folder = self._file(request.role, "", 0).parent
        for file in islice(sorted(folder.glob("*.json")), _COMPARED):
            recorded = _read(file)
            if recorded is None:
                continue
            theirs = _lines(recorded.request)
            ratio = difflib.SequenceMatcher(None, ours, theirs, autojunk=False).quick_ratio()
            if nearest is None or ratio > nearest[0]:
                nearest = (ratio, file, theirs)
        if nearest is None:
            return RecordingMissing(f"Nothing was recorded for the role {request.role}: run once with record or auto.")
        ratio, file, theirs = nearest
        where = next((pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]), ("(more)", "(end)"))
        return RecordingMissing(
            f"No recording fits this request of {request.role}. The nearest is {file.name} ({ratio:.0%} alike); "
            f"it says {where[1][:120]!r} where this request says {where[0][:120]!r}.",
            nearest=file.name,
        )


def _read(file: Path) -> Recording | None:
    try:
        return Recording.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None


def _lines(normalized: dict[str, JsonValue]) -> list[str]:
    return json.dumps(normalized, indent=1, sort_keys=True, ensure_ascii=False).replace("\\n", "\n").splitlines()


def _object(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


_VOLATILE = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"/(?:tmp|var/tmp|var/folders|private/tmp)/[\w./+-]+"), "<path>"),
    (re.compile(r"\b[0-9a-f]{24,64}\b"), "<hex>"),
    (re.compile(r"\b(?:127\.0\.0\.1|localhost):\d{2,5}\b"), "<address>"),
)
_SECRETS = (
    re.compile(r"\b(?:sk|gsk|csk|pk|rk|ghp|gho|xox[abp]|glpat|hf|assay)[-_][\w-]{12,}"),
    re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    re.compile(r"(?<=\bBearer )[\w.~+/-]{12,}=*"),
    re.compile(r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL),
)


def without_secrets(text: str) -> str:
    """Keys, tokens and passwords in URLs are never stored."""
    for pattern in _SECRETS:
        text = pattern.sub("<secret>", text)
    return text


def cleaned(value: JsonValue) -> JsonValue:
    """Return the value without secrets in any of its texts."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {name: cleaned(inner) for name, inner in value.items()}
    return value


def canonical(request: ChatRequest) -> dict[str, JsonValue]:
    """Role, words, tools and form of the answer; not the model, its parameters, the deadline, the prompt's version."""
    return {
        "role": request.role,
        "messages": [_message(message) for message in request.messages],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
            for tool in request.tools
        ],
        "schema": None if request.schema is None else dict(request.schema.schema),
    }


def key_of(normalized: dict[str, JsonValue]) -> str:
    text = json.dumps(normalized, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _message(message: ChatMessage) -> dict[str, JsonValue]:
    return {
        "role": message.role,
        "content": _without_volatile_parts(message.content),
        "images": [hashlib.sha256(image.data).hexdigest() for image in message.images],
        "tool_calls": [{"name": call.name, "params": cleaned(dict(call.params))} for call in message.tool_calls],
    }


def _without_volatile_parts(text: str) -> str:
    """Return the text with ids, times, temporary paths and the like replaced, and without secrets."""
    text = without_secrets(text)
    for pattern, mark in _VOLATILE:
        text = pattern.sub(mark, text)
    return text
