"""Recordings of model calls: made once with a real model, replayed without one."""

from __future__ import annotations

import difflib
import json
import os
import re
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, JsonValue, ValidationError

from shared.errors import AssayError
from shared.llm.canonical import canonical, cleaned, key_of, without_secrets
from shared.llm.chat import ChainLink, ChatReply, ChatRequest, Finish, OnAttempt, ProviderAttempt, TokenUsage, ToolUse
from shared.llm.failover import Failover

Mode = Literal["record", "replay", "auto"]

_COMPARED = 200  #: recordings that a miss is compared with


class RecordingMissing(AssayError):
    code, title, status = "recording_missing", "There is no recording of this model call", 502


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
    """A provider around another one, for one job. A question asked again within it has a recording of its own."""

    folder: Path
    mode: Mode
    inner: Failover
    on_attempt: OnAttempt = lambda attempt: None
    counts: dict[str, int] = field(default_factory=dict)  #: how often each question was asked
    name: str = "recorder"

    def complete(self, request: ChatRequest) -> ChatReply:
        """Raises: RecordingMissing; whatever the inner provider does."""
        normalized = canonical(request)
        key = key_of(normalized)
        number = self.counts[key] = self.counts.get(key, 0) + 1
        if self.mode != "record" and (recorded := self._find(request.role, key, number)) is not None:
            reply = recorded.reply()
            link = ChainLink(recorded.provider, recorded.model)
            self.on_attempt(ProviderAttempt(1, request, link, "primary", "ok", reply=reply))
            return reply
        if self.mode == "replay":
            raise self._missing(request, normalized)
        reply = self.inner.complete(request)
        self._keep(self._file(request.role, key, number), request, normalized, reply)
        return reply

    def _file(self, role: str, key: str, number: int) -> Path:
        return self.folder / re.sub(r"[^\w.-]", "_", role) / f"{key}-{number}.json"

    def _find(self, role: str, key: str, number: int) -> Recording | None:
        """The recording of the question asked for the n-th time, or of the last time before."""
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
