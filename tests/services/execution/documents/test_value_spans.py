"""Where values are in a page is reported next to it; the page itself is the same as without."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from services.execution.documents.page.value_spans import ValueMarks
from tests.services.execution.documents.support import DocumentJobs, python

DOCUMENT = f"""{python("n = 12; name = 'a_b*c'; print('two', n)")}

# The report of `n`{{python exec}}

There are **`n`{{python exec}}** of `name`{{python exec}}, not 12 & more.
"""


class _Main(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self._inside = "", False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._inside = self._inside or tag == "main"

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "main"

    def handle_data(self, data: str) -> None:
        self.text += data if self._inside else ""


def test_each_value_is_told_where_it_stands(jobs: DocumentJobs) -> None:
    result = jobs.run(DOCUMENT)
    assert result.html_file_id is not None
    page = jobs.files.contents[result.html_file_id][1].decode()
    reader = _Main()
    reader.feed(page)
    texts = {block.id: block.outputs[-1].text for block in result.blocks}
    told = [(reader.text[start:end], block) for start, end, block in result.page_spans]
    assert [text.strip() for text, _ in told] == ["two 12", "12", "12", "a_b*c"]
    assert [texts[block] for _, block in told] == [text for text, _ in told]


def test_what_a_value_in_the_page_is_is_told_also_when_it_did_not_run_again(jobs: DocumentJobs) -> None:
    text = f"""{python("n = 12; rows = list(range(20_000))" + chr(10) + "len(rows)")}

There are `n`{{python exec}}, `n + len(rows)`{{python exec}}, `rows`{{python exec}} and `2.5`{{python exec}}.
"""
    first = jobs.run(text)
    told = [block.value for block in first.blocks]
    assert [(each.name, each.type, each.block) for each in told if each] == [
        ("chunk-1", "int", "chunk-1"), ("n", "int", "chunk-1"), ("n + len(rows)", "int", "chunk-1"),
        ("rows", "list", "chunk-1"), ("2.5", "float", None),
    ]  # fmt: skip
    assert [each.truncated for each in told if each] == [False, False, False, True, False]
    jobs.keep("one", first)
    again = jobs.run(text, previous_job_id="one")
    assert {block.status for block in again.blocks} == {"fresh"}
    assert [block.value for block in again.blocks] == told


def test_no_places_are_told_where_a_mark_would_change_the_page() -> None:
    places = ValueMarks("f" * 32)
    marked = places.word("12", "12", "b")
    assert marked != "12"
    assert places.found(f"<p>{marked}. item</p>", "<ol><li>item</li></ol>") == []
    assert places.found(f"<p>{marked} &amp; more</p>", "<p>12 &amp; more</p>") == [(0, 2, "b")]


@pytest.mark.parametrize("value", ["", " x", "a\nb", "%"])
def test_values_that_markdown_reads_by_what_stands_beside_them_get_no_mark(value: str) -> None:
    assert ValueMarks("f" * 32).word(value, value, "b") == value
