"""The embedder port: what turns texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]  #: [texts, size], each row of length 1


class Embedder(Protocol):
    """One embedding model; its vectors never mix with another's."""

    @property
    def fingerprint(self) -> str:
        """Names the model and everything that changes its vectors; kept with what was embedded."""
        ...

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Embed documents. Raises: EmbeddingUnavailable."""
        ...

    def query(self, text: str) -> Vectors | None:
        """Return one question, as a vector [size]; None when the model knows no word of it. Raises:
        EmbeddingUnavailable.
        """
        ...


@runtime_checkable
class Tokenizes(Protocol):
    """An embedder whose tokenizer is at hand."""

    @property
    def most_tokens(self) -> int:
        """Tokens of a text that the model reads, its own special ones included."""
        ...

    def tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, up to ``most_tokens``."""
        ...


def unit(vectors: Vectors) -> Vectors:
    """Return the vectors scaled to length 1; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
