"""The passages that a hit shows: what of a record matches the question, and where it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from services.search.store.port import Payload
from services.search.tables.passages import Passage, page_of
from services.search.tables.points import passage_of
from services.search.tables.words import Words
from shared.contracts.search import Highlight, Hit, HitPassage

#: The keys of a payload that a passage is read from.
KEYS = ("text", "facets", "at")
_MAX_TEXT = 4000  # characters of a record from before long ones were split
_WORD = re.compile(r"[^\W_]+(?:['\u2019+#][^\W_]*)*")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")


@dataclass(frozen=True)
class FoundPassage:
    """A passage with its text and its score for the query that found it."""

    at: Passage
    text: str
    score: float

    def view(self, marks: Sequence[Highlight], page: JsonValue, scale: float = 1.0) -> HitPassage:
        """``page``: of the record, where its text has no page breaks."""
        own = page if isinstance(page, int) and not isinstance(page, bool) else None
        return HitPassage(
            facet=self.at.facet or None,
            start=self.at.start,
            end=self.at.end,
            page=own if self.at.page is None else self.at.page,
            heading=self.at.heading or None,
            text=self.text,
            score=round(self.score * scale, 6),
            highlights=list(marks),
        )


def passage_in(payload: Payload, score: float, asked: frozenset[int], words: Words) -> FoundPassage | None:
    """Return the passage that a point of whole records holds; of a record in one point its text, or the facet that
    says more of the question. None for a record with neither.
    """
    text, at = str(payload.get("text", "")), passage_of(payload)
    if at is not None:
        return FoundPassage(at, text, score)
    facets = payload.get("facets")
    parts = {"": text, **(facets if isinstance(facets, dict) else {})}
    shown = {facet: str(part) for facet, part in parts.items() if str(part).strip()}
    if not shown:
        return None
    facet = max(shown, key=lambda key: len(asked & words.distinct(shown[key]))) if len(shown) > 1 else next(iter(shown))
    return whole(shown[facet], facet, score)


def whole(text: str, facet: str, score: float) -> FoundPassage:
    """Return all of a text, without white space at its ends."""
    start = len(text) - len(text.lstrip())
    shown = text.strip()[:_MAX_TEXT]
    return FoundPassage(Passage(start, start + len(shown), facet=facet, page=page_of(text, start)), shown, score)


def facet_passage(at: Passage | None, facet: str, facets: Mapping[str, JsonValue], score: float) -> FoundPassage | None:
    """Return the passage of a facet's point, whose text the record holds; None where it does not any more."""
    text = facets.get(facet)
    if not isinstance(text, str) or not text.strip():
        return None
    return whole(text, facet, score) if at is None else FoundPassage(at, text[at.start : at.end], score)


def marked(hits: Sequence[Hit], question: str, words: Words) -> list[Hit]:
    """Return the hits with the words in their passages marked that the question has too."""
    asked = words.distinct(question)
    return [
        hit.model_copy(
            update={
                "passages": [
                    passage.model_copy(update={"highlights": _highlights(question, asked, passage.text, words)})
                    for passage in hit.passages
                ]
            }
        )
        for hit in hits
    ]


def _highlights(question: str, asked: frozenset[int], text: str, words: Words) -> list[Highlight]:
    """Return the words of the text that the question has too, in any of their forms; in scripts without spaces, what
    is written alike in both.
    """
    marks = []
    for match in _WORD.finditer(text):
        word = match[0]
        if _UNSPACED.search(word):
            continue
        if not asked.isdisjoint(words.stems(word)):
            marks.append((match.start(), match.end()))
    for run in _UNSPACED.finditer(text):
        marks += _alike(run[0], run.start(), question)
    return [Highlight(start=start, end=end) for start, end in sorted(marks)]


def _alike(run: str, offset: int, question: str) -> list[tuple[int, int]]:
    """Return the parts of the run, of two characters or more, that the question has too."""
    marks = []
    start = 0
    while start < len(run) - 1:
        end = start + 1
        while end < len(run) and run[start : end + 1] in question:
            end += 1
        if end - start > 1:
            marks.append((offset + start, offset + end))
        start = end if end - start > 1 else start + 1
    return marks
