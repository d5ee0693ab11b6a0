"""Texts are split at sentences, never within a code block or a row of a table; nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.search.embed.port import Vectors
from services.search.tables.passages import Passage, Splitter, sentences
from shared.contracts.search import PassageSettings

ENGLISH = " ".join(
    f"Sentence number {number} of the manual says that part {number} is cleaned." for number in range(200)
)
CODE = "```python\nfor part in parts:\n    clean(part)  # Stop. Then go on.\n\n    check(part)\n```\n"
TABLE = "| part | cleaned with |\n|---|---|\n" + "".join(f"| p{n} | soap. Water {n}! |\n" for n in range(60))
FREE_TABLE = "part | cleaned with\n---|---\n" + "".join(f"p{n} | soap. Water {n}!\n" for n in range(60))


def split(text: str, size: int = 64, overlap: int = 16, name: str = "") -> list[Passage]:
    return Splitter(None, PassageSettings(size=size, overlap=overlap)).passages(text, name)


def texts(text: str, size: int = 64, overlap: int = 16) -> list[str]:
    return [text[passage.start : passage.end] for passage in split(text, size, overlap)]


def test_a_passage_is_made_of_whole_sentences_and_repeats_the_last_ones_of_the_one_before() -> None:
    passages = texts(ENGLISH)
    assert len(passages) > 20
    assert all(passage.startswith("Sentence number") and passage.endswith("cleaned.") for passage in passages)
    assert all(after[: after.index(".") + 1] in before for before, after in pairwise(passages))


def test_without_overlap_no_sentence_is_in_two_passages() -> None:
    passages = split(ENGLISH, overlap=0)
    assert all(after.start >= before.end for before, after in pairwise(passages))


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("".join(f"部品{number}は毎年きれいな布で拭いてください。" for number in range(90)), "。"),
        ("".join(f"第{number}个零件每年都要用干净的布擦拭！" for number in range(90)), "！"),
        (" ".join(f"Teil {number} wird z. B. am 3. Mai von Dr. Ort gereinigt." for number in range(90)), "gereinigt."),
        (" ".join(f"Деталь {number} чистят раз в год." for number in range(90)), "год."),
        (" ".join(f"भाग {number} को हर साल साफ करें।" for number in range(90)), "।"),
        (" ".join(f"هل ينظف الجزء {number} كل سنة؟" for number in range(90)), "؟"),
        (" ".join(f"¿Se limpia la pieza {number} cada año?" for number in range(90)), "año?"),
    ],
)
def test_sentences_of_every_script_stay_whole(text: str, stops: str) -> None:
    passages = texts(text)
    assert len(passages) > 5
    assert all(passage.endswith(stops) for passage in passages)


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_code_block_is_in_one_passage(fence: str) -> None:
    block = CODE.replace("```", fence)
    text = "".join(f"{ENGLISH[:step]}\n\n{block}\n" for step in range(40, 900, 90))
    for passage in split(text):
        inside = [match.span() for match in re.finditer(re.escape(block.strip()), text)]
        for start, end in inside:
            assert not start < passage.start < end
            assert not start < passage.end < end


def test_an_indented_code_block_is_in_one_passage_and_a_list_is_not_code() -> None:
    block = "    for part in parts:\n        clean(part)\n    # Done. Next.\n    check(parts)"
    text = f"{ENGLISH[:300]}\n\n{block}\n\n{ENGLISH[:300]}\n\n- one. Two.\n\n    Three. Four.\n"
    assert any(block.strip() in passage for passage in texts(text))
    assert "Three." in [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize("table", [TABLE, FREE_TABLE, TABLE.replace("|", "\t").replace("-", "x")])
def test_a_row_of_a_table_is_never_cut(table: str) -> None:
    text = f"{ENGLISH[:200]}\n\n{table}\n{ENGLISH[:200]}"
    rows = {line.strip() for line in table.splitlines()}
    for passage in texts(text):
        for line in passage.splitlines():
            assert not re.match(r"\W*p\d+", line) or line.strip() in rows, line


def test_a_row_of_html_and_preformatted_text_are_never_cut() -> None:
    row = "<tr><td>p1. One</td>\n<td>soap! Water?</td></tr>"
    pre = "<pre>\na. B\n\nc! D\n</pre>"
    for passage in texts("".join(f"{ENGLISH[:step]}\n{row}\n{pre}\n\n" for step in range(50, 800, 70))):
        assert passage.count("<tr>") == passage.count("</tr>")
        assert passage.count("<pre>") == passage.count("</pre>")


def test_a_heading_is_with_what_follows_it_and_names_later_passages_of_its_section() -> None:
    text = f"# Cleaning\n\n{ENGLISH[:1500]}\n\nSafety\n------\n\n{ENGLISH[:1500]}"
    passages = split(text)
    assert not any(text[passage.start : passage.end].endswith(("Cleaning", "Safety", "------")) for passage in passages)
    assert passages[0].heading == ""
    assert {passage.heading for passage in passages[1:]} - {""} == {"Cleaning", "Safety"}


@pytest.mark.parametrize("text", ["x" * 12_000, "word " * 3000, "漢字" * 3000, "a, b; c " * 2000, "line\n" * 3000])
def test_a_text_without_stops_is_cut_all_the_same(text: str) -> None:
    passages = split(text)
    assert all(passage.end - passage.start <= 64 * 8 for passage in passages)
    assert "".join(text[passage.start : passage.end] for passage in passages).replace(" ", "").replace(
        "\n", ""
    ) == text.replace(" ", "").replace("\n", "")


def test_words_are_not_cut_where_there_are_spaces() -> None:
    assert all(set(passage.split()) == {"word"} for passage in texts("word " * 3000))


def test_form_feeds_number_the_pages() -> None:
    passages = split("\f".join([ENGLISH[:900]] * 4))
    assert {passage.page for passage in passages} == {1, 2, 3, 4}
    assert {passage.page for passage in split(ENGLISH)} == {None}


def test_a_short_text_fits_and_a_long_one_does_not() -> None:
    splitter = Splitter(None, None)
    assert splitter.fitting(["", "short", "word " * 200, "word " * 300, "x" * 3000]) == [True, True, True, False, False]


def test_a_text_that_a_tokenizer_cuts_does_not_fit() -> None:
    class Cutting:
        """Counts words, up to those that the model reads."""

        most_tokens = 256
        fingerprint = "cutting"

        def tokens(self, texts: Sequence[str]) -> list[int]:
            return [min(len(text.split()), 254) for text in texts]

        def documents(self, texts: Sequence[str]) -> Vectors:
            raise AssertionError("nothing is embedded")

        query = documents

    splitter = Splitter(Cutting(), None)
    assert splitter.fitting(["word " * 253, "word " * 254, "word " * 300]) == [True, False, False]
    passages = splitter.passages("word " * 1000)
    assert all((passage.end - passage.start) <= 253 * 5 for passage in passages)


MARKDOWN = st.lists(
    st.sampled_from(
        ["One sentence. ", "また文です。", "\n", "\n\n", "```\n", "~~~\n", "| a | b |\n", "|---|---|\n", "# Head\n",
         "    code(x)\n", "- item. ", "x" * 300, "word " * 80, "<pre>\n", "</pre>\n", "\f", "a\tb\n", "====\n", "1. "]
    ),
    max_size=60,
).map("".join)  # fmt: skip


@given(MARKDOWN, st.integers(32, 300), st.integers(0, 100))
def test_every_character_that_is_not_space_is_in_a_passage(text: str, size: int, overlap: int) -> None:
    passages = split(text, size, overlap)
    covered = {index for passage in passages for index in range(passage.start, passage.end)}
    assert all(index in covered for index, sign in enumerate(text) if not sign.isspace())
    starts = [passage.start for passage in passages]
    assert starts == sorted(set(starts))
    assert all(passage.end - passage.start <= size * 8 for passage in passages)
