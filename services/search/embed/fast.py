"""Embeddings of the package ``fastembed`` (an extra; it downloads its models)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from services.search.embed.port import Vectors, unit
from shared.errors import EmbeddingUnavailable


class _TextEmbedding(Protocol):
    def embed(self, documents: Sequence[str]) -> Iterable[Vectors]: ...
    def query_embed(self, query: str) -> Iterable[Vectors]: ...


class FastEmbedder:
    """A model of fastembed's list."""

    def __init__(self, model: str, cache: Path) -> None:
        try:
            from fastembed import TextEmbedding  # noqa: PLC0415
        except ImportError:
            raise EmbeddingUnavailable(
                "the package fastembed is not installed on the search worker: install assay[fastembed]"
            ) from None
        try:
            self._model = cast(_TextEmbedding, TextEmbedding(model, cache_dir=str(cache)))
        except Exception:  # its own errors name paths and hosts
            raise EmbeddingUnavailable(f"fastembed could not load the model {model!r}") from None
        self._name = model

    @property
    def fingerprint(self) -> str:
        return f"fastembed/{self._name}"

    def documents(self, texts: Sequence[str]) -> Vectors:
        return unit(np.array(list(self._model.embed(texts)), dtype=np.float32))

    def query(self, text: str) -> Vectors:
        return np.asarray(unit(np.array(list(self._model.query_embed(text)), dtype=np.float32))[0], dtype=np.float32)
