"""Files: streamed in, named safely, fetched whole or in part."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

from tests.services.gateway.conftest import Gateway, serving, with_http
from tests.services.gateway.http.test_problems import assert_problem
from tests.support.wait import until


def stored(gateway: Gateway) -> list[str]:
    folder = Path(gateway.settings.stores.blob_url.removeprefix("file://"))
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_an_upload_is_fetched_back_as_it_was(client: httpx.Client) -> None:
    content = bytes(range(256)) * 40_000
    answer = client.post("/v1/files", files={"file": ("data.bin", content)})
    assert answer.status_code == 201
    file = answer.json()
    assert answer.headers["location"] == f"/v1/files/{file['id']}"
    assert (file["name"], file["size"]) == ("data.bin", len(content))
    assert file["sha256"] == hashlib.sha256(content).hexdigest()
    assert client.get(answer.headers["location"]).json() == file
    fetched = client.get(f"/v1/files/{file['id']}/content")
    assert fetched.content == content
    assert fetched.headers["content-length"] == str(len(content))
    assert fetched.headers["accept-ranges"] == "bytes"
    tag = fetched.headers["etag"]
    assert client.get(f"/v1/files/{file['id']}/content", headers={"If-None-Match": tag}).status_code == 304


def test_a_raw_body_is_a_file_too(client: httpx.Client) -> None:
    answer = client.post("/v1/files?name=sales.csv", content=b"a,b\n1,2\n", headers={"Content-Type": "text/csv"})
    assert (answer.status_code, answer.json()["name"], answer.json()["media_type"]) == (201, "sales.csv", "text/csv")
    empty = client.post("/v1/files?name=empty")
    assert (empty.status_code, empty.json()["size"]) == (201, 0)
    assert client.get(f"/v1/files/{empty.json()['id']}/content").content == b""
    unnamed = client.post("/v1/files", content=b"x").json()
    assert (unnamed["name"], unnamed["media_type"]) == ("file", "application/octet-stream")


@pytest.mark.parametrize(
    ("wanted", "status", "part", "content_range"),
    [
        ("bytes=0-0", 206, b"0", "bytes 0-0/10"),
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=7-99", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=4-2", 200, b"0123456789", None),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
    ],
)
def test_a_part_is_fetched_by_its_range(
    client: httpx.Client, wanted: str, status: int, part: bytes, content_range: str | None
) -> None:
    id = client.post("/v1/files?name=digits", content=b"0123456789").json()["id"]
    answer = client.get(f"/v1/files/{id}/content", headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (status, part)
    assert answer.headers.get("content-range") == content_range


@pytest.mark.parametrize("wanted", ["bytes=10-", "bytes=10-20", "bytes=-0"])
def test_a_range_past_the_end_cannot_be_had(client: httpx.Client, wanted: str) -> None:
    id = client.post("/v1/files?name=digits", content=b"0123456789").json()["id"]
    answer = client.get(f"/v1/files/{id}/content", headers={"Range": wanted})
    assert_problem(answer, 416, "range_not_satisfiable")
    assert answer.headers["content-range"] == "bytes */10"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Windows\\evil.csv", "evil.csv"),
        ("/abs/olute.txt", "olute.txt"),
        ("..", "file"),
        (".", "file"),
        ("a/", "file"),
        (".hidden", ".hidden"),
        ("näme \u202egnp.exe", "näme gnp.exe"),
        ("nul\x00l.txt", "null.txt"),
        ("x" * 400 + ".csv", "x" * 251 + ".csv"),
    ],
)
def test_a_name_is_never_a_path(client: httpx.Client, given: str, kept: str) -> None:
    answer = client.post("/v1/files", params={"name": given}, content=b"x")
    assert (answer.status_code, answer.json()["name"]) == (201, kept)
    fetched = client.get(f"/v1/files/{answer.json()['id']}/content")
    assert fetched.headers["content-disposition"].startswith("attachment; filename=")


def test_the_same_bytes_are_kept_once(client: httpx.Client, gateway: Gateway) -> None:
    first = client.post("/v1/files?name=a", content=b"the same bytes").json()
    before = stored(gateway)
    second = client.post("/v1/files?name=b", content=b"the same bytes").json()
    assert stored(gateway) == before
    assert first["id"] != second["id"]
    assert client.delete(f"/v1/files/{first['id']}").status_code == 204
    assert_problem(client.get(f"/v1/files/{first['id']}"), 404, "not_found")
    assert_problem(client.delete(f"/v1/files/{first['id']}"), 404, "not_found")
    assert client.get(f"/v1/files/{second['id']}/content").content == b"the same bytes"


def test_an_upload_that_is_dropped_leaves_nothing(client: httpx.Client, gateway: Gateway) -> None:
    before = stored(gateway)
    address = urlsplit(gateway.url)
    assert address.hostname is not None
    for body in ("", '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'):
        kind = "multipart/form-data; boundary=b" if body else "application/octet-stream"
        with socket.create_connection((address.hostname, address.port or 80)) as wire:
            head = (
                f"POST /v1/files?name=f HTTP/1.1\r\nHost: x\r\nAuthorization: {client.headers['authorization']}\r\n"
                f"Content-Type: {kind}\r\nContent-Length: 100000000\r\n\r\n{body}"
            )
            wire.sendall(head.encode() + b"x" * 20_000_000)
    until(lambda: stored(gateway) == before, "the end of the unfinished uploads")
    assert [file["name"] for file in client.get("/v1/files").json()["items"] if file["name"] == "f"] == []


def test_a_form_is_read_to_its_end(client: httpx.Client, gateway: Gateway) -> None:
    before = stored(gateway)
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nabc\r\n'
    for body in (
        b"",
        b"nonsense",
        part,
        part + part + b"--b--\r\n",
        b"--b--\r\n",
        part.replace(b"file", b"elif") + b"--b--",
    ):
        assert_problem(client.post("/v1/files", content=body, headers=form), 422, "invalid_request")
    without = {"Content-Type": "multipart/form-data"}
    assert_problem(client.post("/v1/files", content=part, headers=without), 422, "invalid_request")
    assert stored(gateway) == before
    other = b'--b\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n'
    assert client.post("/v1/files", content=other + part + b"--b--\r\n", headers=form).json()["size"] == 3


@pytest.mark.slow
def test_an_upload_that_is_too_large_is_refused_however_it_comes(gateway: Gateway, client: httpx.Client) -> None:
    before = stored(gateway)
    headers = {"Authorization": client.headers["authorization"]}
    with serving(with_http(gateway.settings, upload_bytes=1_000_000)) as url:
        assert httpx.post(f"{url}/v1/files?name=a", content=b"x" * 1_000_000, headers=headers).status_code == 201
        large = httpx.post(f"{url}/v1/files?name=a", content=b"x" * 1_000_001, headers=headers)
        assert_problem(large, 413, "too_large")
        assert "An uploaded file may have 1,000,000 bytes" in large.json()["detail"]

        def chunks() -> Iterator[bytes]:
            for _ in range(30):
                yield b"y" * 100_000

        assert_problem(httpx.post(f"{url}/v1/files?name=a", content=chunks(), headers=headers), 413, "too_large")
        form = httpx.post(f"{url}/v1/files", files={"file": b"z" * 1_100_000}, headers=headers)
        assert_problem(form, 413, "too_large")
    assert len(stored(gateway)) == len(before) + 1
    compressed = {**headers, "Content-Encoding": "gzip"}
    answer = httpx.post(f"{gateway.url}/v1/files", content=b"x", headers=compressed)
    assert_problem(answer, 415, "unsupported_media_type")
