"""The client tries again where that helps, never doubles a job, and says plainly what went wrong."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from pathlib import Path

import httpx2
import pytest

from assay import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    Client,
    Conflict,
    Invalid,
    JobFailed,
    JobTimeout,
    MissingScope,
    NotAuthenticated,
    NotFound,
    RateLimited,
    ServerError,
    TooLarge,
    Unavailable,
)
from tests.assay.server import RESULT, Answer, Script, event, job, ok, problem, stream


def _client(*answers: Answer) -> tuple[Client, Script]:
    script = Script(list(answers))
    return Client("http://assay.test", "ask_key", transport=script), script


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        problem(408, "timeout"), problem(409, "request_in_flight"), problem(429, "rate_limited"),
        problem(500, "internal_error"), problem(502, "providers_failed"), problem(503, "database_unavailable"),
        httpx2.ConnectError("refused"), httpx2.ReadTimeout("slow"), httpx2.RemoteProtocolError("cut"),
    ],
)  # fmt: skip
def test_a_passing_fault_is_tried_again_with_the_same_idempotency_key(fault: Answer) -> None:
    client, script = _client(fault, ok(job(), 202))
    assert client.execute("6 * 7").id == "job_1"
    keys = {request.headers["idempotency-key"] for request in script.requests}
    assert len(script.requests) == 2
    assert len(keys) == 1
    assert script.bodies[0] == script.bodies[1]


def test_two_calls_never_share_an_idempotency_key() -> None:
    client, script = _client(ok(job(), 202))
    client.execute("1")
    client.execute("1")
    assert script.requests[0].headers["idempotency-key"] != script.requests[1].headers["idempotency-key"]
    client.execute("1", idempotency_key="mine")
    assert script.requests[2].headers["idempotency-key"] == "mine"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "not_authenticated", NotAuthenticated), (403, "missing_scope", MissingScope),
        (404, "not_found", NotFound),
        (409, "job_finished", Conflict), (413, "too_large", TooLarge), (422, "invalid_request", Invalid),
        (503, "no_provider_configured", Unavailable), (503, "language_unavailable", Unavailable),
        (429, "quota_exceeded", RateLimited),
    ],
)  # fmt: skip
def test_what_waiting_does_not_help_is_raised_at_once(status: int, code: str, kind: type[APIStatusError]) -> None:
    client, script = _client(problem(status, code))
    with pytest.raises(kind) as raised:
        client.execute("1")
    assert len(script.requests) == 1
    assert (raised.value.code, raised.value.status, raised.value.request_id) == (code, status, "r-1")
    assert f"it is {code}" in str(raised.value)


def test_retries_end_and_the_last_error_is_raised() -> None:
    client, script = _client(problem(500, "internal_error"))
    with pytest.raises(ServerError):
        client.jobs.get("job_1")
    assert len(script.requests) == 3
    with pytest.raises(ServerError):
        client.with_options(max_retries=0).jobs.get("job_1")
    assert len(script.requests) == 4


def test_a_server_that_wants_a_long_pause_gets_it_from_the_caller() -> None:
    client, script = _client(problem(429, "rate_limited", **{"Retry-After": "3600"}))
    with pytest.raises(RateLimited) as raised:
        client.jobs.get("job_1")
    assert raised.value.retry_after == 3600
    assert len(script.requests) == 1


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"", b"[1]", b'"x"'])
def test_an_error_that_is_no_problem_document_is_an_error_all_the_same(body: bytes) -> None:
    client, _ = _client(httpx2.Response(418, content=body))
    with pytest.raises(APIStatusError) as raised:
        client.jobs.get("job_1")
    assert raised.value.status == 418


def test_the_fields_of_a_422_are_in_the_message() -> None:
    body = {"detail": "The request does not fit", "errors": [{"loc": ["input", "code"], "msg": "is missing"}]}
    client, _ = _client(ok(body, 422))
    with pytest.raises(Invalid, match=r"input\.code is missing"):
        client.execute("")


def test_an_unreachable_server_and_a_slow_one_are_told_apart() -> None:
    client, _ = _client(httpx2.ConnectError("refused"))
    with pytest.raises(APIConnectionError) as raised:
        client.with_options(max_retries=0).jobs.get("x")
    assert not isinstance(raised.value, APITimeoutError)
    client, _ = _client(httpx2.ReadTimeout("slow"))
    with pytest.raises(APITimeoutError):
        client.with_options(max_retries=0).jobs.get("x")


def test_nan_never_leaves_the_client_and_ids_stay_inside_their_segment() -> None:
    client, script = _client(ok(job(), 202))
    with pytest.raises(ValueError):
        client.jobs.create("execute", {"code": "1", "seed": float("nan")})
    with pytest.raises(ValueError):
        client.jobs.get("")
    assert script.requests == []
    client.jobs.get("../keys?x=1")
    assert script.requests[0].url.raw_path == b"/v1/jobs/..%2Fkeys%3Fx%3D1"


@pytest.mark.slow
def test_events_go_on_after_each_cut_without_a_gap_or_a_double() -> None:
    client, script = _client(
        stream(event(1, "job_queued"), event(2, "job_started")[:-9], breaks=True),
        stream(event(2, "job_started"), b": still here\n\n", breaks=True),
        problem(503, "database_unavailable"),
        stream(event(2, "job_started"), event(3, "turn_taken", number=1, text="a\u2028b\u0085c")),
        stream(event(4, "job_succeeded")),
    )
    events = list(client.events("job_1"))
    assert [(each.seq, each.type) for each in events] == [
        (1, "job_queued"), (2, "job_started"), (3, "turn_taken"), (4, "job_succeeded"),
    ]  # fmt: skip
    assert events[2].data["text"] == "a\u2028b\u0085c"
    assert [request.headers["last-event-id"] for request in script.requests] == ["0", "1", "2", "2", "3"]


def test_events_after_the_last_one_are_none() -> None:
    client, _ = _client(stream(), ok(job(state="succeeded", result=RESULT)))
    assert list(client.events("job_1", after=9)) == []


def test_another_tenants_events_are_not_found_at_once() -> None:
    client, script = _client(problem(404, "not_found"))
    with pytest.raises(NotFound):
        list(client.events("job_1"))
    assert len(script.requests) == 1


def test_a_job_is_a_future() -> None:
    client, _ = _client(
        ok(job(), 202), stream(event(1, "job_queued"), event(2, "job_succeeded")),
        ok(job(state="succeeded", result=RESULT)),
    )  # fmt: skip
    result = client.execute("print(42)").result(timeout=10)
    assert result.stdout == "42\n"


def test_a_failed_job_raises_with_the_job_in_hand() -> None:
    error = {"type": "x", "title": "t", "status": 422, "detail": "five turns were not enough", "code": "budget_spent"}
    client, _ = _client(ok(job(state="failed", error=error)))
    with pytest.raises(JobFailed, match="five turns") as raised:
        client.job("job_1").result()
    assert raised.value.job.id == "job_1"
    assert raised.value.code == "budget_spent"


def test_looking_without_waiting_asks_once() -> None:
    client, script = _client(ok(job(state="running")))
    with pytest.raises(JobTimeout):
        client.job("job_1").result(timeout=0)
    assert [request.method for request in script.requests] == ["GET", "GET"]
    assert isinstance(JobTimeout("x", 1), TimeoutError)


def test_paths_bytes_and_open_files_are_uploaded_whole_also_the_second_time(tmp_path: Path) -> None:
    info = {"id": "f1", "name": "x.csv", "size": 3, "sha256": "0", "media_type": "text/csv"}
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b")
    opened = io.BytesIO(b"-a,b")
    opened.seek(1)
    for content in (path, str(path), b"a,b", opened):
        client, script = _client(problem(503, "overloaded"), ok(info, 201))
        assert client.files.put(content, name="x.csv").id == "f1"
        assert script.bodies == [b"a,b", b"a,b"]
        assert script.requests[0].url.params["name"] == "x.csv"
        assert script.requests[0].headers["content-type"] == "text/csv"
        assert script.requests[0].headers["content-length"] == "3"
    with pytest.raises(ValueError, match="name"):
        client.files.put(b"a,b")


def test_a_stream_that_cannot_be_rewound_is_sent_once() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    client, script = _client(problem(503, "overloaded"))
    with pytest.raises(Unavailable):
        client.files.put(Pipe(b"abc"), name="x")
    assert len(script.requests) == 1


def test_data_for_a_transform_goes_inline_or_up_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("a\n1\n")
    info = {"id": "f1", "name": "sales.csv", "size": 4, "sha256": "0", "media_type": "text/csv"}
    client, script = _client(ok(info, 201), ok(job(kind="transform"), 202))
    client.transform("sum", {"sales": path, "rates": [{"x": 1.5}], "old": {"file_id": "f0"}}, max_iterations=3)
    sent = json.loads(script.bodies[-1])
    assert sent["input"] == {
        "task": "sum",
        "data": [
            {"name": "sales", "file_id": "f1"},
            {"name": "rates", "rows": [{"x": 1.5}]},
            {"name": "old", "file_id": "f0"},
        ],
        "max_iterations": 3,
    }


def test_a_checkout_is_packed_without_what_git_ignores(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n.venv\n")
    (tmp_path / ".venv").mkdir()
    for name in ("main.py", "noise.log", ".venv/big.bin"):
        (tmp_path / name).write_text("x")
    info = {"id": "f1", "name": "x", "size": 4, "sha256": "0", "media_type": "application/gzip"}
    client, script = _client(ok(info, 201), ok(job(kind="detect"), 202))
    client.detect(tmp_path, mode="static")
    with tarfile.open(fileobj=io.BytesIO(script.bodies[0])) as archive:
        assert {name.removeprefix("./") for name in archive.getnames()} == {".gitignore", "main.py"}


def test_a_folder_is_packed_without_its_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("x")
    (tmp_path / "package.json").write_text("{}")
    info = {"id": "f1", "name": "x", "size": 4, "sha256": "0", "media_type": "application/gzip"}
    client, script = _client(ok(info, 201), ok(job(kind="detect"), 202))
    client.detect(tmp_path, mode="static")
    with tarfile.open(fileobj=io.BytesIO(script.bodies[0])) as archive:
        assert {name.removeprefix("./") for name in archive.getnames()} == {".", "package.json"}
    assert json.loads(script.bodies[1])["input"] == {"source": {"file_id": "f1", "name": "x"}, "mode": "static"}


def test_every_page_is_walked() -> None:
    client, script = _client(
        ok({"items": [job(id="a"), job(id="b")], "next_cursor": "c1"}),
        ok({"items": [job(id="c")], "next_cursor": None}),
    )
    assert [each.id for each in client.jobs.each(labels={"team": "x", "run": "1"})] == ["a", "b", "c"]
    assert script.requests[0].url.params.get_list("label") == ["team:x", "run:1"]
    assert script.requests[1].url.params["cursor"] == "c1"


def test_a_download_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.bin"
    client, _ = _client(stream(b"half", breaks=True))
    with pytest.raises(APIConnectionError):
        client.files.save("f1", target)
    assert list(tmp_path.iterdir()) == []
    client, _ = _client(stream(b"half", b"whole"))
    assert client.files.save("f1", target).read_bytes() == b"halfwhole"


def test_unknown_fields_of_an_answer_are_ignored() -> None:
    client, _ = _client(ok(job(novelty=1, links={**job()["links"], "more": "x"})))
    assert client.jobs.get("job_1").id == "job_1"
