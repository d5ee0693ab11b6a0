"""Runs a query on one table: retrieval, the threshold on the cosine, and the ranking of the query's mode."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from services.search.embed.port import Vectors
from services.search.queries import filters
from services.search.queries.codes import AskedCodes, asked_codes
from services.search.queries.filters import Among, AnyOf, Conditions, Not
from services.search.queries.query import Query
from services.search.retrieval import feedback, passages, ranking, sentences
from services.search.retrieval.answerability import NEIGHBOURS, UNLIKELY, answerable, doubts
from services.search.retrieval.code_holders import code_holders
from services.search.retrieval.passages import FoundPassage
from services.search.retrieval.question_words import AskedWords, full_text
from services.search.retrieval.retrievers import RetrievalRequest, Retrieved, bounded, retrieve, search_each
from services.search.store.port import CONTENT, NearestQuery, Payload, ScoredPoint, Sparse, TablePart
from services.search.tables.field_values import FieldValues
from services.search.tables.library import Library, OpenTable, count_records
from services.search.tables.points import passage_of, point_id, record_key
from services.search.tables.thresholds import LOWEST, Threshold
from services.search.tables.words import has_code, is_foreign
from shared.contracts.search import Hit

_LEAST_RETRIEVED = 50
_JUDGED_PASSAGES = 10  #: of the best record, whose sentences may answer
_JUDGED_HITS = 3  #: whose passages may answer
_NEARBY = 3  #: records that are shown when none is near enough
_NEARBY_PASSAGES = 20
_MAX_COUNTED = 10_000
_SHORTEST_PAIRED = 10  # characters of a profile's facet
_MAX_RETRIEVED = 800  #: points, where most are passages of few records
_KEYS = ("record", "name", "fields", CONTENT, *passages.KEYS)
_FACET_TEXTS = ("facets", "whole_facets")
_FACET_PASSAGES = 3  #: of a record, that are shown
_FACET_KEYS = ("record", "name", "fields", "facet", "at", CONTENT)
_BELOW = 0.99  #: of the last score before a refill: what was left out comes after it
_BEHIND = 0.9  #: of their scores, that hits keep behind those that hold a code or answer in a sentence
_MAX_REFILLS = 3  #: further searches for hits that copies of the same record displaced


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
    passages: tuple[FoundPassage, ...] = ()  #: that match, best first
    content: int | None = None  #: the same for records that say the same
    duplicates: tuple[str, ...] = ()  #: ids of further matches that say the same
    copies: int = 0  #: further records of the table that say the same


@dataclass(frozen=True)
class NearbyRecord:
    """A record close to a query, whether or not it passes the threshold."""

    name: str
    similarity: float


class SearchEngine:
    """Searches the opened tables of one collection, for the profile of one request."""

    def __init__(
        self, library: Library, tables: Mapping[str, OpenTable], profile: Mapping[str, str], question: str = ""
    ) -> None:
        """``question``: its codes hold in every query, however a model words it."""
        self._library = library
        self._store = library.store
        self._tables = tables
        self._codes = asked_codes(question)
        self._values: dict[str, FieldValues] = {}
        self._profile = {facet: text.strip() for facet, text in profile.items() if text.strip()}

    def run(self, query: Query) -> list[Match]:
        """Run a query.

        Raises: SearchStoreUnavailable, EmbeddingUnavailable, EmbeddingChanged, UnknownField, InvalidRequest.
        """
        table = self._tables[query.table]
        conditions = self.conditions(query)
        matches = self._distinct(table, query, conditions)
        codes = self.codes(query)
        if codes:
            matches = _collapsed(self._decided_by_codes(table, query, conditions, matches, codes))
        if any(match.duplicates for match in matches):
            return [self._counted(table, match, conditions) for match in matches]
        return matches

    @property
    def has_binding_codes(self) -> bool:
        """Whether the question has a code, which no other wording can replace."""
        return bool(self._codes.binding)

    def codes(self, query: Query) -> AskedCodes:
        """Return the codes that a record has to hold to answer; a model's own ones do not bind."""
        own = asked_codes(query.text)
        return self._codes | (AskedCodes(frozenset(), own.every) if query.by_model else own)

    def _distinct(self, table: OpenTable, query: Query, conditions: Conditions) -> list[Match]:
        """Return the matches without copies of a record; further searches replace the hits that copies displaced."""
        ranked = self._ranked(table, query, conditions)
        kept = _collapsed(ranked)
        for _ in range(_MAX_REFILLS):
            if len(kept) >= query.limit or len(ranked) < query.limit:
                break
            known = tuple(match.content for match in kept if match.content is not None)
            others = (*conditions, Not((AnyOf(CONTENT, "integer", known),)))
            ranked = self._ranked(table, query, others, fill=True)
            top, least = max((match.score for match in ranked), default=1.0), kept[-1].score
            below = [replace(match, score=least * min(match.score / (top or 1.0), 1.0) * _BELOW) for match in ranked]
            kept = [*kept, *_collapsed(below)][: query.limit]
        return kept

    def _counted(self, table: OpenTable, match: Match, conditions: Conditions) -> Match:
        """Return the match with the number of its copies."""
        if match.content is None:
            return match
        same = AnyOf(CONTENT, "integer", (match.content,))
        return replace(
            match, copies=count_records(self._store, table.bucket(TablePart.MASTER), (*conditions, same)) - 1
        )

    def _ranked(self, table: OpenTable, query: Query, conditions: Conditions, fill: bool = False) -> list[Match]:
        """``fill``: also where no record reaches the threshold, because others did."""
        if query.literal:
            return self._literal(table, query, conditions)
        if query.mode == "master":
            return self._master(table, query, conditions, fill)
        paired = self.paired(table)
        if paired:
            return self._paired(table, query, conditions, paired, fill)
        return self._facets(table, query, conditions, fill)

    def _decided_by_codes(
        self, table: OpenTable, query: Query, conditions: Conditions, matches: list[Match], codes: AskedCodes
    ) -> list[Match]:
        """Put matches that hold the codes first: they are strong, and where a code binds, all others are weak."""
        holders = code_holders(self._store, table, codes, conditions)
        if not holders.decide:
            return matches
        known = {match.id: match for match in matches}
        if not query.cut:  # a threshold that was chosen is the caller's to lower
            known |= self._holding(table, query, [point for key, point in holders.points.items() if key not in known])
        first = [
            self._showing(table, query, known.pop(record), point)
            for record, point in holders.points.items()
            if record in known
        ]
        top = max((match.score for match in [*first, *known.values()]), default=0.0) or 1.0
        answering = [
            replace(
                match,
                score=top * (_BEHIND + (1 - _BEHIND) * (len(first) - rank) / len(first)),
                weak=match.id not in holders.answering,
            )
            for rank, match in enumerate(first)
        ]
        others = [
            replace(match, score=match.score * _BEHIND, weak=match.weak or holders.binding) for match in known.values()
        ]
        return [*answering, *others][: query.limit]

    def _showing(self, table: OpenTable, query: Query, match: Match, point: ScoredPoint) -> Match:
        """Return the match with the point's passage, which holds a code, before its others."""
        words = table.words(TablePart.MASTER)
        held = passages.passage_in(point.payload, match.score, words.distinct(query.text), words)
        others = [passage for passage in match.passages if held is None or passage.at != held.at]
        return replace(match, passages=(*([held] if held else []), *others))

    def _holding(self, table: OpenTable, query: Query, points: Sequence[ScoredPoint]) -> dict[str, Match]:
        """Return the records that hold a code but were not retrieved, by id."""
        vector = self._library.question(table, query.text)
        among = (Among(tuple(point.id for point in points)),)
        by_vector = None if vector is None or not points else NearestQuery(vector, len(points), among)
        [near] = search_each(self._store, table.bucket(TablePart.MASTER), by_vector)
        cosines = {point.id: bounded(point.score) for point in near}
        matches = [_match(point.payload, 0.0, cosines.get(point.id), False, ()) for point in points]
        return {match.id: match for match in matches}

    def conditions(self, query: Query) -> Conditions:
        """Translate the query's filters. Raises: UnknownField, InvalidRequest."""
        fields = self._tables[query.table].spec.fields
        return tuple(
            condition
            for name, value in query.filters
            for condition in filters.conditions({name: value}, fields, query.table)
        )

    def values(self, name: str) -> FieldValues:
        """Return the values of the table's fields."""
        if name not in self._values:
            self._values[name] = FieldValues(self._store, self._tables[name])
        return self._values[name]

    def suggestions(self, query: Query, name: str) -> tuple[str, ...]:
        """Suggest values similar to those of the named filter that no record has. Raises: SearchStoreUnavailable."""
        own = replace(query, filters=tuple(part for part in query.filters if part[0] == name))
        return tuple(self.values(query.table).suggestions(self.conditions(own)))

    def has_facets(self, name: str) -> bool:
        """Return whether any record of the table has a facet; without one, faceted search would find nothing."""
        return self._library.has_facets(self._tables[name])

    def paired(self, table: OpenTable) -> dict[str, str]:
        """Return the profile's facets that this table answers, each with the facet that answers it."""
        return {mine: theirs for mine, theirs in table.spec.pair.items() if mine in self._profile}

    def calibrated(self, query: Query) -> Threshold:
        """Return the measured threshold of the query's table and mode, or that of questions in another language."""
        table = self._tables[query.table]
        foreign = table.thresholds.of_foreign
        if foreign is not None and is_foreign(query.text, table.words(TablePart.MASTER).language):
            return foreign
        return table.thresholds.of(part_of(query))

    def threshold(self, query: Query) -> float:
        """Return the threshold in force: the query's own, else the usual one of its table."""
        return self.calibrated(query).usual if query.threshold is None else query.threshold

    def by_words(self, query: Query) -> bool:
        """Return whether words alone decide, because no model can embed the query. Raises: EmbeddingUnavailable."""
        table = self._tables[query.table]
        return query.literal or all(
            self._library.question(table, text) is None for text, _ in self._texts(table, query)
        )

    def count(self, query: Query, threshold: float | None) -> int:
        """Return how many records the query would find without a limit; None: without a threshold too."""
        table = self._tables[query.table]
        conditions = self.conditions(query)
        records = count_records(self._store, table.bucket(TablePart.MASTER), conditions)
        if threshold is None or not records:
            return records
        bucket = table.bucket(part_of(query))
        limit = min(self._store.count(bucket, conditions), _MAX_COUNTED)
        searches = [
            NearestQuery(vector, limit, (*conditions, *facet), least, keys=("record",))
            for text, facet in self._texts(table, query)
            for vector, least in self._deciding(table, bucket.part, text, threshold)
        ]
        results = self._store.search(bucket, searches) if searches else []
        return len({point.payload["record"] for points in results for point in points})

    def is_empty(self, name: str) -> bool:
        """Return whether the table holds no record. Raises: SearchStoreUnavailable."""
        return self._store.count(self._tables[name].bucket(TablePart.MASTER)) == 0

    def nearest(self, query: Query) -> list[NearbyRecord]:
        """Return the closest records, however far."""
        table = self._tables[query.table]
        vector = self._library.question(table, query.text)
        if vector is None:
            return []
        nearest = NearestQuery(vector, _NEARBY_PASSAGES, keys=("name",))
        [points] = self._store.search(table.bucket(TablePart.MASTER), [nearest])
        by_id = {point.id: point for point in points}
        closest = [by_id[key] for key in ranking.best_of_each(by_id)[:_NEARBY]]
        return [NearbyRecord(str(point.payload.get("name", ""))[:100], round(point.score, 3)) for point in closest]

    def answerable(self, name: str, question: str, hits: Sequence[Hit]) -> float | None:
        """Return how likely one of the table's hits answers the question, 0..1; None where only keywords decide."""
        table = self._tables[name]
        vector = self._library.question(table, question)
        strong = [hit for hit in hits if not hit.weak and hit.similarity is not None]
        if vector is None or not strong:
            return None
        [points] = self._store.search(table.bucket(TablePart.MASTER), [NearestQuery(vector, _LEAST_RETRIEVED)])
        if not points:
            return None
        scores = {point.id: point.score for point in points}
        nearest = ranking.best_of_each(scores)
        own = point_id(strong[0].id)
        held = [key for key in scores if record_key(key) == record_key(own)] or [own]
        share = max(AskedWords(self._store, table, question).shares(held).values(), default=0.0)
        cosines = [scores[key] for key in nearest[: NEIGHBOURS + 1]]
        cosines[0] = max(cosines[0], strong[0].similarity or 0.0)  # of the sentence that answers
        texts = [_shown_text(hit) for hit in strong[:_JUDGED_HITS]]
        against = doubts(self._store, table, question, texts)
        likely = answerable(table.thresholds.master, cosines, share, against)
        if likely < UNLIKELY and table.embedder is not None:
            # The vector of a passage hardly shows the sentence that answers.
            bucket = table.bucket(TablePart.MASTER)
            stored = self._store.payloads(bucket, held[:_JUDGED_PASSAGES], (*sentences.KEYS, "at"))
            parts = {key: stored[key] for key in held if key in stored and "at" in stored[key]}
            sentence = sentences.nearest(parts, question, vector, table.embedder, table.words(TablePart.MASTER))
            cosines[0] = max(cosines[0], sentence or 0.0)
            likely = answerable(table.thresholds.master, cosines, share, against)
        return round(likely, 3)

    def _texts(self, table: OpenTable, query: Query) -> list[tuple[str, Conditions]]:
        """Return what is compared; in a paired search each facet of the profile, with the facet that it is compared
        with.
        """
        paired = self.paired(table) if query.mode == "faceted" else {}
        if not paired:
            return [(query.text, ())]
        texts = ((self._profile[mine], theirs) for mine, theirs in paired.items())
        return [
            (text, (AnyOf("facet", "keyword", (theirs,)),)) for text, theirs in texts if len(text) >= _SHORTEST_PAIRED
        ]

    def _deciding(
        self, table: OpenTable, part: TablePart, text: str, threshold: float
    ) -> list[tuple[Vectors | Sparse, float | None]]:
        """Return what decides whether a record is a hit: the text's vector, or its words where there is no model."""
        vector = self._library.question(table, text)
        if vector is not None:
            return [(vector, threshold)]
        words = table.words(part).query(text)
        return [(words, None)] if words.indices else []

    def _master(self, table: OpenTable, query: Query, conditions: Conditions, fill: bool) -> list[Match]:
        retrieved = self._retrieved_records(table, query, conditions)
        cosines = retrieved.cosines
        answering: Mapping[str, float] = {}
        if retrieved.keyword_only:
            scores = retrieved.saturated
        else:
            least = self.calibrated(query).least if query.threshold is None else query.threshold
            if not fill and max(cosines.values(), default=0.0) < least:
                answering = self._answering(table, query, retrieved)
                if not answering:
                    return []
            bucket = table.bucket(TablePart.MASTER)
            question = self._library.question(table, query.text)
            scores = feedback.scores(self._store, bucket, question, retrieved, table.thresholds.scale)
        ordered = ranking.ordered(scores, cosines)
        order, weak = self._listed(table, query, ranking.best_of_each(ordered), cosines)
        if not fill and len(weak) == len(order):
            weak = weak - self._standing_out(table, query, retrieved)
        if not fill and len(weak) == len(order):
            answering = answering or self._answering(table, query, retrieved)
        if answering:
            scores, cosines = _led_by(answering, scores, cosines)
            ordered = ranking.ordered(scores, cosines)
            order = ranking.best_of_each(ordered)[: query.limit]
            weak = set(order) - answering.keys()
        return self._matches(table, query, order, ordered[: query.limit], scores, cosines, weak)

    def _standing_out(self, table: OpenTable, query: Query, retrieved: Retrieved) -> set[str]:
        """Return the nearest record's point where it is so much more similar than the others that it answers."""
        if not retrieved.nearest:
            return set()
        needed = self.calibrated(query).stands_out([cosine for _, cosine in retrieved.nearest])
        best, _ = retrieved.nearest[0]
        if needed is None:
            return set()
        words = AskedWords(self._store, table, query.text)
        return {best} if not needed or words.shares([best]).get(best, 0.0) >= needed else set()

    def _answering(self, table: OpenTable, query: Query, retrieved: Retrieved) -> dict[str, float]:
        """Return the points that have a sentence which answers by itself, with its cosine; none where a threshold was
        chosen.
        """
        vector = self._library.question(table, query.text)
        if vector is None or table.embedder is None or query.threshold is not None:
            return {}
        fused = ranking.fused(retrieved.cosines, retrieved.words, retrieved.ngrams)
        points = ranking.ordered(fused, retrieved.cosines)[: sentences.MAX_PASSAGES]
        payloads = self._store.payloads(table.bucket(TablePart.MASTER), points, sentences.KEYS)
        ordered = {point: payloads[point] for point in points if point in payloads}
        asked, words = AskedWords(self._store, table, query.text), table.words(TablePart.MASTER)
        threshold = self.calibrated(query)
        return sentences.answering(ordered, query.text, vector, table.embedder, words, asked, threshold)

    def _retrieved_records(self, table: OpenTable, query: Query, conditions: Conditions) -> Retrieved:
        """Return what the retrievers find: more of it where most of it are passages of a few records."""
        limit = max(_LEAST_RETRIEVED, query.limit * 2)
        while True:
            retrieved = self._retrieve(table, TablePart.MASTER, query, query.text, limit, conditions)
            points = retrieved.points
            records = len(ranking.best_of_each(points))
            if len(points) < limit or records == len(points) or records >= query.limit or limit >= _MAX_RETRIEVED:
                return retrieved
            limit *= 4

    def _matches(
        self,
        table: OpenTable,
        query: Query,
        order: Sequence[str],
        best: Sequence[str],
        scores: Mapping[str, float],
        cosines: Mapping[str, float],
        weak: Collection[str],
    ) -> list[Match]:
        """Return the records of the points in ``order``, with the ``best`` passages of all: each shows its own and
        those.
        """
        words = table.words(TablePart.MASTER)
        asked = words.distinct(query.text)
        payloads = self._store.payloads(table.bucket(TablePart.MASTER), list(dict.fromkeys([*order, *best])), _KEYS)
        shown: dict[str, list[FoundPassage]] = {}
        for key in dict.fromkeys([*order, *best]):
            passage = passages.passage_in(payloads[key], scores[key], asked, words) if key in payloads else None
            if passage is not None:
                shown.setdefault(record_key(key), []).append(passage)
        return [
            _match(payloads[key], scores[key], cosines.get(key), key in weak, (), shown.get(record_key(key), ()))
            for key in order
            if key in payloads  # some may have been deleted meanwhile
        ]

    def _listed(
        self, table: OpenTable, query: Query, ranked: Sequence[str], cosines: Mapping[str, float]
    ) -> tuple[list[str], set[str]]:
        """Return the points that fit the query's limit, and which of them are weak.

        When all of them are, the best strong one takes the last place: weak ones never change the verdict.
        """
        listed = list(ranked[: query.limit])
        weak = self._weak(table, query, {key: cosines.get(key) for key in listed})
        if len(weak) < len(listed) or query.cut:
            return listed, weak
        passing = [key for key in ranked if cosines.get(key, 1.0) >= self.calibrated(query).usual][: query.limit]
        left_out = [key for key in passing if key not in weak]
        weak_too = self._weak(table, query, {key: cosines.get(key) for key in left_out}) if left_out else set()
        strong = next((key for key in left_out if key not in weak_too), None)
        return (listed, weak) if strong is None else ([*listed[:-1], strong], weak)

    def _weak(self, table: OpenTable, query: Query, cosines: Mapping[str, float | None]) -> set[str]:
        """Points too unlike an answer: by the cosine, or by the words where it is missing or near the threshold."""
        return AskedWords(self._store, table, query.text).weak(self.calibrated(query), cosines)

    def _literal(self, table: OpenTable, query: Query, conditions: Conditions) -> list[Match]:
        """Return records that hold every word, best by n-grams; weak matches unless the query holds a code."""
        bucket = table.bucket(TablePart.MASTER)
        words = table.words(TablePart.MASTER)
        ngrams = words.query_ngrams(query.text)
        by_ngrams = NearestQuery(ngrams, query.limit, conditions) if ngrams.indices else None
        [points] = search_each(self._store, bucket, by_ngrams)
        payloads = self._store.payloads(bucket, [point.id for point in points], _KEYS)
        literal = {
            point.id: point.score
            for point in points
            if point.id in payloads and words.literally(query.text, full_text(payloads[point.id]))
        }
        vector = self._library.question(table, query.text)
        by_vector = (
            None if vector is None or not literal else NearestQuery(vector, len(literal), (Among(tuple(literal)),))
        )
        cosines = {point.id: bounded(point.score) for point in search_each(self._store, bucket, by_vector)[0]}
        scores = ranking.fused(dict.fromkeys(literal, 0.0) | cosines, literal)
        ordered = sorted(literal, key=lambda key: (-scores[key], key))
        order = ranking.best_of_each(ordered)[: query.limit]
        weak = () if has_code(query.text) else order
        return self._matches(table, query, order, ordered[: query.limit], scores, cosines, weak)

    def _facets(self, table: OpenTable, query: Query, conditions: Conditions, fill: bool) -> list[Match]:
        limit = query.limit * max(5, len(table.spec.facets))
        retrieved = self._retrieve(table, TablePart.FACETS, query, query.text, limit, conditions, _FACET_KEYS)
        facets = len(table.spec.facets) or None
        return self._grouped(table, query, retrieved.scored, {}, facets, retrieved.keyword_only, fill)

    def _paired(
        self, table: OpenTable, query: Query, conditions: Conditions, pairs: Mapping[str, str], fill: bool
    ) -> list[Match]:
        """Search each facet of the profile in the facet that answers it, with the weight of the profile's."""
        scored: list[tuple[ScoredPoint, float]] = []
        keyword_only = False
        for text, facet in self._texts(table, query):
            limit = query.limit * 3
            retrieved = self._retrieve(table, TablePart.FACETS, query, text, limit, (*conditions, *facet), _FACET_KEYS)
            keyword_only = retrieved.keyword_only
            scored.extend(retrieved.scored)
        weights = {theirs: table.spec.facets.get(mine, ranking.UNKNOWN_WEIGHT) for mine, theirs in pairs.items()}
        return self._grouped(table, query, scored, weights, len(pairs), keyword_only, fill)

    def _grouped(
        self,
        table: OpenTable,
        query: Query,
        scored: Iterable[tuple[ScoredPoint, float]],
        weights: Mapping[str, float],
        total: int | None,
        keyword_only: bool,
        fill: bool,
    ) -> list[Match]:
        """Facet points grouped by record: the best score of each facet, then the composite of them."""
        facets: dict[str, dict[str, float]] = {}
        payloads: dict[str, Payload] = {}
        parts: dict[str, list[tuple[float, Payload]]] = {}
        for point, score in scored:
            record, facet = str(point.payload["record"]), str(point.payload["facet"])
            best = facets.setdefault(record, {})
            best[facet] = max(best.get(facet, 0.0), score)
            payloads[record] = point.payload
            parts.setdefault(record, []).append((score, point.payload))
        usual, least = self.calibrated(query).usual, 0.0 if keyword_only else self.threshold(query)
        best_score = max((score for scores in facets.values() for score in scores.values()), default=0.0)
        if not fill and best_score < least:
            return []
        matches = []
        for record, scores in facets.items():
            top = max(scores.values())
            matched = {facet: score for facet, score in scores.items() if score >= least}
            shown, weighed = matched or scores, weights or table.spec.facets
            score = ranking.composite(matched, weighed, total) if matched else ranking.below(scores, weighed)
            by_score = tuple(sorted(shown.items(), key=lambda item: (-item[1], item[0])))
            similarity = None if keyword_only else top
            weak = top < 0.5 if keyword_only else top < usual
            matches.append(_match(payloads[record], score, similarity, weak, by_score))
        listed = sorted(matches, key=lambda match: (-match.score, match.id))[: query.limit]
        if not keyword_only and self.calibrated(query).unrelated:
            own = {point_id(match.id): match for match in listed}
            weak_keys = self._weak(table, query, {key: match.similarity for key, match in own.items()})
            listed = [replace(match, weak=key in weak_keys) for key, match in own.items()]
        return self._with_facet_passages(table, listed, parts)

    def _with_facet_passages(
        self, table: OpenTable, matches: Sequence[Match], parts: Mapping[str, Sequence[tuple[float, Payload]]]
    ) -> list[Match]:
        """Return the matches with the best passages of their facets, on the scale of their scores."""
        own = {match.id: point_id(match.id) for match in matches}
        payloads = self._store.payloads(table.bucket(TablePart.MASTER), list(own.values()), _FACET_TEXTS)
        out = []
        for match in matches:
            payload = payloads.get(own[match.id], {})
            texts = payload.get("whole_facets", payload.get("facets"))
            best = sorted(parts[match.id], key=lambda part: -part[0])[:_FACET_PASSAGES]
            candidates = (
                passages.facet_passage(passage_of(part), str(part["facet"]), texts, score * 10)
                for score, part in best
                if isinstance(texts, dict)
            )
            out.append(replace(match, passages=tuple(passage for passage in candidates if passage is not None)))
        return out

    def _retrieve(
        self,
        table: OpenTable,
        part: TablePart,
        query: Query,
        text: str,
        limit: int,
        conditions: Conditions,
        keys: tuple[str, ...] = (),
    ) -> Retrieved:
        vector = self._library.question(table, text)
        threshold = self.threshold(query) if query.cut else None
        request = RetrievalRequest(text, vector, table.words(part), limit, conditions, threshold, keys)
        retrieved = retrieve(self._store, table.bucket(part), request)
        return retrieved if query.cut else retrieved.related(LOWEST)


