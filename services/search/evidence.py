"""Where a cited record says what it is cited for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.search.figures import Figures
from services.search.tables.passages import sentences

#: A word, or two signs of a script without spaces.
_WORD = re.compile("(?=([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{2}))|[^\\W_]{2,}")


@dataclass(frozen=True)
class ShownPassage:
    """A part of a record that a model reads."""

    facet: str | None  #: None: of the main text
    start: int  #: in characters of that text
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def cut(self, characters: int) -> ShownPassage:
        return replace(self, text=self.text[:characters])


def passage_for(claim: str, passages: Sequence[ShownPassage]) -> ShownPassage | None:
    """Return the sentence, or else the passage, that says most of the claim; None where no text was shown."""
    asked, figures = _words(claim), Figures.of(claim)

    def says(text: str) -> tuple[bool, int]:
        return Figures.of(text).hold(figures), len(asked & _words(text))

    best = max(passages, key=lambda passage: says(passage.text), default=None)
    if best is None:
        return None
    parts = [replace(best, start=best.start + start, text=best.text[start:end]) for start, end in sentences(best.text)]
    closest = max(parts, key=lambda part: (*says(part.text), -len(part.text)), default=best)
    says_all, common = says(closest.text)
    return closest if says_all and common * 2 >= len(asked) else best


def _words(text: str) -> set[str]:
    return {(match[1] or match[0]).lower() for match in _WORD.finditer(text)}
