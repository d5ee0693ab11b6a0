"""Whatever goes wrong, the answer is a problem."""

from __future__ import annotations

import httpx2 as httpx
import pytest

JSON = {"Content-Type": "application/json"}
CODE = {"language": "python", "code": "1"}
EXECUTE = {"kind": "execute", "input": CODE}


def assert_problem(answer: httpx.Response, status: int, code: str) -> dict[str, object]:
    problem: dict[str, object] = answer.json()
    assert answer.status_code == status, problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["status"] == status
    assert problem["code"] == code
    assert problem["type"] == f"/docs/errors#{code}"
    assert problem["title"]
    assert problem["detail"]
    assert problem["request_id"] == answer.headers["x-request-id"]
    return problem


def test_an_unknown_path_is_a_problem(client: httpx.Client) -> None:
    assert_problem(client.get("/v1/nothing"), 404, "not_found")
    assert_problem(client.get("/v1/jobs/"), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/v1/jobs", "GET, HEAD, POST"),
        ("POST", "/v1/files/x", "DELETE, GET, HEAD"),
        ("TRACE", "/healthz", "GET, HEAD"),
    ],
)
def test_a_wrong_method_names_every_right_one(client: httpx.Client, method: str, path: str, allowed: str) -> None:
    answer = client.request(method, path)
    assert_problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allowed


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{'kind': 1}",
        b'{"kind": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b'{"a": "\xff"}',
        b'{"a": 1,}',
        b"nothing",
        b'{"a": "\x00"}',
        b"[" * 100_000,
        b"[" * 300 + b"]" * 300,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b" ",
    ],
)
def test_what_is_not_json_is_malformed(client: httpx.Client, body: bytes) -> None:
    assert_problem(client.post("/v1/jobs", content=body, headers=JSON), 400, "malformed_json")


@pytest.mark.parametrize(
    "value",
    ['"\\u0000"', '"\\ud800"', "123456789012345678901234567890", "1e999", "-9223372036854775809", "1" * 5_000],
)
def test_what_cannot_be_kept_as_it_is_does_not_fit(client: httpx.Client, value: str) -> None:
    rows = f'{{"kind": "transform", "input": {{"task": "t", "code": "1", "data": [{{"rows": [{{"a": {value}}}]}}]}}}}'
    assert_problem(client.post("/v1/jobs", content=rows, headers=JSON), 422, "invalid_request")


@pytest.mark.parametrize(
    ("change", "loc"),
    [
        ({"kind": "dance"}, ["body", "kind"]),
        ({"kind": None}, ["body", "kind"]),
        ({"colour": "red"}, ["body", "colour"]),
        ({"priority": 10}, ["body", "priority"]),
        ({"priority": "high"}, ["body", "priority"]),
        ({"priority": "5"}, ["body", "priority"]),
        ({"priority": True}, ["body", "priority"]),
        ({"input": {"language": "python"}}, ["body", "input", "code"]),
        ({"input": {**CODE, "language": "cobol"}}, ["body", "input", "language"]),
        ({"input": {**CODE, "limits": {"wall_seconds": 301}}}, ["body", "input", "limits", "wall_seconds"]),
        ({"input": {**CODE, "limits": {"memory_mb": -1}}}, ["body", "input", "limits", "memory_mb"]),
        ({"input": {**CODE, "sudo": True}}, ["body", "input", "sudo"]),
        ({"input": {**CODE, "files": [{"id": "nope", "path": "a"}]}}, ["body", "input", "files", 0, "id"]),
        ({"input": []}, ["body", "input"]),
        ({"conversation_id": "nope"}, ["body", "conversation_id"]),
        ({"budget": {"turns": 0}}, ["body", "budget", "turns"]),
        ({"webhook": {"url": "not a url"}}, ["body", "webhook", "url"]),
        ({"webhook": {"url": "http://example.org/done"}}, ["body", "webhook", "url"]),
        ({"webhook": {"url": "https://u:p@example.org/done"}}, ["body", "webhook", "url"]),
        ({"webhook": {"url": "https://169.254.169.254/latest"}}, ["body", "webhook", "url"]),
        ({"webhook": {"url": "https://[::ffff:7f00:1]:8000/"}}, ["body", "webhook", "url"]),
        ({"webhook": {"url": "https://0x7f.1/"}}, ["body", "webhook", "url"]),
        ({"webhook": {"url": "https://metadata.internal./"}}, ["body", "webhook", "url"]),
        ({"labels": {"a": 1}}, ["body", "labels", "a"]),
    ],
)
def test_a_field_that_does_not_fit_is_named(client: httpx.Client, change: object, loc: list[object]) -> None:
    assert isinstance(change, dict)
    problem = assert_problem(client.post("/v1/jobs", json={**EXECUTE, **change}), 422, "invalid_request")
    assert isinstance(problem["errors"], list)
    assert [error["loc"] for error in problem["errors"]] == [loc]
    assert all(error["msg"] for error in problem["errors"])


