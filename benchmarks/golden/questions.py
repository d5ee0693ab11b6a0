"""The golden questions: 30 and more of each class, every one of them without a hit at its first attempt.

``relax``: a filter or threshold is too strict. ``rewrite``: the words are not the data's. ``pivot``: the wrong table
was searched. ``absent``: nothing here answers it. ``reply`` is what a scripted model proposes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import JsonValue

Class = Literal["relax", "rewrite", "pivot", "absent"]
CLASSES: tuple[Class, ...] = get_args(Class)


@dataclass(frozen=True)
class Golden:
    kind: Class
    question: str
    plan: Mapping[str, JsonValue]  #: the table, and what is too strict
    relevant: Mapping[str, Set[str]]  #: ids by table
    reply: Mapping[str, str] | None

    @property
    def query(self) -> dict[str, JsonValue]:
        return {"search_mode": "master", "query_text": self.question, **self.plan}

    @property
    def reflection(self) -> str:
        """The scripted model's answer."""
        assert self.reply is not None
        wish = {"table": self.reply["table"], "search_mode": "master", "query_text": self.reply["query_text"]}
        said = {"reasoning": "scripted", "strategy": self.reply["strategy"], "user_message": "Let me look again."}
        return json.dumps({**said, "new_queries": [{**wish, "limit": 10}]})


def load() -> list[Golden]:
    lines = (Path(__file__).parent / "questions.jsonl").read_text().splitlines()
    return [_golden(json.loads(line)) for line in lines]


def _golden(row: dict[str, object]) -> Golden:
    relevant = {table: set(ids) for table, ids in row["relevant"].items()}  # type: ignore[attr-defined]
    return Golden(row["class"], row["question"], row["plan"], relevant, row.get("reply"))  # type: ignore[arg-type]
