"""`assay doc preview`: the page of a document in a browser, rendered again whenever the document is saved."""

from __future__ import annotations

import html
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from assay.calls import files, jobs
from assay.commands.session import CommandLine, UsageError
from assay.errors import APIError
from shared.amounts import amount

_LOOK_SECONDS = 0.3
_PATIENCE = 600.0
_SHELL = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style nonce="{nonce}">
html,body{{margin:0;height:100%}}body{{display:flex;flex-direction:column;font:14px system-ui,sans-serif}}
#state{{padding:.3rem .8rem;background:#eee;color:#222;border-bottom:1px solid #ccc}}
#state.wrong{{background:#fbe3e3}}iframe{{flex:1;border:0}}</style></head><body>
<div id="state" role="status"></div><iframe sandbox title="{title}"></iframe>
<script nonce="{nonce}">
let shown = -1;
const state = document.getElementById("state"), frame = document.querySelector("iframe");
async function look() {{
  try {{
    const answer = await (await fetch("state")).json();
    state.textContent = answer.text;
    state.className = answer.wrong ? "wrong" : "";
    if (answer.version !== shown) {{ shown = answer.version; frame.src = "page?" + shown; }}
  }} catch {{
    state.textContent = "The preview has ended.";
    state.className = "wrong";
  }}
  setTimeout(look, {every});
}}
look();
</script></body></html>"""


@dataclass
class Preview:
    """The preview's content: the newest page, and the outcome of the newest run."""

    title: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    page: bytes = b""
    version: int = 0
    text: str = "running"
    wrong: bool = False

    def show(self, page: bytes | None, text: str, *, wrong: bool) -> None:
        self.text, self.wrong = text, wrong
        if page is not None:
            self.page, self.version = page, self.version + 1


def watch(session: CommandLine, watched: Sequence[Path], port: int, input: Callable[[], Mapping[str, Any]]) -> None:
    """Serve the page on this machine until an interrupt; ``input`` returns the job's input, read again for each run."""
    preview = Preview(watched[0].name)
    server = ThreadingHTTPServer(("127.0.0.1", port), handler_of(preview))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/{preview.token}/"
    session.show({"url": address}, lambda shown: str(shown["url"]))
    session.say("rendered again when the document is saved; press Ctrl-C to stop")
    previous: str | None = None
    seen: list[int] = []
    try:
        while True:
            now = [_changed_at(path) for path in watched]
            if now != seen:
                seen = now
                previous = _made(session, preview, input, previous)
            time.sleep(_LOOK_SECONDS)
    finally:
        server.shutdown()
        server.server_close()


def _changed_at(path: Path) -> int:
    """0 while an editor replaces it."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _made(
    session: CommandLine, preview: Preview, input: Callable[[], Mapping[str, Any]], previous: str | None
) -> str | None:
    """Run the job, update the preview, and return the job that the next one builds on."""
    preview.text = "running"
    try:
        given = {**input(), **({} if previous is None else {"previous_job_id": previous})}
        job = session.client.submit("document", given)
        job.result(_PATIENCE)
        result = session.client.fetch(jobs.result(job.id))
    except (APIError, OSError, UsageError) as error:
        preview.show(None, f"not made: {error}", wrong=True)
        session.warn(f"assay: {error}")
        return previous
    messages = (message for block in result["blocks"] for message in block["messages"])
    wrong = [message["text"] for message in messages if message["level"] == "error"]
    page = session.client.send(files.content(result["html_file_id"]))
    state = f"{amount(len(wrong), 'error')}: {wrong[0][:200]}" if wrong else f"made at {time.strftime('%H:%M:%S')}"
    preview.show(page, state, wrong=bool(wrong))
    session.say(state)
    return job.id


def handler_of(preview: Preview) -> type[BaseHTTPRequestHandler]:
    """Return a handler that answers only with the right token, and only under the names of this machine."""

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "assay", ""

        def do_GET(self) -> None:
            host = (self.headers.get("Host") or "").rpartition(":")[0]
            token, _, wanted = self.path.lstrip("/").partition("/")
            if host not in ("127.0.0.1", "localhost") or not secrets.compare_digest(token, preview.token):
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"", "default-src 'none'")
            elif wanted == "":
                self._shell()
            elif wanted == "state":
                state = {"version": preview.version, "text": preview.text, "wrong": preview.wrong}
                self._answer(HTTPStatus.OK, "application/json", json.dumps(state).encode(), "default-src 'none'")
            elif wanted.partition("?")[0] == "page":
                policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox"
                self._answer(HTTPStatus.OK, "text/html; charset=utf-8", preview.page, policy)
            else:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"", "default-src 'none'")

        def _shell(self) -> None:
            nonce = secrets.token_urlsafe(12)
            title = html.escape(preview.title)
            text = _SHELL.format(title=title, nonce=nonce, every=int(_LOOK_SECONDS * 1000))
            policy = (
                f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
                "frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
            )
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", text.encode(), policy)

        def _answer(self, status: HTTPStatus, media_type: str, body: bytes, policy: str) -> None:
            self.send_response(status)
            for name, value in (
                ("Content-Type", media_type), ("Content-Length", str(len(body))), ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                ("Content-Security-Policy", policy),
            ):  # fmt: skip
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing: the terminal is for the document."""

    return Handler
