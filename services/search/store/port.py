"""The store port: what search and ingest need of a vector store, whichever it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from services.search.embed.port import Vectors
from services.search.queries.filters import Conditions
from shared.contracts.search import FieldType

Payload = Mapping[str, JsonValue]
#: Raise it when the stored form of a record changes: the next ingest then rebuilds the table from its records.
_BUILD = 6
#: The key of a payload that holds how many words the point has.
LENGTH = "words"
#: The key of a payload, a number from 1, that only points other than a record's own have: its later passages.
PASSAGE = "passage"
#: The key of a payload that holds a number for all that its record says; of records that say the same it is the same.
CONTENT = "content"
LONGEST = 20_000  #: most characters of a text that are cut into words, so no text has more words


class SparseName(StrEnum):
    """The sparse vectors of a point; the values are the names that stores on disk have."""

    WORDS = "words"
    NGRAMS = "pieces"


class TablePart(StrEnum):
    """A table has a point for each passage of a record, one of a short record, and one for each facet of a record."""

    MASTER = "master"
    FACETS = "facets"


@dataclass(frozen=True)
class Bucket:
    """The points of one part of one table. Ids of collections are never reused, so neither are buckets."""

    collection_id: str
    table: str
    part: TablePart
    model: str = "0"  #: short hash of the embedding's fingerprint and of ``_BUILD``: two never share a bucket

    @classmethod
    def of(cls, collection_id: str, table: str, part: TablePart, fingerprint: str) -> Bucket:
        built = f"{_BUILD}/{fingerprint}"
        return cls(collection_id, table, part, hashlib.sha256(built.encode()).hexdigest()[:8])

    @property
    def name(self) -> str:
        return f"{self.collection_id}.{self.table}.{self.part}.{self.model}"

    @classmethod
    def parse(cls, name: str) -> Bucket | None:
        """Return the bucket of that name; None when the name is not one of ours."""
        parts = name.split(".")
        if len(parts) != 4 or parts[2] not in (TablePart.MASTER, TablePart.FACETS):
            return None
        return cls(parts[0], parts[1], TablePart(parts[2]), parts[3])


@dataclass(frozen=True)
class Layout:
    """How a bucket is built; vectors of another fingerprint do not belong in it."""

    fingerprint: str  #: of the embedding model; ``none``: keywords only
    size: int  #: of a dense vector; 0 without one
    average_words: float  #: mean length of a document, which the stored weights of BM25 compare lengths with
    fields: Mapping[str, FieldType] = field(default_factory=dict)
    language: str = "english"  #: whose stop words and stemmer are used


@dataclass(frozen=True)
class Sparse:
    """Weights of the words of a text, or of the n-grams of its words, by their hashes."""

    indices: tuple[int, ...]
    values: tuple[float, ...]
    name: SparseName = SparseName.WORDS


@dataclass(frozen=True)
class Point:
    id: str  #: a UUID derived from the record's id, so that writing a record twice changes nothing
    dense: Vectors | None
    sparse: tuple[Sparse, ...]  #: at most one of each name
    payload: Payload


@dataclass(frozen=True)
class NearestQuery:
    """One search by one retriever: a dense vector (score: cosine), words or n-grams (score: BM25)."""

    vector: Vectors | Sparse
    limit: int
    conditions: Conditions = ()
    threshold: float | None = None
    keys: tuple[str, ...] = ()  #: of the payload to return


class ScoredPoint(NamedTuple):
    id: str
    score: float
    payload: Payload


class VectorStore(Protocol):
    """Every method raises SearchStoreUnavailable when the store fails; a missing bucket is empty, never an error."""

    @property
    def concurrent(self) -> bool:
        """Whether parallel calls are faster than sequential ones."""
        ...

    def ensure(self, bucket: Bucket, layout: Layout) -> None:
        """Create the bucket, or give it this layout and add missing indexes.

        Raises: EmbeddingChanged when it holds another model's vectors.
        """
        ...

    def layout(self, bucket: Bucket) -> Layout | None:
        """Return how the bucket was built; None if it does not exist."""
        ...

    def upsert(self, bucket: Bucket, points: Sequence[Point]) -> None: ...

    def replace_sparse(self, bucket: Bucket, vectors: Mapping[str, tuple[Sparse, ...]]) -> None:
        """Replace the sparse vectors of existing points, by their ids; everything else stays."""
        ...

    def total_length(self, bucket: Bucket) -> int:
        """Return the sum of ``LENGTH`` over all points."""
        ...

    def payloads(self, bucket: Bucket, ids: Sequence[str], keys: Sequence[str]) -> dict[str, Payload]:
        """Return the chosen keys of the payloads, of the points that exist."""
        ...

    def vectors(self, bucket: Bucket, ids: Sequence[str]) -> Vectors:
        """Return the dense vectors of the points that exist and have one, in any order: [points, size]."""
        ...

    def page(
        self, bucket: Bucket, after: str | None, limit: int, conditions: Conditions = ()
    ) -> tuple[list[Payload], str | None]:
        """Whole payloads in the order of their points, from that point on, and the point that follows them."""
        ...

    def every_payload(self, bucket: Bucket, conditions: Conditions = ()) -> Iterator[list[Payload]]:
        """Return every payload in pages."""
        ...

    def delete(self, bucket: Bucket, ids: Sequence[str]) -> None: ...

    def delete_where(self, bucket: Bucket, conditions: Conditions) -> None: ...

    def search(self, bucket: Bucket, searches: Sequence[NearestQuery]) -> list[list[ScoredPoint]]:
        """Return all of the searches at once, each best first."""
        ...

    def count(self, bucket: Bucket, conditions: Conditions = ()) -> int: ...

    def values(self, bucket: Bucket, name: str, kind: FieldType, limit: int) -> list[tuple[str | int | bool, int]]:
        """Return the values of a keyword, integer or bool field with the number of their points, the most frequent
        first.
        """
        ...

    def settle(self, bucket: Bucket) -> None:
        """Flush writes to disk, and build an index where there are enough points for one."""
        ...

    def drop(self, bucket: Bucket) -> None: ...

    def buckets(self) -> list[Bucket]: ...

    def close(self) -> None: ...
