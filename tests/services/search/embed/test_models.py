"""The bundled embedding model: a graph written from its weights, without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from services.search.embed.minilm import MiniLm, weights_folder
from services.search.embed.models import EmbeddingModels
from shared.contracts.search import EmbeddingName
from shared.errors import EmbeddingUnavailable
from tests.support.embedding import weights


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("embedding")


@pytest.fixture(scope="module")
def model(cache: Path) -> MiniLm:
    return MiniLm(weights(), cache)


def test_known_sentences_have_the_similarities_that_the_model_is_published_with(model: MiniLm) -> None:
    food, bread, baby = model.documents(
        ["A man is eating food.", "A man is eating a piece of bread.", "The girl is carrying a baby."]
    )
    assert food @ bread == pytest.approx(0.7553, abs=1e-3)
    assert food @ baby == pytest.approx(-0.1050, abs=2e-2)


def test_every_vector_has_length_one_and_a_batch_changes_nothing(model: MiniLm) -> None:
    texts = [
        "short",
        "a much longer sentence about search engines and their thresholds",
        "",
        "x" * 5000,
        "émigré 漢字 🙂",
    ]
    together = model.documents(texts)
    assert together.shape == (5, 384)
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(5), abs=1e-4)
    for text, vector in zip(texts, together, strict=True):
        [alone] = model.documents([text])
        assert float(alone @ vector) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
def test_batches_on_several_threads_keep_the_order_of_the_texts(model: MiniLm, cache: Path) -> None:
    """Of lengths from one word to more than the model sees, so that there are many batches."""
    texts = [f"table {number} " * (1 + number * 7 % 150) for number in range(40)]
    threaded = MiniLm(weights(), cache, threads=3).documents(texts)
    alone = np.array([model.query(text) for text in texts])
    assert np.sum(threaded * alone, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-3)
    assert model.documents([]).shape == (0, 384)


@pytest.mark.parametrize("text", ["", " \u200b", "🎉", "🦄 🎂", "١٢٣", "Ｃ＋＋"])
def test_what_the_model_has_no_word_for_has_no_vector(model: MiniLm, text: str) -> None:
    """All of these would be the same to it, and like whatever else it does not know."""
    assert model.query(text) is None


@pytest.mark.parametrize("text", ["party 🎉", "C++", "日本語", "قواعد البيانات", "?"])
def test_what_the_model_knows_has_one(model: MiniLm, text: str) -> None:
    assert model.query(text) is not None


def test_only_the_beginning_of_a_long_text_is_seen(model: MiniLm) -> None:
    start = "indexes and vacuum " * 400
    assert model.query(start) == pytest.approx(model.query(start + "something else entirely"), abs=1e-5)


@pytest.mark.slow
def test_int8_stays_close_to_full_precision_and_is_another_fingerprint(model: MiniLm, cache: Path) -> None:
    small = MiniLm(weights(), cache, int8=True)
    texts = ["how do I partition a table", "asynchronous python", "the history of the printing press"]
    cosines = np.sum(model.documents(texts) * small.documents(texts), axis=1)
    assert cosines.min() > 0.9
    assert small.fingerprint != model.fingerprint


def test_the_graph_is_written_once(model: MiniLm, cache: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in cache.glob("*fp32*")}
    MiniLm(weights(), cache)
    assert {path: path.stat().st_mtime_ns for path in cache.glob("*fp32*")} == before
    assert len(before) == 1


@pytest.mark.slow
def test_where_nothing_can_be_written_the_model_works_all_the_same(model: MiniLm, tmp_path: Path) -> None:
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    assert MiniLm(weights(), blocked / "cache").query("text") == pytest.approx(model.query("text"), abs=1e-6)


def test_a_question_is_embedded_once_an_hour() -> None:
    class Counting:
        fingerprint = "counting"
        asked = 0

        def query(self, text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
            self.asked += 1
            return np.ones(3, dtype=np.float32)

        def documents(self, texts: object) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
            raise AssertionError("only questions here")

    models, embedder, clock = EmbeddingModels("none", Path("unused")), Counting(), 0.0
    for now in (0.0, 10.0, 3599.0):
        models.question(embedder, "q", now=lambda now=now: clock + now)  # type: ignore[misc]
    assert embedder.asked == 1
    models.question(embedder, "q", now=lambda: 3601.0)
    assert embedder.asked == 2


def test_without_a_model_there_are_keywords_only() -> None:
    assert EmbeddingModels("none", Path("unused")).named(None) is None
    assert EmbeddingModels("minilm", Path("unused")).named("none") is None


def test_a_remote_model_without_a_server_says_what_to_set() -> None:
    with pytest.raises(EmbeddingUnavailable, match="OPENAI_API_KEY"):
        EmbeddingModels("none", Path("unused")).named("openai:text-embedding-3-small")


def test_an_optional_package_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingUnavailable, match="fastembed"):
        EmbeddingModels("none", tmp_path).named("fastembed:BAAI/bge-small-en-v1.5")


@pytest.mark.parametrize("text", ["", "gpt-9", "openai:", "minilm:int4", "multilingual:int8", "none:x", "fastembed"])
def test_unknown_embedding_names_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        EmbeddingName.parse(text)


def test_the_models_own_names_mean_the_bundled_one() -> None:
    assert EmbeddingName.parse("sentence-transformers/all-MiniLM-L6-v2") == EmbeddingName("minilm")
    assert weights_folder() == weights()
    assert EmbeddingName.parse("intfloat/multilingual-e5-small") == EmbeddingName("multilingual")
