"""``records``: what a table holds, page by page. No model is loaded: only payloads are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from services.search.store.port import Bucket, Payload, TablePart
from services.search.tables.library import WHOLE, Library, count_records
from services.search.tables.points import point_id, record_of
from shared.amounts import amount
from shared.contracts.search import Record, RecordsInput, RecordsResult, StoredRecord
from shared.errors import SearchStoreUnavailable
from shared.jobs.job import Context

_MAX_TEXT = 2000  #: characters
_MAX_FACET = 500
_MAX_PAGE = 2_000_000  #: characters; a page ends before


class Stored:
    """The capability, with what it reads."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def __call__(self, context: Context, request: RecordsInput) -> RecordsResult:
        """Return a page of a table's records. Raises: UnknownCollection, UnknownTable, SearchStoreUnavailable."""
        info = self._library.catalog.find(context.job.tenant_id, request.collection)
        self._library.check(info, request.table)
        bucket = self._bucket(info.id, request.table)
        statistics = info.statistics.get(request.table)
        if bucket is None:
            if statistics is not None and statistics.records:
                raise SearchStoreUnavailable(
                    f"this search store does not hold table {request.table!r} "
                    f"({amount(statistics.records, 'record')}); ingest it again"
                )
            return RecordsResult(records=[], total=0, next=None)
        payloads, follows = self._library.store.page(bucket, request.after, request.limit, WHOLE)
        records = list(_fitting(payloads))
        if len(records) < len(payloads):
            follows = point_id(str(payloads[len(records)]["record"]))
        return RecordsResult(records=records, total=count_records(self._library.store, bucket), next=follows)

    def _bucket(self, collection_id: str, table: str) -> Bucket | None:
        """Return the bucket of the whole records, of any model; during a re-embedding, the one with most of them."""
        buckets = [
            bucket
            for bucket in self._library.store.buckets()
            if (bucket.collection_id, bucket.table, bucket.part) == (collection_id, table, TablePart.MASTER)
        ]
        return max(buckets, key=self._library.store.count, default=None)


def _fitting(payloads: Sequence[Payload]) -> Iterator[StoredRecord]:
    """Yield as many records as one answer can hold, and at least one."""
    size = 0
    for number, payload in enumerate(payloads):
        record = _stored(record_of(payload))
        size += len(record.model_dump_json())
        if number and size > _MAX_PAGE:
            return
        yield record


def _stored(record: Record) -> StoredRecord:
    facets = {name: text[:_MAX_FACET] for name, text in record.facets.items()}
    return StoredRecord(
        id=record.id,
        name=record.name,
        text=record.text[:_MAX_TEXT],
        facets=facets,
        fields=record.fields,
        cut=len(record.text) > _MAX_TEXT or facets != record.facets,
    )
