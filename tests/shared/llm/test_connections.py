"""A connection that fails says why, so that the reader knows what to fix."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from shared.errors import ProvidersFailed
from shared.llm.discovery import discover
from shared.llm.faults import ProviderFault
from shared.llm.wires.endpoint import Endpoint
from tests.shared.llm.support import ask, layer

VENDORS = {"groq": "GROQ", "openai": "OPENAI"}  # one on each generation of the HTTP client


class At:
    """A server at an address, under each vendor's name."""

    def __init__(self, url: str) -> None:
        self.url = url

    def environment(self, providers: Any, /) -> dict[str, str]:
        keys = {f"{VENDORS[name]}_API_KEY": "key" for name in providers}
        return {**keys, **{f"{VENDORS[name]}_BASE_URL": self.url for name in providers}}


def failure(url: str, vendor: str, **limits: Any) -> tuple[str, str]:
    with layer(At(url), (vendor,), patience_seconds=0, connect_seconds=1, **limits) as llm:
        ((outcome, detail),) = ask(llm, fails=ProvidersFailed).attempts("outcome", "detail")
        return str(outcome), str(detail)


@contextmanager
def serving(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """Handle each connection; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=handle, args=(connection,), daemon=True).start()

        def handle(connection: socket.socket) -> None:
            with suppress(OSError), closing(connection):
                serve(connection)

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate and its key."""
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "proxy")]),
    )
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("tls")
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return folder / "cert.pem", folder / "key.pem"


each_vendor = pytest.mark.parametrize("vendor", VENDORS)


@each_vendor
def test_a_certificate_that_is_not_trusted(vendor: str, certificate: tuple[Path, Path]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(100)

    with serving(serve) as port:
        outcome, detail = failure(f"https://127.0.0.1:{port}", vendor)
        with pytest.raises(ProviderFault, match="SSL_CERT_FILE"):
            discover(Endpoint("gpu1", base_url=f"https://127.0.0.1:{port}"))
    assert outcome == "connection_failed"
    assert "certificate was not accepted" in detail
    assert "SSL_CERT_FILE" in detail


@each_vendor
def test_https_to_a_port_that_speaks_http(vendor: str) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.recv(100)

    with serving(serve) as port:
        outcome, detail = failure(f"https://127.0.0.1:{port}", vendor)
    assert outcome == "connection_failed"
    assert "TLS handshake failed" in detail
    assert "http or https" in detail


@each_vendor
def test_a_handshake_that_does_not_end(vendor: str) -> None:
    def serve(connection: socket.socket) -> None:
        threading.Event().wait(5)

    with serving(serve) as port:
        outcome, detail = failure(f"https://127.0.0.1:{port}", vendor)
    assert outcome == "timed_out"
    assert "TLS handshake in time" in detail


@each_vendor
def test_a_name_that_does_not_resolve(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolving(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolving)
    outcome, detail = failure("http://models.invalid", vendor)
    assert outcome == "connection_failed"
    assert "does not resolve" in detail


@each_vendor
def test_a_refused_connection(vendor: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    outcome, detail = failure(f"http://127.0.0.1:{port}", vendor)
    assert outcome == "connection_failed"
    assert "refused the connection" in detail
    with pytest.raises(ProviderFault, match="refused the connection"):
        discover(Endpoint("gpu1", base_url=f"http://127.0.0.1:{port}"))


@each_vendor
def test_a_reset_before_the_answer_and_in_the_handshake(vendor: str) -> None:
    def before(connection: socket.socket) -> None:
        connection.recv(65536)
        reset(connection)

    def handshake(connection: socket.socket) -> None:
        connection.recv(100)
        reset(connection)

    with serving(before) as port:
        outcome, detail = failure(f"http://127.0.0.1:{port}", vendor)
    assert outcome == "stream_cut"
    assert "cut before the answer" in detail
    with serving(handshake) as port:
        outcome, detail = failure(f"https://127.0.0.1:{port}", vendor)
    assert outcome == "connection_failed"
    assert "TLS handshake" in detail


@each_vendor
def test_a_proxy_that_refuses(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

    with serving(serve) as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("no_proxy", "")
        outcome, detail = failure("https://models.invalid", vendor)
    assert outcome == "connection_failed"
    assert "proxy of the environment" in detail


def test_a_list_that_has_moved_names_its_target() -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 301 X\r\nLocation: https://a.example/v1?key=x\r\nContent-Length: 0\r\n\r\n")

    with serving(serve) as port, pytest.raises(ProviderFault, match=r"https://a\.example/v1:"):
        discover(Endpoint("gpu1", base_url=f"http://127.0.0.1:{port}"))
