"""``ingest``: records into a table; sending a record again changes nothing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from tempfile import TemporaryFile

from services.search.queries.filters import AnyOf
from services.search.records.notes import Notes
from services.search.records.shape import Refused, record
from services.search.records.spool import SpooledRecords, spooled
from services.search.store.port import Layout, Payload, Point, TablePart
from services.search.tables import points, thresholds
from services.search.tables.catalog import TableStatistics
from services.search.tables.library import LATER, WHOLE, Library, OpenTable, count_records
from services.search.tables.points import SplitRecord
from services.search.tables.words import Words, average_words, language_of
from shared.contracts.search import IngestInput, IngestResult, Record, RecordError
from shared.errors import JobCancelled
from shared.jobs.job import Context
from shared.reading.names import warnings_of

_BATCH = 256
_BATCH_CHARACTERS = 500_000  # of long texts, so that progress is reported and a cancellation seen
_MAX_POINTS = 500  # that are written at once
_DRIFT = 0.01  # of the average length, below which no weight changes by more than a hundredth
_COPIED = 1 << 20  #: bytes at a time
_PROGRESS_SECONDS = 0.5
_MAX_ERRORS = 10_000


@dataclass
class _Tally:
    """Counts of records, adding up to the input."""

    ingested: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    seen: set[str] = field(default_factory=set)
    notes: Notes = field(default_factory=Notes)
    errors: list[RecordError] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return bool(self.ingested or self.updated or self.deleted)

    def refuse(self, index: int, why: Refused) -> None:
        if len(self.errors) < _MAX_ERRORS:
            self.errors.append(RecordError(index=index, id=why.id, code=why.code, message=why.message))


class Ingest:
    """The capability, with what it writes to."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def __call__(self, context: Context, request: IngestInput) -> IngestResult:
        """Ingest records into a table.

        Raises: UnknownCollection, UnknownTable, UnreadableFile, EmbeddingUnavailable, SearchStoreUnavailable.
        """
        self._library.sweep()
        info = self._library.catalog.find(context.job.tenant_id, request.collection)
        table = self._library.open(info, request.table, context.llm)
        if table.embedder is None:
            context.report.warn("No embedding model is available: the table can be searched by keywords only.")
        with ExitStack() as stack:
            records = stack.enter_context(_records(context, request, table))
            total = len(records) + len(request.delete)
            if self._library.is_undecided(info, request.table):
                table = self._library.open(info, request.table, context.llm, _first_texts(records, table))
            stack.enter_context(self._library.writing(table))
            progress = _Progress(context, total)
            tally = _Tally()
            if isinstance(records, SpooledRecords):
                tally.notes.add_all(records.notes)
            self._reembed(table, progress)
            self._delete(table, request.delete, tally)
            progress.step(len(request.delete))
            for start, batch in _batches(records):
                self._write(table, start, batch, tally)
                progress.step(len(batch))
            self._reweigh(table, progress)
            statistics = self._statistics(table, info.statistics.get(table.name), tally)
        saved = self._library.catalog.save_statistics(info.tenant_id, info.id, table.name, statistics)
        context.report.effect(saved)
        return IngestResult(
            ingested=tally.ingested,
            updated=tally.updated,
            unchanged=tally.unchanged,
            deleted=tally.deleted,
            errors=tally.errors,
            thresholds=dict(statistics.thresholds),
            notes=tally.notes.texts(),
        )

    def _write(self, table: OpenTable, start: int, batch: Sequence[object], tally: _Tally) -> None:
        """Write the records of the batch that are new or changed."""
        fitting: list[Record] = []
        for index, raw in enumerate(batch, start):
            parsed = raw if isinstance(raw, Refused) else record(raw, table.spec, tally.notes)
            if isinstance(parsed, Record) and parsed.id in tally.seen:
                message = "an earlier record of this input has the same id; that one is kept"
                parsed = Refused("duplicate_id", message, parsed.id)
            if isinstance(parsed, Refused):
                tally.refuse(index, parsed)
                continue
            tally.seen.add(parsed.id)
            fitting.append(parsed)
        ids = [points.point_id(each.id) for each in fitting]
        stored = self._library.store.payloads(table.bucket(TablePart.MASTER), ids, ["record", "digest", "passages"])
        changed = [
            each
            for each, identity, digest in zip(fitting, ids, points.digests(fitting, table.splitter), strict=True)
            if identity not in stored or stored[identity].get("digest") != digest
        ]
        updated = [stored[identity] for each in changed if (identity := points.point_id(each.id)) in stored]
        self._store(table, points.split(changed, table.splitter), updated)
        tally.updated += len(updated)
        tally.ingested += len(changed) - len(updated)
        tally.unchanged += len(fitting) - len(changed)

    def _store(self, table: OpenTable, changed: Sequence[SplitRecord], updated: Sequence[Payload]) -> None:
        """Store the changed records; ``updated`` are the stored payloads of those that exist already."""
        if not changed:
            return
        store, master, facets = self._library.store, table.bucket(TablePart.MASTER), table.bucket(TablePart.FACETS)
        self._ensure(table, changed)
        if updated:
            # Facets that a record no longer has must not be found.
            outdated = AnyOf("record", "keyword", tuple(str(payload["record"]) for payload in updated))
            store.delete_where(facets, (outdated,))
        for some in _parts(points.facets(changed, table.embedder, table.words(TablePart.FACETS))):
            store.upsert(facets, some)
        split = {each.record.id for each in changed if each.passages}  # a killed ingest may have left some of these
        split |= {str(payload["record"]) for payload in updated if points.passages_of(payload) > 1}
        if split:
            store.delete_where(master, (AnyOf("record", "keyword", tuple(split)), LATER))
        # Last come those that carry the digests: a crash before makes the next ingest write their records again.
        for some in _parts(points.masters(changed, table.embedder, table.words(TablePart.MASTER))):
            store.upsert(master, some)

    def _ensure(self, table: OpenTable, records: Sequence[SplitRecord]) -> None:
        """Create the buckets, taking length and language from the first records; index new fields."""
        texts = {
            TablePart.MASTER: points.weighted_texts(records),
            TablePart.FACETS: [text for item in records for text in item.record.facets.values()],
        }
        language = None
        for part in TablePart:
            existing = table.layouts.get(part)
            if existing is None:
                language = language or language_of(texts[TablePart.MASTER])
                average = average_words(texts[part], language)
                layout = Layout(table.fingerprint, self._size(table), average, dict(table.spec.fields), language)
            else:
                layout = replace(existing, fields=dict(table.spec.fields))
            if existing != layout:
                self._library.store.ensure(table.bucket(part), layout)
                table.layouts[part] = layout

    def _reweigh(self, table: OpenTable, progress: _Progress) -> None:
        """Compare lengths with the average that the table has now, where that is another than the weights hold.

        The layout comes last: a crash before it makes the next ingest do this again.
        """
        changed = {part: layout for part in TablePart if (layout := self._averaged(table, part)) is not None}
        words = {part: Words(layout.average_words, layout.language) for part, layout in changed.items()}
        store = self._library.store
        for page in store.every_payload(table.bucket(TablePart.MASTER), WHOLE) if changed else ():
            records = points.split([points.record_of(payload) for payload in page], table.splitter)
            for part, weigh in words.items():
                vectors = (points.master_weights if part is TablePart.MASTER else points.facet_weights)(records, weigh)
                store.replace_sparse(table.bucket(part), vectors)
            progress.step(0)
        for part, layout in changed.items():
            store.ensure(table.bucket(part), layout)
            table.layouts[part] = layout

    def _averaged(self, table: OpenTable, part: TablePart) -> Layout | None:
        """Return the part's layout with its exact average; None where the one in force is within a hundredth of it."""
        layout, bucket, store = table.layouts.get(part), table.bucket(part), self._library.store
        count = store.count(bucket) if layout else 0
        if layout is None or not count:
            return None
        average = max(store.total_length(bucket) / count, 1.0)
        return replace(layout, average_words=average) if abs(average / layout.average_words - 1) > _DRIFT else None

    def _size(self, table: OpenTable) -> int:
        vector = self._library.question(table, "size")
        return 0 if vector is None else len(vector)

    def _delete(self, table: OpenTable, ids: Sequence[str], tally: _Tally) -> None:
        store = self._library.store
        for start in range(0, len(ids), _BATCH):
            chosen = ids[start : start + _BATCH]
            own = [points.point_id(each) for each in chosen]
            stored = store.payloads(table.bucket(TablePart.MASTER), own, ["record", "passages"])
            records = tuple(str(payload["record"]) for payload in stored.values())
            left = set(records)
            for index, record_id in enumerate(chosen, start):
                if record_id not in left:
                    tally.refuse(index, Refused("not_found", "there is no such record to delete", record_id))
                left.discard(record_id)
            if stored:
                store.delete_where(table.bucket(TablePart.FACETS), (AnyOf("record", "keyword", records),))
                every = [identity for payload in stored.values() for identity in points.ids_of(payload)]
                store.delete(table.bucket(TablePart.MASTER), every)
            tally.deleted += len(stored)

    def _reembed(self, table: OpenTable, progress: _Progress) -> None:
        """Re-embed the records in the buckets of another model; a crash in between loses none of them."""
        for bucket in list(self._library.outdated(table)):
            if bucket.part is TablePart.MASTER:
                for page in self._library.store.every_payload(bucket, WHOLE):
                    self._write(table, 0, [points.record_of(payload).model_dump() for payload in page], _Tally())
                    progress.step(0)
            self._library.store.drop(bucket)

    def _statistics(self, table: OpenTable, known: TableStatistics | None, tally: _Tally) -> TableStatistics:
        """Return the known statistics while they still describe the table; else measure it again."""
        if known is None or tally.changed or known.fingerprint != table.fingerprint:
            return self._measure(table)
        records = count_records(self._library.store, table.bucket(TablePart.MASTER))
        return known if known.records == records else self._measure(table)

    def _measure(self, table: OpenTable) -> TableStatistics:
        """Flush the store and measure the table's thresholds again."""
        store = self._library.store
        for part in TablePart:
            store.settle(table.bucket(part))
        records = count_records(store, table.bucket(TablePart.MASTER))
        if table.embedder is None:
            return TableStatistics(table.fingerprint, {}, records)
        first = self._first_records(table)
        names = thresholds.sample([each.name for each in first])
        vectors = table.embedder.documents(names)
        language = language_of([points.whole_text(each) for each in first])
        calibration = self._library.calibration(table.embedder, language)
        measured = thresholds.measure(
            store, table.bucket(TablePart.MASTER), table.bucket(TablePart.FACETS), calibration, vectors
        )
        return TableStatistics(table.fingerprint, measured.flat(), records)

    def _first_records(self, table: OpenTable) -> list[Record]:
        pages = islice(self._library.store.every_payload(table.bucket(TablePart.MASTER), WHOLE), 4)
        return [points.record_of(payload) for page in pages for payload in page]