@pytest.mark.parametrize("body", [b"[]", b"1", b'"text"', b"null", b"{}", b"true"])
def test_json_of_another_shape_does_not_fit(client: httpx.Client, body: bytes) -> None:
    assert_problem(client.post("/v1/jobs", content=body, headers=JSON), 422, "invalid_request")


def test_no_body_does_not_fit(client: httpx.Client) -> None:
    assert_problem(client.post("/v1/jobs"), 422, "invalid_request")


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
        {"Content-Type": "nonsense"},
    ],
)
def test_another_content_type_is_not_understood(client: httpx.Client, headers: dict[str, str]) -> None:
    answer = client.post("/v1/jobs", content=b"{}", headers=headers)
    assert_problem(answer, 415, "unsupported_media_type")


@pytest.mark.slow
def test_a_large_body_is_refused_however_it_comes(client: httpx.Client) -> None:
    code = "x" * 10_000_000
    large = {"kind": "execute", "input": {"language": "python", "code": code}}
    assert_problem(client.post("/v1/jobs", json=large), 413, "too_large")

    def chunks() -> object:
        for _ in range(40):
            yield b" " * 1_000_000

    answer = client.post("/v1/jobs", content=chunks(), headers=JSON)  # type: ignore[arg-type]
    assert_problem(answer, 413, "too_large")


def test_an_ingest_may_be_larger_than_other_jobs(client: httpx.Client) -> None:
    records = [{"id": str(number), "text": "x" * 1000} for number in range(3000)]
    ingest = {"kind": "ingest", "input": {"collection": "c", "table": "t", "records": records}}
    assert client.post("/v1/jobs", json=ingest).status_code != 413
    disguised = {"kind": "execute", "input": {"language": "python", "code": '"kind":"ingest"' + "x" * 2_000_000}}
    assert client.post("/v1/jobs", json=disguised).status_code in (413, 422)


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/batches", "/v1/collections"])
@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"{" * 1_000_001, "application/json"),
        (b"x" * 1_000_001, "text/plain"),
        (b'{"kind": "ingest", ' + b" " * 1_000_001, "application/json"),
    ],
)
def test_the_size_is_refused_before_the_type_and_the_form(
    client: httpx.Client, path: str, body: bytes, media_type: str
) -> None:
    answer = client.post(path, content=body, headers={"Content-Type": media_type})
    assert_problem(answer, 413, "too_large")


def test_a_value_that_cannot_be_kept_is_named_in_a_large_ingest_and_nowhere_else(client: httpx.Client) -> None:
    padding, number = "x" * 1_000_001, 2 * 10**19
    input = f'{{"collection": "{padding}", "table": "t", "records": [{{"id": {number}}}]}}'
    text = f'{{"kind": "ingest", "input": {input}}}'
    problem = assert_problem(client.post("/v1/jobs", content=text, headers=JSON), 422, "invalid_request")
    assert problem["errors"] == [
        {"loc": ["body", "input", "records", 0, "id"], "msg": "an integer has more than 64 bits"}
    ]
    execute = text.replace("ingest", "execute")
    assert_problem(client.post("/v1/jobs", content=execute, headers=JSON), 413, "too_large")


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=x", "cursor=x", "cursor=%00", "cursor=WzEsMl0", "kind=x", "state=x", "label=x"],
)
def test_a_query_value_that_does_not_fit_is_named(client: httpx.Client, query: str) -> None:
    problem = assert_problem(client.get(f"/v1/jobs?{query}"), 422, "invalid_request")
    name = query.partition("=")[0]
    assert isinstance(problem["errors"], list)
    assert problem["errors"][0]["loc"][:2] == ["query", name]


@pytest.mark.parametrize("id", ["nope", "%00", "..%2f..%2fetc", "x" * 500, "%f0%9f%92%a9", "' OR 1=1 --"])
def test_an_id_that_is_none_is_not_found(client: httpx.Client, id: str) -> None:
    for path in (f"/v1/jobs/{id}", f"/v1/jobs/{id}/events", f"/v1/files/{id}", f"/v1/batches/{id}"):
        assert_problem(client.get(path), 404, "not_found")


def test_a_request_id_of_the_caller_is_kept_when_it_is_sane(client: httpx.Client) -> None:
    assert client.get("/healthz", headers={"X-Request-ID": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert client.get("/healthz", headers={"X-Request-ID": "a b<script>"}).headers["x-request-id"] != "a b<script>"


def test_an_operation_without_a_body_takes_none(client: httpx.Client) -> None:
    job = client.post("/v1/jobs", json=EXECUTE).json()
    path = f"/v1/jobs/{job['id']}/cancel"
    assert_problem(client.post(path, json={"why": "because"}), 422, "invalid_request")
    assert_problem(client.post(path, content=b"{", headers=JSON), 400, "malformed_json")
    assert client.post(path, json={}).status_code == 202
