"""The word retriever is plain BM25: the same formula, an exact average, and as good as a well-kept library's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import bm25s
import pytest
import Stemmer

from benchmarks.golden import corpus
from services.search.store.edge import EdgeStore
from services.search.store.port import NearestQuery, TablePart
from services.search.tables.library import OpenTable
from services.search.tables.points import point_id
from services.search.tables.words import Words
from shared.contracts.search import Record
from tests.services.search.service import MemorySearchService

Asked = Sequence[tuple[str, str]]  #: questions, each with the id of the record that answers it
LONG = [{"id": f"long{number}", "text": f"engine oil and brakes number{number} " * 9} for number in range(20)]
SHORT = [{"id": f"short{number}", "text": f"oil brakes{number}"} for number in range(300)]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[MemorySearchService]:
    store = EdgeStore(tmp_path / "store")
    service = MemorySearchService(store, None)
    service.catalog.create("tenant", "c", {"t": {"facets": {"purpose": 1.0}}})
    yield service
    store.close()


def table_of(service: MemorySearchService) -> OpenTable:
    return service.library.open(service.catalog.find("tenant", "c"), "t")


def scores(service: MemorySearchService, text: str, limit: int = 400) -> Mapping[str, float]:
    """Return the scores of the word retriever by record, best first; ``limit`` counts passages."""
    table = table_of(service)
    query = NearestQuery(table.words(TablePart.MASTER).query(text), limit, keys=("record",))
    [points] = service.store.search(table.bucket(TablePart.MASTER), [query])
    best: dict[str, float] = {}
    for point in points:
        best.setdefault(str(point.payload["record"]), point.score)
    return best


def published(texts: Mapping[str, str], question: str, k1: float = 1.5, b: float = 0.75) -> Mapping[str, float]:
    """BM25 as it is published, over the retriever's own words."""
    words = Words(1.0)

    def counted(text: str) -> Mapping[int, float]:
        vector = words.query(text)
        return dict(zip(vector.indices, vector.values, strict=True))

    documents = {record: counted(text) for record, text in texts.items()}
    lengths = {record: sum(counts.values()) for record, counts in documents.items()}
    average = sum(lengths.values()) / len(lengths)
    held = Counter(word for counts in documents.values() for word in counts)
    out = {}
    for record, counts in documents.items():
        even = k1 * (1 - b + b * lengths[record] / average)
        out[record] = sum(
            times * math.log(1 + (len(texts) - held[word] + 0.5) / (held[word] + 0.5)) * many * (k1 + 1) / (many + even)
            for word, times in counted(question).items()
            if (many := counts.get(word, 0.0))
        )
    return {record: score for record, score in out.items() if score}


def test_scores_are_those_of_the_published_formula_after_ingest_and_deletion(service: MemorySearchService) -> None:
    """The first 256 records are short; the average must be that of all, also of what is left after a deletion.

    The engine counts deleted points in a word's frequency until it vacuums, which scales all scores of one word alike.
    """
    question = "brakes of an engine, brakes and oil"
    texts = {record["id"]: record["text"] for record in [*SHORT, *LONG]}
    service.ingest("t", [*SHORT, *LONG])
    assert scores(service, question) == pytest.approx(published(texts, question), rel=0.01)
    gone = [record["id"] for record in SHORT[:290]]
    service.ingest("t", [], delete=gone)
    left = {record: text for record, text in texts.items() if record not in gone}
    ours, exact = scores(service, "oil"), published(left, "oil")
    scale = sum(ours.values()) / sum(exact.values())
    assert ours == pytest.approx({record: score * scale for record, score in exact.items()}, rel=0.01)


def test_a_word_that_a_question_repeats_counts_twice(service: MemorySearchService) -> None:
    service.ingest("t", [*SHORT, *LONG])
    once, twice = scores(service, "engine"), scores(service, "engine engine")
    assert twice == pytest.approx({record: 2 * score for record, score in once.items()})


def test_the_average_of_facets_is_exact_too(service: MemorySearchService) -> None:
    service.ingest("t", [{"id": "bare"}, *({"id": f"r{n}", "facets": {"purpose": "oil " * (n + 1)}} for n in range(9))])
    assert table_of(service).layouts[TablePart.FACETS].average_words == 5.0


def test_an_ingest_that_died_before_the_weights_were_written_is_made_good(service: MemorySearchService) -> None:
    records = [*SHORT, *LONG]
    service.ingest("t", records)
    table = table_of(service)
    right = scores(service, "engine oil")
    exact, bucket = table.layouts[TablePart.MASTER], table.bucket(TablePart.MASTER)
    some = [Record.model_validate(record) for record in LONG[:10]]
    off = Words(exact.average_words * 3)
    wrong = {point_id(record.id): (off.document(record.text),) for record in some}
    service.store.replace_sparse(bucket, wrong)
    service.store.ensure(bucket, type(exact)(exact.fingerprint, exact.size, 2.0, exact.fields, exact.language))
    assert scores(service, "engine oil") != pytest.approx(right)
    assert service.ingest("t", records).unchanged == len(records)
    assert scores(service, "engine oil") == pytest.approx(right)


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("name", ["rules", "numpy", "pandas"])
def test_it_finds_what_bm25s_finds(service: MemorySearchService, name: str) -> None:
    """Within a hundredth of nDCG@10, on real documentation with one right answer per question."""
    texts, asked = _known_items(name)
    service.ingest("t", [{"id": record, "text": text} for record, text in texts.items()])
    # A page of results holds records: of ten passages, several may be of one.
    ours = {question: list(scores(service, question, 40))[:10] for question, _ in asked}
    theirs = _by_bm25s(texts, [question for question, _ in asked])
    assert _ndcg(ours, asked) >= _ndcg(theirs, asked) - 0.01


def _known_items(name: str) -> tuple[dict[str, str], Asked]:
    if name == "rules":
        rules = [rule for rule in corpus.rules() if rule["facets"].keys() >= {"what_it_does", "message"}]
        texts = {rule["id"]: rule["facets"]["what_it_does"] for rule in rules}
        return texts, [(rule["facets"]["message"], rule["id"]) for rule in rules]
    functions = list(corpus.numpy_functions() if name == "numpy" else corpus.pandas_functions())
    texts = {function["id"]: function["rest"] for function in functions}
    return texts, [(function["summary"], function["id"]) for function in functions]


def _by_bm25s(texts: Mapping[str, str], questions: Sequence[str]) -> dict[str, list[str]]:
    stemmer, ids = Stemmer.Stemmer("english"), list(texts)

    def tokens(of: Sequence[str]) -> bm25s.tokenization.Tokenized:
        return bm25s.tokenize(list(of), stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25(k1=1.5, b=0.75)
    index.index(tokens(list(texts.values())), show_progress=False)
    found, scored = index.retrieve(tokens(questions), k=10, show_progress=False)
    return {
        question: [ids[number] for number, score in zip(numbers, values, strict=True) if score > 0]
        for question, numbers, values in zip(questions, found, scored, strict=True)
    }


def _ndcg(ranked: Mapping[str, Sequence[str]], asked: Asked) -> float:
    gains = [
        1 / math.log2(ranked[question].index(right) + 2) if right in ranked[question] else 0.0
        for question, right in asked
    ]
    return sum(gains) / len(gains)
