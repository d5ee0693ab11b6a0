"""The golden questions are what they say."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from benchmarks.golden import corpus
from benchmarks.golden.questions import CLASSES, load


def test_there_are_thirty_of_each_class_and_each_is_asked_once() -> None:
    questions = load()
    for kind in CLASSES:
        assert sum(golden.kind == kind for golden in questions) >= 30, kind
    assert len({golden.question for golden in questions}) == len(questions)


@pytest.mark.slow
def test_every_answer_is_a_record_of_the_corpus() -> None:
    known = {table: {str(record["id"]) for record in records} for table, records in corpus.tables().items()}
    for golden in load():
        for table, ids in golden.relevant.items():
            # Modules leave the standard library with the years, and some systems ship tkinter apart from it.
            here = ids if table != "modules" else {name for name in ids if _is_here(name)}
            assert not here or here & known[table], golden.question
        assert bool(golden.relevant) == (golden.kind != "absent")
        assert golden.plan["table"] in known
        assert (golden.reply is None) == (golden.kind == "relax")


def _is_here(name: str) -> bool:
    folder = Path(sysconfig.get_path("stdlib"), *name.split("."))
    return folder.is_dir() or folder.with_suffix(".py").is_file()
