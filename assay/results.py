"""What a finished job holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.errors import APIError, JobFailed

if TYPE_CHECKING:
    from shared.contracts.jobs import JobView


def result_of(view: JobView) -> Any:
    """The result as its kind's contract has it, or as JSON for a kind that only the server knows. Raises: JobFailed."""
    from shared.kinds import KINDS  # noqa: PLC0415

    if view.state.value != "succeeded":
        raise JobFailed(view)
    kind = KINDS.get(view.kind)
    return view.result if kind is None else kind.result.model_validate(view.result)


def table_file(view: JobView) -> str:
    """The Parquet file of a transform's table. Raises: JobFailed, APIError when the result is no table."""
    result = result_of(view)
    table = getattr(result, "table", None)
    if table is None or table.file_id is None:
        raise APIError(f"the result of job {view.id} is no table")
    return str(table.file_id)
