"""Token counts by the server's own tokenizer: requested once per text, and only where an estimate is not enough."""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from threading import Lock
from typing import Any

from shared.llm.chat import ChatRequest
from shared.llm.discovery import bounded
from shared.llm.tokens import IMAGE, MESSAGE, prompt_tokens, tokens_of, tool_text
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.transport import tls

_NEAR = 0.6  #: of the window: an estimate below it fits, however it is counted
_SECONDS = 2.0  #: for a text
_PAUSE = 60.0  #: seconds for which a server that did not answer is not called
_SHORT, _LONG = 120, 400_000  #: characters of texts that are worth counting by the server
_CAREFUL, _LEAST, _MOST = 1.1, 0.4, 3.0  #: what is learned of one text holds for others about, and within bounds
_KEPT = 2000  #: texts whose counts are remembered


class TokenCounter:
    """The tokenizer of one endpoint; safe to use from many threads."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()
        self._client: Any = None
        self._paused_until = 0.0
        self._scales: dict[str, float] = {}  #: of each model: what its refusals counted, to an estimated token

    def prompt(self, request: ChatRequest, model: str, window: int) -> int:
        """Return the prompt's tokens: by the server's tokenizer when they may be too many, else a high estimate."""
        estimate = prompt_tokens(request)
        if self._endpoint.tokenizer is None:
            return int(estimate * self._scales.get(model, 1.0))
        if estimate < _NEAR * window:
            return estimate
        around = sum(MESSAGE + IMAGE * len(message.images) for message in request.messages)
        counts = [self._count(text, model) for text in _texts(request)]
        return around + MESSAGE * len(request.tools) + sum(counts)

    def refused(self, request: ChatRequest, model: str, counted: int) -> None:
        """Learn the scale from a prompt that the server refused as too long, with the server's count."""
        self._scales[model] = min(max(_CAREFUL * counted / prompt_tokens(request), _LEAST), _MOST)

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _count(self, text: str, model: str) -> int:
        if not _SHORT <= len(text) <= _LONG:
            return tokens_of(text)
        digest = hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            if (known := self._counts.get(digest)) is not None:
                self._counts.move_to_end(digest)
                return known
        counted = self._ask(text, model)
        if counted is None:
            return tokens_of(text)
        with self._lock:
            self._counts[digest] = counted
            while len(self._counts) > _KEPT:
                self._counts.popitem(last=False)
        return counted

    def _ask(self, text: str, model: str) -> int | None:
        """Return the server's count; None when it does not answer, and then it is not called for a while."""
        import httpx  # noqa: PLC0415

        if time.monotonic() < self._paused_until:
            return None
        counted = None
        body = {"content": text} if self._endpoint.tokenizer == "llama.cpp" else {"model": model, "prompt": text}
        with suppress(httpx.HTTPError, ValueError, RuntimeError):  # RuntimeError: closed meanwhile
            with self._http().stream("POST", f"{self._endpoint.root}/tokenize", json=body) as response:
                answer = json.loads(b"".join(bounded(response.iter_bytes()))) if response.status_code == 200 else None
            counted = count_of(answer)
        if counted is None:
            self._paused_until = time.monotonic() + _PAUSE
        return counted

    def _http(self) -> Any:  # noqa: ANN401 - httpx is imported late
        import httpx  # noqa: PLC0415

        with self._lock:
            if self._client is None:
                key = self._endpoint.api_key
                headers = {"Authorization": f"Bearer {key}"} if key else {}
                self._client = httpx.Client(
                    headers=headers, timeout=_SECONDS, follow_redirects=False, verify=tls(httpx)
                )
            return self._client


def count_of(answer: object) -> int | None:
    """Return the count in an answer to ``POST /tokenize``: vLLM reports it, llama.cpp lists the tokens."""
    if not isinstance(answer, dict):
        return None
    said, listed = answer.get("count"), answer.get("tokens")
    if isinstance(said, int) and not isinstance(said, bool) and said >= 0:
        return said
    return len(listed) if isinstance(listed, list) else None


def _texts(request: ChatRequest) -> Iterator[str]:
    for message in request.messages:
        yield message.content
    for tool in request.tools:
        yield tool_text(tool)
