"""Thirty questions in each of five languages, over fifteen records each: information of a town hall for its citizens.

Written for this benchmark. Questions are in other forms of the words than the records, as people write them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LanguageSet:
    records: Sequence[Mapping[str, str]]  #: id, name, text
    questions: Sequence[tuple[str, str]]  #: each with the id of the record that answers it


def load() -> dict[str, LanguageSet]:
    """By language."""
    rows = [json.loads(line) for line in Path(__file__).with_name("languages.jsonl").read_text().splitlines()]
    return {
        language: LanguageSet(
            [{key: row[key] for key in ("id", "name", "text")} for row in rows if row["language"] == language],
            [(text, row["id"]) for row in rows if row["language"] == language for text in row["questions"]],
        )
        for language in dict.fromkeys(row["language"] for row in rows)
    }


def gain(ids: Sequence[str], right: str) -> float:
    """Return the nDCG@10 of one right answer."""
    return 1 / math.log2(ids.index(right) + 2) if right in ids[:10] else 0.0
