"""Qdrant's embedded engine: no server, one owning process, one shard folder per bucket."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge

from services.search.embed.port import Vectors
from services.search.queries.filters import Conditions
from services.search.store import edge_filters
from services.search.store.port import (
    LENGTH,
    LONGEST,
    Bucket,
    Layout,
    NearestQuery,
    Payload,
    Point,
    ScoredPoint,
    Sparse,
    SparseName,
)
from shared.contracts.search import FieldType
from shared.errors import EmbeddingChanged, SearchStoreUnavailable

_PAGE = 500
_LAYOUT = "layout.json"
#: Below this many points a plain scan is as fast as an index, and building one would block for seconds.
_INDEX_FROM = 50_000
#: Shards that are open at once. Each takes two dozen memory maps, of which Linux gives a process 65,530; opening one
#: takes some 5 ms.
_MAX_OPEN = 64
#: The engine starts a pool for each shard, and searches no faster with more.
_SEARCH_THREADS = 1


class EdgeStore:
    """Every bucket under ``folder``, which only one process may use at a time."""

    def __init__(self, folder: Path, most_open: int = _MAX_OPEN) -> None:
        self._folder = folder
        self._owner = _own(folder)
        self._most_open = most_open
        self._shards: OrderedDict[Bucket, edge.EdgeShard] = OrderedDict()  # the longest unused first
        parsed = (Bucket.parse(path.name) for path in folder.iterdir() if path.is_dir())
        self._buckets = dict.fromkeys(bucket for bucket in parsed if bucket is not None)
        self._lock = threading.RLock()
        self.concurrent = False  # measured: threads make the engine no faster

    def ensure(self, bucket: Bucket, layout: Layout) -> None:
        with self._lock:
            existing = self.layout(bucket)
            if existing is None:
                self._create(bucket, layout)
            elif (existing.fingerprint, existing.size) != (layout.fingerprint, layout.size):
                raise EmbeddingChanged(f"the table {bucket.table!r} holds vectors of {existing.fingerprint}")
            elif existing.fields != layout.fields:
                self._index(bucket, layout)
            elif existing != layout:
                self._write_layout(bucket, layout)

    def layout(self, bucket: Bucket) -> Layout | None:
        try:
            return Layout(**json.loads((self._path(bucket) / _LAYOUT).read_text()))
        except FileNotFoundError:
            return None

    def upsert(self, bucket: Bucket, points: Sequence[Point]) -> None:
        if points:
            self._update(bucket, edge.UpdateOperation.upsert_points([_point(point) for point in points]))

    def replace_sparse(self, bucket: Bucket, vectors: Mapping[str, tuple[Sparse, ...]]) -> None:
        with self._lock:
            present = self.payloads(bucket, list(vectors), ["record"])  # a missing one would fail the whole update
            changed = [edge.PointVectors(point_id, _named(vectors[point_id])) for point_id in present]
            if changed:
                self._update(bucket, edge.UpdateOperation.update_vectors(changed))

    def total_length(self, bucket: Bucket) -> int:
        with self._lock:
            shard = self._shard(bucket)
            if shard is None:
                return 0
            counted = _guarded(lambda: shard.facet(edge.FacetRequest(LENGTH, limit=LONGEST, exact=True)))
        return sum(int(hit.value) * int(hit.count) for hit in counted.hits)

    def payloads(self, bucket: Bucket, ids: Sequence[str], keys: Sequence[str]) -> dict[str, Payload]:
        with self._lock:
            shard = self._shard(bucket)
            if shard is None or not ids:
                return {}
            records = _guarded(lambda: shard.retrieve(list(ids), with_payload=list(keys), with_vector=False))
            return {str(record.id): record.payload or {} for record in records}

    def vectors(self, bucket: Bucket, ids: Sequence[str]) -> Vectors:
        with self._lock:
            shard = self._shard(bucket)
            if shard is None or not ids:
                return np.empty((0, 0), dtype=np.float32)
            records = _guarded(lambda: shard.retrieve(list(ids), with_payload=False, with_vector=["dense"]))
        rows = [record.vector["dense"] for record in records if record.vector and "dense" in record.vector]
        return np.array(rows, dtype=np.float32)

    def page(
        self, bucket: Bucket, after: str | None, limit: int, conditions: Conditions = ()
    ) -> tuple[list[Payload], str | None]:
        with self._lock:
            shard = self._shard(bucket)
            if shard is None:
                return [], None
            only = edge_filters.translate(conditions)
            request = edge.ScrollRequest(offset=after, limit=limit, filter=only, with_payload=True, with_vector=False)
            records, offset = _guarded(lambda: shard.scroll(request))
        return [record.payload or {} for record in records], None if offset is None else str(offset)

    def every_payload(self, bucket: Bucket, conditions: Conditions = ()) -> Iterator[list[Payload]]:
        offset: str | None = None
        while True:
            payloads, offset = self.page(bucket, offset, _PAGE, conditions)
            yield payloads
            if offset is None:
                return

    def delete(self, bucket: Bucket, ids: Sequence[str]) -> None:
        if ids:
            self._update(bucket, edge.UpdateOperation.delete_points(list(ids)))

    def delete_where(self, bucket: Bucket, conditions: Conditions) -> None:
        chosen = edge_filters.translate(conditions)
        assert chosen is not None, "a delete without conditions would take everything"
        self._update(bucket, edge.UpdateOperation.delete_points_by_filter(chosen))

    def search(self, bucket: Bucket, searches: Sequence[NearestQuery]) -> list[list[ScoredPoint]]:
        with self._lock:
            shard = self._shard(bucket)
            if shard is None:
                return [[] for _ in searches]
            batch = edge.QueryBatchRequest([_request(search) for search in searches])
            answers = _guarded(lambda: shard.query_batch(batch))
        return [[_scored(point) for point in answer] for answer in answers]

    def count(self, bucket: Bucket, conditions: Conditions = ()) -> int:
        with self._lock:
            shard = self._shard(bucket)
            if shard is None:
                return 0
            return int(_guarded(lambda: shard.count(edge.CountRequest(filter=edge_filters.translate(conditions)))))

    def values(self, bucket: Bucket, name: str, kind: FieldType, limit: int) -> list[tuple[str | int | bool, int]]:
        with self._lock:
            shard = self._shard(bucket)
            if shard is None:
                return []
            key = f"flags.{name}" if kind == "bool" else f"fields.{name}"
            counted = _guarded(lambda: shard.facet(edge.FacetRequest(key, limit=limit, exact=False)))
        hits = [(hit.value == "true" if kind == "bool" else hit.value, int(hit.count)) for hit in counted.hits]
        return sorted(hits, key=lambda hit: -hit[1])

    def settle(self, bucket: Bucket) -> None:
        with self._lock:
            shard = self._shard(bucket)
            if shard is None:
                return
            _guarded(shard.flush)
            if self.count(bucket) >= _INDEX_FROM:
                _guarded(shard.optimize)
                _return_memory()

    def drop(self, bucket: Bucket) -> None:
        with self._lock:
            shard = self._shards.pop(bucket, None)
            if shard is not None:
                _guarded(shard.close)
            shutil.rmtree(self._path(bucket), ignore_errors=True)
            self._buckets.pop(bucket, None)

    def buckets(self) -> list[Bucket]:
        with self._lock:
            return list(self._buckets)

    def close(self) -> None:
        with self._lock:
            for shard in self._shards.values():
                shard.close()
            self._shards.clear()
            os.close(self._owner)

    def _path(self, bucket: Bucket) -> Path:
        return self._folder / bucket.name

    def _shard(self, bucket: Bucket) -> edge.EdgeShard | None:
        """Return the open shard; None when the bucket is not there."""
        if bucket in self._shards:
            self._shards.move_to_end(bucket)
            return self._shards[bucket]
        layout = self.layout(bucket)
        return None if layout is None else self._load(bucket, layout)

    def _load(self, bucket: Bucket, layout: Layout) -> edge.EdgeShard:
        path, config = str(self._path(bucket)), _config(layout)
        return self._keep(bucket, _guarded(lambda: edge.EdgeShard.load(path, config)))

    def _keep(self, bucket: Bucket, shard: edge.EdgeShard) -> edge.EdgeShard:
        """Keep the shard open, and close those beyond the bound; their log holds what was not flushed."""
        self._shards[bucket] = shard
        while len(self._shards) > self._most_open:
            _, unused = self._shards.popitem(last=False)
            _guarded(unused.close)
        return shard

    def _create(self, bucket: Bucket, layout: Layout) -> None:
        path = self._path(bucket)
        shutil.rmtree(path, ignore_errors=True)  # left by a crash before the layout was written
        path.mkdir()
        self._buckets[bucket] = None
        self._keep(bucket, _guarded(lambda: edge.EdgeShard.create(str(path), _config(layout))))
        self._index(bucket, layout)

    def _index(self, bucket: Bucket, layout: Layout) -> None:
        """Index every field, then write the layout, which makes the bucket exist."""
        shard = self._shards.get(bucket) or self._load(bucket, layout)
        for key, params in edge_filters.indexes(layout.fields):
            operation = edge.UpdateOperation.create_field_index(key, params)
            _guarded(lambda: shard.update(operation))  # noqa: B023 - called at once
        self._write_layout(bucket, layout)

    def _write_layout(self, bucket: Bucket, layout: Layout) -> None:
        path = self._path(bucket)
        part = path / f"{_LAYOUT}.part"
        part.write_text(json.dumps(asdict(layout)))
        part.replace(path / _LAYOUT)

    def _update(self, bucket: Bucket, operation: edge.UpdateOperation) -> None:
        with self._lock:
            shard = self._shard(bucket)
            if shard is not None:
                _guarded(lambda: shard.update(operation))


def _config(layout: Layout) -> edge.EdgeConfig:
    dense = {"dense": edge.EdgeVectorParams(layout.size, edge.Distance.Cosine)} if layout.size else None
    sparse = {name.value: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf) for name in SparseName}
    return edge.EdgeConfig(vectors=dense, sparse_vectors=sparse, wal_enabled=True, max_search_threads=_SEARCH_THREADS)


def _own(folder: Path) -> int:
    """Make the folder, and hold its lock until the process ends, even by a crash.

    Raises: SearchStoreUnavailable while another process holds it, or when nothing can be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise SearchStoreUnavailable(
            f"the folder of the embedded search store cannot be written ({fault.strerror}). "
            "Set ASSAY_HOME to a folder that can be and that stays, or set QDRANT_URL to use a Qdrant server."
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise SearchStoreUnavailable(
            "another process owns the embedded search store; it takes one search worker. "
            "Stop the other one, or set QDRANT_URL to share a Qdrant server."
        ) from None
    return handle


def _return_memory() -> None:
    """Give back what building an index took; the allocator would keep it for as long as the process lives."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc; others have none
    if trim is not None:
        trim(0)


def _guarded(action: Any) -> Any:  # noqa: ANN401 - the engine is untyped
    """Run the action; the engine's own errors hold host paths, so their text is not passed on."""
    try:
        return action()
    except Exception as fault:
        if "dimension" in str(fault):
            raise EmbeddingChanged("the vectors have another size than those already stored") from None
        raise SearchStoreUnavailable("the embedded search store failed; see the worker's log") from fault


def _point(point: Point) -> edge.Point:
    vectors = _named(point.sparse)
    if point.dense is not None:
        vectors["dense"] = point.dense.tolist()
    return edge.Point(point.id, vectors, edge_filters.with_flags(point.payload))


def _named(vectors: Sequence[Sparse]) -> dict[str, Any]:
    return {each.name.value: edge.SparseVector(list(each.indices), list(each.values)) for each in vectors}


def _request(search: NearestQuery) -> edge.QueryRequest:
    if isinstance(search.vector, Sparse):
        words = edge.SparseVector(list(search.vector.indices), list(search.vector.values))
        query = edge.Query.Nearest(words, using=search.vector.name)
    else:
        query = edge.Query.Nearest(search.vector.tolist(), using="dense")
    return edge.QueryRequest(
        limit=search.limit,
        query=query,
        filter=edge_filters.translate(search.conditions),
        score_threshold=search.threshold,
        with_payload=list(search.keys) if search.keys else False,
        with_vector=False,
    )


def _scored(point: edge.ScoredPoint) -> ScoredPoint:
    return ScoredPoint(str(point.id), float(point.score), point.payload or {})
