"""What a job starts from: its own input, the conversation's last result, or an iteration of an earlier job."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from shared.contracts.transform import ExpectedColumn, TransformInput, TransformResult
from shared.errors import InvalidRequest
from shared.jobs.job import FinishedJob, Results
from shared.languages import DEFAULT_LANGUAGE

_LONGEST_CHAIN = 100


@dataclass(frozen=True)
class Start:
    """What the first data set holds at the start: a saved table, or the result of code that has to run first."""

    job_id: str | None = None
    file_id: str | None = None  #: a Parquet file in the place of the first data set
    code: str | None = None  #: run it on that data set, and take its result
    language: str = DEFAULT_LANGUAGE
    dataframe: str = "pandas"
    masked: tuple[str, ...] = ()

    @property
    def remark(self) -> str:
        if self.code is not None:
            return f"The first data set is the result of this earlier code:\n```{self.language}\n{self.code}\n```"
        return "The first data set is the result of the previous task." if self.file_id is not None else ""


def start_of(results: Results, request: TransformInput) -> Start:
    """Return where to start. Raises: InvalidRequest when the branch does not exist."""
    if request.branch is not None:
        return _branch(results, request.branch.job_id, request.branch.iteration)
    base = request.base or ("previous" if request.code is None else "original")
    if base == "original":
        return Start()
    job = results.latest("transform")
    for _ in range(_LONGEST_CHAIN):
        if job is None:
            return Start()
        result = _result(job)
        if result is None:
            return Start()
        if result.table is not None and result.table.file_id is not None:
            return Start(job.id, result.table.file_id, masked=_masked(job, result))
        # A question or a plot leaves the table that it started from in place.
        job = results.of(result.continues) if result.continues is not None else None
    return Start()


def _branch(results: Results, job_id: str, iteration: int | None) -> Start:
    job = results.of(job_id)
    result = _result(job) if job is not None and job.kind == "transform" else None
    if job is None or result is None:
        raise _no_branch("job_id", f"there is no finished transform job {job_id}")
    code = result.code
    if iteration is not None:
        code = next((each.code for each in result.iterations if each.number == iteration and each.code), "")
    if not code:
        raise _no_branch("iteration", f"the job has no iteration {iteration} with code" if iteration else "no code")
    base = result.inputs[0].file_id if result.continues is not None and result.inputs else None
    language = str(job.input.get("language", DEFAULT_LANGUAGE))
    return Start(job.id, base, code, language, str(job.input.get("dataframe", "pandas")), _masked(job, result))


def _no_branch(field: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"cannot branch: {why}", [(["input", "branch", field], why)])


def _masked(job: FinishedJob, result: TransformResult) -> tuple[str, ...]:
    """Return the columns that were masked then, and stay masked."""
    preview = job.input.get("preview")
    mask = preview.get("mask") if isinstance(preview, dict) else None
    named = [name for name in mask if isinstance(name, str)] if isinstance(mask, list) else []
    return tuple(dict.fromkeys([*named, *result.masked_columns]))


def _result(job: FinishedJob) -> TransformResult | None:
    try:
        return TransformResult.model_validate(job.result)
    except ValidationError:
        return None


def expected_schema(results: Results, request: TransformInput) -> dict[str, list[ExpectedColumn]]:
    """Return the columns that saved code expects: the caller's, else those that the conversation's last transform
    read.
    """
    if request.expects:
        return request.expects
    job = results.latest("transform") if request.code is not None else None
    result = _result(job) if job is not None else None
    if result is None:
        return {}
    return {
        seen.name: [ExpectedColumn(name=column.name, type=column.type) for column in seen.columns]
        for seen in result.inputs
    }
