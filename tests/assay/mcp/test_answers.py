"""What tools answer, against a few lines of a server: bounds, errors with remedies, failures reported as such."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from assay import AsyncClient
from assay.errors import APIStatusError
from assay.mcp import problems, resources
from assay.mcp.reports import report_of
from assay.mcp.server import Access, build_server, described
from assay.mcp.tools import TOOLS
from shared.contracts.jobs import JobView
from shared.errors import AssayError
from tests.assay.server import JOB, RESULT, Script, job, ok, problem

DONE = {"state": "succeeded", "attempt": 1}


def answered(tool: str, arguments: dict[str, Any], *answers: Callable[[httpx2.Request], httpx2.Response]) -> Any:
    """What the tool's call answers when the API answers that."""

    @asynccontextmanager
    async def client() -> AsyncIterator[AsyncClient]:
        async with AsyncClient("http://assay.test", "ask_x", max_retries=0, transport=Script(list(answers))) as made:
            yield made

    async def main() -> Any:
        server = build_server(lambda _: Access(client, lambda _: True), "1")
        async with Client(server) as speaker:
            return await speaker.call_tool(tool, arguments)

    return anyio.run(main)


def test_a_result_beyond_the_bound_is_cut_and_named() -> None:
    long = "x" * 500_000
    result = {**RESULT, "stdout": long, "displays": [{"media_type": "text/html", "text": "y" * 9000}] * 500}
    ran = answered("run_code", {"code": "1"}, ok(job(**DONE, result=result)))
    report = ran.structured_content
    assert report["shortened"]
    assert len(json.dumps(report)) < 45_000
    assert "are left out here]" in report["result"]["stdout"]
    assert report["result"]["verdict"] == "ok"
    links = [block.uri for block in ran.content if block.type == "resource_link"]
    assert links == ["assay://jobs/job_1/result"] == [report["result_uri"]]


def test_a_result_that_cannot_be_cut_is_left_to_its_resource() -> None:
    many = {f"field{number}": "x" * 20 for number in range(5000)}
    view = JobView.model_validate(job(**DONE, result={**RESULT, "many": many}))
    report = report_of(view)
    assert (report.result, report.shortened, report.result_uri) == (None, True, "assay://jobs/job_1/result")


def test_files_of_a_result_are_linked_and_small_figures_shown() -> None:
    result = {
        **RESULT,
        "displays": [{"media_type": "image/png", "file_id": "f1"}],
        "artifacts": [{"path": "out.csv", "file_id": "f2", "size": 3}],
    }
    info = {"id": "f1", "name": "d.png", "size": 3, "sha256": "0", "media_type": "image/png"}
    picture = lambda _: httpx2.Response(200, content=b"png")  # noqa: E731
    ran = answered("run_code", {"code": "1"}, ok(job(**DONE, result=result)), ok(info), picture)
    assert [block.type for block in ran.content] == ["text", "image", "resource_link", "resource_link", "resource_link"]
    assert ran.content[1].data == "cG5n"
    assert [block.uri for block in ran.content[3:]] == ["assay://files/f1", "assay://files/f2"]


def test_a_job_that_fails_is_an_error_with_its_code_and_what_to_do() -> None:
    tried = [{"number": 1, "message": "KeyError: 'city'"}]
    fault = {"type": "x", "title": "t", "status": 422, "detail": "It cannot be done.", "code": "budget_spent",
             "iterations": tried}  # fmt: skip
    failed = ok(job(state="failed", error=fault))
    arguments = {"task": "t", "data": [{"csv": "a\n1\n"}]}
    ran = answered("transform_data", arguments, failed)
    assert ran.is_error
    assert ran.structured_content["error"] == {
        "code": "budget_spent", "detail": "It cannot be done.", "remedy": problems.remedy("budget_spent"),
        "more": {"iterations": tried},
    }  # fmt: skip
    assert not answered("get_job", {"job_id": "job_1"}, failed).is_error


