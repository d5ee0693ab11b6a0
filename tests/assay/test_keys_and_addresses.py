"""Keys and addresses as people have them: from files, pages and shells, behind proxies that are not for them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import assay
from assay import errors
from assay.transport import Target
from services.host.installation import HostSettings, ServerSettings, compose
from tests.assay.terminal import Shell, plain
from tests.support.forks import Ran, run

KEY = "ask_0123456789ab_0123456789abcdefghijklmnopqrstuv"


@contextmanager
def answering(status: int, headers: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """A server that gives every request this answer, and the keys that it was shown."""
    shown: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(self.headers.get("Authorization", ""))
            body = b'{"items": [], "next_cursor": null}' if status == 200 else b"<html>Blocked</html>"
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
        yield f"http://127.0.0.1:{server.server_address[1]}", shown
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, list[str]]]:
    with answering(200, {"x-request-id": "r", "Content-Type": "application/json"}) as made:
        yield made


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def command(tmp_path: Path, *words: str, **env: str) -> Ran:
    return run("assay", words, {**plain(), "ASSAY_HOME": str(tmp_path / "none"), **env}, tmp_path)


AROUND = ["\n", "\r\n", " ", "\t", "\n\n", "\u00a0", "\u3000", "\x0b", '"', "'", "\ufeff", "\u200b", "\n\ufeff "]


@pytest.mark.parametrize("space", AROUND, ids=ascii)
def test_white_space_around_a_key_and_an_address_is_not_part_of_them(
    server: tuple[str, list[str]], no_proxies: None, space: str
) -> None:
    url, shown = server
    with assay.Client(space + url + space, space + KEY + space) as client:
        assert client.jobs.list().items == []
    assert shown[-1] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "key", [KEY + "\n" + KEY, KEY + "é", "“" + KEY + "”", "ключ", KEY + "\x00", KEY + "\x7f", "a b"], ids=ascii
)
def test_a_key_that_no_server_gave_is_refused_without_being_shown(tmp_path: Path, key: str) -> None:
    with pytest.raises(errors.NotAuthenticated) as refused:
        assay.Client("http://127.0.0.1:1", key)
    assert "API key" in str(refused.value)
    assert key not in str(refused.value)
    if "\x00" in key:
        return
    ran = command(tmp_path, "jobs", "ls", ASSAY_URL="http://127.0.0.1:1", ASSAY_API_KEY=key)
    assert ran.status == 4
    assert not any(part in ran.talk + ran.out for part in (key, KEY, ascii(key)[1:-1], "codec", "Traceback"))


def test_a_key_with_a_line_end_works_at_the_command_line(server: tuple[str, list[str]], tmp_path: Path) -> None:
    url, shown = server
    ran = command(tmp_path, "jobs", "ls", ASSAY_URL=url + "\n", ASSAY_API_KEY=KEY + "\n")
    assert (ran.status, ran.talk) == (0, "")
    assert shown[-1] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("url", "needs"),
    [
        *((url, "http:// or https://") for url in (
            "127.0.0.1:8000", "localhost", "ftp://host", "http://", "http://a b", "https//host", "mailto:x", "'http://h",
        )),
        ("http://127.0.0.1:80a", "Port"),
        ("http://127.0.0.1:99999", "Port out of range"),
        ("http://[::1", "Invalid IPv6"),
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_one_is_named_with_what_it_needs(tmp_path: Path, url: str, needs: str) -> None:
    ran = command(tmp_path, "--url", url, "--api-key", KEY, "jobs", "ls")
    assert ran.status == 2
    assert ran.talk.startswith("assay: the server's address ")
    assert needs in ran.talk
    assert KEY not in ran.talk


def test_an_https_address_of_a_server_without_tls_says_so(server: tuple[str, list[str]], no_proxies: None) -> None:
    address = server[0].replace("http://", "https://")
    with assay.Client(address, KEY, max_retries=0) as client, pytest.raises(errors.APIError) as raised:
        client.jobs.list()
    assert "it does not speak TLS; try http:// instead" in str(raised.value)


def test_the_password_of_an_address_is_not_shown(tmp_path: Path) -> None:
    ran = command(tmp_path, "--url", "ftp://me:secret@host", "--api-key", KEY, "jobs", "ls")
    assert "host" in ran.talk
    assert "secret" not in ran.talk


UNUSABLE = ["socks5://127.0.0.1:1", "socks5h://me:secret@h:1", "ftp://me:secret@h"]
UNREACHABLE = ["http://me:secret@127.0.0.1:99999", "http://[b", "http://"]


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("proxy", ["http://127.0.0.1:1", *UNUSABLE, *UNREACHABLE])
def test_a_proxy_is_not_used_for_this_machine(
    server: tuple[str, list[str]], no_proxies: None, monkeypatch: pytest.MonkeyPatch, name: str, host: str, proxy: str
) -> None:
    monkeypatch.setenv(name, proxy)
    with assay.Client(server[0].replace("127.0.0.1", host), KEY, max_retries=0) as client:
        assert client.jobs.list().items == []


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize("proxy", UNUSABLE)
def test_a_proxy_that_no_client_can_use_is_named_without_its_password(
    no_proxies: None, monkeypatch: pytest.MonkeyPatch, name: str, proxy: str
) -> None:
    monkeypatch.setenv(name, proxy)
    with pytest.raises(ValueError, match=rf"^the proxy of {name}.*cannot be used.*NO_PROXY=assay") as raised:
        assay.Client("http://assay.example", KEY)
    assert "secret" not in str(raised.value)
    monkeypatch.setenv("NO_PROXY", "assay.example")
    assay.Client("http://assay.example", KEY).close()


@pytest.mark.parametrize("proxy", UNREACHABLE)
def test_a_proxy_whose_address_is_none_is_named_without_its_password(
    no_proxies: None, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    client = assay.Client("http://assay.example", KEY, max_retries=0)
    with client, pytest.raises(errors.APIConnectionError, match="through the proxy of HTTP_PROXY") as raised:
        client.jobs.list()
    assert "secret" not in str(raised.value)


def test_the_proxy_of_the_scheme_is_used_though_another_cannot_be(
    no_proxies: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    with answering(200, {"x-request-id": "r", "Content-Type": "application/json"}) as (proxy, _):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        with assay.Client("http://assay.example", KEY, max_retries=0) as client:
            assert client.jobs.list().items == []


def test_a_proxy_that_answers_itself_is_named(no_proxies: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(403, {"Content-Type": "text/html"}) as (proxy, _):
        monkeypatch.setenv("HTTP_PROXY", proxy.replace("http://", "http://me:secret@"))
        with (
            assay.Client("http://assay.example", KEY, max_retries=0) as client,
            pytest.raises(errors.APIError) as raised,
        ):
            client.jobs.list()
    assert f"the proxy of HTTP_PROXY ({proxy}) answered 403, not Assay at assay.example" in str(raised.value)
    assert "NO_PROXY=assay.example" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_proxy_that_cannot_be_reached_is_named(no_proxies: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with assay.Client("http://assay.example", KEY, max_retries=0) as client, pytest.raises(errors.APIError) as raised:
        client.jobs.list()
    assert "through the proxy of HTTP_PROXY (http://127.0.0.1:1)" in str(raised.value)
    monkeypatch.setenv("NO_PROXY", "assay.example")
    assert Target("http://assay.example", None).proxy is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.8.8"])
def test_every_address_of_this_machine_is_reached_directly(host: str) -> None:
    assert Target(f"http://{host}:8000", None).is_loopback
    assert not Target("http://127.example.org", None).is_loopback


def test_the_environment_of_an_installation_that_does_not_run_is_not_printed(tmp_path: Path, shell: Shell) -> None:
    ran = command(tmp_path, "status", "-o", "env")
    assert (ran.status, ran.out) == (5, "")
    assert "assay up" in ran.talk
    running = shell("status", "-o", "env")
    assert running.status == 0
    assert running.out.startswith("export ASSAY_URL=http://127.0.0.1:")


def test_an_installation_takes_a_free_port_when_the_usual_one_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASSAY_PORT", raising=False)

    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8000))
            taken.listen()
        except OSError:
            pass  # another program of this machine has it
        made = compose({}, HostSettings(home=tmp_path), ServerSettings())
        assert made.url.startswith("http://127.0.0.1:")
        assert not made.url.endswith(":8000")
        assert made.why_port.startswith("port 8000 is taken by another program, so Assay took ")
        with pytest.raises(RuntimeError, match="8000 cannot be listened on"):
            compose({}, HostSettings(home=tmp_path, port=8000), ServerSettings())
    free = compose({}, HostSettings(home=tmp_path, port=0), ServerSettings())
    assert free.why_port == ""
