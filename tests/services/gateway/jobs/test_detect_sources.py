"""Hostile and broken sources over HTTP, with the real worker behind: refused or reported, and nothing left behind."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from shared.settings import StoreSettings
from tests.services.gateway.conftest import Gateway
from tests.services.stacks.archives import add, tar, zipped
from tests.support.platform import Platform

OK = {"go.mod": "module x\n", "main.go": "package main\n"}


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The only place where the worker may make temporary files."""
    return tmp_path_factory.mktemp("worker")


@pytest.fixture(scope="module")
def mine(gateway: Gateway, stores: StoreSettings, scratch: Path) -> Iterator[httpx.Client]:
    """A client, with a stacks worker of small limits behind the gateway."""
    platform = Platform(stores)
    platform.start("services.stacks", ASSAY_STACKS_MAX_ENTRIES="2000", TMPDIR=str(scratch))
    try:
        with gateway.client("sources") as client:
            client.timeout = httpx.Timeout(70)
            yield client
    finally:
        platform.stop()


def detected(client: httpx.Client, body: bytes, **input: object) -> dict[str, Any]:
    """The finished job for an uploaded archive."""
    file = client.post("/v1/files", params={"name": "x"}, content=body).json()
    job = {"kind": "detect", "input": {"source": {"file_id": file["id"]}, "mode": "static", **input}}
    answer = client.post("/v1/jobs", json=job, headers={"Prefer": "wait=60"})
    assert answer.status_code == 200, answer.text
    finished: dict[str, Any] = answer.json()
    return finished


def bomb() -> bytes:
    """A tar of one file of zeros: 4 GB by its header, 400 MB that unpack from 400 kB."""
    entry = bytearray(tar({"a.bin": b""})[:512])
    entry[124:136] = b"%011o\0" % (4 << 30)
    entry[148:156] = b" " * 8
    entry[148:156] = b"%06o\0 " % sum(entry)
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = b"\0" * (1 << 20)
    return pack.compress(bytes(entry)) + b"".join(pack.compress(zeros) for _ in range(400)) + pack.flush()


def encrypted() -> bytes:
    body = bytearray(zipped(OK))
    body[6] |= 1
    body[body.index(b"PK\x01\x02") + 8] |= 1
    return bytes(body)


