"""A record as points of the store: one for each passage of its text, and one for each of its facets."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from pydantic import JsonValue

from services.search.embed.port import Embedder
from services.search.queries.codes import held_codes
from services.search.queries.numbered import identity_keys
from services.search.store.port import CONTENT, LENGTH, PASSAGE, Payload, Point, Sparse
from services.search.tables.passages import Passage, Splitter, context_of, of_facet
from services.search.tables.words import Words
from shared.contracts.search import Record

_SPACE = uuid.UUID("7b0f5a52-6a63-5d2e-9f39-1d2d0c1f6f10")
_NAME_WEIGHT = 3
#: Of a record, with which its words are weighed as a whole. On the tables of ``benchmarks/golden`` that finds more.
_FEW_PASSAGES = 4
_COUNTER = 8  #: hexadecimal digits at the end of a point's id, which count the passages of a record


@dataclass(frozen=True)
class SplitRecord:
    """A record with the passages that it is stored as."""

    record: Record
    digest: str  #: changes with anything in the record, and with how a long one is split
    passages: tuple[Passage, ...] = ()  #: none: the record is one point
    facets: Mapping[str, tuple[Passage, ...]] = field(default_factory=dict)  #: of the facets that are too long


def point_id(record_id: str, facet: str = "", number: int = 0) -> str:
    """Return the id of a record's or facet's own point (number 0), or of a later passage of it."""
    own = str(uuid.uuid5(_SPACE, f"{facet}\0{record_id}"))
    if not number:
        return own
    counted = (int(own[-_COUNTER:], 16) + number) % 16**_COUNTER
    return f"{own[:-_COUNTER]}{counted:0{_COUNTER}x}"


def record_key(point: str) -> str:
    """Return the part of a point's id that all passages of a record have in common."""
    return point[:-_COUNTER]


def digests(records: Sequence[Record], splitter: Splitter) -> list[str]:
    """Return digests that change with a record, and with the splitter for records too long for one point."""
    fitting = splitter.fitting([whole_text(record) for record in records])
    return [_digest(record, "" if fits else splitter.version) for record, fits in zip(records, fitting, strict=True)]


def split(records: Sequence[Record], splitter: Splitter) -> list[SplitRecord]:
    """Return the records with the passages of the long ones."""
    fitting = splitter.fitting([whole_text(record) for record in records])
    return [
        SplitRecord(record, _digest(record, "")) if fits else _split(record, splitter)
        for record, fits in zip(records, fitting, strict=True)
    ]


def content(record: Record) -> int:
    """Return the same number for records that differ in nothing but their id."""
    return int(_digest(record.model_copy(update={"id": "-"}), "")[:15], 16)


def whole_text(record: Record) -> str:
    """Return all the text of a record."""
    return "\n".join(part for part in (record.name, record.text, *record.facets.values()) if part.strip())


def weighted_texts(records: Sequence[SplitRecord]) -> list[str]:
    """Return the texts of the records' points for the word retrievers."""
    return [text for record in records for _, text in _weighted(record)]


def masters(records: Sequence[SplitRecord], embedder: Embedder | None, words: Words) -> list[Point]:
    """Return the points of the records' passages; those that carry the digests come last."""
    weighted = [each for record in records for each in _weighted(record)]
    texts = [_embedded(payload) for payload, _ in weighted]
    vectors = embedder.documents(texts) if embedder else [None] * len(texts)
    points = [
        Point(_id_of(payload), vector, _weights(payload, text, words), {**payload, LENGTH: words.length(text)})
        for (payload, text), vector in zip(weighted, vectors, strict=True)
    ]
    return sorted(points, key=lambda point: "digest" in point.payload)


def facets(records: Sequence[SplitRecord], embedder: Embedder | None, words: Words) -> list[Point]:
    """Return the points of the records' facets, long ones in passages."""
    parts = [part for record in records for part in _facet_parts(record)]
    vectors = embedder.documents([part.text for part in parts]) if embedder else [None] * len(parts)
    return [
        Point(
            point_id(part.record.id, part.facet, part.number),
            vector,
            (words.document(part.text),),
            _facet_payload(part, words),
        )
        for part, vector in zip(parts, vectors, strict=True)
    ]


def master_weights(records: Sequence[SplitRecord], words: Words) -> dict[str, tuple[Sparse, ...]]:
    """Return the sparse vectors of the records' passages, by point."""
    return {
        _id_of(payload): _weights(payload, text, words) for record in records for payload, text in _weighted(record)
    }


def facet_weights(records: Sequence[SplitRecord], words: Words) -> dict[str, tuple[Sparse, ...]]:
    """Return the sparse vectors of the records' facets, by point."""
    return {
        point_id(part.record.id, part.facet, part.number): (words.document(part.text),)
        for record in records
        for part in _facet_parts(record)
    }


def ids_of(payload: Payload) -> list[str]:
    """Return the ids of a record's points, from the payload of its main point."""
    return [point_id(str(payload["record"]), number=number) for number in range(passages_of(payload))]


def passages_of(payload: Payload) -> int:
    """Return how many points the record has whose own point has this payload."""
    count = payload.get("passages", 1)
    return count if isinstance(count, int) else 1


def record_of(payload: Payload) -> Record:
    """Return the record from the payload of its main point, which holds all of it."""
    whole = {
        "name": payload.get("name", ""),
        "text": payload.get("whole_text", payload.get("text", "")),
        "facets": payload.get("whole_facets", payload.get("facets", {})),
        "fields": payload.get("fields", {}),
    }
    return Record.model_validate({"id": payload["record"], **whole})


