"""The composition of search: the store, the embedding models, the catalog, and a table opened from all three."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from services.search.catalog import Catalog, CollectionInfo, Learned
from services.search.embed.models import Models
from services.search.embed.port import Embedder, Vectors
from services.search.settings import SearchSettings
from services.search.store.port import Bucket, Layout, Part, Store
from services.search.thresholds import Probes, Thresholds, before_measuring
from services.search.words import Words
from shared.contracts.search import TableSpec
from shared.errors import EmbeddingChanged, SearchStoreUnavailable, UnknownTable

_NO_VECTORS = "none"
_NO_THRESHOLDS = {"master": 0.0, "master_floor": 0.0, "faceted": 0.0, "faceted_floor": 0.0}
_TYPICAL_WORDS = 60.0


@dataclass(frozen=True)
class OpenTable:
    """One table of a collection, ready to be searched or written."""

    collection_id: str
    name: str
    spec: TableSpec
    embedder: Embedder | None  #: None: keywords only
    thresholds: Thresholds
    layouts: dict[Part, Layout]  #: empty before the first ingest
    records: int = 0  #: how many the last ingest counted, under whichever model

    def bucket(self, part: Part) -> Bucket:
        return Bucket.of(self.collection_id, self.name, part, self.fingerprint)

    @property
    def fingerprint(self) -> str:
        return self.embedder.fingerprint if self.embedder else _NO_VECTORS

    def words(self, part: Part) -> Words:
        layout = self.layouts.get(part)
        return Words(layout.average_words, layout.language) if layout else Words(_TYPICAL_WORDS)


class Library:
    """What search and ingest share; one per process."""

    def __init__(
        self, store: Store, models: Models, catalog: Catalog, settings: SearchSettings, cache: Path | None = None
    ) -> None:
        """``cache``: a folder where the probes are kept between starts."""
        self.store = store
        self.models = models
        self.catalog = catalog
        self.settings = settings
        self._cache = cache
        self._probes: dict[str, Probes] = {}
        self._faceted: set[Bucket] = set()
        self._writing: dict[tuple[str, str], threading.Lock] = {}
        self._lock = threading.Lock()

    def open(self, info: CollectionInfo, table: str) -> OpenTable:
        """Raises: UnknownTable, EmbeddingUnavailable."""
        self.check(info, table)
        embedder = self.models.named(info.embedding)
        learned = info.learned.get(table)
        marks = self._thresholds(learned, embedder)
        records = learned.records if learned else 0
        opened = OpenTable(info.id, table, info.tables[table], embedder, marks, {}, records)
        for part in Part:
            layout = self.store.layout(opened.bucket(part))
            if layout is not None:
                opened.layouts[part] = layout
        return opened

    def check(self, info: CollectionInfo, table: str) -> None:
        """Raises: UnknownTable."""
        if table not in info.tables:
            known = ", ".join(sorted(info.tables))
            raise UnknownTable(f"the collection {info.name!r} has no table {table!r}; it has: {known}")

    def check_current(self, table: OpenTable) -> None:
        """Raises: EmbeddingChanged while the vectors are another model's; SearchStoreUnavailable when they are gone."""
        if next(self.outdated(table), None) is not None:
            raise EmbeddingChanged(
                f"the table {table.name!r} was embedded with another model or by an older version; "
                "send an ingest job to embed it anew"
            )
        if table.records and not table.layouts:
            raise SearchStoreUnavailable(
                f"the {table.records} records of table {table.name!r} are not in this search store; ingest them again"
            )

    def outdated(self, table: OpenTable) -> Iterator[Bucket]:
        """The table's buckets of other embedding models, those with whole records first."""
        own = {table.bucket(part) for part in Part}
        theirs = (bucket for bucket in self.store.buckets() if bucket not in own)
        mine = [
            bucket for bucket in theirs if (bucket.collection_id, bucket.table) == (table.collection_id, table.name)
        ]
        yield from sorted(mine, key=lambda bucket: bucket.part is not Part.MASTER)

    def has_facets(self, table: OpenTable) -> bool:
        """Whether any record has a facet; once seen, it is not counted again."""
        bucket = table.bucket(Part.FACETS)
        if bucket not in self._faceted and self.store.count(bucket) > 0:
            self._faceted.add(bucket)
        return bucket in self._faceted

    def writing(self, table: OpenTable) -> threading.Lock:
        """One ingest at a time writes a table."""
        with self._lock:
            return self._writing.setdefault((table.collection_id, table.name), threading.Lock())

    def probes(self, embedder: Embedder) -> Probes:
        """The model's probes."""
        with self._lock:
            if embedder.fingerprint not in self._probes:
                self._probes[embedder.fingerprint] = Probes.kept(embedder, self._cache)
            return self._probes[embedder.fingerprint]

    def question(self, table: OpenTable, text: str) -> Vectors | None:
        return self.models.question(table.embedder, text) if table.embedder else None

    def sweep(self) -> None:
        """Remove the points of collections that were deleted."""
        for collection_id in self.catalog.dropped():
            for bucket in self.store.buckets():
                if bucket.collection_id == collection_id:
                    self.store.drop(bucket)
            self.catalog.swept(collection_id)

    def _thresholds(self, learned: Learned | None, embedder: Embedder | None) -> Thresholds:
        if embedder is None:
            return Thresholds.parse(_NO_THRESHOLDS)
        if learned is not None and learned.fingerprint == embedder.fingerprint and learned.thresholds:
            return Thresholds.parse(learned.thresholds)
        return before_measuring(self.probes(embedder))


class TablesOf(Mapping[str, OpenTable]):
    """The tables of one collection, each opened when it is first looked at."""

    def __init__(self, library: Library, info: CollectionInfo) -> None:
        self._library = library
        self._info = info
        self._opened: dict[str, OpenTable] = {}
        self._ready: set[str] = set()

    def __getitem__(self, name: str) -> OpenTable:
        if name not in self._info.tables:
            raise KeyError(name)
        if name not in self._opened:
            self._opened[name] = self._library.open(self._info, name)
        return self._opened[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._info.tables)

    def __len__(self) -> int:
        return len(self._info.tables)

    def check(self, name: str) -> None:
        """Raises: UnknownTable."""
        self._library.check(self._info, name)

    def ready(self, name: str) -> None:
        """Raises: EmbeddingChanged while the table's vectors are another model's."""
        if name not in self._ready:
            self._library.check_current(self[name])
            self._ready.add(name)

    @property
    def opened(self) -> Iterable[OpenTable]:
        return self._opened.values()
