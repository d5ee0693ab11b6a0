"""An earlier detection from a file, for `assay detect --diff OLD.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from assay.commands.run import text_of
from assay.commands.session import UsageError

if TYPE_CHECKING:
    from shared.contracts.detect import DetectResult

_MOST_BYTES = 256 << 20


def earlier(path: Path) -> DetectResult:
    """The result of the job that `--json` printed, or the result alone.

    Raises: UsageError when there is no such file, it is too large, or it holds something else.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - pydantic costs a tenth of a second

    from shared.contracts.detect import DetectResult  # noqa: PLC0415

    if path.exists() and path.stat().st_size > _MOST_BYTES:
        raise UsageError(f"{path} is larger than {_MOST_BYTES >> 20} MB")
    try:
        body = json.loads(text_of(path))
        return DetectResult.model_validate(body["result"] if isinstance(body, dict) and "result" in body else body)
    except (ValueError, RecursionError, ValidationError):
        raise UsageError(f"{path} holds no detection: save one with assay detect SOURCE --json > {path}") from None