def passage_of(payload: Payload) -> Passage | None:
    """Return the passage that the payload's point holds; None for a record that is one point."""
    at = payload.get("at")
    return Passage(**at) if isinstance(at, dict) else None  # type: ignore[arg-type]  # written by ``_at``


def _digest(record: Record, splitting: str) -> str:
    text = json.dumps(record.model_dump(mode="json"), sort_keys=True, ensure_ascii=False) + splitting
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _split(record: Record, splitter: Splitter) -> SplitRecord:
    passages = splitter.passages(record.text, record.name)
    for facet, text in record.facets.items():
        if text not in record.text:  # what the text says already is found there
            passages += of_facet(splitter.passages(text, record.name), facet)
    fitting = splitter.fitting(list(record.facets.values()))
    facets = {
        facet: tuple(of_facet(splitter.passages(text), facet))
        for (facet, text), fits in zip(record.facets.items(), fitting, strict=True)
        if not fits
    }
    return SplitRecord(record, _digest(record, splitter.version), tuple(passages), facets)


def _payloads(split_record: SplitRecord) -> Iterator[Payload]:
    """Yield the payloads of a record's points, without the number of their words; its own point's first."""
    record = split_record.record
    common: dict[str, JsonValue] = {"record": record.id, "name": record.name, "fields": record.fields}
    common[CONTENT] = content(record)
    own: dict[str, JsonValue] = {"digest": split_record.digest}
    if not split_record.passages:
        yield {**common, **own, "text": record.text, "facets": dict(record.facets)}
        return
    own |= {"passages": len(split_record.passages), "whole_text": record.text, "whole_facets": dict(record.facets)}
    for number, passage in enumerate(split_record.passages):
        source = record.facets[passage.facet] if passage.facet else record.text
        part: dict[str, JsonValue] = {"text": source[passage.start : passage.end], "facets": {}, "at": _at(passage)}
        yield {**common, **part, **({PASSAGE: number} if number else own)}


def _weighted(split_record: SplitRecord) -> Iterator[tuple[Payload, str]]:
    """Yield the payloads of a record's points, each with its text for the word retrievers.

    Where a record has a few passages only, that is the text of all of it: what it is about is said all over it.
    """
    record, few = split_record.record, len(split_record.passages) <= _FEW_PASSAGES
    whole = _weighted_text(record.name, "", record.text, record.facets) if few else ""
    for payload in _payloads(split_record):
        yield payload, whole if few else _weighted_text(record.name, _heading(payload), str(payload["text"]), {})


def _id_of(payload: Payload) -> str:
    number = payload.get(PASSAGE, 0)
    assert isinstance(number, int)
    return point_id(str(payload["record"]), number=number)


def _weights(payload: Payload, text: str, words: Words) -> tuple[Sparse, ...]:
    """Return the sparse vectors of a point, with the codes that its passage holds."""
    codes = held_codes(_said_text(payload))
    if PASSAGE not in payload:
        fields = payload["fields"]
        assert isinstance(fields, dict)
        codes |= identity_keys(str(payload["name"]), str(payload["record"]), fields)
    return words.document(text), words.document_ngrams(text, codes)


def _at(passage: Passage) -> dict[str, JsonValue]:
    return {key: value for key, value in asdict(passage).items() if value not in ("", None)}


def _heading(payload: Payload) -> str:
    passage = passage_of(payload)
    return passage.heading if passage else ""


def _embedded(payload: Payload) -> str:
    """Return the text that a point's vector represents."""
    facets = payload["facets"]
    assert isinstance(facets, dict)
    name = str(payload["name"])
    name = context_of(name) if "at" in payload else name
    return "\n".join(
        part for part in (name, _heading(payload), str(payload["text"]), *map(str, facets.values())) if part.strip()
    )


def _weighted_text(name: str, heading: str, text: str, facets: Mapping[str, str]) -> str:
    """Return the text for the word retrievers: the name several times, and no facet that repeats the text."""
    own = [facet for facet in facets.values() if facet not in text]
    return "\n".join([*[name] * _NAME_WEIGHT, *filter(None, [heading]), text, *own])


def _said_text(payload: Payload) -> str:
    """Return all that a point says; a record's own point also says its id and the values of its fields."""
    name, text, facets, fields = str(payload["name"]), str(payload["text"]), payload["facets"], payload["fields"]
    assert isinstance(facets, dict)
    assert isinstance(fields, dict)
    parts = [name, text, *map(str, facets.values())]
    if PASSAGE not in payload:
        values = (value for field in fields.values() for value in (field if isinstance(field, list) else [field]))
        parts += [str(payload["record"]), *(str(value) for value in values if isinstance(value, str | int))]
    return "\n".join(parts)


@dataclass(frozen=True)
class _FacetPart:
    """A facet of a record, or a passage of a long one."""

    record: Record
    facet: str
    number: int = 0
    passage: Passage | None = None

    @property
    def text(self) -> str:
        text = self.record.facets[self.facet]
        return text if self.passage is None else text[self.passage.start : self.passage.end]


def _facet_parts(split_record: SplitRecord) -> Iterator[_FacetPart]:
    record = split_record.record
    for facet in record.facets:
        passages = split_record.facets.get(facet)
        if passages:
            yield from (_FacetPart(record, facet, number, passage) for number, passage in enumerate(passages))
        else:
            yield _FacetPart(record, facet)


def _facet_payload(part: _FacetPart, words: Words) -> Payload:
    payload: dict[str, JsonValue] = {
        "record": part.record.id,
        "name": part.record.name,
        "facet": part.facet,
        "fields": part.record.fields,
        CONTENT: content(part.record),
        LENGTH: words.length(part.text),
    }
    return payload if part.passage is None else {**payload, "at": _at(part.passage)}