def _shown_text(hit: Hit) -> str:
    """Return the hit's passages, with its name and fields."""
    return "\n".join([hit.name, *(passage.text for passage in hit.passages), *map(str, hit.fields.values())])


def part_of(query: Query) -> TablePart:
    return TablePart.MASTER if query.mode == "master" else TablePart.FACETS


def _match(
    payload: Payload,
    score: float,
    cosine: float | None,
    weak: bool,
    facets: tuple[tuple[str, float], ...],
    shown: Sequence[FoundPassage] = (),
) -> Match:
    fields, content = payload.get("fields"), payload.get(CONTENT)
    return Match(
        id=str(payload["record"]),
        name=str(payload.get("name", "")),
        score=score,
        similarity=cosine,
        weak=weak,
        facets=facets,
        fields=fields if isinstance(fields, dict) else {},
        passages=tuple(shown),
        content=content if isinstance(content, int) else None,
    )


def _led_by(
    first: Mapping[str, float], scores: Mapping[str, float], cosines: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return scores and cosines with these points before all others, each with the cosine of its sentence."""
    top = max(scores.values(), default=1.0)
    leading = {
        key: top * (_BEHIND + (1 - _BEHIND) * (len(first) - rank) / len(first)) for rank, key in enumerate(first)
    }
    return {key: score * _BEHIND for key, score in scores.items()} | leading, {**cosines, **first}


def _collapsed(matches: Sequence[Match]) -> list[Match]:
    """Return the first match of each content, with the ids of the others."""
    copies: dict[int | str, list[Match]] = {}
    for match in matches:
        copies.setdefault(match.id if match.content is None else match.content, []).append(match)
    return [
        replace(first, duplicates=tuple(dict.fromkeys([*first.duplicates, *(match.id for match in others)])))
        if others
        else first
        for first, *others in copies.values()
    ]
