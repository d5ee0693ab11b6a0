"""The records that hold the codes of a question: they answer it, and nothing else does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from services.search.queries.codes import AskedCodes
from services.search.queries.filters import Among, AnyOf, Conditions, Either
from services.search.queries.numbered import NamedNumber
from services.search.retrieval import passages
from services.search.store.port import CONTENT, NearestQuery, ScoredPoint, Sparse, TablePart, VectorStore
from services.search.tables.library import OpenTable
from services.search.tables.points import point_id

_MAX_POINTS = 50  #: of each code
#: A word with a number is a code only where it picks out so few records.
_MAX_RECORDS_OF_POSSIBLE = 3
#: Records that are numbered by a noun of which that is not known otherwise.
_MIN_SERIES = 2
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
    named = {each.key for each in codes.named if each.noun}
    results = _records(store, table, codes.every | named | {each.name for each in codes.families}, conditions)
    families = {each.name: results.pop(each.name, {}) for each in codes.families}
    held: dict[str, set[str]] = {}
    points: dict[str, ScoredPoint] = {}
    decisive = set(codes.binding)
    for key in sorted(results):
        records = results[key]
        if key not in codes.binding and not 1 <= len(records) <= _MAX_RECORDS_OF_POSSIBLE:
            continue
        decisive.add(key)
        for record, point in records.items():
            held.setdefault(record, set()).add(key)
            points.setdefault(record, point)
    unheld = _unheld(store, table, codes, {key for key, records in results.items() if records}, conditions)
    strange = {
        each.key
        for each in codes.families
        if families[each.name] and not results.get(each.key) and not results.get(each.number)
    }
    binding = codes.binding | unheld | strange
    needed = binding or decisive
    whole = {record for record, own in held.items() if needed and own >= needed}
    if whole:
        answering = whole
    elif binding <= set().union(*held.values()):
        answering = {record for record, own in held.items() if own & needed}
    else:
        answering = set()
    ordered = sorted(points, key=lambda record: (-len(held[record] & binding), -len(held[record])))
    return CodeHolders({record: points[record] for record in ordered}, frozenset(answering), bool(binding))


def _records(
    store: VectorStore, table: OpenTable, keys: Collection[str], conditions: Conditions
) -> dict[str, dict[str, ScoredPoint]]:
    """Return a point of each record that holds a key, by key and record."""
    words, ordered = table.words(TablePart.MASTER), sorted(keys)
    searches = [NearestQuery(words.code(key), _MAX_POINTS, conditions, keys=_KEYS) for key in ordered]
    results = store.search(table.bucket(TablePart.MASTER), searches) if searches else []
    return {
        key: {str(point.payload["record"]): point for point in scored}
        for key, scored in zip(ordered, results, strict=True)
    }


def _unheld(
    store: VectorStore, table: OpenTable, codes: AskedCodes, held: Collection[str], conditions: Conditions
) -> frozenset[str]:
    """Return the keys of what is named by a number that no record has: others have one, or none holds the number."""
    asked = [each for each in codes.named if each.key not in held and each.number not in held]
    wanted = {key for each in asked for key in (each.labelled, each.own, each.series)}
    results = _records(store, table, wanted, conditions)
    missing = set()
    for each in asked:
        is_numbered = each.noun and len(results[each.series]) >= (1 if each.known else _MIN_SERIES)
        if results[each.labelled] or (results[each.own] and not is_numbered):
            continue
        if is_numbered or (each.known and _is_absent(store, table, each, conditions)):
            missing.add(each.key)
    return frozenset(missing)


def _is_absent(store: VectorStore, table: OpenTable, named: NamedNumber, conditions: Conditions) -> bool:
    """Return whether no record holds the number, in its texts, its fields or its id."""
    bucket, words = table.bucket(TablePart.MASTER), table.words(TablePart.MASTER)
    searches = [
        NearestQuery(Sparse(tuple(hashes), (1.0,) * len(hashes)), 1, conditions)
        for part in named.number.split(".")
        if (hashes := words.distinct(f"{part} {part}th {part}st {part}nd {part}rd"))
    ]
    if all(store.search(bucket, searches)):
        return False
    values: list[Conditions] = [(Among((point_id(named.number),)),)]
    for field, kind in table.spec.fields.items():
        if kind == "keyword":
            values.append((AnyOf(field, kind, (named.number,)),))
        elif kind == "integer" and named.number.isdigit():
            values.append((AnyOf(field, kind, (int(named.number),)),))
    return store.count(bucket, (*conditions, Either(tuple(values)))) == 0
