"""A git server on loopback: real smart HTTP over TLS, by git's own CGI program."""

from __future__ import annotations

import os
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.services.stacks.trees import as_bytes


@dataclass
class GitServer:
    root: Path
    port: int
    ca_file: Path
    host: str = "127.0.0.1"
    redirect: str | None = None
    requests: list[str] = field(default_factory=list)

    def url(self, name: str) -> str:
        return f"https://{self.host}:{self.port}/{name}/.git"


def git(folder: Path, *arguments: str, stdin: str | None = None) -> str:
    environment = {
        **os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c",
    }  # fmt: skip
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True, env=environment, input=stdin
    ).stdout


def commit(folder: Path, files: Mapping[str, object], message: str = "change") -> str:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(as_bytes(content))
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def new_repository(root: Path, name: str) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    (folder / ".git" / "git-daemon-export-ok").touch()
    return folder


def certificate(folder: Path, host: str = "localhost") -> tuple[Path, Path]:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         f"subjectAltName=DNS:{host},IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, certificate


@contextmanager
def git_server(folder: Path, address: str = "127.0.0.1", host: str | None = None) -> Iterator[GitServer]:
    """``host`` is the name that URLs have for the address."""
    root = folder / "repositories"
    root.mkdir()
    key, public = certificate(folder, host or "localhost")
    backend = (
        Path(subprocess.run(["git", "--exec-path"], check=True, capture_output=True, text=True).stdout.strip())
        / "git-http-backend"
    )

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            if self.headers.get("Transfer-Encoding") == "chunked":
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.answer(body)

        def answer(self, body: bytes) -> None:
            server.requests.append(self.path)
            if server.redirect is not None:
                self.send_response(301)
                self.send_header("Location", server.redirect + self.path)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            parts = urlsplit(self.path)
            environment = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(root), "PATH_INFO": parts.path, "QUERY_STRING": parts.query,
                "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "CONTENT_LENGTH": str(len(body)), "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            }  # fmt: skip
            output = subprocess.run(
                [str(backend)], input=body, capture_output=True, env=environment, check=False
            ).stdout
            head, _, content = output.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            self.send_response(int(headers.pop("Status", "200").split()[0]))
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            return

    listener = ThreadingHTTPServer((address, 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, key)
    listener.socket = context.wrap_socket(listener.socket, server_side=True)
    server = GitServer(root, listener.server_address[1], public, host or address)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