REFUSED = {
    "a bomb": (bomb, "source_too_large"),
    "too many entries": (lambda: gzip.compress(tar({f"f{n}": "" for n in range(2100)}), 1), "source_too_large"),
    "too many entries in a zip": (lambda: zipped({f"f{n}": "" for n in range(2100)}), "source_too_large"),
    "a truncated tar": (lambda: gzip.compress(tar({**OK, "b.py": "x = 1\n" * 9000}))[:-200], "source_unreadable"),
    "a truncated zip": (lambda: zipped(OK)[:-30], "source_unreadable"),
    "an encrypted zip": (encrypted, "source_unreadable"),
    "no archive": (lambda: b"hello", "unknown_archive_format"),
    "nothing": (lambda: b"\0", "unknown_archive_format"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_fails_with_its_code(mine: httpx.Client, scratch: Path, name: str) -> None:
    make, code = REFUSED[name]
    job = detected(mine, make())
    assert (job["state"], job["error"]["code"], job["error"]["status"]) == ("failed", code, 422)
    assert str(scratch) not in str(job)
    assert list(scratch.iterdir()) == []


def hostile_tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        add(archive, "../../escape/package.json", b"{}")
        add(archive, "/etc/package.json", b"{}")
        add(archive, "link", kind=tarfile.SYMTYPE, link="/etc/passwd")
        add(archive, "hard", kind=tarfile.LNKTYPE, link="/etc/passwd")
        add(archive, "null", kind=tarfile.CHRTYPE)
        add(archive, "fifo", kind=tarfile.FIFOTYPE)
        add(archive, "b\udcffd/package.json", b"{}")
        add(archive, "go.mod", b"module x\n")
    return buffer.getvalue()


def hostile_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        for name in ("../up/package.json", "/etc/package.json", "c:/x/package.json"):
            archive.writestr(name, "{}")
        archive.writestr("go.mod", "module x\n")
    return buffer.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("make", [hostile_tar, hostile_zip])
def test_unsafe_entries_are_named_and_the_rest_is_detected(mine: httpx.Client, scratch: Path, make: Any) -> None:
    job = detected(mine, make())
    assert job["state"] == "succeeded", job["error"]
    assert [service["path"] for service in job["result"]["services"]] == [""]
    assert job["result"]["services"][0]["primary"]["language"] == "go"
    warnings = "\n".join(job["warnings"])
    for words in ("leaves the archive", "absolute or foreign", "symbolic link"):
        assert words in warnings
    assert "root:" not in str(job)
    assert list(scratch.iterdir()) == []


def test_broken_manifests_are_named_and_the_rest_is_detected(mine: httpx.Client) -> None:
    files = {
        **OK, "a/package.json": "{oops", "b/pyproject.toml": "[project\n", "c/pom.xml": "<project>",
        "d/pubspec.yaml": "a: [", "e/package.json": b'{"name": "' + b"x" * (5 << 20) + b'"}',
        "f/Cargo.toml": b"\xff\xfe\0x", "g/package.json": b"\xff\xfe\xfd", "h/package.json": '{"a":' * 9000,
        "i/composer.json": "[]",
    }  # fmt: skip
    job = detected(mine, gzip.compress(tar(files), 1))
    services = {service["path"]: service for service in job["result"]["services"]}
    assert services[""]["primary"]["language"] == "go"
    for path in "abcdefghi":
        assert services[path]["warnings"], path
        assert services[path]["warnings"][0].startswith(f"{path}/")


def test_circles_end(mine: httpx.Client) -> None:
    def pom(name: str, other: str) -> str:
        parent = f"<artifactId>{other}</artifactId><relativePath>../{other}/pom.xml</relativePath>"
        modules = f"<modules><module>../{other}</module></modules>"
        return f"<project><artifactId>{name}</artifactId><parent>{parent}</parent>{modules}</project>"

    files = {
        "a/pom.xml": pom("a", "b"), "b/pom.xml": pom("b", "a"),
        "package.json": '{"name": "r", "workspaces": ["*", "../*", "."]}', "go.work": "go 1.22\nuse (\n.\n./x\n..\n)\n",
        "settings.gradle": "include ':', ':..:a', ':a:b'\n",
    }  # fmt: skip
    job = detected(mine, tar(files))
    assert job["state"] == "succeeded", job["error"]
    assert {service["path"] for service in job["result"]["services"]} >= {"a", "b", ""}


@pytest.mark.parametrize(
    "source",
    [
        {"git": "https://127.0.0.1/a"}, {"git": "https://169.254.169.254/latest"}, {"git": "https://10.0.0.1/a"},
        {"git": "https://[::1]/a"}, {"git": "https://localhost/a"}, {"git": "file:///etc"}, {"git": "ext::sh -c id"},
        {"git": "--upload-pack=touch /tmp/x"}, {"git": "-oProxyCommand=id"}, {"git": "ssh://git@github.com/a"},
        {"git": "https://user:secret@github.com/a/b"}, {"git": "https://github.com/a/b", "ref": "--output=x"},
        {"git": "http://github.com/a/b"}, {"git": "https://2130706433/a"},
    ],
)  # fmt: skip
def test_other_places_are_refused_at_submit(mine: httpx.Client, source: dict[str, str]) -> None:
    answer = mine.post("/v1/jobs", json={"kind": "detect", "input": {"source": source}})
    assert (answer.status_code, answer.json()["code"]) == (422, "source_not_allowed")
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    "input",
    [
        {"mode": "llm"}, {"mode": ""}, {"root": "/etc"}, {"root": "a/../b"}, {"definitions": [{"id": "x"}]},
        {"surprise": 1}, {"definitions_version": "new"}, {"disable": [3]},
    ],
)  # fmt: skip
def test_fields_that_do_not_fit_are_refused_at_submit(mine: httpx.Client, input: dict[str, object]) -> None:
    file = mine.post("/v1/files", params={"name": "x"}, content=tar(OK)).json()
    answer = mine.post("/v1/jobs", json={"kind": "detect", "input": {"source": {"file_id": file["id"]}, **input}})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


def test_a_root_that_is_not_there_and_a_rule_that_is_not_there(mine: httpx.Client) -> None:
    job = detected(mine, tar(OK), root="nowhere")
    assert (job["state"], job["error"]["code"]) == ("failed", "invalid_request")
    assert detected(mine, tar(OK), disable=["fw.nonsense"])["warnings"] == ["there is no rule fw.nonsense to disable"]


def test_a_claim_is_read_where_it_was_found(mine: httpx.Client, gateway: Gateway) -> None:
    files = {
        **OK,
        ".env": "TOKEN=x\n",
        "package.json": '{\n "dependencies": {"express": "4"}\n}\n',
        "data.txt": "no proof\n",
    }
    archive = tar(files)
    for _ in range(2):  # the second is answered by what is known of the first
        job = detected(mine, archive)
        listed = mine.get(f"/v1/jobs/{job['id']}/source").json()
        assert (listed["files"], listed["file_count"]) == (sorted(files), len(files))
        assert "package.json" in listed["readable"]
        evidence = [
            each
            for service in job["result"]["services"]
            for found in service["candidates"]
            for each in found["evidence"]
        ]
        [proof] = {each["line"] for each in evidence if "express" in (each["snippet"] or "")}
        query = {"path": "package.json", "first": proof, "last": proof}
        text = mine.get(f"/v1/jobs/{job['id']}/source", params=query).json()["text"]
        assert (text["first"], text["lines"], text["line_count"]) == (2, [' "dependencies": {"express": "4"}'], 3)
    for kept_back in (".env", "data.txt", "../x", "none"):
        refused = mine.get(f"/v1/jobs/{job['id']}/source", params={"path": kept_back})
        assert refused.status_code == 404, kept_back
    with gateway.client_of(gateway.key("strangers")) as stranger:
        assert stranger.get(f"/v1/jobs/{job['id']}/source").status_code == 404