@contextmanager
def _records(context: Context, request: IngestInput, table: OpenTable) -> Iterator[Sequence[object] | SpooledRecords]:
    """Yield the input's records; an unreadable file is refused before anything is written."""
    if request.file_id is None:
        yield request.records or []
        return
    with TemporaryFile() as file:  # it has no name, so that nothing of it is left if this process is killed
        with context.files.open(request.file_id) as stream:
            shutil.copyfileobj(stream, file, _COPIED)
        file.flush()
        name = context.files.info(request.file_id).name
        with spooled(
            file, request.format, request.table, table.spec, context.cancelled, mapping=request.mapping, name=name,
            stated=request.reading(),
        ) as records:  # fmt: skip
            for warning in warnings_of(records.notes):
                context.report.warn(warning)
            yield records


def _first_texts(records: Iterable[object], table: OpenTable) -> list[str]:
    first = [raw for raw in islice(iter(records), _BATCH) if not isinstance(raw, Refused)]
    parsed = [record(raw, table.spec) for raw in first]
    return [points.whole_text(each) for each in parsed if isinstance(each, Record)]


class _Progress:
    """Reports progress twice a second, and stops the job when it is cancelled."""

    def __init__(self, context: Context, total: int) -> None:
        self._context = context
        self._total = total
        self._done = 0
        self._reported_at = 0.0

    def step(self, records: int) -> None:
        """Count processed records and report progress. Raises: JobCancelled, BudgetSpent."""
        self._done += records
        now = time.monotonic()
        if records and (now - self._reported_at >= _PROGRESS_SECONDS or self._done == self._total):
            self._context.report.event("progress", node="ingest", done=self._done, total=self._total)
            self._reported_at = now
        if self._context.cancelled.is_set():
            raise JobCancelled("the ingest was cancelled; what was written stays and is not written again")
        self._context.budget.check()


def _batches(items: Iterable[object]) -> Iterator[tuple[int, list[object]]]:
    """Yield batches with the position of their first record, limited by the number of records and of characters."""
    start, characters = 0, 0
    batch: list[object] = []
    for item in items:
        batch.append(item)
        text = item.get("text") if isinstance(item, Mapping) else None
        characters += len(text) if isinstance(text, str) else 0
        if len(batch) == _BATCH or characters >= _BATCH_CHARACTERS:
            yield start, batch
            start, characters, batch = start + len(batch), 0, []
    if batch:
        yield start, batch


def _parts(every: Sequence[Point]) -> Iterator[Sequence[Point]]:
    """Yield the points in parts that fit into one request to a server."""
    for start in range(0, len(every), _MAX_POINTS):
        yield every[start : start + _MAX_POINTS]
