"""A record as points of the store: one for the whole, one for each facet."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence

from services.search.embed.port import Embedder
from services.search.queries.codes import held_codes
from services.search.store.port import LENGTH, Payload, Point, Sparse
from services.search.tables.words import Words
from shared.contracts.search import Record

_SPACE = uuid.UUID("7b0f5a52-6a63-5d2e-9f39-1d2d0c1f6f10")
#: Characters of a text that are embedded; models see less than this.
_EMBEDDED = 2000
_NAME_WEIGHT = 3


def point_id(record_id: str, facet: str = "") -> str:
    return str(uuid.uuid5(_SPACE, f"{facet}\0{record_id}"))


def digest(record: Record) -> str:
    """Changes with anything in the record."""
    text = json.dumps(record.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def whole_text(record: Record) -> str:
    """All the text of a record."""
    return "\n".join(part for part in (record.name, record.text, *record.facets.values()) if part.strip())


def said_text(record: Record) -> str:
    """All that a record says: its id, its text and the values of its fields."""
    values = (value for field in record.fields.values() for value in (field if isinstance(field, list) else [field]))
    return "\n".join([record.id, whole_text(record), *(str(value) for value in values if isinstance(value, str | int))])


def weighted_text(record: Record) -> str:
    """The text for the word retrievers: the name several times, and no facet that repeats the text."""
    facets = (text for text in record.facets.values() if text not in record.text)
    return "\n".join([*[record.name] * _NAME_WEIGHT, record.text, *facets])


def masters(records: Sequence[Record], embedder: Embedder | None, words: Words) -> list[Point]:
    texts = [whole_text(record)[:_EMBEDDED] for record in records]
    vectors = embedder.documents(texts) if embedder else [None] * len(texts)
    return [
        Point(point_id(record.id), vector, _weighted(record, words), _master_payload(record, words))
        for record, vector in zip(records, vectors, strict=True)
    ]


def facets(records: Sequence[Record], embedder: Embedder | None, words: Words) -> list[Point]:
    pairs = [(record, facet) for record in records for facet in record.facets]
    texts = [record.facets[facet] for record, facet in pairs]
    vectors = embedder.documents([text[:_EMBEDDED] for text in texts]) if embedder else [None] * len(texts)
    return [
        Point(point_id(record.id, facet), vector, (words.document(text),), _facet_payload(record, facet, words))
        for (record, facet), text, vector in zip(pairs, texts, vectors, strict=True)
    ]


def master_weights(records: Sequence[Record], words: Words) -> dict[str, tuple[Sparse, ...]]:
    """The sparse vectors of the records, by point."""
    return {point_id(record.id): _weighted(record, words) for record in records}


def facet_weights(records: Sequence[Record], words: Words) -> dict[str, tuple[Sparse, ...]]:
    """The sparse vectors of the records' facets, by point."""
    return {
        point_id(record.id, facet): (words.document(text),)
        for record in records
        for facet, text in record.facets.items()
    }


def _weighted(record: Record, words: Words) -> tuple[Sparse, ...]:
    text = weighted_text(record)
    return words.document(text), words.document_ngrams(text, held_codes(said_text(record)))


def record_of(payload: Payload) -> Record:
    """The record of a master payload, which holds all of it."""
    return Record.model_validate(
        {
            "id": payload["record"],
            **{key: payload[key] for key in ("name", "text", "facets", "fields") if key in payload},
        }
    )


def _master_payload(record: Record, words: Words) -> Payload:
    return {
        "record": record.id,
        "name": record.name,
        "text": record.text,
        "facets": dict(record.facets),
        "fields": record.fields,
        "digest": digest(record),
        LENGTH: words.length(weighted_text(record)),
    }


def _facet_payload(record: Record, facet: str, words: Words) -> Payload:
    length = words.length(record.facets[facet])
    return {"record": record.id, "name": record.name, "facet": facet, "fields": record.fields, LENGTH: length}
