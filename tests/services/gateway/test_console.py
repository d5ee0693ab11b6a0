"""The console's page and files, over HTTP: what a browser opens, and what stays the API's."""

from __future__ import annotations

import asyncio
import gzip
import re
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.responses import PlainTextResponse

from services.gateway.console import ConsolePages
from services.gateway.http.edge import Edge
from services.gateway.metrics import Metrics
from tests.services.gateway.conftest import Gateway

HTML = {"Accept": "text/html,application/xhtml+xml"}


def _nobody(_app: object, _authorization: str) -> None:
    """No header was admitted before."""


class Site:
    """The pages of a folder before an application that answers everything else with ``api``."""

    def __init__(self, folder: Path) -> None:
        self.app = Edge(ConsolePages(PlainTextResponse("api"), folder), Metrics("postgresql://nobody", []), _nobody)

    def get(self, path: str, **headers: str) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://assay") as client:
                return await client.get(
                    path, headers={name.replace("_", "-"): value for name, value in headers.items()}
                )

        return asyncio.run(ask())


@pytest.fixture
def site(tmp_path: Path) -> Site:
    assets = tmp_path / "assets"
    assets.mkdir()
    (tmp_path / "index.html").write_text('<meta property="csp-nonce" nonce="__NONCE__"><script nonce="__NONCE__">')
    (assets / "app-1a2b.js").write_text("let plain = 1")
    (assets / "app-1a2b.js.br").write_bytes(b"brotli")
    (assets / "app-1a2b.js.gz").write_bytes(gzip.compress(b"let plain = 1"))
    (tmp_path / "secret.js").write_text("not of the bundle")
    return Site(tmp_path)


def test_every_place_of_the_console_is_the_one_page_with_a_nonce_of_its_own(site: Site) -> None:
    first, second = (site.get(path, accept=HTML["Accept"]) for path in ("/", "/jobs/abc"))
    nonces = [re.findall(r'nonce="([^"]+)"', answer.text) for answer in (first, second)]
    assert len({*nonces[0]}) == 1
    assert nonces[0] != nonces[1]
    for answer, nonce in zip((first, second), nonces, strict=True):
        policy = answer.headers["content-security-policy"]
        assert f"'nonce-{nonce[0]}'" in policy
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    ["/v1/jobs", "/v1", "/api/flow", "/docs", "/docs/errors", "/openapi.json", "/healthz", "/readyz", "/metrics"],
)
def test_what_is_the_apis_stays_the_apis(site: Site, path: str) -> None:
    assert site.get(path, accept=HTML["Accept"]).text == "api"


def test_who_does_not_ask_for_a_page_gets_none(site: Site) -> None:
    assert site.get("/jobs", accept="application/json").text == "api"
    assert site.get("/", accept="*/*").text == "api"


def test_files_come_as_small_as_the_client_takes_them_and_are_kept_for_ever(site: Site) -> None:
    path = "/assets/app-1a2b.js"
    for accepted, encoding in (("gzip, br", "br"), ("gzip", "gzip")):
        answer = site.get(path, accept_encoding=accepted)
        assert answer.headers["content-encoding"] == encoding
        assert answer.headers["content-type"].startswith("text/javascript")
    plain = site.get(path, accept_encoding="identity")
    assert plain.text == "let plain = 1"
    assert "content-encoding" not in plain.headers
    assert plain.headers["vary"] == "Accept-Encoding"
    assert "immutable" in plain.headers["cache-control"]
    assert site.get(path, if_none_match=plain.headers["etag"]).status_code == 304


@pytest.mark.parametrize(
    "path",
    ["/assets/gone.js", "/assets/../secret.js", "/assets/%2e%2e/secret.js", "/assets/app-1a2b.js.br", "/assets/"],
)
def test_a_missing_file_is_a_problem_and_never_a_page(site: Site, path: str) -> None:
    answer = site.get(path, accept=HTML["Accept"])
    if answer.status_code == 200:  # the client has made another path of it
        assert "not of the bundle" not in answer.text
        return
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_page_says_why_there_is_no_console(tmp_path: Path) -> None:
    site = Site(tmp_path)
    assert "The console is not built" in site.get("/", accept=HTML["Accept"]).text
    (tmp_path / "reason").write_text("it could not get its packages <b>")
    answer = site.get("/", accept=HTML["Accept"])
    assert answer.status_code == 200
    assert "it could not get its packages &lt;b&gt;" in answer.text
    assert "unsafe" not in answer.headers["content-security-policy"]
    (tmp_path / "reason").write_text("it could not\n\nset PIP_CERT\n\nnpm error code <CERT>\nnpm error more")
    text = site.get("/", accept=HTML["Accept"]).text
    assert "<p>it could not</p><p>set PIP_CERT</p><pre>npm error code &lt;CERT&gt;\nnpm error more</pre>" in text


def test_the_gateway_serves_it(gateway: Gateway) -> None:
    with httpx.Client(base_url=gateway.url) as browser:
        assert "Assay" in browser.get("/jobs", headers=HTML).text
        assert browser.get("/jobs").status_code == 404
