"""The MCP server on the table of tools: the tools that a caller has, and the handling of each request."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence, Set
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, JsonValue, ValidationError

from assay.calls.call import NoId
from assay.errors import APIConnectionError, APIError, APIStatusError
from assay.mcp import problems, resources
from assay.mcp.answers import answer
from assay.mcp.inputs import Arguments
from assay.mcp.problems import ToolProblem
from assay.mcp.runs import Tell, ToolContext
from assay.mcp.tools import TOOLS, ToolSpec

if TYPE_CHECKING:
    from assay import AsyncClient

log = logging.getLogger(__name__)

Request: TypeAlias = ServerRequestContext[Any, Any]

_INVALID_PARAMS = -32602
_NOT_FOUND = -32002
_INTERNAL = -32603
_INSTRUCTIONS = """\
Assay runs jobs whose results are executed and checked. Tools wait for a job up to wait_seconds; one that takes longer \
continues, and get_job returns it later. Results that are cut name a result_uri: read that resource for the whole. \
Files are named by file_id: upload_file makes one, results name others. Errors begin with a stable code \
and say what to do."""


@dataclass(frozen=True)
class Access:
    """What one request may use."""

    client: Callable[[], AbstractAsyncContextManager[AsyncClient]]
    allows: Callable[[ToolSpec], bool]
    folders: Sequence[Path] = ()
    stopping: Callable[[], Awaitable[object]] | None = None  #: returns when waiting has to stop


def build_server(access: Callable[[Request], Access], version: str) -> Server[Any]:
    """Return the server; ``access`` returns what the caller of a request may use."""
    handlers = _Handlers(access)
    return Server(
        "assay",
        title="Assay",
        version=version,
        instructions=_INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


class _Handlers:
    def __init__(self, access: Callable[[Request], Access]) -> None:
        self._access = access

    async def list_tools(self, request: Request, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        access = self._access(request)
        tools = [described(tool, has_folders=bool(access.folders)) for tool in TOOLS.values() if access.allows(tool)]
        return types.ListToolsResult(tools=tools)

    async def call_tool(self, request: Request, call: types.CallToolRequestParams) -> types.CallToolResult:
        access = self._access(request)
        tool = TOOLS.get(call.name)
        if tool is None:
            raise MCPError(_INVALID_PARAMS, _no_tool(call.name, access))
        try:
            if not access.allows(tool):
                raise ToolProblem("missing_scope", f"{tool.name} needs more than this server, or its key, may do.")
            arguments = _arguments(tool, call)
            resources.check_ids(value for name, value in arguments if name in ("job_id", "file_id"))
            async with access.client() as client:
                context = ToolContext(client, _teller(request), access.folders, access.stopping)
                return await answer(client, tool, await tool.call(context, arguments))
        except Exception as error:
            return problems.as_result(_problem_of(error))

    async def list_resources(
        self, request: Request, page: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        try:
            async with self._access(request).client() as client:
                return await resources.page(client, page.cursor if page is not None else None)
        except Exception as error:
            raise _protocol_error(error) from error

    async def list_templates(
        self, _request: Request, _page: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def read_resource(
        self, request: Request, wanted: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            async with self._access(request).client() as client:
                return await resources.read(client, str(wanted.uri))
        except Exception as error:
            raise _protocol_error(error) from error


def _no_tool(name: str, access: Access) -> str:
    tools = ", ".join(tool.name for tool in TOOLS.values() if access.allows(tool))
    return f"There is no tool {name[:100]!r}; the tools are {tools}."


def described(tool: ToolSpec, *, has_folders: bool) -> types.Tool:
    """Return the tool as clients list it; without open folders no argument is a path on the server's machine."""
    input_schema = _schema(tool.input, "validation")
    if not has_folders:
        input_schema = _without_local(tool.input, input_schema)
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema,
        output_schema=_schema(tool.output, "serialization"),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.read_only,
            open_world_hint=tool.reaches_out,
        ),
    )


@cache
def _schema(model: type[BaseModel], mode: Any) -> dict[str, Any]:
    dropped = {"title"} if mode == "validation" else {"title", "description"}
    return cast(dict[str, Any], _without(dropped, model.model_json_schema(mode=mode, by_alias=True)))


def _without_local(model: type[Arguments], schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without the arguments that only ``assay mcp --folder`` can use."""
    properties = {name: value for name, value in schema["properties"].items() if name not in model.local}
    return {**schema, "properties": properties}


def _without(dropped: Set[str], schema: JsonValue) -> JsonValue:
    """Return the schema without some of its texts: every client reads all schemas, and a title repeats a name."""
    if isinstance(schema, list):
        return [_without(dropped, inner) for inner in schema]
    if isinstance(schema, dict):
        kept = {name: inner for name, inner in schema.items() if name not in dropped or isinstance(inner, dict)}
        return {name: _without(dropped, inner) for name, inner in kept.items()}
    return schema


def _arguments(tool: ToolSpec, call: types.CallToolRequestParams) -> BaseModel:
    """Parse the arguments. Raises: ToolProblem that names each wrong argument."""
    try:
        return tool.input.model_validate(call.arguments or {})
    except ValidationError as error:
        raise problems.of_arguments(error) from None


def _teller(request: Request) -> Tell | None:
    """Return a sender of progress if the client requested progress."""
    if (request.meta or {}).get("progress_token") is None:
        return None

    async def tell(progress: float, message: str) -> None:
        await request.session.report_progress(progress, message=message)

    return tell


def _problem_of(error: Exception) -> ToolProblem:
    """Return the problem for the agent; an unexpected error is reported without details."""
    if isinstance(error, ToolProblem):
        return error
    if isinstance(error, NoId):
        return ToolProblem("not_found", f"{error}.")
    if isinstance(error, APIStatusError):
        return problems.of_server(error)
    if isinstance(error, APIConnectionError):
        return problems.of_connection(error)
    if isinstance(error, APIError):
        return ToolProblem("internal_error", str(error))
    log.error("unexpected", exc_info=error)
    return ToolProblem("internal_error", "An unexpected error happened; its cause is in the log of this MCP server.")


def _protocol_error(error: Exception) -> MCPError:
    """Return an error for requests whose answers have no field for one."""
    report = _problem_of(error).report
    code = {"not_found": _NOT_FOUND, "invalid_request": _INVALID_PARAMS}.get(report.code, _INTERNAL)
    return MCPError(code, f"{report.code}: {report.detail}", report.model_dump())
