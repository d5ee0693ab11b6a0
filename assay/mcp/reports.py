"""What a tool answers: the job as an agent needs it, its result within bounds, and links to the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from mcp import types
from pydantic import BaseModel, JsonValue

from assay.mcp.problems import ErrorReport, remedy
from shared.contracts.jobs import JobState, JobView, Usage
from shared.kinds import KINDS

Result = TypeVar("Result")

#: Maximum length of a result in an answer, in characters of its JSON; a resource holds the whole.
_MAX_RESULT = 40_000
_MAX_ERROR = 8_000
_TEXT_STEPS = (8_000, 2_000, 400)
_ITEM_STEPS = (100, 30, 8)
_MAX_LINKS = 20


class JobReport(BaseModel, Generic[Result]):
    """``result`` is null until the job has succeeded."""

    job_id: str
    kind: str
    state: JobState
    finished: bool
    result: Result | None
    shortened: bool  #: long texts and lists of the result were cut; the whole is at result_uri
    result_uri: str | None
    error: ErrorReport | None
    warnings: list[str]
    waiting: str | None  #: why a queued job has not begun
    conversation_id: str | None
    usage: Usage
    next: str | None  #: what to call to continue


class JobLine(BaseModel):
    job_id: str
    kind: str
    state: JobState
    title: str | None
    created_at: str
    finished_at: str | None
    verdict: str | None
    result_uri: str | None


class JobList(BaseModel):
    jobs: list[JobLine]
    next_cursor: str | None


class FileReport(BaseModel):
    file_id: str
    name: str
    size: int  #: bytes
    sha256: str
    media_type: str
    uri: str


def result_uri(job_id: str) -> str:
    return f"assay://jobs/{job_id}/result"


def file_uri(file_id: str) -> str:
    return f"assay://files/{file_id}"


def report_of(view: JobView) -> JobReport[Any]:
    """Return the report of a job. Raises: ValidationError for a result that its kind's contract does not know."""
    succeeded = view.state is JobState.SUCCEEDED
    result, shortened = _bounded(view.result) if succeeded and view.result is not None else (None, False)
    kind = KINDS.get(view.kind)
    if result is not None and kind is not None:
        result = kind.result.model_validate(result).model_dump(mode="json", by_alias=True)
    waiting = view.waiting
    return JobReport[Any](
        job_id=view.id,
        kind=view.kind,
        state=view.state,
        finished=view.state.terminal,
        result=result,
        shortened=shortened,
        result_uri=result_uri(view.id) if succeeded else None,
        error=_error_of(view),
        warnings=view.warnings[:50],
        waiting=None if waiting is None else (waiting.detail or waiting.reason),
        conversation_id=view.conversation_id,
        usage=view.usage,
        next=_next(view),
    )


def _next(view: JobView) -> str | None:
    if not view.state.terminal:
        return f"get_job with job_id {view.id} and wait_seconds 50"
    if (view.result or {}).get("session"):
        return f"run_code with session {view.id} continues where this call ended"
    return None


def line_of(view: JobView) -> JobLine:
    return JobLine(
        job_id=view.id,
        kind=view.kind,
        state=view.state,
        title=view.title,
        created_at=view.created_at.isoformat(),
        finished_at=None if view.finished_at is None else view.finished_at.isoformat(),
        verdict=view.verdict,
        result_uri=result_uri(view.id) if view.state is JobState.SUCCEEDED else None,
    )


def file_links(view: JobView) -> list[types.ResourceLink]:
    """Return the result as a resource, then the files that it names."""
    if view.state is not JobState.SUCCEEDED:
        return []
    whole = types.ResourceLink(uri=result_uri(view.id), name=f"result of job {view.id}", mime_type="application/json")
    files = dict(_files_in(view.result))
    links = [types.ResourceLink(uri=file_uri(id), name=name) for id, name in list(files.items())[:_MAX_LINKS]]
    return [whole, *links]


def _files_in(value: object) -> Iterator[tuple[str, str]]:
    """Id and name of every file that a result names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "file_id" or key.endswith("_file_id"):
                if isinstance(inner, str):
                    yield inner, str(value.get("path") or value.get("media_type") or key.removesuffix("_id"))
            else:
                yield from _files_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _files_in(inner)


def _error_of(view: JobView) -> ErrorReport | None:
    if view.error is not None:
        more, _ = _bounded(dict(view.error.model_extra or {}), _MAX_ERROR)
        return ErrorReport(
            code=view.error.code, detail=view.error.detail, remedy=remedy(view.error.code), more=more or {}
        )
    if view.state is JobState.CANCELLED:
        return ErrorReport(code="job_cancelled", detail="The job was cancelled.", remedy=remedy("job_cancelled"))
    return None


def _bounded(result: dict[str, JsonValue], most: int = _MAX_RESULT) -> tuple[dict[str, JsonValue] | None, bool]:
    """Return the result with its longest texts and lists cut until it fits; None when that is not enough."""
    if _length(result) <= most:
        return result, False
    for text, items in zip(_TEXT_STEPS, _ITEM_STEPS, strict=True):
        cut = _cut(result, text, items)
        if _length(cut) <= most:
            assert isinstance(cut, dict)
            return cut, True
    return None, True


def _cut(value: JsonValue, text: int, items: int) -> JsonValue:
    if isinstance(value, str) and len(value) > text:
        half = text // 2
        return f"{value[:half]}\n[{len(value) - 2 * half} characters are left out here]\n{value[-half:]}"
    if isinstance(value, list):
        return [_cut(inner, text, items) for inner in value[:items]]
    if isinstance(value, dict):
        return {key: _cut(inner, text, items) for key, inner in value.items()}
    return value


def _length(value: JsonValue) -> int:
    return len(json.dumps(value, ensure_ascii=False))
