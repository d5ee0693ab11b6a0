"""What a job saves so that a later one runs only what changed: outputs and values, by digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, JsonValue

from services.execution.documents.run.kernels import Kernels
from services.execution.languages.table import analysis_of
from services.execution.sandbox.run import KernelError, Look
from shared.contracts.document import BlockMessage, BlockVariable
from shared.contracts.execute import Display
from shared.errors import NotFound
from shared.jobs.job import Context, Files

_MOST = 32_000_000
_MOST_TEXT = 200_000  #: characters of a plain value
_MOST_TABLE = 16_000_000  #: bytes in memory; a larger table is made again when it is needed


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
    variables: list[BlockVariable] = []
    values: dict[str, CachedValue] = {}
    whole: bool = True  #: every value is here; if not, the code has to run again to have them
    answers: list[CachedAnswer] = []
    rendered: str | None = None
    model: str | None = None
    value: JsonValue = None  #: of a condition, a loop or an inline expression


class DocumentState(BaseModel):
    version: int = 1
    blocks: dict[str, CachedBlock] = {}


def digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()[:32]


def load(context: Context, job_id: str | None) -> DocumentState | None:
    """The state of an earlier document job, or of the conversation's last; ``None`` when none can be read."""
    job = context.results.of(job_id) if job_id else context.results.latest("document")
    result: Mapping[str, Any] = job.result if job is not None and job.kind == "document" else {}
    file_id = result.get("state_file_id")
    if not isinstance(file_id, str):
        return None
    try:
        with context.files.open(file_id) as stream:
            return DocumentState.model_validate(json.loads(stream.read(_MOST)))
    except (NotFound, ValueError, RecursionError, OSError):
        return None


def save(context: Context, state: DocumentState) -> str | None:
    # pydantic would refuse half of a surrogate pair, which is text to Python and JavaScript.
    body = json.dumps(state.model_dump(exclude_defaults=True)).encode()
    if len(body) > _MOST:
        return None
    return context.files.save("document-state.json", body, "application/json").id


def fetch(context: Context, file_id: str, target: Path) -> bool:
    try:
        context.files.fetch(file_id, target)
    except NotFound:
        return False
    return True


def cached_value(kernels: Kernels, files: Files, kernel: str, name: str, look: Look) -> CachedValue | None:
    """``None`` for what could not be restored exactly."""
    exact = analysis_of(kernel).exact
    if exact is not None and look.type not in exact:
        return None
    cached = CachedValue(kind=look.kind, type=look.type, text=look.text[:2000], rows=look.rows or None)
    if look.kind == "json":
        cached.data = look.exact
        text = json.dumps(look.exact)
        return None if len(text) > _MOST_TEXT or _lossy(look.exact) else cached
    if look.kind != "table" or look.bytes > _MOST_TABLE:
        return None
    try:
        value = kernels.get(kernel, name)
    except KernelError:
        return None
    if value.table is None or value.notes:
        return None
    cached.file_id = files.save(f"{name}.arrow", value.table, "application/vnd.apache.arrow.file").id
    cached.text = f"{look.rows} rows x {look.width} columns"
    return cached


def _lossy(exact: JsonValue) -> bool:
    """Whether JSON does not hold it exactly."""
    if isinstance(exact, str):
        return any("\ud800" <= sign <= "\udfff" for sign in exact) if not exact.isascii() else False
    if isinstance(exact, list):
        return any(_lossy(part) for part in exact)
    if not isinstance(exact, dict):
        return False
    return exact.get("$") in ("series", "missing") or any(_lossy(part) for part in exact.values())
