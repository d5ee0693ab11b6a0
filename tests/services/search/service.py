"""A search service in memory: words hashed to vectors, so that similarity is the share of common words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import JsonValue
from sqlalchemy import Connection

from services.search.embed.models import EmbeddingModels
from services.search.embed.port import Embedder, Vectors
from services.search.ingest import Ingest
from services.search.listing import Stored
from services.search.search import Search
from services.search.settings import SearchSettings
from services.search.store.port import VectorStore
from services.search.tables.catalog import CollectionInfo, Effect, Rewrite, TableStatistics
from services.search.tables.library import Library
from shared.contracts.search import (
    IngestInput,
    IngestResult,
    RecordsInput,
    RecordsResult,
    SearchInput,
    SearchResult,
    TableSpec,
)
from shared.errors import UnknownCollection
from tests.support.context import MemoryContext

_COMMON = {
    "a",
    "an",
    "the",
    "of",
    "to",
    "in",
    "for",
    "is",
    "and",
    "or",
    "on",
    "with",
    "about",
    "how",
    "what",
    "do",
    "i",
}


def _words(text: str) -> list[str]:
    """Words; every two signs of Japanese and Chinese."""
    pairs = [run[at : at + 2] for run in re.findall("[\u3040-\u9fff]{2,}", text) for at in range(len(run) - 1)]
    return pairs + re.findall(r"\w+", re.sub("[\u3040-\u9fff]", " ", text) if pairs else text)


class HashedWords:
    """An embedder whose similarity one can count: common words over all words."""

    def __init__(self, name: str = "hashed", size: int = 2048) -> None:
        self.size = size
        self.name = name
        self.embedded = 0

    @property
    def fingerprint(self) -> str:
        return f"{self.name}/{self.size}"

    def documents(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        out = np.zeros((len(texts), self.size), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in set(_words(text.lower())) - _COMMON:
                out[row, int(hashlib.md5(word.encode()).hexdigest(), 16) % self.size] += 1.0
            out[row] /= max(float(np.linalg.norm(out[row])), 1e-9)
        return out

    @property
    def most_tokens(self) -> int:
        return 256

    def tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(_words(text)) for text in texts]

    def query(self, text: str) -> Vectors:
        return np.asarray(self.documents([text])[0], dtype=np.float32)


class OneEmbeddingModel(EmbeddingModels):
    """The same embedder for every name; None is a service without one."""

    def __init__(self, embedder: Embedder | None) -> None:
        super().__init__("none", Path("unused"))
        self.embedder = embedder

    def named(self, name: str | None) -> Embedder | None:
        return self.embedder


@dataclass
class MemoryCatalog:
    collections: dict[tuple[str, str], CollectionInfo] = field(default_factory=dict)
    known: dict[tuple[str, str], TableStatistics] = field(default_factory=dict)
    kept_rewrites: list[Rewrite] = field(default_factory=list)
    kept_rows: list[Mapping[str, JsonValue]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def create(self, tenant: str, name: str, tables: Mapping[str, Any]) -> CollectionInfo:
        specs = {table: TableSpec.model_validate(spec) for table, spec in tables.items()}
        info = CollectionInfo(tenant, f"c{len(self.collections) + 1}", name, specs, None, {})
        self.collections[(tenant, name)] = info
        return info

    def find(self, tenant_id: str, name: str) -> CollectionInfo:
        info = self.collections.get((tenant_id, name))
        if info is None:
            raise UnknownCollection(f"there is no collection {name!r}")
        learned = {table: facts for (identity, table), facts in self.known.items() if identity == info.id}
        return CollectionInfo(tenant_id, info.id, info.name, info.tables, info.embedding, learned)

    def rewrites(self, tenant_id: str, collection_id: str) -> list[Rewrite]:
        return self.kept_rewrites

    def dropped(self) -> list[str]:
        return list(self.gone)

    def mark_swept(self, collection_id: str) -> None:
        self.gone.remove(collection_id)

    def save_statistics(self, tenant_id: str, collection_id: str, table: str, statistics: TableStatistics) -> Effect:
        return lambda connection: self.known.__setitem__((collection_id, table), statistics)

    def save_rewrite(self, tenant_id: str, collection_id: str, rewrite: Rewrite) -> Effect:
        return lambda connection: self.kept_rewrites.insert(0, rewrite)

    def save_attempts(self, rows: Sequence[Mapping[str, JsonValue]]) -> Effect:
        return lambda connection: self.kept_rows.extend(rows)


class MemorySearchService:
    """A service: collections, ingest, search."""

    def __init__(self, store: VectorStore, embedder: Embedder | None = None, **settings: Any) -> None:
        self.store = store
        self.catalog = MemoryCatalog()
        self.models = OneEmbeddingModel(embedder)
        self.library = Library(store, self.models, self.catalog, SearchSettings(**settings))
        self._search = Search(self.library)
        self._ingest = Ingest(self.library)

    def ingest(self, table: str, records: Any = None, job: MemoryContext | None = None, **more: Any) -> IngestResult:
        wanted = IngestInput.model_validate({"collection": "c", "table": table, "records": records, **more})
        held = job or MemoryContext()
        result = self._ingest(held.context("ingest"), wanted)
        _complete(held)
        return result

    def records(self, table: str, **more: Any) -> RecordsResult:
        wanted = RecordsInput.model_validate({"collection": "c", "table": table, **more})
        return Stored(self.library)(MemoryContext().context("records"), wanted)

    def search(self, question: str, job: MemoryContext | None = None, **more: Any) -> SearchResult:
        wanted = SearchInput.model_validate({"collection": "c", "question": question, **more})
        held = job or MemoryContext()
        result = self._search(held.context("search"), wanted)
        _complete(held)
        return result


def _complete(job: MemoryContext) -> None:
    """Apply the effects, as the completing transaction would."""
    for effect in job.report.effects:
        effect(_NO_CONNECTION)


_NO_CONNECTION: Connection = object()  # type: ignore[assignment]  # the memory catalog needs none
