"""What search and ingest share: the store, the embedding models, the catalog, and tables opened from all three."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from services.search.embed.models import ENGLISH_MODEL, FINGERPRINTS, MULTILINGUAL_MODEL, EmbeddingModels
from services.search.embed.port import Embedder, Vectors
from services.search.embed.remote import RemoteEmbedder
from services.search.queries.filters import Conditions, Missing, Range
from services.search.settings import SearchSettings
from services.search.store.port import PASSAGE, Bucket, Layout, TablePart, VectorStore
from services.search.tables.catalog import Catalog, CollectionInfo, TableStatistics
from services.search.tables.passages import Splitter
from services.search.tables.thresholds import REFERENCE_LANGUAGE, Calibration, Probes, Thresholds, uncalibrated
from services.search.tables.words import Words, is_english
from shared.amounts import amount
from shared.contracts.search import TableSpec
from shared.errors import EmbeddingChanged, SearchStoreUnavailable, UnknownTable
from shared.llm.chat import Meter

_NO_VECTORS = "none"
_FOREIGN_LANGUAGE = "spanish"  #: of the questions that measure how English tables answer other languages
_NO_THRESHOLDS = {"master": 0.0, "master_floor": 0.0, "faceted": 0.0, "faceted_floor": 0.0}
_TYPICAL_WORDS = 60.0
#: Only the points that hold whole records, not the later passages of long ones.
WHOLE: Conditions = (Missing(PASSAGE),)
LATER = Range(PASSAGE, "integer", gte=1)


@dataclass(frozen=True)
class OpenTable:
    """One table of a collection, ready to be searched or written."""

    collection_id: str
    name: str
    spec: TableSpec
    embedder: Embedder | None  #: None: keywords only
    thresholds: Thresholds
    layouts: dict[TablePart, Layout]  #: empty before the first ingest
    records: int = 0  #: counted by the last ingest, under whichever model

    def bucket(self, part: TablePart) -> Bucket:
        return Bucket.of(self.collection_id, self.name, part, self.fingerprint)

    @property
    def fingerprint(self) -> str:
        return self.embedder.fingerprint if self.embedder else _NO_VECTORS

    @property
    def splitter(self) -> Splitter:
        return Splitter(self.embedder, self.spec.passages)

    def words(self, part: TablePart) -> Words:
        layout = self.layouts.get(part)
        return Words(layout.average_words, layout.language) if layout else Words(_TYPICAL_WORDS)


def count_records(store: VectorStore, bucket: Bucket, conditions: Conditions = ()) -> int:
    """Return the number of records, however many passages they have."""
    points = store.count(bucket, conditions)
    return points - store.count(bucket, (*conditions, LATER)) if points else 0


class Library:
    """One per process."""

    def __init__(
        self,
        store: VectorStore,
        models: EmbeddingModels,
        catalog: Catalog,
        settings: SearchSettings,
        cache: Path | None = None,
    ) -> None:
        """``cache``: a folder that keeps the embedded probes between starts."""
        self.store = store
        self.models = models
        self.catalog = catalog
        self.settings = settings
        self._cache = cache
        self._probes: dict[tuple[str, str], Probes] = {}
        self._with_facets: set[Bucket] = set()
        self._writing: dict[tuple[str, str], threading.Lock] = {}
        self._lock = threading.Lock()

    def open(self, info: CollectionInfo, table: str, meter: object = None, texts: Sequence[str] = ()) -> OpenTable:
        """Return the table, with the model that its vectors are of.

        ``meter``: the models of the job that pays for embeddings. ``texts``: the first ones of a table that has none,
        by whose language a model is chosen where the installation leaves that open.

        Raises: UnknownTable, EmbeddingUnavailable.
        """
        self.check(info, table)
        embedder = self._embedder(info, table, texts)
        if isinstance(embedder, RemoteEmbedder) and isinstance(meter, Meter):
            embedder = embedder.metered(meter)
        statistics = info.statistics.get(table)
        thresholds = self._thresholds(statistics, embedder)
        records = statistics.records if statistics else 0
        opened = OpenTable(info.id, table, info.tables[table], embedder, thresholds, {}, records)
        for part in TablePart:
            layout = self.store.layout(opened.bucket(part))
            if layout is not None:
                opened.layouts[part] = layout
        return opened

    def is_undecided(self, info: CollectionInfo, table: str) -> bool:
        """Return whether the table's model is chosen by the language of its first records."""
        return self.models.is_automatic(info.embedding) and self._kept_by(info, table) is None

    def _embedder(self, info: CollectionInfo, table: str, texts: Sequence[str]) -> Embedder | None:
        if not self.models.is_automatic(info.embedding):
            return self.models.named(info.embedding)
        kept = self._kept_by(info, table)
        if kept is not None:
            return kept
        return self.models.named(ENGLISH_MODEL if is_english(texts) else MULTILINGUAL_MODEL)

    def _kept_by(self, info: CollectionInfo, table: str) -> Embedder | None:
        """Return the model of the table's vectors; None before the first ones."""
        statistics = info.statistics.get(table)
        for name in (MULTILINGUAL_MODEL, ENGLISH_MODEL):
            fingerprint = FINGERPRINTS[name]
            if statistics and statistics.records and statistics.fingerprint == fingerprint:
                return self.models.named(name)
            if self.store.layout(Bucket.of(info.id, table, TablePart.MASTER, fingerprint)) is not None:
                return self.models.named(name)
        return None

    def check(self, info: CollectionInfo, table: str) -> None:
        """Check that the table exists. Raises: UnknownTable."""
        if table not in info.tables:
            known = ", ".join(sorted(info.tables))
            raise UnknownTable(f"the collection {info.name!r} has no table {table!r}; it has: {known}")

    def check_current(self, table: OpenTable) -> None:
        """Check the table's vectors. Raises: EmbeddingChanged for another model's; SearchStoreUnavailable for
        missing ones.
        """
        if next(self.outdated(table), None) is not None:
            raise EmbeddingChanged(
                f"the table {table.name!r} was embedded with another model or by an older version; "
                "send an ingest job to embed it again"
            )
        if table.records and not table.layouts:
            raise SearchStoreUnavailable(
                f"this search store does not hold table {table.name!r} ({amount(table.records, 'record')}); "
                "ingest it again"
            )

    def outdated(self, table: OpenTable) -> Iterator[Bucket]:
        """Yield the table's buckets of other embedding models, those with whole records first."""
        current = {table.bucket(part) for part in TablePart}
        of_table = [
            bucket
            for bucket in self.store.buckets()
            if (bucket.collection_id, bucket.table) == (table.collection_id, table.name)
        ]
        outdated = [bucket for bucket in of_table if bucket not in current]
        yield from sorted(outdated, key=lambda bucket: bucket.part is not TablePart.MASTER)

    def has_facets(self, table: OpenTable) -> bool:
        """Return whether any record has a facet; a positive answer is cached."""
        bucket = table.bucket(TablePart.FACETS)
        if bucket not in self._with_facets and self.store.count(bucket) > 0:
            self._with_facets.add(bucket)
        return bucket in self._with_facets

    def writing(self, table: OpenTable) -> threading.Lock:
        """Return the lock that lets one ingest at a time write the table."""
        with self._lock:
            return self._writing.setdefault((table.collection_id, table.name), threading.Lock())

    def probes(self, embedder: Embedder, language: str = REFERENCE_LANGUAGE) -> Probes:
        """Return the model's probes in the language."""
        key = (embedder.fingerprint, language)
        with self._lock:
            if key not in self._probes:
                self._probes[key] = Probes.load(embedder, self._cache, language)
            return self._probes[key]

    def calibration(self, embedder: Embedder, language: str) -> Calibration:
        """Return what the model can distinguish in the language."""
        foreign = REFERENCE_LANGUAGE if language != REFERENCE_LANGUAGE else _FOREIGN_LANGUAGE
        return Calibration(self.probes(embedder, language), self.probes(embedder), self.probes(embedder, foreign))

    def question(self, table: OpenTable, text: str) -> Vectors | None:
        return self.models.question(table.embedder, text) if table.embedder else None

    def sweep(self) -> None:
        """Remove the points of collections that were deleted."""
        for collection_id in self.catalog.dropped():
            for bucket in self.store.buckets():
                if bucket.collection_id == collection_id:
                    self.store.drop(bucket)
            self.catalog.mark_swept(collection_id)

    def _thresholds(self, statistics: TableStatistics | None, embedder: Embedder | None) -> Thresholds:
        if embedder is None:
            return Thresholds.parse(_NO_THRESHOLDS)
        if statistics is not None and statistics.fingerprint == embedder.fingerprint and statistics.thresholds:
            return Thresholds.parse(statistics.thresholds)
        return uncalibrated(self.probes(embedder))


class TablesOf(Mapping[str, OpenTable]):
    """The tables of one collection, each opened at its first use."""

    def __init__(self, library: Library, info: CollectionInfo, meter: object = None) -> None:
        self._library = library
        self._info = info
        self._meter = meter
        self._opened: dict[str, OpenTable] = {}
        self._ready: set[str] = set()

    def __getitem__(self, name: str) -> OpenTable:
        if name not in self._info.tables:
            raise KeyError(name)
        if name not in self._opened:
            self._opened[name] = self._library.open(self._info, name, self._meter)
        return self._opened[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._info.tables)

    def __len__(self) -> int:
        return len(self._info.tables)

    def check(self, name: str) -> None:
        """Check that the table exists. Raises: UnknownTable."""
        self._library.check(self._info, name)

    def ready(self, name: str) -> None:
        """Check a table before its first query. Raises: EmbeddingChanged while the table's vectors are another
        model's.
        """
        if name not in self._ready:
            self._library.check_current(self[name])
            self._ready.add(name)

    @property
    def opened(self) -> Iterable[OpenTable]:
        return self._opened.values()
