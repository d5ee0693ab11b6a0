"""Images by digest, in every file that names one."""

from __future__ import annotations

import hashlib
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from scripts import release
from scripts.pin_images import ROOT, Refused, digest_of, files, main, name_of, references, tag_of, unpinned
from shared import VERSION

_DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for file in files(ROOT):
        target = tmp_path / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return tmp_path


def test_every_image_is_named_by_its_digest_wherever_it_stands(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {name_of(reference) for file in files(copy) for reference in references(file)}
    assert names == {"assay", "assay-execution", "assay-search", "postgres", "redis", "qdrant/qdrant", "python"}
    assert main([], copy) == 1
    assert "postgres:18-bookworm: by a tag" in capsys.readouterr().out
    assert main([f"{name}=registry.example:5000/{name}@{_DIGEST}" for name in names], copy) == 0
    found = [reference for file in files(copy) for reference in references(file)]
    assert len(found) >= 15
    assert all(reference.endswith(_DIGEST) for reference in found)
    compose = yaml.safe_load((copy / "docker-compose.yml").read_text())
    assert compose["services"]["gateway"]["image"] == f"registry.example:5000/assay@{_DIGEST}"
    assert "FROM registry.example:5000/python@sha256" in (copy / "deploy" / "assay" / "Dockerfile").read_text()
    chart = yaml.safe_load((copy / "deploy" / "helm" / "assay" / "values.yaml").read_text())
    assert chart["images"] == {
        name: f"registry.example:5000/{name}@{_DIGEST}" for name in ("assay", "assay-search", "assay-execution")
    }


def test_a_pinned_image_is_pinned_anew_under_its_name(copy: Path) -> None:
    main([f"redis=registry.example/redis@{_DIGEST}"], copy)
    newer = _DIGEST.replace("0", "f")
    main([f"redis=redis@{newer}"], copy)
    assert f"image: redis@{newer}" in (copy / "docker-compose.yml").read_text()


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("redis=redis:8", "and 64 digits"),
        (f"redis=redis@{_DIGEST}0", "and 64 digits"),
        (f"reddis=redis@{_DIGEST}", "there is no image 'reddis'; there are assay, "),
    ],
)
def test_what_is_no_digest_or_no_image_changes_nothing(
    copy: Path, capsys: pytest.CaptureFixture[str], word: str, told: str
) -> None:
    before = (copy / "docker-compose.yml").read_text()
    assert main([word], copy) == 2
    assert told in capsys.readouterr().err
    assert (copy / "docker-compose.yml").read_text() == before


_INDEX = b'{"schemaVersion": 2, "manifests": []}'
_OF_INDEX = f"sha256:{hashlib.sha256(_INDEX).hexdigest()}"


@pytest.fixture
def registry() -> Iterator[str]:
    """A registry that wants a token, has ``team/redis:8``, and lies about ``team/liar:1``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if path == "/token":
                assert "scope=repository%3Ateam" in query
                return self._answer(200, b'{"token": "t"}')
            if self.headers.get("Authorization") != "Bearer t":
                host = f"http://{self.headers['Host']}/token"
                challenge = f'Bearer realm="{host}",service="here",scope="repository:team/redis:pull"'
                return self._answer(401, b"", **{"WWW-Authenticate": challenge})
            assert "oci.image.index" in self.headers["Accept"]
            if path == "/v2/team/redis/manifests/8":
                return self._answer(200, _INDEX, **{"Docker-Content-Digest": _OF_INDEX})
            if path == "/v2/team/liar/manifests/1":
                return self._answer(200, _INDEX, **{"Docker-Content-Digest": _DIGEST})
            return self._answer(404, b"")

        def _answer(self, status: int, body: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *ignored: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_digest_is_that_of_what_the_registry_sends(registry: str) -> None:
    assert digest_of(f"{registry}/team/redis:8") == _OF_INDEX
    with pytest.raises(Refused, match="answered 404"):
        digest_of(f"{registry}/team/redis:9")
    with pytest.raises(Refused, match="names the digest"):
        digest_of(f"{registry}/team/liar:1")
    with pytest.raises(Refused, match="cannot be reached"):
        digest_of("127.0.0.1:1/team/redis:8")


def test_fetched_digests_keep_their_tag_and_are_fetched_again_by_it(copy: Path, registry: str) -> None:
    compose = copy / "docker-compose.yml"
    public = {each for each in unpinned(copy) if not each.startswith("assay")}
    assert {name_of(each) for each in public} == {"postgres", "redis", "qdrant/qdrant", "python"}
    for file in files(copy):
        text = file.read_text()
        for reference in public:
            text = text.replace(f" {reference}", f" {registry}/team/redis:8")
        file.write_text(text)
    for _ in range(2):
        assert main(["--fetch"], copy) == 1, "the project's own images have tags"
        assert compose.read_text().count(f"image: {registry}/team/redis:8@{_OF_INDEX}") == 3
    assert all(each.startswith("assay") for each in unpinned(copy))


def test_without_every_digest_nothing_is_written(copy: Path, registry: str, capsys: pytest.CaptureFixture[str]) -> None:
    compose = copy / "docker-compose.yml"
    text = compose.read_text().replace(" redis:8-bookworm", f" {registry}/team/redis:8")
    text = text.replace(" postgres:18-bookworm", " 127.0.0.1:1/postgres:18").replace(" qdrant/", f" {registry}/qdrant/")
    compose.write_text(text)
    assert main(["--fetch", f"python=python@{_DIGEST}"], copy) == 2
    assert "127.0.0.1:1 cannot be reached" in capsys.readouterr().err
    assert compose.read_text() == text
    assert "FROM python:" in (copy / "deploy" / "assay" / "Dockerfile").read_text()
    with pytest.raises(Refused, match="names no tag"):
        tag_of(f"redis@{_DIGEST}")


def test_a_tagged_release_refuses_public_images_by_tag(copy: Path) -> None:
    tag = f"v{VERSION}"
    for file in files(copy):
        file.write_text(re.sub("@sha256:[0-9a-f]{64}", "", file.read_text()))
    assert "postgres:18-bookworm" in (release.refusal(tag, copy) or "")
    assert release.refusal(None, copy) is None, "a build that is not released may go by tags"
    assert "make them agree" in (release.refusal("v0.0.0", copy) or "")
    main([f"{name}={name}@{_DIGEST}" for name in ("postgres", "redis", "qdrant/qdrant", "python")], copy)
    assert release.refusal(tag, copy) is None, "the project's own images are known after they are pushed"
