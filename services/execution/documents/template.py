"""A message with ``{{ names }}`` and the child process that fills them in."""

from __future__ import annotations

import json
import os
import secrets
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from services.execution.documents.inline import spans_of

_SCRIPT = Path(__file__).with_name("rendering.py")
_STARTS_WITHIN, _ANSWERS_WITHIN = 30.0, 4.0  #: seconds; the child's own limit on the processor is lower
_MOST_BYTES = 4_000_000

Seen = Mapping[str, JsonValue]  #: a value as the child gets it
Fetch = Callable[[list[str], list[str]], Mapping[str, Seen]]  #: the names, and those of which more rows are wanted


class NotRendered(Exception):
    """Why a message could not be filled in, in plain words."""


def asks(text: str) -> bool:
    """Whether a message holds ``{{`` and ``}}`` outside of its code spans."""
    return _asks(_without_spans(text, "")[0])


def _asks(text: str) -> bool:
    return "{{" in text and "}}" in text


def _without_spans(text: str, mark: str) -> tuple[str, list[str]]:
    if "`" not in text:
        return text, []
    parts: list[str] = []
    spans: list[str] = []
    at = 0
    for start, end in spans_of(text):
        parts += [text[at:start], f"{mark}{len(spans)}_" if mark else ""]
        spans.append(text[start:end])
        at = end
    return "".join([*parts, text[at:]]), spans


def render(text: str, fetch: Fetch) -> tuple[str, list[str]]:
    """The message with its values, rendered once, and the figures in it; code spans stay as they are.

    Raises: NotRendered.
    """
    mark = _mark()
    source, spans = _without_spans(text, mark)
    with Child() as child:
        rendered, figures = child.fill(fetch(*child.names(source)))
    for number, span in enumerate(spans):
        rendered = rendered.replace(f"{mark}{number}_", span)
    # Neither half of a surrogate pair nor NUL is a text to the models' providers.
    return rendered.encode("utf-8", "replace").decode().replace("\x00", "\u2400"), figures


def _mark() -> str:
    return f"span{secrets.token_hex(8)}n"


@dataclass
class Child:
    """One process for one template."""

    buffer: bytes = b""
    listens: bool = False

    def __enter__(self) -> Child:
        command = [sys.executable, "-I", str(_SCRIPT)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"LANG": "C.UTF-8", "PYTHONUTF8": "1"},
            close_fds=True,
        )
        return self

    def __exit__(self, *_error: object) -> None:
        process = self._process
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        process.wait()

    def ready(self) -> None:
        """Wait until it listens. Raises: NotRendered."""
        if not self.listens:
            self._hear(_STARTS_WITHIN)
            self.listens = True

    def names(self, source: str) -> tuple[list[str], list[str]]:
        self.ready()
        answer = self._ask({"source": source})
        return _texts(answer.get("names")), _texts(answer.get("whole"))

    def fill(self, values: Mapping[str, Seen]) -> tuple[str, list[str]]:
        answer = self._ask({"values": {name: dict(seen) for name, seen in values.items()}})
        return str(answer["text"]), _texts(answer.get("figures"))

    def _ask(self, message: Mapping[str, object]) -> Mapping[str, JsonValue]:
        body = json.dumps(message).encode("utf-8", "replace") + b"\n"
        if self._process.stdin is None or len(body) > 8 * _MOST_BYTES:
            raise NotRendered("its values are too large")
        try:
            self._process.stdin.write(body)
            self._process.stdin.flush()
        except OSError:
            raise NotRendered("it takes too much time or memory") from None
        answer = self._hear(_ANSWERS_WITHIN)
        if "error" in answer:
            raise NotRendered(str(answer["error"]))
        return answer

    def _hear(self, seconds: float) -> Mapping[str, JsonValue]:
        """The child's next line. Raises: NotRendered."""
        pipe = self._process.stdout
        ends = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            left = ends - time.monotonic()
            if pipe is None or left <= 0 or len(self.buffer) > _MOST_BYTES:
                raise NotRendered("it takes too long")
            if select.select([pipe], [], [], left)[0]:
                part = os.read(pipe.fileno(), 1 << 16)
                if not part:
                    raise NotRendered("it takes too much time or memory")
                self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\n")
        answer: Mapping[str, JsonValue] = json.loads(line)
        return answer


def _texts(given: JsonValue) -> list[str]:
    return [str(one) for one in given] if isinstance(given, list) else []
