"""Runs a query on a table: its arms, the threshold on the dense one, and the ranking of its mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from services.search import ranking
from services.search.embed.port import Vectors
from services.search.filters import Among, AnyOf, Conditions, conditions
from services.search.library import Library, OpenTable
from services.search.query import Query
from services.search.store.port import Bucket, Found, Nearest, Part, Payload, Sparse
from services.search.thresholds import Mark
from services.search.words import has_code

_POOL = 50
_MOST_COUNTED = 10_000
_SHORTEST_PAIRED = 10  # characters of a profile's facet
_SATURATION = 4.0  # of a keyword score, which has no upper end
_KEYS = ("record", "name", "fields")


@dataclass(frozen=True)
class Match:
    """A record that a query found."""

    id: str
    name: str
    score: float  #: what hits are ordered by: master 0..1, faceted 0..10
    similarity: float | None  #: the best dense cosine; None where only keywords were searched
    weak: bool
    facets: tuple[tuple[str, float], ...]
    fields: Mapping[str, JsonValue]


@dataclass(frozen=True)
class Near:
    """A record close to a query, whether or not it passes the threshold."""

    name: str
    similarity: float


class Engine:
    """Searches the opened tables of one collection on behalf of one profile."""

    def __init__(self, library: Library, tables: Mapping[str, OpenTable], profile: Mapping[str, str]) -> None:
        self._library = library
        self._store = library.store
        self._tables = tables
        self._profile = {facet: text.strip() for facet, text in profile.items() if text.strip()}

    def run(self, query: Query) -> list[Match]:
        """Raises: SearchStoreUnavailable, EmbeddingUnavailable, EmbeddingChanged, UnknownField, InvalidRequest."""
        table = self._tables[query.table]
        chosen = self.conditions(query)
        if query.literal:
            return self._literal(table, query, chosen)
        if query.mode == "master":
            return self._master(table, query, chosen)
        paired = self.paired(table)
        return self._paired(table, query, chosen, paired) if paired else self._facets(table, query, chosen)

    def conditions(self, query: Query) -> Conditions:
        spec = self._tables[query.table].spec
        return tuple(
            part for name, wanted in query.filters for part in conditions({name: wanted}, spec.fields, query.table)
        )

    def has_facets(self, name: str) -> bool:
        """Whether any record of the table has a facet; without one, faceted search would find nothing."""
        return self._library.has_facets(self._tables[name])

    def paired(self, table: OpenTable) -> dict[str, str]:
        """The profile's facets that this table answers, each with the facet that answers it."""
        return {mine: theirs for mine, theirs in table.spec.pair.items() if mine in self._profile}

    def mark(self, query: Query) -> Mark:
        """The thresholds of the query's table and mode."""
        return self._tables[query.table].thresholds.of(part_of(query))

    def threshold(self, query: Query) -> float:
        return self.mark(query).usual if query.threshold is None else query.threshold

    def by_words(self, query: Query) -> bool:
        """Whether words alone decide, since no model knows what is asked. Raises: EmbeddingUnavailable."""
        table = self._tables[query.table]
        return query.literal or all(
            self._library.question(table, text) is None for text, _ in self._texts(table, query)
        )

    def count(self, query: Query, threshold: float | None) -> int:
        """How many records the query would find without a limit; None: without a threshold too."""
        table = self._tables[query.table]
        chosen = self.conditions(query)
        master = table.bucket(Part.MASTER)
        there = self._store.count(master, chosen)
        if threshold is None or not there:
            return there
        bucket = table.bucket(part_of(query))
        limit = min(there if query.mode == "master" else there * max(len(table.spec.facets), 4), _MOST_COUNTED)
        searches = [
            Nearest(asked, limit, (*chosen, *only), least, keys=("record",))
            for text, only in self._texts(table, query)
            for asked, least in self._sides(table, bucket.part, text, threshold)
        ]
        found = self._store.search(bucket, searches) if searches else []
        return len({item.payload["record"] for answer in found for item in answer})

    def nearest(self, query: Query, limit: int = 3) -> list[Near]:
        """The closest records, however far."""
        table = self._tables[query.table]
        vector = self._library.question(table, query.text)
        if vector is None:
            return []
        [found] = self._store.search(table.bucket(Part.MASTER), [Nearest(vector, limit, keys=("name",))])
        return [Near(str(item.payload.get("name", ""))[:100], round(item.score, 3)) for item in found]

    def _texts(self, table: OpenTable, query: Query) -> list[tuple[str, Conditions]]:
        """What is compared, and with which facet only: of a paired search the profile, with what answers it."""
        paired = self.paired(table) if query.mode == "faceted" else {}
        if not paired:
            return [(query.text, ())]
        texts = ((self._profile[mine], theirs) for mine, theirs in paired.items())
        return [
            (text, (AnyOf("facet", "keyword", (theirs,)),)) for text, theirs in texts if len(text) >= _SHORTEST_PAIRED
        ]

    def _sides(
        self, table: OpenTable, part: Part, text: str, threshold: float
    ) -> list[tuple[Vectors | Sparse, float | None]]:
        """The text as what decides whether a record is a hit: its vector, or its words where there is no model."""
        vector = self._library.question(table, text)
        if vector is not None:
            return [(vector, threshold)]
        words = table.words(part).query(text)
        return [(words, None)] if words.indices else []

    def _master(self, table: OpenTable, query: Query, chosen: Conditions) -> list[Match]:
        bucket = table.bucket(Part.MASTER)
        pool = max(_POOL, query.limit * 2)
        arms = self._arms(table, bucket, query.text, pool, chosen, self.threshold(query))
        scores = arms.saturated if arms.keyword_only else ranking.fused(arms.cosines, arms.words, arms.pieces)
        order = sorted(scores, key=lambda item: (-scores[item], -arms.cosines.get(item, 0.0), item))[: query.limit]
        payloads = self._store.payloads(bucket, order, _KEYS)
        weak = self._weak(table, query, {identity: arms.cosines.get(identity) for identity in order})
        there = [identity for identity in order if identity in payloads]  # some may be deleted in between
        return [_match(payloads[item], scores[item], arms.cosines.get(item), item in weak, ()) for item in there]

    def _weak(self, table: OpenTable, query: Query, cosines: Mapping[str, float | None]) -> set[str]:
        """Those too little like answers, by the cosine; by the words where it is missing or says little."""
        mark = self.mark(query)
        needed = {item: 0.5 if cosine is None else mark.words_needed(cosine) for item, cosine in cosines.items()}
        asked = [item for item, share in needed.items() if 0 < share <= 1]
        held = self._shares(table, asked, query.text) if asked else {}
        return {item for item, share in needed.items() if held.get(item, 0.0) < share}

    def _literal(self, table: OpenTable, query: Query, chosen: Conditions) -> list[Match]:
        """What shares the most pieces of words, and holds every word; a code that stands there is no weak match."""
        bucket = table.bucket(Part.MASTER)
        words = table.words(Part.MASTER)
        pieces = words.query_pieces(query.text)
        near = self._store.search(bucket, [Nearest(pieces, query.limit, chosen)])[0] if pieces.indices else []
        payloads = self._store.payloads(bucket, [item.id for item in near], (*_KEYS, "text", "facets"))
        shares = {item.id: item.score for item in near if item.id in payloads}
        held = {key: share for key, share in shares.items() if words.literally(query.text, _said(payloads[key]))}
        vector = self._library.question(table, query.text)
        close = None if vector is None or not held else Nearest(vector, len(held), (Among(tuple(held)),))
        cosines = {item.id: _bounded(item.score) for item in self._several(bucket, close)[0]}
        scores = ranking.fused(dict.fromkeys(held, 0.0) | cosines, held)
        order = sorted(held, key=lambda item: (-scores[item], item))[: query.limit]
        weak = not has_code(query.text)
        return [_match(payloads[item], scores[item], cosines.get(item), weak, ()) for item in order]

    def _facets(self, table: OpenTable, query: Query, chosen: Conditions) -> list[Match]:
        bucket = table.bucket(Part.FACETS)
        pool = query.limit * max(5, len(table.spec.facets))
        keys = (*_KEYS, "facet")
        arms = self._arms(table, bucket, query.text, pool, chosen, self.threshold(query), keys)
        return self._grouped(table, query, arms.matched, {}, len(table.spec.facets) or None, arms.keyword_only)

    def _paired(self, table: OpenTable, query: Query, chosen: Conditions, pairs: Mapping[str, str]) -> list[Match]:
        """Each facet of the profile is searched in the facet that answers it, with the weight of the profile's."""
        bucket = table.bucket(Part.FACETS)
        keys = (*_KEYS, "facet")
        found: list[tuple[Found, float]] = []
        keyword_only = False
        for text, only in self._texts(table, query):
            arms = self._arms(table, bucket, text, query.limit * 3, (*chosen, *only), self.threshold(query), keys)
            keyword_only = arms.keyword_only
            found.extend(arms.matched)
        weights = {theirs: table.spec.facets.get(mine, ranking.UNKNOWN_WEIGHT) for mine, theirs in pairs.items()}
        return self._grouped(table, query, found, weights, len(pairs), keyword_only)

    def _grouped(
        self,
        table: OpenTable,
        query: Query,
        found: Iterable[tuple[Found, float]],
        weights: Mapping[str, float],
        total: int | None,
        keyword_only: bool,
    ) -> list[Match]:
        """Facet points by record: the best score of each facet, then the composite."""
        facets: dict[str, dict[str, float]] = {}
        payloads: dict[str, Payload] = {}
        for point, score in found:
            record, facet = str(point.payload["record"]), str(point.payload["facet"])
            best = facets.setdefault(record, {})
            best[facet] = max(best.get(facet, 0.0), score)
            payloads[record] = point.payload
        usual = self.mark(query).usual
        matches = []
        for record, scores in facets.items():
            composite = ranking.composite(scores, weights or table.spec.facets, total)
            top = max(scores.values())
            by_score = tuple(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
            similarity = None if keyword_only else top
            weak = top < 0.5 if keyword_only else top < usual
            matches.append(_match(payloads[record], composite, similarity, weak, by_score))
        return sorted(matches, key=lambda match: (-match.score, match.id))[: query.limit]

    def _arms(
        self,
        table: OpenTable,
        bucket: Bucket,
        text: str,
        pool: int,
        chosen: Conditions,
        threshold: float,
        keys: tuple[str, ...] = (),
    ) -> _Arms:
        vector = self._library.question(table, text)
        words = table.words(bucket.part).query(text)
        by_words = Nearest(words, pool, chosen, keys=keys)
        if vector is None:
            worded = self._store.search(bucket, [by_words])[0] if words.indices else []
            return _Arms({item.id: item for item in worded}, {}, _scores(worded), {}, True)
        by_vector = Nearest(vector, pool, chosen, threshold, keys=keys)
        near, *rest = self._store.search(bucket, [by_vector, by_words] if words.indices else [by_vector])
        worded = rest[0] if rest else []
        # Each arm also scores what only another one found; what is below the threshold is found by none.
        unseen = {item.id for item in worded} - {item.id for item in near}
        unworded = {item.id for item in near} - {item.id for item in worded} if worded else set()
        pieces = table.words(bucket.part).query_pieces(text) if bucket.part is Part.MASTER else Sparse((), ())
        every = {item.id for item in (*near, *worded)} if pieces.indices else set()
        seen, also, pieced = self._several(
            bucket,
            Nearest(vector, len(unseen), (Among(tuple(unseen)),), threshold, keys) if unseen else None,
            Nearest(words, len(unworded), (Among(tuple(unworded)),)) if unworded else None,
            Nearest(pieces, len(every), (Among(tuple(every)),)) if every else None,
        )
        found = {item.id: item for item in (*near, *seen)}
        cosines = {identity: _bounded(item.score) for identity, item in found.items()}
        said = {identity: score for identity, score in _scores((*worded, *also)).items() if identity in found}
        return _Arms(found, cosines, said, _scores(pieced), False)

    def _several(self, bucket: Bucket, *searches: Nearest | None) -> list[list[Found]]:
        """What each of them finds, in one request; where there is none, nothing."""
        wanted = [search for search in searches if search]
        answers = iter(self._store.search(bucket, wanted) if wanted else [])
        return [next(answers) if search else [] for search in searches]

    def _shares(self, table: OpenTable, ids: Sequence[str], text: str) -> dict[str, float]:
        """How many of the text's words that count each record holds; 0..1, 1 where none counts."""
        distinct = table.words(Part.MASTER).distinct
        asked = distinct(text)
        payloads = self._store.payloads(table.bucket(Part.MASTER), ids, ("name", "text", "facets"))
        if not asked:
            return dict.fromkeys(payloads, 1.0)
        return {item: len(asked & distinct(_said(payload))) / len(asked) for item, payload in payloads.items()}


@dataclass(frozen=True)
class _Arms:
    """What the arms found, and how each scores it."""

    found: Mapping[str, Found]
    cosines: Mapping[str, float]  #: of everything found; none where only keywords are searched
    words: Mapping[str, float]  #: of what has a word of the question
    pieces: Mapping[str, float]  #: of what has a piece of a word of the question; of whole records only
    keyword_only: bool

    @property
    def saturated(self) -> dict[str, float]:
        """Keyword scores, which have no upper end, as 0..1."""
        return {identity: score / (score + _SATURATION) for identity, score in self.words.items()}

    @property
    def matched(self) -> list[tuple[Found, float]]:
        """Everything found, with its cosine or else its keyword score."""
        scores = self.saturated if self.keyword_only else self.cosines
        return [(item, scores[identity]) for identity, item in self.found.items()]


def part_of(query: Query) -> Part:
    return Part.MASTER if query.mode == "master" else Part.FACETS


def _said(payload: Payload) -> str:
    """All that the record of a master payload says."""
    facets = payload.get("facets")
    said = [payload.get("name"), payload.get("text"), *(facets.values() if isinstance(facets, dict) else ())]
    return "\n".join(str(part) for part in said)


def _scores(found: Iterable[Found]) -> dict[str, float]:
    return {item.id: item.score for item in found}


def _bounded(cosine: float) -> float:
    return min(max(cosine, 0.0), 1.0)


def _match(
    payload: Payload, score: float, cosine: float | None, weak: bool, facets: tuple[tuple[str, float], ...]
) -> Match:
    fields = payload.get("fields")
    return Match(
        id=str(payload["record"]),
        name=str(payload.get("name", "")),
        score=score,
        similarity=cosine,
        weak=weak,
        facets=facets,
        fields=fields if isinstance(fields, dict) else {},
    )
