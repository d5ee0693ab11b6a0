"""What vendors keep of prompts and bill for less: what has a mark (Anthropic), or what begins alike (the others)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

_CHARACTERS = 4  #: of a token
_STEP = 128  #: tokens by which a beginning grows that is kept without a mark
_MARK = "cache_control"


class PromptCache:
    """The prompts of one script; ``least``: tokens of the shortest beginning that is kept."""

    def __init__(self, least: int) -> None:
        self._least = least
        self._kept: set[str] = set()

    def take(self, body: Mapping[str, Any], marked: bool) -> tuple[int, int]:
        """Return the tokens of the prompt read from the cache, and those written to it because of a mark."""
        ends = list(_marked_ends(body) if marked else self._ends(body))
        read = max((tokens for tokens, digest, _ in ends if digest in self._kept), default=0)
        kept = [(tokens, digest) for tokens, digest, keep in ends if keep and tokens >= self._least]
        self._kept |= {digest for _, digest in kept}
        written = max((tokens for tokens, _ in kept), default=0) if marked else 0
        return read, max(0, written - read)

    def _ends(self, body: Mapping[str, Any]) -> Iterator[tuple[int, str, bool]]:
        text = "".join(text for text, _ in _blocks(body))
        for tokens in range(self._least, len(text) // _CHARACTERS + 1, _STEP):
            yield tokens, _digest(text[: tokens * _CHARACTERS]), True


def _marked_ends(body: Mapping[str, Any]) -> Iterator[tuple[int, str, bool]]:
    """Yield each block's end in tokens, its digest, and whether it is marked."""
    whole = ""
    for text, marked in _blocks(body):
        whole += text
        yield len(whole) // _CHARACTERS, _digest(whole), marked


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Tools, then the system's words, then the messages part by part; and whether each is marked."""
    system = body.get("system")
    yield from map(_block, body.get("tools") or ())
    yield from map(_block, system if isinstance(system, list) else [system] if system else ())
    for message in body["messages"]:
        content = message.get("content")
        yield from map(_block, content if isinstance(content, list) else [content or ""])
        yield from map(_block, message.get("tool_calls") or ())


def _block(part: object) -> tuple[str, bool]:
    if not isinstance(part, dict):
        return str(part), False
    text = part.get("text")
    plain = {name: value for name, value in part.items() if name != _MARK}
    return text if isinstance(text, str) else json.dumps(plain), _MARK in part


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
