"""Documents and operations as bytes: JSON, compressed when that is worth it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import cast

import orjson
from pydantic import JsonValue

from shared.errors import InvalidRequest
from shared.flows.document import Document, Item, Json, Kind, Table
from shared.flows.operations import Operation, from_json, to_json

_WORTH_IT = 2_000


def encode_operations(operations: Iterable[Operation]) -> bytes:
    """Encode the operations. Raises: InvalidRequest for values that JSON cannot hold."""
    return _pack(to_json(operations))


def decode_operations(stored: bytes) -> tuple[Operation, ...]:
    return tuple(from_json(cast("list[JsonValue]", _unpack(stored))))


def encode_document(document: Document) -> bytes:
    """Encode the document. Raises: InvalidRequest for values that JSON cannot hold."""
    tables = {kind.value: [(key, i.rank, i.body) for key, i in document.table(kind).items()] for kind in Kind}
    return _pack({"top": document.top, **tables})


def decode_document(stored: bytes) -> Document:
    content = cast("Json", _unpack(stored))
    nodes, edges, settings = (_table(content[kind.value]) for kind in Kind)
    return Document(nodes, edges, settings, cast(int, content["top"]))


def _table(rows: JsonValue) -> Table:
    return {key: Item(rank, body) for key, rank, body in cast("list[tuple[str, int, Json]]", rows)}


def _pack(value: object) -> bytes:
    """Compressed data begins with ``x``, which no JSON array or object does."""
    try:
        written = orjson.dumps(value)
    except TypeError as refused:
        raise InvalidRequest(f"The flow holds something that cannot be kept: {refused}.") from None
    return zlib.compress(written, 1) if len(written) > _WORTH_IT else written


def _unpack(stored: bytes) -> object:
    return orjson.loads(zlib.decompress(stored) if stored[:1] == b"x" else stored)
