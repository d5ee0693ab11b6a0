"""Ingest: counts that add up, records written once, nothing lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from services.search.store.edge import EdgeStore
from services.search.store.port import TablePart
from services.search.tables.thresholds import Probes
from shared.errors import EmbeddingChanged, JobCancelled, UnknownCollection, UnknownTable, UnreadableFile
from tests.services.search.conftest import CONFERENCE, SESSIONS
from tests.services.search.service import HashedWords, MemorySearchService
from tests.support.context import MemoryContext


def counts(result: Any) -> tuple[int, int, int, int, int]:
    return (result.ingested, result.updated, result.unchanged, result.deleted, len(result.errors))


def changed(number: int, **changes: Any) -> dict[str, Any]:
    return {**SESSIONS[number], **changes}


@pytest.mark.slow
def test_records_are_new_then_unchanged_then_updated(empty: MemorySearchService) -> None:
    assert counts(empty.ingest("sessions", SESSIONS)) == (3, 0, 0, 0, 0)
    assert counts(empty.ingest("sessions", SESSIONS)) == (0, 0, 3, 0, 0)
    again = [changed(0, text="Replication instead."), *SESSIONS[1:]]
    assert counts(empty.ingest("sessions", again)) == (0, 1, 2, 0, 0)
    assert [hit.id for hit in empty.search("replication instead").hits["sessions"]] == ["s1"]


def test_a_second_ingest_embeds_nothing_that_did_not_change(empty: MemorySearchService) -> None:
    empty.ingest("sessions", SESSIONS)
    model = empty.models.embedder
    assert isinstance(model, HashedWords)
    before = model.embedded
    empty.ingest("sessions", SESSIONS)
    assert model.embedded == before


def test_a_changed_field_alone_is_an_update_that_filters_see(filled: MemorySearchService) -> None:
    assert counts(filled.ingest("sessions", [changed(0, fields={"track": "moved"})])) == (0, 1, 0, 0, 0)
    hits = filled.search("postgres vacuum tuning", filters={"track": "moved"}).hits
    assert [hit.id for hit in hits["sessions"]] == ["s1"]


def test_a_facet_that_a_record_lost_is_not_found_any_more(filled: MemorySearchService) -> None:
    plan = [{"table": "sessions", "search_mode": "faceted", "query_text": "database administrators"}]
    assert filled.search("q", plan=plan).verdict == "found"
    filled.ingest("sessions", [changed(0, facets={"session_topic": "database performance tuning"})])
    [hit] = filled.search("q", plan=plan, max_reflections=0).hits.get("sessions", [])
    assert [facet.key for facet in hit.facets] == ["session_topic"]


def test_deleted_records_are_gone_and_unknown_ones_are_named(filled: MemorySearchService) -> None:
    result = filled.ingest("sessions", None, delete=["s1", "ghost"])
    assert counts(result) == (0, 0, 0, 1, 1)
    assert (result.errors[0].id, result.errors[0].code, result.errors[0].index) == ("ghost", "not_found", 1)
    assert "sessions" not in filled.search("postgres vacuum tuning", tables=["sessions"]).hits


def test_deletions_come_before_records_of_the_same_input(filled: MemorySearchService) -> None:
    assert counts(filled.ingest("sessions", [SESSIONS[0]], delete=["s1"])) == (1, 0, 0, 1, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("record", "code"),
    [
        ({"name": "no id"}, "missing_id"),
        ({"id": None, "name": "x"}, "missing_id"),
        ({"id": "", "name": "x"}, "missing_id"),
        ({"id": True, "name": "x"}, "invalid_id"),
        ({"id": {"a": 1}, "name": "x"}, "invalid_id"),
        ({"id": "x" * 257, "name": "x"}, "too_large"),
        ({"id": "x"}, "empty_record"),
        ({"id": "x", "name": "  ", "text": ""}, "empty_record"),
        ({"id": "x", "text": "y" * 1_000_001}, "too_large"),
        ({"id": "x", "name": 5}, "invalid_record"),
        ({"id": "x", "name": "x", "facets": {"session_topic": 5}}, "invalid_record"),
        ({"id": "x", "name": "x", "facets": ["a"]}, "invalid_record"),
        ({"id": "x", "name": "x", "surprise": 1}, "unknown_key"),
        ({"id": "x", "name": "x", "fields": {"seats": "many"}}, "invalid_field"),
        ({"id": "x", "name": "x", "fields": {"seats": 1.5}}, "invalid_field"),
        ({"id": "x", "name": "x", "fields": {"seats": True}}, "invalid_field"),
        ({"id": "x", "name": "x", "fields": {"seats": 2**70}}, "invalid_field"),
        ({"id": "x", "name": "x", "fields": {"start": "tomorrow"}}, "invalid_field"),
        ({"id": "x", "name": "x", "fields": {"track": {"a": 1}}}, "invalid_field"),
        ({"id": "x", "name": "half \ud800"}, "invalid_record"),
        ({"id": "x", "name": "x", "fields": {"undeclared": 2**70}}, "invalid_field"),
        ({"id": "x", "name": "x", "fields": {"undeclared": [{"deep": -(2**70)}]}}, "invalid_field"),
    ],
)
def test_a_record_that_does_not_fit_is_named_and_the_others_are_kept(
    empty: MemorySearchService, record: dict[str, Any], code: str
) -> None:
    result = empty.ingest("sessions", [SESSIONS[0], record, SESSIONS[1]])
    assert counts(result) == (2, 0, 0, 0, 1)
    assert (result.errors[0].index, result.errors[0].code) == (1, code)
    assert result.errors[0].message


def test_of_two_records_with_one_id_the_first_is_kept(empty: MemorySearchService) -> None:
    twice = [SESSIONS[0], changed(1, id="s1"), SESSIONS[2]]
    result = empty.ingest("sessions", twice)
    assert counts(result) == (2, 0, 0, 0, 1)
    assert (result.errors[0].index, result.errors[0].id, result.errors[0].code) == (1, "s1", "duplicate_id")
    assert counts(empty.ingest("sessions", twice)) == (0, 0, 2, 0, 1)


def test_whole_numbers_are_ids_too(empty: MemorySearchService) -> None:
    assert counts(empty.ingest("sessions", [{"id": 7, "name": "Postgres vacuum"}])) == (1, 0, 0, 0, 0)
    assert [hit.id for hit in empty.search("postgres vacuum").hits["sessions"]] == ["7"]


def test_fields_that_are_not_declared_are_kept_and_shown(empty: MemorySearchService) -> None:
    empty.ingest("sessions", [changed(0, fields={"url": "https://x.test", "nested": {"a": [1]}})])
    [hit] = empty.search("postgres vacuum tuning").hits["sessions"]
    assert hit.fields == {"url": "https://x.test", "nested": {"a": [1]}}


def test_nothing_but_an_empty_list_is_a_valid_ingest(empty: MemorySearchService) -> None:
    assert counts(empty.ingest("sessions", [])) == (0, 0, 0, 0, 0)


def test_unknown_collections_and_tables_are_refused(empty: MemorySearchService) -> None:
    with pytest.raises(UnknownTable, match="it has: exhibitors, people, sessions"):
        empty.ingest("nowhere", SESSIONS)
    with pytest.raises(UnknownCollection):
        empty.ingest("sessions", SESSIONS, collection="nothing")
    with pytest.raises(UnknownCollection):
        empty.ingest("sessions", SESSIONS, job=MemoryContext(tenant="other"))


@pytest.mark.slow
def test_a_long_ingest_says_how_far_it_is(empty: MemorySearchService) -> None:
    job = MemoryContext()
    empty.ingest("sessions", [{"id": f"s{number}", "name": "same"} for number in range(600)], job=job)
    steps = job.report.of("progress")
    assert steps[-1]["done"] == steps[-1]["total"] == 600
    assert [step["done"] for step in steps] == sorted(step["done"] for step in steps)  # type: ignore[type-var]


@pytest.mark.slow
def test_a_cancelled_ingest_stops_and_can_be_sent_again(empty: MemorySearchService) -> None:
    many = [{"id": f"s{number}", "name": "same"} for number in range(600)]
    job = MemoryContext()
    job.report.event = lambda type, **data: job.cancelled.set()  # type: ignore[method-assign]
    with pytest.raises(JobCancelled):
        empty.ingest("sessions", many, job=job)
    result = empty.ingest("sessions", many)
    assert result.unchanged > 0
    assert result.ingested + result.unchanged == 600


def test_thresholds_are_measured_and_kept(empty: MemorySearchService) -> None:
    result = empty.ingest("sessions", SESSIONS)
    assert set(result.thresholds) == {
        *("master", "master_floor", "faceted", "faceted_floor"),
        *("cosine_share", "cosine_zero"),
    }
    assert 0.15 <= result.thresholds["master_floor"] < result.thresholds["master"] < 1
    assert empty.catalog.known[("c1", "sessions")].thresholds == result.thresholds
    assert empty.catalog.known[("c1", "sessions")].records == 3


def test_another_model_embeds_everything_anew_and_loses_nothing(filled: MemorySearchService) -> None:
    filled.models.embedder = HashedWords("other", 128)
    with pytest.raises(EmbeddingChanged, match="send an ingest job"):
        filled.search("postgres vacuum tuning", tables=["sessions"])
    assert counts(filled.ingest("sessions", [])) == (0, 0, 0, 0, 0)
    [hit] = filled.search("postgres vacuum tuning", tables=["sessions"]).hits["sessions"]
    assert (hit.id, hit.fields["track"]) == ("s1", "data")
    tables = [bucket.table for bucket in filled.store.buckets()]
    assert tables.count("sessions") == 2


def test_a_model_whose_vectors_changed_their_size_is_refused_and_nothing_is_lost(filled: MemorySearchService) -> None:
    filled.models.embedder = _Renamed(64)
    filled.models._recent.clear()
    with pytest.raises(EmbeddingChanged):
        filled.ingest("sessions", [{"id": "new", "name": "something new"}])
    filled.models.embedder = HashedWords()
    filled.models._recent.clear()
    assert filled.search("postgres vacuum tuning").verdict == "found"


class _Renamed(HashedWords):
    """Says that it is the model that it is not any more."""

    def __init__(self, size: int) -> None:
        super().__init__("hashed", size)

    @property
    def fingerprint(self) -> str:
        return "hashed/2048"


def test_a_deleted_collections_points_are_swept(filled: MemorySearchService) -> None:
    assert any(bucket.collection_id == "c1" for bucket in filled.store.buckets())
    filled.catalog.gone.append("c1")
    filled.library.sweep()
    assert filled.store.buckets() == []
    assert filled.catalog.gone == []


@pytest.mark.slow
def test_without_an_embedding_model_a_table_is_kept_by_its_words(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    service = MemorySearchService(store, None)
    service.catalog.create("tenant", "c", CONFERENCE)
    job = MemoryContext()
    result = service.ingest("sessions", SESSIONS, job=job)
    assert counts(result) == (3, 0, 0, 0, 0)
    assert result.thresholds == {}
    assert any("keywords only" in warning for warning in job.report.warnings)
    store.close()


def from_file(service: MemorySearchService, content: bytes, table: str = "sessions", **more: Any) -> Any:
    job = MemoryContext()
    identity = job.files.add("upload", content)
    return service.ingest(table, None, job=job, file_id=identity, **more)


def test_json_lines_with_a_bad_line_lose_only_that_line(empty: MemorySearchService) -> None:
    lines = [json.dumps(SESSIONS[0]), "{broken", "", json.dumps([1]), json.dumps(SESSIONS[1])]
    result = from_file(empty, "\n".join(lines).encode())
    assert counts(result) == (2, 0, 0, 0, 2)
    assert [error.code for error in result.errors] == ["malformed_json", "not_an_object"]


def test_a_column_name_used_twice_loses_nothing_and_is_a_warning_of_the_job(empty: MemorySearchService) -> None:
    job = MemoryContext()
    identity = job.files.add("labels.csv", b"id,name,labels,labels\ns1,Vacuum,red,blue\n")
    result = empty.ingest("sessions", None, job=job, file_id=identity)
    assert counts(result) == (1, 0, 0, 0, 0)
    assert job.report.warnings == ["column names used more than once were numbered: labels_2"]
    [hit] = empty.search("vacuum", tables=["sessions"]).hits["sessions"]
    assert hit.fields == {"labels": "red", "labels_2": "blue"}


@pytest.mark.slow
def test_a_file_that_cannot_be_read_writes_nothing(empty: MemorySearchService) -> None:
    with pytest.raises(UnreadableFile):
        from_file(empty, b"PAR1 but no parquet", format="parquet")
    with pytest.raises(UnreadableFile):
        from_file(empty, b'{"schedule": {"conference": {}}}', format="pretalx")
    layouts = [empty.store.layout(bucket) for bucket in empty.store.buckets()]
    assert layouts == []


def test_every_master_point_carries_the_whole_record(filled: MemorySearchService) -> None:
    info = filled.catalog.find("tenant", "c")
    bucket = filled.library.open(info, "sessions").bucket(TablePart.MASTER)
    [page] = filled.store.every_payload(bucket)
    kept = {str(payload["record"]): payload for payload in page}
    assert kept["s2"]["text"] == SESSIONS[1]["text"]
    assert kept["s2"]["facets"] == SESSIONS[1]["facets"]


def test_probes_are_embedded_at_the_first_start_only(tmp_path: Path) -> None:
    model = HashedWords()
    first = Probes.load(model, tmp_path / "cache")
    embedded = model.embedded
    again = Probes.load(model, tmp_path / "cache")
    assert model.embedded == embedded
    assert (again.unrelated(), again.known()) == (first.unrelated(), first.known())
    Probes.load(HashedWords("other"), tmp_path / "cache")
    [spoilt, other] = (tmp_path / "cache").glob("probes-*.npy")
    for file in (spoilt, other):
        file.write_bytes(b"half a fi")
    assert Probes.load(model, tmp_path / "cache").known() == first.known()
    (tmp_path / "file").touch()
    assert Probes.load(model, tmp_path / "file").known() == first.known()