@pytest.mark.parametrize(
    ("status", "code"), [(429, "rate_limited"), (503, "no_provider_configured"), (404, "unknown_collection")]
)
def test_a_refusal_is_told_with_its_code_and_remedy(status: int, code: str) -> None:
    refused = answered(
        "search_collection", {"collection": "c", "question": "q"}, problem(status, code, **{"Retry-After": "7"})
    )
    assert refused.is_error
    text = refused.content[0].text
    assert text.startswith(f"{code}: it is {code}\nWhat to do: {problems.remedy(code)}")
    assert "retry_after: 7 s" in text
    assert refused.meta["assay/error"]["code"] == code


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("run_code", {}, "code is missing"),
        ("run_code", {"code": "1", "wait_seconds": 51}, "wait_seconds must be at most 50"),
        ("run_code", {"code": "1", "shell": True}, "shell is not known"),
        ("run_code", {"code": "1", "files": [{"path": "a"}]}, "exactly one of file_id and text"),
        ("upload_file", {"name": "a"}, "exactly one of text and base64"),
        ("upload_file", {"name": "a", "text": "x", "base64": "eA=="}, "exactly one of"),
        ("upload_file", {"name": "a", "base64": "!"}, "no base64"),
        ("list_jobs", {"limit": 51}, "limit must be at most 50"),
    ],
)
def test_wrong_arguments_are_named(tool: str, arguments: dict[str, Any], said: str) -> None:
    refused = answered(tool, arguments, ok(JOB))
    assert refused.is_error
    text = refused.content[0].text
    assert text.startswith("invalid_request: ")
    assert said in text or (said == "no base64" and "that is not base64" in text)


def test_what_nobody_expected_is_told_without_its_text() -> None:
    def breaks(_: httpx2.Request) -> httpx2.Response:
        raise RuntimeError("/srv/secret")

    refused = answered("list_jobs", {}, breaks)
    assert refused.is_error
    assert refused.content[0].text.startswith("internal_error: ")
    assert "secret" not in str(refused)


def test_a_server_that_is_not_there_is_told_as_such() -> None:
    def nobody(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused by 10.0.0.1")

    refused = answered("list_jobs", {}, nobody)
    assert refused.is_error
    assert refused.content[0].text.startswith("unreachable: The Assay server cannot be reached.")
    assert "10.0.0.1" not in str(refused)


def test_every_code_with_a_remedy_is_a_code_of_the_server_or_of_these_tools() -> None:
    def codes(kind: type[AssayError]) -> set[str]:
        return {kind.code}.union(*(codes(child) for child in kind.__subclasses__()))

    assert set(problems._REMEDIES) <= codes(AssayError) | {"unreachable", "path_not_allowed"}


def test_schemas_name_every_argument_and_stay_small() -> None:
    listed = [described(tool, has_folders=True) for tool in TOOLS.values()]
    assert sum(len(json.dumps(tool.input_schema)) for tool in listed) < 16_000
    for tool in listed:
        assert tool.input_schema["type"] == "object"
        assert not tool.input_schema["additionalProperties"]
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"


def test_a_text_is_read_in_parts_that_cut_no_character() -> None:
    whole = "é" * 150_000 + "x"
    content = whole.encode()
    read, offset = "", 0
    while offset < len(content):
        part = content[offset + 0 : offset + 199_999]
        (told,) = resources._part("assay://files/f", "u", part, offset, len(content), "text/plain").contents
        read += getattr(told, "text", "")
        following = (told.meta or {}).get("assay/next")
        offset = len(content) if following is None else int(str(following).partition("=")[2])
    assert read == whole


def test_a_refusal_names_the_tool_s_arguments_and_not_the_api_s_fields() -> None:
    detail = "body.input.continues: there is no job nope; body.input.files.0.id: there is no file nope"
    shown = problems.of_server(APIStatusError(422, {"code": "invalid_request", "detail": detail}, {})).report.detail
    assert shown == "session: there is no job nope; files.0.file_id: there is no file nope"


def test_a_tool_that_does_not_exist_names_those_that_do() -> None:
    said = pytest.RaisesExc(MCPError, match=r"There is no tool 'runcode'; the tools are run_code, .*upload_file")
    with pytest.RaisesGroup(said, flatten_subgroups=True):
        answered("runcode", {"code": "1"})


def test_a_path_is_offered_only_where_a_folder_is_open() -> None:
    for has_folders in (False, True):
        listed = {tool.name: described(tool, has_folders=has_folders).input_schema for tool in TOOLS.values()}
        assert ("path" in listed["upload_file"]["properties"]) == has_folders
        assert "path" not in listed["detect_stack"]["properties"]


@pytest.mark.parametrize("arguments", [{}, {"git": "https://example.com/a", "file_id": "f"}])
def test_a_repository_is_one_of_what_the_tool_takes(arguments: dict[str, Any]) -> None:
    refused = answered("detect_stack", arguments)
    assert "give exactly one of git and file_id" in refused.content[0].text
    assert "path" not in refused.content[0].text
