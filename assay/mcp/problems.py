"""What went wrong, as an agent can use it: a stable code, what happened, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mcp import types
from pydantic import BaseModel, JsonValue, ValidationError

from assay.errors import APIConnectionError, APIStatusError, APITimeoutError
from shared.faults import field_fault, worded

_MAX_FIELDS = 20
#: Where the API has what is an argument of the tool.
_PLACE = re.compile(r"\bbody\.(?:input\.)?")
#: Fields of the API that a tool's arguments name otherwise.
_RENAMED = (
    (re.compile(r"(?<![.\w])continues(?=[: ])"), "session"),
    (re.compile(r"\b(files\.\d+)\.id(?=[: ])"), r"\1.file_id"),
)

_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "invalid_request": "Correct the named arguments and call the tool again.",
        "not_authenticated": "Set a valid API key (`assay keys create`) in the configuration of this server.",
        "missing_scope": "Use a key with the scope that is named, or only tools that read.",
        "not_found": "Check the id: list_jobs shows the jobs; files and flows are known by the ids of earlier answers.",
        "unknown_collection": "Check the collection's name; collections are made by `assay collection create`.",
        "unknown_table": "Leave `tables` out, or name tables of this collection.",
        "unknown_field": "Filter by fields that the table has.",
        "job_finished": "It has ended already: get_job returns its result.",
        "job_not_finished": "Call get_job with wait_seconds.",
        "too_large": "Send less at once, or upload it as a file and give its file_id.",
        "rate_limited": "Wait as long as retry_after says, then call again.",
        "quota_exceeded": "Wait until jobs have ended, or have the operator raise the quota.",
        "overloaded": "Wait a little, then call again.",
        "database_unavailable": "Wait a little, then call again.",
        "no_provider_configured": "This needs a model: the operator sets a provider's key. run_code needs none.",
        "language_unavailable": "Use another language; python is always there.",
        "sandbox_unavailable": "Code cannot be isolated on this server; its operator has to look (`assay doctor`).",
        "budget_spent": "Say more exactly what is wanted, make the task smaller, or relax the assertions.",
        "providers_failed": "Try again later; the operator sees the providers with `assay providers`.",
        "context_too_long": "Send less: fewer columns, a shorter question, a smaller flow.",
        "user_code_failed": "Correct the code; the detail names the error.",
        "invalid_data": "Correct the data at the place that is named, or convert the file to CSV or Parquet.",
        "unreadable_file": "Convert the file to a format that is read: CSV, JSON, Parquet, Arrow, Excel.",
        "source_not_allowed": "Use a public https:// repository, or upload an archive and give its file_id.",
        "source_too_large": "Name a folder with `root`, or upload only a part.",
        "job_cancelled": "The job was cancelled; call the tool again if it is still wanted.",
        "worker_crashed": "Make the job smaller; it has ended its worker three times.",
        "unreachable": "Check that Assay runs (`assay status`) and that its URL is right.",
        "path_not_allowed": "Give the content as text or base64; only `assay mcp --folder DIR` reads paths.",
    }
)
_OTHERWISE = "Read the detail; if it does not help, the operator finds the cause in the server's log."


class ErrorReport(BaseModel):
    code: str  #: stable; the documentation lists them
    detail: str
    remedy: str  #: what to do next
    more: dict[str, JsonValue] = {}  #: what else the code has, such as the iterations of a spent budget


class ToolProblem(Exception):
    """A fault that the agent receives as the tool's answer."""

    def __init__(self, code: str, detail: str, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.report = ErrorReport(code=code, detail=detail, remedy=remedy(code))
        self.retry_after = retry_after


def remedy(code: str) -> str:
    return _REMEDIES.get(code, _OTHERWISE)


def of_server(error: APIStatusError) -> ToolProblem:
    """Return the problem that the API reports; its detail names the fields."""
    detail = _PLACE.sub("", error.detail)
    for field, argument in _RENAMED:
        detail = field.sub(argument, detail)
    return ToolProblem(error.code or f"http_{error.status}", detail, error.retry_after)


def of_connection(error: APIConnectionError) -> ToolProblem:
    said = "did not answer in time" if isinstance(error, APITimeoutError) else "cannot be reached"
    return ToolProblem("unreachable", f"The Assay server {said}.")


def of_arguments(error: ValidationError) -> ToolProblem:
    lines = [
        field_fault(".".join(map(str, each["loc"])) or "arguments", worded(each))
        for each in error.errors(include_input=False, include_url=False)[:_MAX_FIELDS]
    ]
    return ToolProblem("invalid_request", "; ".join(lines))


def as_result(problem: ToolProblem) -> types.CallToolResult:
    report = problem.report
    text = f"{report.code}: {report.detail}\nWhat to do: {report.remedy}"
    fields: dict[str, Any] = report.model_dump()
    if problem.retry_after is not None:
        fields["retry_after"] = problem.retry_after
        text += f"\nretry_after: {problem.retry_after:g} s"
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True, _meta={"assay/error": fields})
