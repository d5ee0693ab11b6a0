"""Short solved tasks that a small model is shown before its own: those whose words are most like the task's."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import polars as pl
import yaml
from pydantic import BaseModel, ConfigDict

from services.execution.transform.preview import ShownTable, summary_of
from shared.reading.columns import type_name

MAX_EXAMPLES = 2
_FOLDER = Path(__file__).parent.parent / "prompts" / "examples"
_CODE = re.compile(r"^```(\w+)\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
_NEAR = 0.4  #: of the best example's likeness; what is less alike leads a small model away
#: For a task that no example resembles.
_USUAL = ("select", "group")
#: The end of a task that only says how to sort, as every example does.
_SORTED = re.compile(r"[,;]\s+by\s[^,;:.]*\.?$")


class _Header(BaseModel):
    model_config = ConfigDict(extra="forbid")

    words: list[str]  #: of tasks of this kind
    data: dict[str, str]  #: CSV by the name of the data set


@dataclass(frozen=True)
class Example:
    """A task with its tables, and the code that solves it, by the name of the reader (``pandas``, ``sql`` ...)."""

    name: str
    words: tuple[str, ...]
    data: Mapping[str, str]
    task: str
    code: Mapping[str, str]

    @cached_property
    def frames(self) -> Mapping[str, pl.DataFrame]:
        return {name: read_table(text) for name, text in self.data.items()}

    def tables(self) -> list[ShownTable]:
        """Return the tables as a prompt shows them."""
        return [_shown(name, frame) for name, frame in self.frames.items()]

    def alike(self, task: str, tables: int, known: Counter[str]) -> float:
        """Return how much a task over ``tables`` tables resembles this one; 0 for not at all.

        A word counts less the more examples have it (``known``).
        """
        if tables < len(self.data):
            return 0
        shared = [word for word in self.words if _pattern(word).search(task)]
        return sum(len(word.split()) / known[word] for word in shared) + (1.5 if len(self.data) > 1 else 0)


@cache
def _pattern(word: str) -> re.Pattern[str]:
    """Return what finds a word of a header: ``*est`` is any word that ends so, ``...`` anything between two words."""
    gaps = re.escape(word).replace(r"\.\.\.", ".*").replace(r"\*", r"\w*")
    return re.compile(rf"\b{gaps}\b")


@cache
def shipped_examples() -> tuple[Example, ...]:
    """Return the examples of ``prompts/examples``."""
    return tuple(_load(path) for path in sorted(_FOLDER.glob("*.md")))


def matching_examples(task: str, reader: str, tables: int, examples: Sequence[Example] | None = None) -> list[Example]:
    """Return the examples in the reader's language that are most like the task, the most similar last."""
    known = [each for each in examples or shipped_examples() if reader in each.code]
    frequency = Counter(word for each in known for word in each.words)
    text = _SORTED.sub("", task.strip().casefold())
    scores = {each.name: each.alike(text, tables, frequency) for each in known}
    least = max(scores.values(), default=0) * _NEAR
    alike = [each for each in known if scores[each.name] and scores[each.name] >= least]
    best = sorted(alike, key=lambda each: (-scores[each.name], each.name))
    return (best[:MAX_EXAMPLES] or [each for each in known if each.name in _USUAL])[::-1]


def _load(path: Path) -> Example:
    _, header, body = path.read_text(encoding="utf-8").split("---\n", 2)
    parsed = _Header.model_validate(yaml.safe_load(header))
    code = dict(_CODE.findall(body))
    return Example(path.stem, tuple(parsed.words), parsed.data, body.split("```", 1)[0].strip(), code)


def _shown(name: str, frame: pl.DataFrame) -> ShownTable:
    types = {column: type_name(dtype) for column, dtype in frame.schema.items()}
    return ShownTable(name, summary_of(frame, types, rows=1))


def read_table(text: str) -> pl.DataFrame:
    """Return a table of an example."""
    return pl.read_csv(io.StringIO(text))
