"""What a model cannot distinguish is judged by words; the rest, by thresholds of the table's own language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.golden.multilingual import MultilingualSet, load
from services.search.embed.models import FINGERPRINTS, EmbeddingModels
from services.search.embed.port import Vectors
from services.search.store.edge import EdgeStore
from services.search.tables.likeness import edits, misspelling_held
from services.search.tables.thresholds import Calibration, Probes, Threshold, Thresholds
from services.search.tables.words import Words, is_english, is_foreign
from tests.services.search.service import MemorySearchService
from tests.support.embedding import multilingual_weights, weights

SETS = {(known.half, known.language): known for known in load()}
HELD_OUT = [known for (half, _), known in SETS.items() if half == "held out"]
PROBES = Path(__file__).parents[3] / "services/search/tables/probes"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def service(tmp_path: Path, cache: Path) -> Iterator[MemorySearchService]:
    """With the models of an installation, which chooses by the language."""
    weights()
    multilingual_weights()
    store = EdgeStore(tmp_path / "store")
    service = MemorySearchService(store)
    service.library.models = EmbeddingModels("auto", cache)
    service.catalog.create("tenant", "c", {name: {} for name in ("sessions", *(known.table for known in load()))})
    yield service
    store.close()


def verdicts(service: MemorySearchService, known: MultilingualSet, texts: list[str]) -> list[str]:
    return [service.search(text, tables=[known.table], answer=False).verdict for text in texts]


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("known", HELD_OUT, ids=lambda known: known.language)
def test_answers_are_found_and_absent_ones_are_not(service: MemorySearchService, known: MultilingualSet) -> None:
    service.ingest(known.table, list(known.records))
    answered = verdicts(service, known, [text for text, _ in known.questions])
    absent = verdicts(service, known, list(known.absent))
    assert answered.count("not_found") == 0
    assert answered.count("found") >= 27
    assert absent.count("found") <= 2


@pytest.mark.parametrize(
    ("cosines", "words"),
    [
        ([0.45, *[0.1] * 10], 0.0),  # far above the others, and a third of the way to known answers
        ([0.33, *[-0.1] * 10], 0.3),  # near the floor: some of its words are needed
        ([0.45, *[0.3] * 10], None),  # the others are nearly as near
        ([0.19, *[-0.3] * 10], None),  # below every threshold
        ([0.45, 0.1, 0.1], None),  # too few others to compare with
    ],
)
def test_a_record_that_exceeds_all_others_needs_fewer_words(cosines: list[float], words: float | None) -> None:
    assert Threshold(0.3, 0.32, 0.7).stands_out(cosines) == words
    assert Threshold(0.15, 0.15, None, unrelated=(0.8, 0.02)).stands_out(cosines) is None


@pytest.mark.slow(seconds=5)
def test_a_table_keeps_the_model_that_its_first_records_called_for(service: MemorySearchService) -> None:
    german, english = SETS["held out", "german"], SETS["held out", "english"]
    for known, model in ((german, "multilingual"), (english, "minilm")):
        service.ingest(known.table, list(known.records)[:10])
        service.ingest(known.table, [{"id": "more", "name": "Виноград", "text": "Виноград собирают осенью."}])
        assert service.catalog.known["c1", known.table].fingerprint == FINGERPRINTS[model]
        table = service.library.open(service.catalog.find("tenant", "c"), known.table)
        assert table.fingerprint == FINGERPRINTS[model]


@pytest.mark.slow(seconds=5)
def test_a_question_in_another_language_finds_the_record(service: MemorySearchService) -> None:
    texts = {
        "d1": "Die Kündigungsfrist beträgt drei Monate zum Quartalsende, wenn nichts anderes vereinbart ist.",
        "d2": "Beschäftigte haben Anspruch auf 30 Tage Urlaub im Jahr.",
        "d3": "Die Häuser in der Altstadt sind denkmalgeschützt.",
    }
    service.ingest("sessions", [{"id": key, "name": "", "text": text} for key, text in texts.items()])
    asked = {"What is the notice period?": "d1", "How many days of leave do employees have?": "d2"}
    for question, right in asked.items():
        hits = service.search(question, tables=["sessions"], answer=False).hits["sessions"]
        assert hits[0].id == right


@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize("language", ["japanese", "russian", "chinese"])
def test_a_model_that_does_not_know_the_language_finds_no_absent_answers(
    service: MemorySearchService, cache: Path, language: str
) -> None:
    service.library.models = EmbeddingModels("minilm", cache)
    known = SETS["held out", language]
    service.ingest(known.table, list(known.records))
    assert verdicts(service, known, list(known.absent)).count("found") <= 2
    assert verdicts(service, known, [text for text, _ in known.questions]).count("found") >= 20


def test_facets_too_are_judged_by_words_where_the_model_does_not_distinguish(empty: MemorySearchService) -> None:
    facets = {"topic": "vector databases and their indexes"}
    empty.ingest("sessions", [{"id": "vectors", "name": "Vectors", "facets": facets}])
    kept = empty.catalog.known["c1", "sessions"]
    marks = {"faceted_unrelated": 0.2, "faceted_deviation": 0.3, "faceted": 0.15, "faceted_floor": 0.15}
    empty.catalog.known["c1", "sessions"] = replace(kept, thresholds={**kept.thresholds, **marks})
    for question, weak in (("vector indexes", False), ("databases of butterflies, beetles and moths", True)):
        plan = [{"table": "sessions", "search_mode": "faceted", "query_text": question, "limit": 5}]
        hits = empty.search(question, plan=plan, answer=False).hits["sessions"]
        assert [hit.weak for hit in hits] == [weak]


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize("question", ["brak pad", "Brake padd", "gaskit watr pmp", "vectro databses"])
def test_a_misspelt_question_is_found(service: MemorySearchService, question: str) -> None:
    names = ["Brake pad set", "Gasket for water pump", "Vector databases", "Fan belt", "Oil filter", "Graph theory"]
    service.ingest("sessions", [{"id": name, "name": name} for name in names])
    result = service.search(question, tables=["sessions"], answer=False)
    assert result.verdict == "found"
    assert result.hits["sessions"][0].id == {"b": names[0], "g": names[1], "v": names[2]}[question[0].lower()]


@pytest.mark.parametrize(
    ("asked", "text", "least", "most"),
    [
        ("Porzellangeheimnis", "Das Geheimnis des Porzellans verriet ein entlaufener Lehrling.", 0.6, 1),
        ("Besprechungsraum", "Die Besprechungsräume werden im Kalender gebucht.", 0.6, 1),
        ("Betriebsrat", "Der Rat der Stadt und der Betrieb der Bahn.", 0.4, 1),
        ("Staubsauger", "Das Geheimnis des Porzellans verriet ein entlaufener Lehrling.", 0, 0),
    ],
)
def test_a_compound_is_held_by_its_parts(asked: str, text: str, least: float, most: float) -> None:
    from services.search.tables.likeness import part_held  # noqa: PLC0415

    words = Words(10.0, "german")
    [word] = words.asked(asked)
    assert least <= part_held(word.ngrams, words.held(text).ngrams) <= most


@pytest.mark.parametrize(
    ("word", "others", "held"),
    [
        ("vectro", {"vector"}, True),
        ("databses", {"databases"}, True),
        ("pmp", {"pump"}, True),
        ("watr", {"water"}, True),
        ("gaskit", {"gasket"}, True),
        ("cat", {"car", "ca"}, False),
        ("yen", {"pen"}, False),
        ("photoshop", {"photograph"}, False),
        ("kernel", {"colonel"}, False),
    ],
)
def test_a_misspelling_is_near_its_word(word: str, others: set[str], held: bool) -> None:
    assert bool(misspelling_held(word, others)) is held


def test_edits_are_counted_up_to_a_bound() -> None:
    assert [edits("ab", "ba", 2), edits("abc", "abc", 2), edits("abcd", "xyzv", 2)] == [1, 0, 3]


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("ミツバチはどうやって花の場所を教え合いますか", {"ミツ", "ツバ", "バチ", "場所"}),
        ("蜜蜂怎样告知花的位置？", {"蜜蜂", "告知", "位置"}),
        ("ของ", {"ขอ", "อง"}),
    ],
)
def test_signs_that_only_make_a_sentence_are_not_asked(question: str, content: set[str]) -> None:
    assert content <= {word.text for word in Words(10.0, "japanese").asked(question)}
    assert not {"すか", "ます", "怎样"} & {word.text for word in Words(10.0, "japanese").asked(question)}


@pytest.mark.parametrize("file", sorted(PROBES.glob("*.txt")), ids=lambda file: file.stem)
def test_probes_are_in_their_language_and_in_blocks_of_one_size(file: Path) -> None:
    blocks = [block.splitlines() for block in file.read_text(encoding="utf-8").strip().split("\n\n")]
    assert len({len(block) for block in blocks}) == 1
    assert len(blocks) >= 10
    lines = [line for block in blocks for line in block]
    assert is_english(lines) is (file.stem == "english")


@pytest.mark.parametrize(
    ("question", "language", "foreign"),
    [
        ("What is the notice period?", "german", True),
        ("Wie lange ist die Frist?", "english", True),
        ("Wie lange ist die Frist?", "german", False),
        ("Wo ist das Meer?", "russian", True),
        ("蜜蜂吃什么？", "japanese", False),
        ("蜜蜂吃什么？", "german", True),
        ("Postgres", "german", False),
        ("2024?", "russian", False),
        ("Какой срок?", "russian", False),
    ],
)
def test_a_question_in_another_language_is_told(question: str, language: str, foreign: bool) -> None:
    assert is_foreign(question, language) is foreign


class _Unable:
    """A model to which all texts but those of one language are nearly the same."""

    fingerprint = "unable"

    def __init__(self, known: str) -> None:
        self._known = set((PROBES / f"{known}.txt").read_text(encoding="utf-8").splitlines())
        self._blocks = (PROBES / f"{known}.txt").read_text(encoding="utf-8").split("\n\n")

    def documents(self, texts: Sequence[str]) -> Vectors:
        return np.array([self._vector(text) for text in texts], dtype=np.float32)

    def query(self, text: str) -> Vectors:
        return self._vector(text)

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros(20, dtype=np.float32)
        vector[next((at for at, block in enumerate(self._blocks) if text in block), 19)] = 1.0
        return vector


def test_the_words_decide_where_the_model_does_not_distinguish() -> None:
    model = _Unable("english")
    english, german = Probes.embed(model), Probes.embed(model, "german")
    able, unable = Calibration(english, english, german), Calibration(german, english, english)
    assert (able.by_words, able.scale().share) == (False, 0.8)
    assert (unable.by_words, unable.scale().share) == (True, 0.3)


def test_where_the_words_decide_a_cosine_above_the_usual_ones_needs_fewer() -> None:
    mark = Threshold(0.15, 0.15, unrelated=(0.6, 0.05))
    needed: Mapping[float, float] = {cosine: mark.words_needed(cosine) for cosine in (0.5, 0.6, 0.7, 0.9)}
    assert list(needed.values()) == pytest.approx([0.525, 0.4, 0.275, 0.1])
    assert mark.near(0.9)


def test_thresholds_are_read_as_they_are_kept() -> None:
    words = Threshold(0.15, 0.15, unrelated=(0.6, 0.05))
    for kept in (Thresholds(words, Threshold(0.8, 0.81, 0.9), foreign=0.85), Thresholds(words, words)):
        assert Thresholds.parse(kept.flat()) == kept
    earlier = {"master": 0.3, "master_floor": 0.2, "faceted": 0.3, "faceted_floor": 0.2}
    assert Thresholds.parse(earlier).scale.share == 0.8
