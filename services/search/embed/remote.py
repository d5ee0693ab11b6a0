"""Embeddings of any server with OpenAI's ``/v1/embeddings``."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import httpx2
import numpy as np

from services.search.embed.port import Vectors, unit
from shared.errors import EmbeddingUnavailable
from shared.llm.chat import ChainLink, Meter, TokenUsage

_BATCH = 128
_RETRIES = 2
_ROLE = "search.embed"  #: in the ledger of model calls
_FAILURES_UNTIL_OPEN, _OPEN_SECONDS = 5, 60.0


class RemoteEmbedder:
    """One model of one server; after five failures in a row it gets no requests for a minute."""

    def __init__(self, model: str, base_url: str, api_key: str, timeout: float = 10.0) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.Client(base_url=base_url.rstrip("/") + "/", headers=headers, timeout=timeout)
        self._model = model
        self._failures = 0
        self._open_until = 0.0
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        return f"openai/{self._model}"

    def metered(self, meter: Meter) -> MeteredEmbedder:
        """Return the same for one job, which pays."""
        return MeteredEmbedder(self, meter)

    def documents(self, texts: Sequence[str], meter: Meter | None = None) -> Vectors:
        parts = [self._request(list(texts[start : start + _BATCH]), meter) for start in range(0, len(texts), _BATCH)]
        return unit(np.concatenate(parts)) if parts else np.empty((0, 0), dtype=np.float32)

    def query(self, text: str, meter: Meter | None = None) -> Vectors:
        return np.asarray(unit(self._request([text], meter))[0], dtype=np.float32)

    def _request(self, texts: list[str], meter: Meter | None) -> Vectors:
        link = ChainLink("openai", self._model)
        if meter is not None:
            meter.admit(link)
        if time.monotonic() < self._open_until:
            raise EmbeddingUnavailable("the embedding server failed repeatedly and is left alone for a minute")
        for attempt in range(_RETRIES + 1):
            began = time.monotonic()
            try:
                vectors, usage = self._once(texts)
            except (httpx2.TransportError, httpx2.HTTPStatusError, ValueError, KeyError, TypeError) as fault:
                if not self._may_retry(fault, attempt):
                    raise EmbeddingUnavailable(f"the embedding server does not serve: {_reason(fault)}") from None
            else:
                self._failures = 0
                if meter is not None:
                    meter.spend(link, _ROLE, usage, time.monotonic() - began)
                return vectors
        raise AssertionError("the last try returns or raises")

    def _once(self, texts: list[str]) -> tuple[Vectors, TokenUsage]:
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        answer = self._client.post("embeddings", json=body)
        answer.raise_for_status()
        content = answer.json()
        rows = sorted(content["data"], key=lambda row: row["index"])
        vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise ValueError("the number of vectors differs from that of texts, or they are not finite")
        tokens = content.get("usage", {}).get("total_tokens")
        return vectors, TokenUsage(tokens if isinstance(tokens, int) else None, 0)

    def _may_retry(self, fault: Exception, attempt: int) -> bool:
        """Count the failure; whether the request may be retried."""
        with self._lock:
            self._failures += 1
            if self._failures >= _FAILURES_UNTIL_OPEN:
                self._open_until = time.monotonic() + _OPEN_SECONDS
                self._failures = 0
                return False
        return attempt < _RETRIES and _is_transient(fault)


class MeteredEmbedder:
    """A remote model whose tokens are those of one job."""

    def __init__(self, remote: RemoteEmbedder, meter: Meter) -> None:
        self._remote = remote
        self._meter = meter

    @property
    def fingerprint(self) -> str:
        return self._remote.fingerprint

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Embed documents. Raises: EmbeddingUnavailable, BudgetSpent, QuotaExceeded, ModelNotAllowed."""
        return self._remote.documents(texts, self._meter)

    def query(self, text: str) -> Vectors:
        """Embed a question. Raises: as ``documents``."""
        return self._remote.query(text, self._meter)


def _is_transient(fault: Exception) -> bool:
    """Return whether the same request may succeed a moment later."""
    if isinstance(fault, httpx2.HTTPStatusError):
        status = fault.response.status_code
        return status in (408, 409, 429) or status >= 500
    return isinstance(fault, httpx2.TransportError)


def _reason(fault: Exception) -> str:
    if isinstance(fault, httpx2.HTTPStatusError):
        return f"status {fault.response.status_code}"
    if isinstance(fault, httpx2.TimeoutException):
        return "no answer in time"
    return "no connection" if isinstance(fault, httpx2.TransportError) else "an answer that cannot be read"
