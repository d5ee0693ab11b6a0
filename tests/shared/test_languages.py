"""The table of languages: its names are what requests may say, and words and files find their row."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from shared.languages import LANGUAGES, LanguageName, TransformLanguage, language_of_file, language_of_word


@pytest.mark.parametrize(
    ("word", "name"),
    [("py", "python"), ("IPython3", "python"), ("R", "r"), ("NodeJS", "javascript"), ("duckdb", "sql")],
)
def test_a_word_behind_a_fence_finds_its_language(word: str, name: str) -> None:
    language = language_of_word(word)
    assert language is not None
    assert language.name == name


def test_a_word_of_no_language_finds_none() -> None:
    assert language_of_word("haskell") is None
    assert language_of_word("pandas") is None


@pytest.mark.parametrize(
    ("file", "name"), [("a.py", "python"), ("plots/b.R", "r"), ("c.mjs", "javascript"), ("d.sql", "sql")]
)
def test_a_file_finds_its_language_by_its_extension(file: str, name: str) -> None:
    language = language_of_file(file)
    assert language is not None
    assert language.name == name


def test_no_word_and_no_extension_means_two_languages() -> None:
    words = [word for row in LANGUAGES.values() for word in (row.name, *row.aliases, *row.libraries, *row.extensions)]
    assert len(words) == len(set(words))


def test_a_request_may_name_the_rows_of_the_table() -> None:
    adapter: TypeAdapter[str] = TypeAdapter(LanguageName)
    assert adapter.json_schema()["enum"] == list(LANGUAGES)
    assert adapter.validate_python("r") == "r"
    with pytest.raises(ValidationError, match="Input should be 'python', 'r', 'javascript' or 'sql'"):
        adapter.validate_python("cobol")
    with pytest.raises(ValidationError):
        adapter.validate_python(7)


def test_a_transform_may_name_those_that_work_on_tables() -> None:
    assert TypeAdapter(TransformLanguage).json_schema()["enum"] == ["python", "r", "sql"]
