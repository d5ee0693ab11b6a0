"""What a job saves so that a later one runs only what changed: outputs and values, by digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, JsonValue

from services.execution.sandbox.run import Digest
from shared.contracts.document import BlockMessage, BlockVariable
from shared.contracts.execute import Display
from shared.errors import NotFound
from shared.jobs.job import Context

_MOST = 32_000_000
_VERSION = 3  #: of the form of a state


class CachedValue(BaseModel):
    kind: str
    type: str
    text: str
    data: JsonValue = None
    file_id: str | None = None  #: of a table
    rows: int | None = None


class CachedAnswer(BaseModel):
    text: str
    by: str


class CachedBlock(BaseModel):
    """One block as it ended."""

    outputs: list[Display] = []
    messages: list[BlockMessage] = []
    pictures: dict[str, str] = {}  #: files of the pictures that its code has written, by their paths
    variables: list[BlockVariable] = []
    values: dict[str, CachedValue] = {}
    base: str = ""  #: of code: language and text
    reads: dict[str, str] = {}  #: what it found in each name that it could see
    unknown: dict[str, str] = {}  #: names whose values cannot be compared, and why
    effects: dict[str, Digest | None] = {}  #: what each name that it changed held then; none of what it took away
    owns: list[str] = []  #: names that were its language's then
    answers: list[CachedAnswer] = []
    rendered: str | None = None
    spans: list[tuple[int, int, str]] = []
    model: str | None = None
    shown: BlockVariable | None = None  #: the value that the last output shows
    value: JsonValue = None  #: of a condition, a loop or an inline expression


class DocumentState(BaseModel):
    version: int = 1  #: of a state that does not say
    blocks: dict[str, CachedBlock] = {}


def digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()[:32]


def load(context: Context, job_id: str | None) -> DocumentState | None:
    """Load the state of an earlier document job, or of the conversation's last; ``None`` when none is readable."""
    job = context.results.of(job_id) if job_id else context.results.latest("document")
    result: Mapping[str, Any] = job.result if job is not None and job.kind == "document" else {}
    file_id = result.get("state_file_id")
    if not isinstance(file_id, str):
        return None
    try:
        with context.files.open(file_id) as stream:
            state = DocumentState.model_validate(json.loads(stream.read(_MOST)))
            return state if state.version == _VERSION else None
    except (NotFound, ValueError, RecursionError, OSError):
        return None


def save(context: Context, state: DocumentState) -> str | None:
    # pydantic would refuse half of a surrogate pair, which is text to Python and JavaScript.
    body = json.dumps({**state.model_dump(exclude_defaults=True), "version": _VERSION}).encode()
    if len(body) > _MOST:
        return None
    return context.files.save("document-state.json", body, "application/json").id
