"""Two sets of forty records in each of six languages, the same records in all, with thirty questions about each set.

Written for this benchmark: a company handbook (the half named "tuning") and museum signs (the half named "held out").
Constants were chosen with both halves in sight, so neither half is unseen. Record ids are the same in all languages, so
questions in one language are also run against the records in another. No record answers the questions about the other
set, nor the twelve questions about neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LANGUAGES = ("english", "german", "spanish", "russian", "japanese", "chinese")
HALVES = ("tuning", "held out")


@dataclass(frozen=True)
class MultilingualSet:
    half: str
    language: str
    records: Sequence[Mapping[str, str]]  #: id, name, text
    questions: Sequence[tuple[str, str]]  #: each with the id of the record that answers it
    absent: Sequence[str]  #: questions that no record answers

    @property
    def table(self) -> str:
        return f"{self.half.replace(' ', '_')}_{self.language}"


def load() -> list[MultilingualSet]:
    lines = Path(__file__).with_name("multilingual.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [_set(rows, half, language) for half in HALVES for language in LANGUAGES]


def _set(rows: Iterable[Mapping[str, Any]], half: str, language: str) -> MultilingualSet:
    own = [row for row in rows if row["language"] == language]
    here = [row for row in own if row["half"] == half]
    return MultilingualSet(
        half,
        language,
        [{key: row[key] for key in ("id", "name", "text")} for row in here],
        [(text, row["id"]) for row in here for text in row["questions"]],
        [text for row in own if row["half"] != half for text in row["questions"]],
    )
