"""The records that hold the codes of a question: they answer it, and nothing else does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from services.search.queries.codes import AskedCodes
from services.search.queries.filters import Conditions
from services.search.retrieval import passages
from services.search.store.port import CONTENT, NearestQuery, ScoredPoint, TablePart, VectorStore
from services.search.tables.library import OpenTable

_MAX_POINTS = 50  #: of each code
#: A word with a number is a code only where it picks out so few records.
_MAX_RECORDS_OF_POSSIBLE = 3
_KEYS = ("record", "name", "fields", CONTENT, *passages.KEYS)


@dataclass(frozen=True)
class CodeHolders:
    """The records of a table that hold the codes of a question."""

    points: Mapping[str, ScoredPoint]  #: one of each record that holds a code, by record; most codes first
    answering: frozenset[str]  #: records that may answer
    binding: bool  #: whether no other record answers

    @property
    def decide(self) -> bool:
        return self.binding or bool(self.points)


def code_holders(store: VectorStore, table: OpenTable, codes: AskedCodes, conditions: Conditions) -> CodeHolders:
    """Find the records that hold the codes.

    Where one record holds all of them, it answers; else those of any, as long as every code that binds is held at all.
    Raises: SearchStoreUnavailable.
    """
    keys, words = sorted(codes.every), table.words(TablePart.MASTER)
    searches = [NearestQuery(words.code(key), _MAX_POINTS, conditions, keys=_KEYS) for key in keys]
    results = store.search(table.bucket(TablePart.MASTER), searches) if searches else []
    held: dict[str, set[str]] = {}
    points: dict[str, ScoredPoint] = {}
    decisive = set(codes.binding)
    for key, scored in zip(keys, results, strict=True):
        records = {str(point.payload["record"]): point for point in scored}
        if key in codes.possible and not 1 <= len(records) <= _MAX_RECORDS_OF_POSSIBLE:
            continue
        decisive.add(key)
        for record, point in records.items():
            held.setdefault(record, set()).add(key)
            points.setdefault(record, point)
    needed = codes.binding or decisive
    whole = {record for record, own in held.items() if needed and own >= needed}
    if whole:
        answering = whole
    elif codes.binding <= set().union(*held.values()):
        answering = {record for record, own in held.items() if own & needed}
    else:
        answering = set()
    ordered = sorted(points, key=lambda record: (-len(held[record] & codes.binding), -len(held[record])))
    return CodeHolders({record: points[record] for record in ordered}, frozenset(answering), bool(codes.binding))
