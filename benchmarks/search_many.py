"""Many tables and many records in one embedded store: disk, memory, ingest, the time of a question.

``ASSAY_BENCH_TABLES`` (2,000) tables of ten records each, and ``ASSAY_BENCH_RECORDS`` (1,000,000) in one more.
Vectors are made up, of 32 dimensions in 384 (those of a model fill few too): all but the embedding is measured.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.search_cost import Random
from benchmarks.table import Line
from services.search.embed.port import Vectors
from services.search.store.edge import EdgeStore
from tests.services.search.service import MemorySearchService

_WORDS = np.array([f"word{number}" for number in range(20_000)])
_AT_ONCE = 50_000  # records of one ingest job
_QUESTIONS = 100
_LATENT = 32
_SPREAD = np.random.default_rng(3).standard_normal((_LATENT, 384), dtype=np.float32) / np.sqrt(_LATENT * 384)


class _Latent(Random):
    fingerprint = "latent/384"

    def documents(self, texts: object) -> Vectors:
        few = self._random.standard_normal((len(texts), _LATENT), dtype=np.float32)  # type: ignore[arg-type]
        vectors = few @ _SPREAD + 0.3 * super().documents(texts)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def lines() -> list[Line]:
    tables = int(os.environ.get("ASSAY_BENCH_TABLES", "2000"))
    records = int(os.environ.get("ASSAY_BENCH_RECORDS", "1000000"))
    with TemporaryDirectory(prefix="assay-bench-") as folder:
        store = EdgeStore(Path(folder))
        service = MemorySearchService(store, _Latent())
        names = [f"t{number}" for number in range(tables)]
        service.catalog.create("tenant", "c", {"talks": {}, **{name: {} for name in names}})
        out = [*_small(service, names), *_large(service, records), *_size(Path(folder), records)]
        store.close()
    return out


def _small(service: MemorySearchService, names: list[str]) -> Iterator[Line]:
    before, began = _memory(), time.perf_counter()
    for name in names:
        service.ingest(name, list(_records(10)))
    yield _told(f"{len(names):,} tables of ten records written", f"{time.perf_counter() - began:.1f} s")
    yield _told("  memory that they added", f"{(_memory() - before) / 2**20:.0f} MB")
    asked = [_asked(service, name) for name in names[:: max(len(names) // _QUESTIONS, 1)]]
    yield _told("  a question of one of them, p50 (p95)", _milliseconds(asked))


def _large(service: MemorySearchService, records: int) -> Iterator[Line]:
    began = time.perf_counter()
    for start in range(0, records, _AT_ONCE):
        service.ingest("talks", list(_records(min(_AT_ONCE, records - start), start)))
    seconds = time.perf_counter() - began
    yield _told(f"{records:,} records written, without embedding", f"{seconds:.0f} s, {records / seconds:.0f}/s")
    asked = [_asked(service, "talks") for _ in range(_QUESTIONS)]
    yield _told("  a question, p50 (p95)", _milliseconds(asked))
    began = time.perf_counter()
    service.ingest("talks", list(_records(1, records)))
    yield _told("  one record more", f"{time.perf_counter() - began:.2f} s")


def _size(folder: Path, records: int) -> Iterator[Line]:
    large = [path for path in folder.rglob("*") if ".talks." in str(path) and path.is_file()]
    used = sum(path.stat().st_blocks * 512 for path in large)
    yield _told("  disk", f"{used / 2**20:.0f} MB, {used / max(records, 1) / 1024:.1f} KB a record")
    yield _told("  memory of the process", f"{_memory() / 2**20:.0f} MB")


def _records(many: int, start: int = 0) -> Iterator[dict[str, object]]:
    words = _WORDS[np.random.default_rng(start).integers(0, len(_WORDS), (many, 44))]
    for number, said in enumerate(words.tolist(), start):
        yield {"id": f"r{number}", "name": " ".join(said[:4]), "text": " ".join(said[4:])}


def _asked(service: MemorySearchService, table: str) -> float:
    """Milliseconds of a whole search, by a plan that finds something."""
    text = " ".join(np.random.default_rng().choice(_WORDS, 5))
    plan = [{"table": table, "search_mode": "master", "query_text": text, "score_threshold": 0.0}]
    began = time.perf_counter()
    service.search(text, plan=plan)
    return (time.perf_counter() - began) * 1000


def _memory() -> int:
    """Bytes of the process's own; pages of mapped files are not counted, which the kernel can take back."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


def _milliseconds(asked: list[float]) -> str:
    return f"{statistics.median(asked):.1f} ({sorted(asked)[int(len(asked) * 0.95)]:.1f}) ms"


def _told(what: str, value: str) -> Line:
    return Line(what, value, "", 1.0, "", True)
