"""`assay api`: any request."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from assay.commands.run import pair, text_of
from assay.commands.session import UsageError, current


def api(
    method: str,
    path: Annotated[str, Parameter(help="For example /v1/jobs?limit=5")],
    *,
    body: Annotated[
        str | None,
        Parameter(name=["-d", "--body"], help="JSON, @FILE, or - for standard input", allow_leading_hyphen=True),
    ] = None,
    header: Annotated[Sequence[str], Parameter(name=["-H", "--header"], help="NAME=VALUE", negative="")] = (),
    include: Annotated[bool, Parameter(name=["-i", "--include"], help="Show status and headers", negative="")] = False,
) -> int:
    """Send any request to the API and print the answer."""
    if not path.startswith("/"):
        path = f"/{path}"
    session = current()
    reply = session.client.request(method, path, json=_body(body), headers=dict(pair(each) for each in header))
    if include:
        lines = [f"HTTP {reply.status}", *(f"{name}: {value}" for name, value in reply.headers.items())]
        session.warn("\n".join(lines))
    if reply.body:
        sys.stdout.flush()
        sys.stdout.buffer.write(reply.body if reply.body.endswith(b"\n") else reply.body + b"\n")
        sys.stdout.buffer.flush()
    return 0


def _body(text: str | None) -> Any:
    if text is None:
        return None
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        text = text_of(Path(text[1:]))
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"the body is not JSON: {error}") from error
