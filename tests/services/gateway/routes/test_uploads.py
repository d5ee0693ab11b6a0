"""Files that come in parts: interrupted, continued, refused, expired, and of one tenant only."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx2 as httpx

from tests.services.gateway.conftest import Gateway, serving, with_http
from tests.services.gateway.http.test_problems import assert_problem
from tests.support.wait import until

PART = {"Content-Type": "application/offset+octet-stream", "Tus-Resumable": "1.0.0"}
NAME = base64.b64encode(b"large.csv").decode()


def begin(client: httpx.Client, size: int) -> str:
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(size), "Upload-Metadata": f"filename {NAME}"}
    answer = client.post("/v1/uploads", headers=headers)
    assert (answer.status_code, answer.headers["tus-resumable"]) == (201, "1.0.0")
    return str(answer.headers["location"])


def send(client: httpx.Client, place: str, offset: int, content: bytes) -> httpx.Response:
    return client.patch(place, content=content, headers={**PART, "Upload-Offset": str(offset)})


def offset_of(client: httpx.Client, place: str) -> int:
    return int(client.head(place).headers["upload-offset"])


def test_the_parts_become_the_file(client: httpx.Client) -> None:
    content = os.urandom(100_000)
    place = begin(client, len(content))
    assert send(client, place, 0, content[:60_000]).headers["upload-offset"] == "60000"
    assert (offset_of(client, place), "location" in client.head(place).headers) == (60_000, False)
    last = send(client, place, 60_000, content[60_000:])
    assert last.status_code == 204
    file = client.get(last.headers["location"]).json()
    assert (file["name"], file["size"]) == ("large.csv", len(content))
    assert file["sha256"] == hashlib.sha256(content).hexdigest()
    assert client.get(f"{last.headers['location']}/content").content == content
    again = send(client, place, len(content), b"")  # the answer was lost: the same file, not another one
    assert (again.status_code, again.headers["location"]) == (204, last.headers["location"])
    assert client.head(place).headers["location"] == last.headers["location"]


def test_what_came_before_the_connection_broke_is_kept(gateway: Gateway, client: httpx.Client) -> None:
    content = os.urandom(20_000_000)
    place = begin(client, len(content))
    address = urlsplit(gateway.url)
    head = f"PATCH {place} HTTP/1.1\r\nHost: x\r\nAuthorization: {client.headers['authorization']}\r\n"
    head += "Content-Type: application/offset+octet-stream\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
    head += f"Content-Length: {len(content)}\r\n\r\n"
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=60) as connection:
        connection.sendall(head.encode() + content[:12_000_000])
        until(lambda: offset_of(client, place) > 0, "the first step is kept")
    begun = offset_of(client, place)
    assert 8_000_000 <= begun <= 12_000_000
    last = send(client, place, begun, content[begun:])
    assert client.get(last.headers["location"]).json()["sha256"] == hashlib.sha256(content).hexdigest()


def test_a_part_goes_where_the_upload_stands(client: httpx.Client) -> None:
    place = begin(client, 10)
    assert_problem(send(client, place, 5, b"12345"), 409, "conflict")
    assert_problem(send(client, place, 0, b"12345678901"), 413, "too_large")
    assert_problem(client.patch(place, content=b"1", headers={"Upload-Offset": "0"}), 415, "unsupported_media_type")
    other = {**PART, "Upload-Offset": "0", "Tus-Resumable": "0.2.2"}
    assert_problem(client.patch(place, content=b"1", headers=other), 412, "precondition_failed")
    assert offset_of(client, place) == 0


def test_an_empty_file_needs_an_empty_part(client: httpx.Client) -> None:
    place = begin(client, 0)
    assert client.get(send(client, place, 0, b"").headers["location"]).json()["size"] == 0


def test_an_upload_is_its_tenants(client: httpx.Client, other: httpx.Client) -> None:
    place = begin(client, 3)
    assert other.head(place).status_code == 404
    assert_problem(send(other, place, 0, b"abc"), 404, "not_found")
    assert_problem(other.delete(place), 404, "not_found")
    assert offset_of(client, place) == 0


def test_an_upload_can_be_given_up(gateway: Gateway, client: httpx.Client) -> None:
    place = begin(client, 10)
    send(client, place, 0, b"12345")
    assert client.delete(place).status_code == 204
    assert client.head(place).status_code == 404
    folder = Path(gateway.settings.stores.blob_url.removeprefix("file://")) / "uploads" / place.rpartition("/")[2]
    assert not [path for path in folder.glob("*") if path.is_file()]


def test_what_is_too_large_is_refused_before_a_byte(gateway: Gateway) -> None:
    with serving(with_http(gateway.settings, upload_bytes=1000)) as url:
        key = {"Authorization": gateway.client().headers["authorization"]}
        answer = httpx.post(f"{url}/v1/uploads", headers={**key, "Upload-Length": "1001"})
        assert_problem(answer, 413, "too_large")
