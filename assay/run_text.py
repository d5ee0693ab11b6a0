"""A run as a model reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.contracts.execute import ExecuteResult


def result_text(result: ExecuteResult) -> str:
    """Output, the last value, the error, and the files that were made."""
    parts = [result.stdout, result.stderr]
    if result.value is not None:
        parts.append(result.value.text)
    if result.error is not None:
        parts.append(result.error.traceback or f"{result.error.type}: {result.error.message}")
    elif result.verdict.value != "ok":
        parts.append(f"The code was ended: {result.verdict.value}.")
    parts += [f"[file {artifact.path}, {artifact.size} bytes: {artifact.file_id}]" for artifact in result.artifacts]
    parts += [f"[{shown.media_type}: {shown.file_id}]" for shown in result.displays if shown.file_id is not None]
    return "\n".join(part.rstrip("\n") for part in parts if part) or "(no output)"
