"""The store port: what search and ingest need of a vector store, whichever it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, get_args

from pydantic import JsonValue

from services.search.embed.port import Vectors
from services.search.filters import Conditions
from shared.contracts.search import FieldType

Payload = Mapping[str, JsonValue]
#: Raise it when what is kept of a record changes: its table is then built anew from the records by the next ingest.
_BUILD = 2
Arm = Literal["words", "pieces"]
ARMS: tuple[str, ...] = get_args(Arm)


class Part(StrEnum):
    """A table has one point per record, and one per facet of a record."""

    MASTER = "master"
    FACETS = "facets"


@dataclass(frozen=True)
class Bucket:
    """One table's points of one part. The collection's id is never used twice, so neither is a bucket."""

    collection_id: str
    table: str
    part: Part
    model: str = "0"  #: short hash of the embedding's fingerprint and of ``_BUILD``: two never share a bucket

    @classmethod
    def of(cls, collection_id: str, table: str, part: Part, fingerprint: str) -> Bucket:
        built = f"{_BUILD}/{fingerprint}"
        return cls(collection_id, table, part, hashlib.sha256(built.encode()).hexdigest()[:8])

    @property
    def name(self) -> str:
        return f"{self.collection_id}.{self.table}.{self.part}.{self.model}"

    @classmethod
    def parse(cls, name: str) -> Bucket | None:
        """The bucket of that name; None when it is none of ours."""
        parts = name.split(".")
        if len(parts) != 4 or parts[2] not in (Part.MASTER, Part.FACETS):
            return None
        return cls(parts[0], parts[1], Part(parts[2]), parts[3])


@dataclass(frozen=True)
class Layout:
    """How a bucket is built; vectors of another fingerprint do not belong in it."""

    fingerprint: str  #: of the embedding model; ``none`` has keywords only
    size: int  #: of a dense vector; 0 without one
    average_words: float  #: of a document, which BM25 weighs lengths against
    fields: Mapping[str, FieldType] = field(default_factory=dict)
    language: str = "english"  #: whose stop words and stems its words go by


@dataclass(frozen=True)
class Sparse:
    """Weights of the words of a text, or of the pieces of its words, by their hashes."""

    indices: tuple[int, ...]
    values: tuple[float, ...]
    arm: Arm = "words"


@dataclass(frozen=True)
class Point:
    id: str  #: a UUID that follows from the record, so that writing it twice changes nothing
    dense: Vectors | None
    sparse: tuple[Sparse, ...]  #: at most one for each arm
    payload: Payload


@dataclass(frozen=True)
class Nearest:
    """One search by one arm: a dense vector (score: cosine), words or their pieces (score: BM25)."""

    vector: Vectors | Sparse
    limit: int
    conditions: Conditions = ()
    threshold: float | None = None
    keys: tuple[str, ...] = ()  #: of the payload that comes back


@dataclass(frozen=True)
class Found:
    id: str
    score: float
    payload: Payload


class Store(Protocol):
    """Every method raises SearchStoreUnavailable when the store fails; what is not there is empty, never an error."""

    @property
    def concurrent(self) -> bool:
        """Whether several calls at once are faster than one after the other."""
        ...

    def ensure(self, bucket: Bucket, layout: Layout) -> None:
        """Create the bucket, or add the indexes that it lacks.

        Raises: EmbeddingChanged when it holds another model's vectors.
        """
        ...

    def layout(self, bucket: Bucket) -> Layout | None:
        """How the bucket was built; None when there is none."""
        ...

    def upsert(self, bucket: Bucket, points: Sequence[Point]) -> None: ...

    def payloads(self, bucket: Bucket, ids: Sequence[str], keys: Sequence[str]) -> dict[str, Payload]:
        """Some keys of the payloads of those of the points that exist."""
        ...

    def every_payload(self, bucket: Bucket) -> Iterator[list[Payload]]:
        """Every payload in pages."""
        ...

    def delete(self, bucket: Bucket, ids: Sequence[str]) -> None: ...

    def delete_where(self, bucket: Bucket, conditions: Conditions) -> None: ...

    def search(self, bucket: Bucket, searches: Sequence[Nearest]) -> list[list[Found]]:
        """All of the searches at once, each best first."""
        ...

    def count(self, bucket: Bucket, conditions: Conditions = ()) -> int: ...

    def settle(self, bucket: Bucket) -> None:
        """Make durable what was written, and index it where that pays."""
        ...

    def drop(self, bucket: Bucket) -> None: ...

    def buckets(self) -> list[Bucket]: ...

    def close(self) -> None: ...
