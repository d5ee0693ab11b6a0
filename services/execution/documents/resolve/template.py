"""A message with ``{{ names }}``: what is a template in it, and what comes of it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

from services.execution.documents.parse.inline import spans_of
from services.execution.documents.resolve.renderer import Renderer, Seen

Fetch = Callable[[list[str], list[str]], Mapping[str, Seen]]  #: the names, and those of which more rows are wanted


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


def render(renderer: Renderer, text: str, fetch: Fetch) -> tuple[str, list[str]]:
    """The message with its values, rendered once, and the figures in it; code spans stay as they are.

    Raises: NotRendered.
    """
    mark = _mark()
    source, spans = _without_spans(text, mark)
    with renderer.fork() as fork:
        rendered, figures = fork.fill(fetch(*fork.names(source)))
    for number, span in enumerate(spans):
        rendered = rendered.replace(f"{mark}{number}_", span)
    # Neither half of a surrogate pair nor NUL is a text to the models' providers.
    return rendered.encode("utf-8", "replace").decode().replace("\x00", "\u2400"), figures


def _mark() -> str:
    return f"span{secrets.token_hex(8)}n"
