"""Qdrant through its client: a server, or the client's own local mode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from services.search.embed.port import Vectors
from services.search.queries.filters import Conditions
from services.search.store import client_filters
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

Value = TypeVar("Value")
_PREFIX = "assay."
_PAGE = 500
_META = "assay_layout"


class ClientStore:
    """Every bucket is a Qdrant collection; unless ``remote`` (a server), only one call is made at a time."""

    def __init__(self, client: QdrantClient, remote: bool, replicas: int = 1, shards: int = 1) -> None:
        self._client = client
        self._replicas, self._shards = replicas, shards  #: of what is created from now on
        self._remote = remote
        # Local mode is not safe for concurrent writes; a server is.
        self._lock = threading.RLock()
        self.concurrent = remote

    def ensure(self, bucket: Bucket, layout: Layout) -> None:
        existing = self.layout(bucket)
        if existing is None:
            self._create(bucket, layout)
        elif (existing.fingerprint, existing.size) != (layout.fingerprint, layout.size):
            raise EmbeddingChanged(f"the table {bucket.table!r} holds vectors of {existing.fingerprint}")
        elif existing != layout:
            if existing.fields != layout.fields:
                self._index(bucket, layout)
            meta = _metadata(layout)
            self._call(lambda: self._client.update_collection(_name(bucket), metadata=meta))

    def layout(self, bucket: Bucket) -> Layout | None:
        if not self._call(lambda: self._client.collection_exists(_name(bucket))):
            return None
        info = self._call(lambda: self._client.get_collection(_name(bucket)))
        layout = (info.config.metadata or {}).get(_META)
        return Layout(**layout) if layout else None

    def upsert(self, bucket: Bucket, points: Sequence[Point]) -> None:
        if points:
            structs = [_point(point) for point in points]
            self._call(lambda: self._client.upsert(_name(bucket), structs, wait=True))

    def replace_sparse(self, bucket: Bucket, vectors: Mapping[str, tuple[Sparse, ...]]) -> None:
        present = self.payloads(bucket, list(vectors), ["record"])  # a missing one would fail the whole update
        changed = [models.PointVectors(id=point_id, vector=_named(vectors[point_id])) for point_id in present]
        if changed:
            self._call(lambda: self._client.update_vectors(_name(bucket), changed, wait=True))

    def total_length(self, bucket: Bucket) -> int:
        none = models.FacetResponse(hits=[])
        counted = self._or_empty(lambda: self._client.facet(_name(bucket), LENGTH, limit=LONGEST, exact=True), none)
        return sum(int(hit.value) * hit.count for hit in counted.hits)

    def payloads(self, bucket: Bucket, ids: Sequence[str], keys: Sequence[str]) -> dict[str, Payload]:
        if not ids:
            return {}
        none: list[models.Record] = []
        records = self._or_empty(lambda: self._client.retrieve(_name(bucket), list(ids), with_payload=list(keys)), none)
        return {str(record.id): record.payload or {} for record in records}

    def vectors(self, bucket: Bucket, ids: Sequence[str]) -> Vectors:
        none: list[models.Record] = []
        records = self._or_empty(
            lambda: self._client.retrieve(_name(bucket), list(ids), with_payload=False, with_vectors=["dense"]), none
        )
        rows = [record.vector["dense"] for record in records if isinstance(record.vector, dict) and record.vector]
        return np.array(rows, dtype=np.float32)

    def page(
        self, bucket: Bucket, after: str | None, limit: int, conditions: Conditions = ()
    ) -> tuple[list[Payload], str | None]:
        none: tuple[list[models.Record], Any] = ([], None)
        only = client_filters.translate(conditions)
        records, offset = self._or_empty(
            lambda: self._client.scroll(_name(bucket), only, limit=limit, offset=after, with_payload=True), none
        )
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
            chosen = models.PointIdsList(points=list(ids))
            self._or_empty(lambda: self._client.delete(_name(bucket), chosen, wait=True), None)

    def delete_where(self, bucket: Bucket, conditions: Conditions) -> None:
        chosen = client_filters.translate(conditions)
        assert chosen is not None, "a delete without conditions would take everything"
        selector = models.FilterSelector(filter=chosen)
        self._or_empty(lambda: self._client.delete(_name(bucket), selector, wait=True), None)

    def search(self, bucket: Bucket, searches: Sequence[NearestQuery]) -> list[list[ScoredPoint]]:
        requests = [_request(search) for search in searches]
        empty: list[models.QueryResponse] = []
        answers = self._or_empty(lambda: self._client.query_batch_points(_name(bucket), requests), empty)
        if not answers:
            return [[] for _ in searches]
        return [[_scored(point) for point in answer.points] for answer in answers]

    def count(self, bucket: Bucket, conditions: Conditions = ()) -> int:
        chosen = client_filters.translate(conditions)
        none = models.CountResult(count=0)
        return self._or_empty(lambda: self._client.count(_name(bucket), count_filter=chosen, exact=True), none).count

    def values(self, bucket: Bucket, name: str, kind: FieldType, limit: int) -> list[tuple[str | int | bool, int]]:
        none = models.FacetResponse(hits=[])
        key = f"fields.{name}"
        counted = self._or_empty(lambda: self._client.facet(_name(bucket), key, limit=limit), none)
        hits = [(hit.value, hit.count) for hit in counted.hits if isinstance(hit.value, bool) == (kind == "bool")]
        return sorted(hits, key=lambda hit: -hit[1])

    def settle(self, bucket: Bucket) -> None:
        """Do nothing: a server flushes and builds its index by itself."""

    def drop(self, bucket: Bucket) -> None:
        self._call(lambda: self._client.delete_collection(_name(bucket)))

    def buckets(self) -> list[Bucket]:
        names = [item.name for item in self._call(self._client.get_collections).collections]
        parsed = (Bucket.parse(name.removeprefix(_PREFIX)) for name in names if name.startswith(_PREFIX))
        return [bucket for bucket in parsed if bucket is not None]

    def close(self) -> None:
        self._client.close()

    def _create(self, bucket: Bucket, layout: Layout) -> None:
        dense = {"dense": models.VectorParams(size=layout.size, distance=models.Distance.COSINE)}
        sparse = {name.value: models.SparseVectorParams(modifier=models.Modifier.IDF) for name in SparseName}
        self._call(
            lambda: self._client.create_collection(
                _name(bucket),
                vectors_config=dense if layout.size else {},
                sparse_vectors_config=sparse,
                metadata=_metadata(layout),
                replication_factor=self._replicas,
                shard_number=self._shards,
            )
        )
        self._index(bucket, layout)

    def _index(self, bucket: Bucket, layout: Layout) -> None:
        if not self._remote:
            return  # local mode has no indexes
        for key, schema in client_filters.indexes(layout.fields):
            self._call(lambda: self._client.create_payload_index(_name(bucket), key, schema, wait=True))  # noqa: B023

    def _or_empty(self, action: Callable[[], Value], empty: Value) -> Value:
        """Run the action; ``empty`` where the bucket does not exist."""
        try:
            return self._call(action)
        except _Missing:
            return empty

    def _call(self, action: Callable[[], Value]) -> Value:
        try:
            if self._remote:
                return action()
            with self._lock:
                return action()
        except UnexpectedResponse as fault:
            if fault.status_code == 404 and _is_from_qdrant(fault):
                raise _Missing from None
            if b"dimension" in (fault.content or b""):
                raise EmbeddingChanged("the vectors have another size than those already stored") from None
            raise SearchStoreUnavailable(f"Qdrant answered with status {fault.status_code}") from fault
        except (ResponseHandlingException, QdrantException, OSError) as fault:
            raise SearchStoreUnavailable("Qdrant does not answer; check QDRANT_URL and the server") from fault
        except ValueError as fault:
            if "not found" in str(fault):
                raise _Missing from None
            if "dimension" in str(fault) or "could not broadcast" in str(fault):
                raise EmbeddingChanged("the vectors have another size than those already stored") from None
            raise SearchStoreUnavailable("Qdrant's client refused the call; see the worker's log") from fault


class _Missing(SearchStoreUnavailable):
    """The bucket does not exist."""

    def __init__(self) -> None:
        super().__init__("a bucket of the search store is gone; ingest the table again")


def _is_from_qdrant(fault: UnexpectedResponse) -> bool:
    """Return whether Qdrant itself answered, and not a proxy in between."""
    try:
        return "error" in fault.structured()["status"]
    except (ValueError, LookupError, TypeError):
        return False


def _name(bucket: Bucket) -> str:
    return _PREFIX + bucket.name


def _metadata(layout: Layout) -> dict[str, Any]:
    return {_META: {**asdict(layout), "fields": dict(layout.fields)}}


def _point(point: Point) -> models.PointStruct:
    vectors = _named(point.sparse)
    if point.dense is not None:
        vectors["dense"] = point.dense.tolist()
    return models.PointStruct(id=point.id, vector=vectors, payload=dict(point.payload))


def _named(vectors: Sequence[Sparse]) -> dict[str, Any]:
    return {
        each.name.value: models.SparseVector(indices=list(each.indices), values=list(each.values)) for each in vectors
    }


def _request(search: NearestQuery) -> models.QueryRequest:
    query: Any
    if isinstance(search.vector, Sparse):
        query = models.SparseVector(indices=list(search.vector.indices), values=list(search.vector.values))
    else:
        query = search.vector.tolist()
    return models.QueryRequest(
        query=query,
        using=search.vector.name if isinstance(search.vector, Sparse) else "dense",
        limit=search.limit,
        filter=client_filters.translate(search.conditions),
        score_threshold=search.threshold,
        with_payload=list(search.keys) if search.keys else False,
        with_vector=False,
    )


def _scored(point: models.ScoredPoint) -> ScoredPoint:
    return ScoredPoint(str(point.id), float(point.score), point.payload or {})
