"""The tools: a table that the server reads; each is a few lines on the client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, JsonValue

from assay.errors import APIStatusError
from assay.mcp import inputs
from assay.mcp.problems import ToolProblem
from assay.mcp.reports import FileReport, JobList, JobReport, file_uri, line_of
from assay.mcp.runs import ORIGIN, ToolContext, content_of, follow, placed, submit
from shared.contracts.detect import DetectResult
from shared.contracts.document import DocumentResult
from shared.contracts.execute import ExecuteResult
from shared.contracts.flow import FlowResult
from shared.contracts.jobs import JobView
from shared.contracts.search import SearchResult
from shared.contracts.transform import TransformResult

Answered: TypeAlias = JobView | JobList | FileReport


@dataclass(frozen=True)
class ToolSpec:
    """One tool. ``call`` gets its arguments as an instance of ``input``; a job becomes a ``JobReport``."""

    name: str
    title: str
    description: str
    input: type[inputs.Arguments]
    output: type[BaseModel]
    call: Callable[[ToolContext, Any], Awaitable[Answered]]
    scope: Literal["read", "write"] = "write"  #: the scope that the API requires of the key
    read_only: bool = False  #: whether all that it changes is the list of jobs
    destructive: bool = False
    reaches_out: bool = False  #: whether it may open addresses of the internet


async def _run_code(context: ToolContext, given: inputs.RunCode) -> JobView:
    session: dict[str, JsonValue] = {} if given.session is None else {"session": True}
    if given.session not in (None, "new"):
        session["continues"] = given.session
    input = {
        **session,
        "language": given.language,
        "code": given.code,
        "files": await placed(context, given.files),
        "stdin": given.stdin,
        "limits": {
            "wall_seconds": given.limit_seconds,
            "cpu_seconds": min(given.limit_seconds, 120.0),
            "memory_mb": given.memory_mb,
        },
    }
    return await submit(context, "execute", input, given.wait_seconds)


async def _transform_data(context: ToolContext, given: inputs.TransformData) -> JobView:
    input = {
        "task": given.task,
        "data": [each.model_dump(exclude_none=True) for each in given.data],
        "language": given.language,
        "output": given.output,
        "assertions": given.assertions,
        "preview": {"mask": given.mask},
    }
    return await submit(context, "transform", input, given.wait_seconds, given.conversation_id)


async def _run_document(context: ToolContext, given: inputs.RunDocument) -> JobView:
    input = given.model_dump(exclude_none=True, exclude={"files", "wait_seconds"})
    return await submit(context, "document", {**input, "files": await placed(context, given.files)}, given.wait_seconds)


async def _search_collection(context: ToolContext, given: inputs.SearchCollection) -> JobView:
    input = given.model_dump(exclude_none=True, exclude={"wait_seconds"})
    return await submit(context, "search", input, given.wait_seconds)


async def _edit_flow(context: ToolContext, given: inputs.EditFlow) -> JobView:
    flows = context.client.flows
    flow_id = given.flow_id or str((await flows.create({"name": given.message[:80]}))["id"])
    input = {"flow_id": flow_id, "message": given.message, "mode": given.mode}
    try:
        return await submit(context, "flow", input, given.wait_seconds, given.conversation_id)
    except APIStatusError:
        if given.flow_id is None:
            await flows.delete(flow_id)  # no client knows its id
        raise


async def _detect_stack(context: ToolContext, given: inputs.DetectStack) -> JobView:
    source = given.model_dump(exclude_none=True, include={"git", "ref", "file_id"})
    input = {"source": source, "mode": given.mode, "root": given.root}
    return await submit(context, "detect", input, given.wait_seconds)


async def _get_job(context: ToolContext, given: inputs.GetJob) -> JobView:
    view = await context.client.jobs.get(given.job_id)
    return await follow(context, view, given.wait_seconds)


async def _list_jobs(context: ToolContext, given: inputs.ListJobs) -> JobList:
    page = await context.client.jobs.list(
        kind=given.kind,
        state=given.state,
        labels=ORIGIN if given.mine else None,
        limit=given.limit,
        cursor=given.cursor,
    )
    return JobList(jobs=[line_of(view) for view in page.items], next_cursor=page.next_cursor)


async def _cancel_job(context: ToolContext, given: inputs.CancelJob) -> JobView:
    return await context.client.jobs.cancel(given.job_id)


async def _upload_file(context: ToolContext, given: inputs.UploadFile) -> FileReport:
    content = content_of(context, given.text, given.base64, given.path)
    if content == b"":
        raise ToolProblem("invalid_request", "There is nothing in the file.")
    info = await context.client.files.put(content, name=given.name)
    return FileReport(
        file_id=info.id,
        name=info.name,
        size=info.size,
        sha256=info.sha256,
        media_type=info.media_type,
        uri=file_uri(info.id),
    )


_LONG = "A job that has not ended in wait_seconds continues: call get_job for it."

_ALL = (
    ToolSpec(
        "run_code",
        "Run code in a sandbox",
        "Run Python, R, JavaScript or SQL without network and with limits. Returns verdict, output, the value of the "
        "last expression, figures, and the files that the code wrote. Calls see each other's variables only in a "
        f"session. {_LONG}",
        inputs.RunCode,
        JobReport[ExecuteResult],
        _run_code,
    ),
    ToolSpec(
        "transform_data",
        "Change a table by a task in words",
        "A model writes data-frame code for the task; it is run and checked until the result holds. Returns the table "
        f"(the first rows; all of them as a Parquet file), the code, and what changed. {_LONG}",
        inputs.TransformData,
        JobReport[TransformResult],
        _transform_data,
    ),
    ToolSpec(
        "run_document",
        "Run a Markdown document",
        "Run the code chunks of a Markdown document, then its instructions to models, which may speak of the values. "
        f"Returns the document with the answers. {_LONG}",
        inputs.RunDocument,
        JobReport[DocumentResult],
        _run_document,
    ),
    ToolSpec(
        "search_collection",
        "Search a collection",
        "Search the tables of a collection by a question; empty searches are diagnosed and replanned. Returns hits, "
        f"an answer with citations, and why something was not found. {_LONG}",
        inputs.SearchCollection,
        JobReport[SearchResult],
        _search_collection,
        read_only=True,
    ),
    ToolSpec(
        "edit_flow",
        "Edit a diagram by a message",
        "A model turns the message into changes of a flow diagram, which are checked and can be undone. Without a "
        f"flow_id a new flow is begun. {_LONG}",
        inputs.EditFlow,
        JobReport[FlowResult],
        _edit_flow,
    ),
    ToolSpec(
        "detect_stack",
        "Find the technologies of a repository",
        "Languages, frameworks, versions, build and start commands of a public repository or an uploaded archive, each "
        f"with its evidence. {_LONG}",
        inputs.DetectStack,
        JobReport[DetectResult],
        _detect_stack,
        read_only=True,
        reaches_out=True,
    ),
    ToolSpec(
        "get_job",
        "Get a job and its result",
        "The state of a job, and its result when it has ended; with wait_seconds (at most 50) it is waited for.",
        inputs.GetJob,
        JobReport[dict[str, JsonValue]],
        _get_job,
        scope="read",
        read_only=True,
    ),
    ToolSpec(
        "list_jobs",
        "List jobs",
        "The newest jobs first, page by page; pass next_cursor for the next page.",
        inputs.ListJobs,
        JobList,
        _list_jobs,
        scope="read",
        read_only=True,
    ),
    ToolSpec(
        "cancel_job",
        "Cancel a job",
        "End a job that waits or runs. It takes a few seconds; get_job shows when it has ended.",
        inputs.CancelJob,
        JobReport[dict[str, JsonValue]],
        _cancel_job,
        destructive=True,
    ),
    ToolSpec(
        "upload_file",
        "Upload a file",
        "Keep a text or base64 bytes (up to about 0.6 MB) as a file, for the file_id of the other tools.",
        inputs.UploadFile,
        FileReport,
        _upload_file,
    ),
)

TOOLS: Mapping[str, ToolSpec] = {tool.name: tool for tool in _ALL}
