"""One conformance suite for every store that can run here."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from services.search.queries.filters import Among, conditions
from services.search.store.edge import EdgeStore
from services.search.store.open import open_local, open_store
from services.search.store.port import LENGTH, Bucket, Layout, NearestQuery, Point, TablePart, VectorStore
from services.search.tables.words import Words
from shared.contracts.search import FieldType, Filters
from shared.errors import EmbeddingChanged, SearchStoreUnavailable
from tests.services.search.store.qdrant_server import QdrantServer, serving

FIELDS: dict[str, FieldType] = {
    "track": "keyword",
    "seats": "integer",
    "price": "float",
    "live": "bool",
    "start": "datetime",
    "blurb": "text",
    "my-odd_key": "keyword",
    "place": "geo",
}
BUCKET = Bucket("c1", "talks", TablePart.MASTER)
LAYOUT = Layout("test/4", 4, 10.0, FIELDS)
WORDS = Words(10.0)


#: A real server to fill and empty again, for who has one.
SERVER = os.environ.get("QDRANT_TEST_URL")
#: ``wire``: the adapter of a server over a socket.
KINDS = ["edge", "local", "wire", *(["server"] if SERVER else [])]


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[VectorStore]:
    with ExitStack() as stack:
        store: VectorStore
        match kind:
            case "edge":
                store = EdgeStore(folder / "store")
            case "local":
                store = open_local()
            case "wire":
                store = open_store(stack.enter_context(serving()).url, folder)
            case _:
                store = open_store(SERVER, folder)
                for bucket in store.buckets():
                    store.drop(bucket)
        yield store
        store.close()


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    with opened(request.param, tmp_path) as store:
        yield store


@pytest.fixture(scope="module", params=KINDS)
def conference(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VectorStore]:
    """A filled store that tests only read."""
    with opened(request.param, tmp_path_factory.mktemp("conference")) as store:
        yield filled(store)


def point(number: int, text: str = "dogs run", **fields: object) -> Point:
    dense = np.array([1.0, number, 0.0, 0.0], dtype=np.float32)
    payload = {"record": f"r{number}", "name": f"talk {number}", "fields": fields}
    return Point(identity(number), dense, (WORDS.document(text), WORDS.document_ngrams(text)), payload)  # type: ignore[arg-type]


def identity(number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))


def filled(store: VectorStore) -> VectorStore:
    store.ensure(BUCKET, LAYOUT)
    store.upsert(
        BUCKET,
        [
            point(
                0,
                "quantum dogs",
                track="ai",
                seats=10,
                price=1.5,
                live=True,
                start="2026-05-01T10:00:00Z",
                place={"lat": 47.37, "lon": 8.54},
            ),
            point(
                1,
                "lazy cats",
                track=["web", "ai"],
                seats=20,
                price=2.5,
                live=False,
                start="2026-05-02T10:00:00Z",
                place=[{"lat": 0.0, "lon": 0.0}, {"lat": 47.5, "lon": 8.72}],
            ),
            point(2, "the dog runs", track="web", seats=30, blurb="Hello big World", **{"my-odd_key": "x"}),
        ],
    )
    return store


def matching(store: VectorStore, filters: Filters) -> set[str]:
    chosen = conditions(filters, FIELDS, "talks")
    vector = np.array([1.0, 0, 0, 0], dtype=np.float32)
    [found] = store.search(BUCKET, [NearestQuery(vector, 10, chosen, keys=("record",))])
    assert store.count(BUCKET, chosen) == len(found)
    return {str(item.payload["record"]) for item in found}


def test_dense_search_ranks_by_cosine_and_cuts_at_the_threshold_and_the_limit(conference: VectorStore) -> None:
    vector = np.array([1.0, 0, 0, 0], dtype=np.float32)
    everything, strict, one = conference.search(
        BUCKET, [NearestQuery(vector, 10), NearestQuery(vector, 10, threshold=0.7), NearestQuery(vector, 1)]
    )
    assert [item.id for item in everything] == [identity(0), identity(1), identity(2)]
    assert everything[0].score == pytest.approx(1.0)
    assert everything[2].score == pytest.approx(1 / 5**0.5, abs=1e-5)
    assert [len(strict), len(one)] == [2, 1]


def test_word_search_finds_stems_and_ignores_what_shares_no_word(conference: VectorStore) -> None:
    [found] = conference.search(BUCKET, [NearestQuery(WORDS.query("running dog"), 10, keys=("record",))])
    assert [item.payload["record"] for item in found] == ["r2", "r0"]


def test_a_search_among_points_gives_those_and_the_same_scores(conference: VectorStore) -> None:
    vector, words = np.array([1.0, 0, 0, 0], dtype=np.float32), WORDS.query("dog cats")
    two = (Among((identity(1), identity(2))),)
    for retriever in (vector, words):
        every, some = conference.search(BUCKET, [NearestQuery(retriever, 10), NearestQuery(retriever, 10, two)])
        assert {item.id: item.score for item in some} == pytest.approx(
            {item.id: item.score for item in every if item.id != identity(0)}
        )
        assert {item.id for item in some} == {identity(1), identity(2)}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"track": "ai"}, {"r0", "r1"}),
        ({"track": ["ai", "nothing"]}, {"r0", "r1"}),
        ({"track": "AI"}, set()),
        ({"seats": 20}, {"r1"}),
        ({"seats": [10, 30.0]}, {"r0", "r2"}),
        ({"seats": {"gte": 20}}, {"r1", "r2"}),
        ({"seats": {"gt": 10, "lt": 30}}, {"r1"}),
        ({"seats": {"lte": 10.5}}, {"r0"}),
        ({"price": 2.5}, {"r1"}),
        ({"price": [1.5, 2.5]}, {"r0", "r1"}),
        ({"live": True}, {"r0"}),
        ({"live": [True, False]}, {"r0", "r1"}),
        ({"start": {"gt": "2026-05-01T10:00:00Z"}}, {"r1"}),
        ({"start": "2026-05-01T12:00:00+02:00"}, {"r0"}),
        ({"start": {"gte": "2026-05-01", "lt": "2026-05-02"}}, {"r0"}),
        ({"my-odd_key": "x"}, {"r2"}),
        ({"track": "web", "seats": {"gte": 30}}, {"r2"}),
        ({"track": "ai", "live": True, "seats": 20}, set()),
        ({"start": "2026-05-01"}, {"r0"}),
        ({"start": ["2026-05-01", "2026-05-02"]}, {"r0", "r1"}),
        ({"start": ["2026-05-03", "2026-05-02T10:00:00Z"]}, {"r1"}),
        ({"start": "2026"}, {"r0", "r1"}),
        ({"start": {"not": "2026-05-01"}}, {"r1", "r2"}),
        ({"live": {"not": True}}, {"r1", "r2"}),
        ({"not": {"live": True}}, {"r1", "r2"}),
        ({"live": {"not": [True, None]}}, {"r1"}),
        ({"track": {"not": "ai"}}, {"r2"}),
        ({"track": {"not": ["web", "nothing"]}}, {"r0"}),
        ({"price": None}, {"r2"}),
        ({"live": None}, {"r2"}),
        ({"start": None}, {"r2"}),
        ({"place": None}, {"r2"}),
        ({"blurb": {"not": None}}, {"r2"}),
        ({"my-odd_key": None, "track": "web"}, {"r1"}),
        ({"price": [None, 1.5]}, {"r0", "r2"}),
        ({"or": [{"live": True}, {"seats": 30}]}, {"r0", "r2"}),
        ({"or": [{"track": "web", "seats": 30}, {"track": "nothing"}]}, {"r2"}),
        ({"or": [{"seats": 10}, {"seats": 20}], "live": False}, {"r1"}),
        ({"and": [{"or": [{"seats": 10}, {"seats": 20}]}, {"or": [{"seats": 20}, {"seats": 30}]}]}, {"r1"}),
        ({"not": {"or": [{"seats": 10}, {"price": None}]}}, {"r1"}),
        ({"not": {"track": "web", "seats": 30}}, {"r0", "r1"}),
        ({"seats": {"gte": 10, "not": 20}}, {"r0", "r2"}),
        ({"seats": {"not": {"gt": 10, "lt": 30}}}, {"r0", "r2"}),
        ({"track": {"prefix": "w"}}, {"r1", "r2"}),
        ({"track": {"prefix": ["a", "x"]}}, {"r0", "r1"}),
        ({"track": {"prefix": "W"}}, set()),
        ({"track": {"not": {"prefix": "a"}}}, {"r2"}),
        ({"place": {"within_km": 5, "of": [47.38, 8.54]}}, {"r0"}),
        ({"place": {"within_km": 30, "of": [47.38, 8.54]}}, {"r0", "r1"}),
        ({"place": {"within_km": 1, "of": [0, 0]}}, {"r1"}),
        ({"place": {"not": {"within_km": 30, "of": [47.38, 8.54]}}}, {"r2"}),
    ],
)
def test_filters_really_filter(conference: VectorStore, filters: Filters, expected: set[str]) -> None:
    assert matching(conference, filters) == expected


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("track", [("ai", 2), ("web", 2)]),
        ("seats", [(10, 1), (20, 1), (30, 1)]),
        ("live", [(False, 1), (True, 1)]),
        ("my-odd_key", [("x", 1)]),
    ],
)
def test_the_values_of_a_field_are_counted(conference: VectorStore, name: str, values: list[tuple[str, int]]) -> None:
    assert sorted(conference.values(BUCKET, name, FIELDS[name], 10)) == values
    assert len(conference.values(BUCKET, name, FIELDS[name], 1)) == 1
    assert conference.values(Bucket("c9", "talks", TablePart.MASTER), name, FIELDS[name], 10) == []


def test_a_text_field_matches_by_its_words(conference: VectorStore) -> None:
    assert matching(conference, {"blurb": "Hello big World"}) == {"r2"}
    assert matching(conference, {"blurb": "goodbye"}) == set()


def test_writing_a_point_twice_keeps_one(store: VectorStore) -> None:
    filled(store)
    store.upsert(BUCKET, [point(0, "quantum dogs", track="changed")])
    assert store.count(BUCKET) == 3
    assert matching(store, {"track": "changed"}) == {"r0"}


def test_deletes_by_id_and_by_condition(store: VectorStore) -> None:
    filled(store)
    store.delete(BUCKET, [identity(0), identity(99)])
    store.delete_where(BUCKET, conditions({"seats": 20}, FIELDS, "talks"))
    assert store.count(BUCKET) == 1
    assert set(store.payloads(BUCKET, [identity(n) for n in range(3)], ["name"])) == {identity(2)}


def test_payloads_bring_only_the_keys_asked_for(conference: VectorStore) -> None:
    assert conference.payloads(BUCKET, [identity(1)], ["name"]) == {identity(1): {"name": "talk 1"}}


@pytest.mark.slow
def test_every_payload_pages_through_all(store: VectorStore) -> None:
    store.ensure(BUCKET, LAYOUT)
    store.upsert(BUCKET, [point(n, "dogs") for n in range(1203)])
    records = [payload["record"] for page in store.every_payload(BUCKET) for payload in page]
    assert len(records) == len(set(map(str, records))) == 1203
    first, follows = store.page(BUCKET, None, 700)
    second, end = store.page(BUCKET, follows, 700)
    assert [payload["record"] for payload in [*first, *second]] == records
    assert end is None


def test_a_bucket_that_is_not_there_is_empty_not_an_error(store: VectorStore) -> None:
    nowhere = Bucket("c9", "talks", TablePart.FACETS)
    assert store.layout(nowhere) is None
    assert store.count(nowhere) == 0
    assert store.search(nowhere, [NearestQuery(np.ones(4, dtype=np.float32), 5)]) == [[]]
    assert store.payloads(nowhere, [identity(1)], ["name"]) == {}
    assert list(store.every_payload(nowhere)) in ([], [[]])
    assert store.page(nowhere, None, 10) == ([], None)
    store.delete(nowhere, [identity(1)])
    store.drop(nowhere)


def test_the_layout_is_kept_and_another_model_is_refused(store: VectorStore) -> None:
    filled(store)
    assert store.layout(BUCKET) == LAYOUT
    with pytest.raises(EmbeddingChanged):
        store.ensure(BUCKET, replace(LAYOUT, fingerprint="other/4"))
    with pytest.raises(EmbeddingChanged):
        store.ensure(BUCKET, replace(LAYOUT, size=8))
    assert store.count(BUCKET) == 3


def test_a_vector_of_another_size_is_refused_and_nothing_is_lost(store: VectorStore) -> None:
    filled(store)
    wrong = replace(point(5), dense=np.ones(7, dtype=np.float32))
    with pytest.raises(EmbeddingChanged):
        store.upsert(BUCKET, [wrong])
    assert store.count(BUCKET) == 3


def test_a_field_added_later_can_be_filtered_on(store: VectorStore) -> None:
    store.ensure(BUCKET, replace(LAYOUT, fields={}))
    store.upsert(BUCKET, [point(0, track="ai"), point(1, track="web")])
    store.ensure(BUCKET, LAYOUT)
    assert store.layout(BUCKET) == LAYOUT
    assert matching(store, {"track": "ai"}) == {"r0"}


def test_sparse_vectors_are_replaced_alone_and_missing_points_stay_missing(store: VectorStore) -> None:
    store.ensure(BUCKET, LAYOUT)
    store.upsert(BUCKET, [point(0, "quantum dogs", track="ai"), point(1, "lazy cats")])
    store.replace_sparse(BUCKET, {identity(0): (WORDS.document("whales"), WORDS.document_ngrams("whales"))})
    store.replace_sparse(BUCKET, {identity(7): (WORDS.document("whales"),), identity(1): (WORDS.document("owls"),)})
    [dogs], [whales], [owls], [near] = (
        store.search(BUCKET, [NearestQuery(query, 10, keys=("record",))])
        for query in (
            WORDS.query("dogs"),
            WORDS.query("whales"),
            WORDS.query("owls"),
            np.array([1.0, 0, 0, 0], dtype=np.float32),
        )
    )
    assert (dogs, [hit.id for hit in whales], [hit.id for hit in owls]) == ([], [identity(0)], [identity(1)])
    assert [hit.payload["record"] for hit in near] == ["r0", "r1"]
    assert matching(store, {"track": "ai"}) == {"r0"}


def test_dense_vectors_are_read_back_at_length_one(store: VectorStore) -> None:
    assert store.vectors(BUCKET, [identity(0)]).size == 0
    filled(store)
    [vector] = store.vectors(BUCKET, [identity(1), identity(9)])
    assert vector == pytest.approx([0.5**0.5, 0.5**0.5, 0, 0], abs=1e-6)
    assert store.vectors(BUCKET, []).size == 0


@pytest.mark.slow
def test_lengths_are_added_up(store: VectorStore) -> None:
    assert store.total_length(BUCKET) == 0
    store.ensure(BUCKET, LAYOUT)
    long = [replace(point(number), payload={"record": f"r{number}", LENGTH: number % 300}) for number in range(700)]
    store.upsert(BUCKET, long)
    assert store.total_length(BUCKET) == sum(number % 300 for number in range(700))
    store.delete(BUCKET, [identity(299)])
    assert store.total_length(BUCKET) == sum(number % 300 for number in range(700)) - 299


@pytest.mark.slow
def test_a_new_average_is_kept_in_the_layout(store: VectorStore) -> None:
    store.ensure(BUCKET, LAYOUT)
    store.ensure(BUCKET, replace(LAYOUT, average_words=12.5))
    assert store.layout(BUCKET) == replace(LAYOUT, average_words=12.5)


@pytest.mark.slow
def test_a_bucket_without_vectors_holds_words(store: VectorStore) -> None:
    store.ensure(BUCKET, Layout("none", 0, 10.0, FIELDS))
    store.upsert(BUCKET, [replace(point(0, "quantum dogs"), dense=None), replace(point(1, "the"), dense=None)])
    [found] = store.search(BUCKET, [NearestQuery(WORDS.query("dog"), 10)])
    assert [item.id for item in found] == [identity(0)]
    assert store.count(BUCKET) == 2


@pytest.mark.slow
def test_buckets_are_listed_and_dropped(store: VectorStore) -> None:
    other = Bucket("c2", "my-table_2", TablePart.FACETS)
    store.ensure(BUCKET, LAYOUT)
    store.ensure(other, LAYOUT)
    assert set(store.buckets()) == {BUCKET, other}
    store.drop(BUCKET)
    assert store.buckets() == [other]
    assert store.layout(BUCKET) is None


@pytest.mark.slow
def test_the_embedded_store_keeps_everything_across_a_restart(tmp_path: Path) -> None:
    first = EdgeStore(tmp_path)
    filled(first)
    first.settle(BUCKET)
    first.close()
    second = EdgeStore(tmp_path)
    assert matching(second, {"track": "ai"}) == {"r0", "r1"}
    second.close()


def test_more_buckets_than_may_be_open_are_written_and_read(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path, most_open=2)
    buckets = [Bucket("c1", f"t{number}", TablePart.MASTER) for number in range(5)]
    for _ in range(2):
        for number, bucket in enumerate(buckets):
            store.ensure(bucket, LAYOUT)
            store.upsert(bucket, [point(number)])
    assert [store.count(bucket) for bucket in buckets] == [1] * 5
    assert store.payloads(buckets[0], [identity(0)], ["record"]) == {identity(0): {"record": "r0"}}
    mapped = Path("/proc/self/maps").read_text()
    assert sum(str(tmp_path / bucket.name) in mapped for bucket in buckets) == 2
    store.close()


@pytest.mark.slow
def test_a_killed_owner_loses_nothing_and_frees_the_store(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from services.search.store.edge import EdgeStore\n"
        "from tests.services.search.store.test_stores import filled\n"
        "filled(EdgeStore(Path(sys.argv[1]))); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert killed.returncode == -9
    store = EdgeStore(tmp_path)
    assert store.count(BUCKET) == 3
    store.close()


@pytest.mark.slow
def test_a_second_process_on_the_embedded_store_is_told_so(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    script = (
        "import sys; from pathlib import Path; from services.search.store.edge import EdgeStore\n"
        "EdgeStore(Path(sys.argv[1]))"
    )
    second = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, capture_output=True, text=True)
    store.close()
    assert second.returncode != 0
    assert "another process owns the embedded search store" in second.stderr
    assert "QDRANT_URL" in second.stderr


def test_a_folder_that_cannot_be_written_is_an_outage_that_names_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SearchStoreUnavailable, match=r"cannot be written .*ASSAY_HOME .*QDRANT_URL") as refusal:
        EdgeStore(file / "search")
    assert str(tmp_path) not in str(refusal.value)


def test_a_qdrant_server_that_is_down_is_an_outage_not_emptiness() -> None:
    store = open_store("http://127.0.0.1:9", Path("/nonexistent"))
    for call in (lambda: store.count(BUCKET), lambda: store.layout(BUCKET), store.buckets):
        with pytest.raises(SearchStoreUnavailable):
            call()
    with pytest.raises(SearchStoreUnavailable):
        store.search(BUCKET, [NearestQuery(np.ones(4, dtype=np.float32), 5)])
    store.close()


def test_what_is_created_in_a_cluster_has_the_replicas_and_shards_of_the_settings() -> None:
    with serving() as server:
        store = open_store(server.url, Path("/nonexistent"), timeout=60, replicas=2, shards=3)
        filled(store)
        store.close()
    assert server.spread == [(2, 3)]


@pytest.fixture(scope="module")
def wire() -> Iterator[tuple[QdrantServer, VectorStore]]:
    """A filled server behind a key, to be broken and fixed."""
    with serving(api_key="its key") as server:
        store = open_store(server.url, Path("/nonexistent"), api_key="its key", timeout=60)
        filled(store)
        yield server, store
        store.close()


CALLS: list[Callable[[VectorStore], object]] = [
    lambda store: store.search(BUCKET, [NearestQuery(np.ones(4, dtype=np.float32), 5)]),
    lambda store: store.count(BUCKET),
    lambda store: store.layout(BUCKET),
    lambda store: store.buckets(),
    lambda store: store.payloads(BUCKET, [identity(1)], ["name"]),
    lambda store: list(store.every_payload(BUCKET)),
    lambda store: store.upsert(BUCKET, [point(0)]),
    lambda store: store.delete(BUCKET, [identity(99)]),
]


@pytest.mark.parametrize("fault", ["cut", "garbage", "proxy", "500", "503", "429", "401"])
def test_whatever_a_server_does_is_an_outage_not_emptiness(wire: tuple[QdrantServer, VectorStore], fault: str) -> None:
    server, store = wire
    server.fault = fault
    for call in CALLS:
        with pytest.raises(SearchStoreUnavailable) as refused:
            call(store)
        assert server.url not in str(refused.value.detail)
    server.fault = None
    assert store.count(BUCKET) == 3


@pytest.mark.slow
def test_a_server_that_never_answers_is_an_outage_not_emptiness() -> None:
    with serving() as server:
        server.fault = "hang"
        impatient = open_store(server.url, Path("/nonexistent"), timeout=1)
        with pytest.raises(SearchStoreUnavailable):
            impatient.count(BUCKET)
        impatient.close()


def test_a_wrong_key_is_an_outage(wire: tuple[QdrantServer, VectorStore]) -> None:
    server, _ = wire
    stranger = open_store(server.url, Path("/nonexistent"), api_key="another", timeout=60)
    for call in CALLS:
        with pytest.raises(SearchStoreUnavailable):
            call(stranger)
    stranger.close()


def test_a_server_is_asked_to_index_every_field(wire: tuple[QdrantServer, VectorStore]) -> None:
    indexed = dict(wire[0].indexed)
    assert indexed.pop("fields.blurb") == {"type": "text", "tokenizer": "word", "lowercase": True}
    types = {f"fields.{name}": kind for name, kind in FIELDS.items() if kind != "text"}
    numbers = dict.fromkeys(("words", "passage", "content"), "integer")
    assert indexed == {"record": "keyword", "facet": "keyword", **numbers, **types}


def test_both_arms_travel_in_one_request(wire: tuple[QdrantServer, VectorStore]) -> None:
    server, store = wire
    server.seen.clear()
    store.search(BUCKET, [NearestQuery(np.ones(4, dtype=np.float32), 5), NearestQuery(WORDS.query("dogs"), 5)])
    assert [path for _, path in server.seen] == ["/collections/assay.c1.talks.master.0/points/query/batch"]
