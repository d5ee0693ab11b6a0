"""After an edit a document that keeps what it can shows what one that runs completely shows."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from services.execution.sandbox.host.sandbox import Sandbox
from shared.contracts.document import DocumentResult
from tests.services.execution.documents.random_documents import RandomDocument
from tests.services.execution.documents.support import DocumentJobs

_EDITS = Path(__file__).with_name("edits")  #: by language; of each chunk that changes both texts, about ``=>``


@dataclass(frozen=True)
class Edit:
    language: str
    name: str
    before: str
    after: str


def _edits() -> Iterator[Edit]:
    for path in sorted(_EDITS.glob("*.txt")):
        for case in path.read_text().split("===== ")[1:]:
            name, body = case.split("\n", 1)
            chunks = [chunk.strip("\n").split("\n=>\n") for chunk in body.split("\n--\n")]
            texts = [[chunk[0] for chunk in chunks], [chunk[-1] for chunk in chunks]]
            before, after = ("".join(f"```{path.stem} exec\n{code}\n```\n\n" for code in codes) for codes in texts)
            yield Edit(path.stem, name, before, after)


def shown(result: DocumentResult) -> str:
    """Return all that a reader sees, without the addresses of objects."""
    blocks = [
        (
            [output.text for output in block.outputs],
            [message.text for message in block.messages if message.code != "stale"],
        )
        for block in result.blocks
    ]
    return re.sub(r"0x[0-9a-f]+", "0x", f"{blocks} {result.variables}")


@pytest.mark.parametrize("edit", list(_edits()), ids=lambda edit: f"{edit.language} {edit.name}")
def test_an_edit_shows_what_a_whole_run_shows(jobs: DocumentJobs, sandbox: Sandbox, edit: Edit) -> None:
    if edit.language not in sandbox.languages():
        pytest.skip(f"{edit.language} is not installed")
    first = jobs.run(edit.before)
    jobs.keep("one", first)
    kept = jobs.run(edit.after, previous_job_id="one")
    assert shown(kept) == shown(jobs.run(edit.after, execute="all"))


@pytest.mark.parametrize("edit", list(_edits())[::5], ids=lambda edit: f"{edit.language} {edit.name}")
def test_a_document_that_did_not_change_shows_the_same_and_keeps_blocks(
    jobs: DocumentJobs, sandbox: Sandbox, edit: Edit
) -> None:
    if edit.language not in sandbox.languages():
        pytest.skip(f"{edit.language} is not installed")
    first = jobs.run(edit.before)
    jobs.keep("one", first)
    same = jobs.run(edit.before, previous_job_id="one")
    assert shown(same) == shown(first)
    assert edit.name.endswith("never kept") or "fresh" in [block.status for block in same.blocks]


_ACROSS = {
    "an alias of Python in JavaScript": (
        ("python", "a = [1]\nb = a"), ("python", "b.append({})"), ("javascript", "console.log(a)"),
    ),
    "an alias of JavaScript in Python": (
        ("javascript", "var a = [1]; var b = a"), ("javascript", "b.push({})"), ("python", "print(a)"),
    ),
    "an alias within what cannot be compared": (
        ("python", "a = [1]\nb = [a, open('f.txt', 'w')]"), ("python", "b[0].append({})"), ("javascript", "a.join()"),
    ),
    "an object of JavaScript within a promise's list": (
        ("javascript", "var a = [1]; var b = [a, Promise.resolve()]"), ("javascript", "b[0].push({})"),
        ("python", "print(a)"),
    ),
    "a frame in SQL": (
        ("python", "import pandas as pd\ndf = pd.DataFrame({{'a': [1, 2]}})\nsame = df"),
        ("python", "same['a'] = {}"), ("sql", "SELECT sum(a) AS s FROM df"),
    ),
    "a view of an array": (
        ("python", "import numpy as np\nx = np.arange(4)\nv = x[:2]"), ("python", "v[0] = {}"),
        ("javascript", "console.log(x)"),
    ),
    "a function that changes what it does not name": (
        ("python", "a = [1]\ndef f(held=a): held.append({})"), ("python", "f()"), ("javascript", "a.join()"),
    ),
    "a view of SQL": (
        ("sql", "CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS FROM t"), ("sql", "INSERT INTO t VALUES ({})"),
        ("python", "print(len(v), v.a.sum())"),
    ),
    "a view of a quoted name": (
        ("sql", 'CREATE TABLE "My ""T" AS SELECT 1 AS a; CREATE VIEW v AS FROM "my ""t"'),
        ("sql", 'INSERT INTO "MY ""t" VALUES ({})'),
        ("python", "print(v.a.sum())"),
    ),
    "a view of a view with a macro": (
        ("sql", "CREATE MACRO m(x) AS x + 1; CREATE TABLE t AS SELECT 1 AS a"),
        ("sql", "CREATE VIEW v AS SELECT m(a) AS a FROM t; CREATE VIEW w AS FROM v"),
        ("sql", "CREATE OR REPLACE MACRO m(x) AS x + {}"),
        ("python", "print(w.a.sum())"),
    ),
    "a name that another language takes over": (
        ("python", "a = 1"), ("javascript", "var a = {}"), ("python", "print(a)"),
    ),
    "a value within text": (("python", "a = [1]\nb = a"), ("python", "b.append({})"), ("text", "`a`{{python exec}}")),
    "a value that was there and back": (
        ("python", "a = [1]\nb = a"), ("python", "b.append({})"), ("javascript", "var c = a.length + a[1]"),
        ("python", "print(c)"),
    ),
}  # fmt: skip


def _across(chunks: Sequence[tuple[str, str]], number: int) -> str:
    texts = ((language, code.format(number)) for language, code in chunks)
    return "".join(
        f"{code}\n\n" if language == "text" else f"```{language} exec\n{code}\n```\n\n" for language, code in texts
    )


@pytest.mark.parametrize("chunks", _ACROSS.values(), ids=_ACROSS.keys())
def test_an_edit_reaches_another_language_unseen(
    jobs: DocumentJobs, sandbox: Sandbox, chunks: Sequence[tuple[str, str]]
) -> None:
    if sandbox.languages()["javascript"] is None:
        pytest.skip("javascript is not installed")
    first = jobs.run(_across(chunks, 3))
    jobs.keep("one", first)
    whole = jobs.run(_across(chunks, 4), execute="all")
    assert shown(whole) != shown(first)
    assert shown(jobs.run(_across(chunks, 4), previous_job_id="one")) == shown(whole)
    assert shown(jobs.run(_across(chunks, 3), previous_job_id="one")) == shown(first)


def test_an_edit_reaches_a_message_through_an_alias(jobs: DocumentJobs) -> None:
    chunks = [("python", "a = [1]\nb = a"), ("python", "b.append({})")]
    message = "::: describe What is in {{a}}?\n:::\n"
    jobs.keep("one", jobs.run(_across(chunks, 3) + message))
    kept = jobs.run(_across(chunks, 4) + message, previous_job_id="one")
    assert [block.status for block in kept.blocks] == ["fresh", "ok", "ok"]


@dataclass
class Count:
    """Blocks over many edits that had not to run, and those of them that did."""

    could: int = 0
    ran: int = 0

    def add(self, jobs: DocumentJobs, before: DocumentResult, kept: DocumentResult, whole: DocumentResult) -> None:
        """Count the blocks that have the code, the output and all the effects of one of the document before."""
        was, now = (_ends(jobs, result) for result in (before, whole))
        for block, end in zip(kept.blocks, now, strict=True):
            if end is not None and end in was:
                was.remove(end)
                self.could += 1
                self.ran += block.status != "fresh"


def _ends(jobs: DocumentJobs, result: DocumentResult) -> list[str | None]:
    blocks = json.loads(jobs.files.contents[str(result.state_file_id)][1]).get("blocks", {})
    ends: list[str | None] = []
    for block in result.blocks:
        held = blocks.get(block.digest)
        kept = None if held is None else [held["base"], held.get("outputs"), _values(held.get("effects", {}))]
        ends.append(None if kept is None else re.sub(r"0x[0-9a-f]+", "0x", json.dumps(kept, sort_keys=True)))
    return ends


def _values(effects: dict[str, dict[str, object] | None]) -> dict[str, object]:
    return {name: None if held is None else (held.get("value"), held.get("shared")) for name, held in effects.items()}


#: Documents of each language, with five edits each: 50 edits in all; with HYPOTHESIS=random 500 of each language.
_DOCUMENTS = {"python": 4, "javascript": 3, "sql": 2, "r": 1}
_ALL, _AT_ONCE = 100, 10
_PARTS = [
    (language, part)
    for language, few in _DOCUMENTS.items()
    for part in (
        [range(few)]
        if settings().max_examples <= 50
        else [range(first, first + _AT_ONCE) for first in range(0, _ALL, _AT_ONCE)]
    )
]


@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize(("language", "seeds"), _PARTS, ids=lambda part: str(part).replace("range", ""))
def test_random_edits_show_what_whole_runs_show_and_run_little_without_need(
    jobs: DocumentJobs, sandbox: Sandbox, language: str, seeds: range
) -> None:
    if language not in sandbox.languages():
        pytest.skip(f"{language} is not installed")
    count = Count()
    for seed in seeds:
        document = RandomDocument(language, random.Random(f"{language} {seed}"))
        document.grow(8)
        before = jobs.run(document.markdown)
        for _ in range(5):
            jobs.keep("one", before)
            texts = list(document.chunks)
            document.edit()
            kept = jobs.run(document.markdown, previous_job_id="one")
            whole = jobs.run(document.markdown, execute="all")
            assert shown(kept) == shown(whole), f"seed {seed}: {texts} became {document.chunks}"
            count.add(jobs, before, kept, whole)
            before = kept
    print(f"{language}: {count.ran} of {count.could} blocks ran without need")  # noqa: T201 - a figure of the docs
    assert count.ran <= 0.3 * count.could
