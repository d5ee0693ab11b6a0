"""The graded tasks as suites with their files, and what a model that is right answers to them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.golden.questions import load
from benchmarks.tasks import DETECT, DOCUMENTS, FLOWS, Task, content, diagram

GOLDEN = "golden"  #: the collection of the golden questions
PROMPT = "execution.transform"
ADDED = "Look at the last row before you answer."
Json = Mapping[str, Any]


def write_transform(folder: Path, tasks: Sequence[Task]) -> Path:
    """Return the suite with its tables in the same folder."""
    cases = []
    for task in tasks:
        data: list[dict[str, Any]] = []
        for name in task.data:
            file, body = content(name)
            (folder / file).write_bytes(body)
            data.append({"name": name, "file": file})
        data += [{"name": name, "rows": list(rows)} for name, rows in task.rows.items()]
        rows = [{f"column {number}": cell for number, cell in enumerate(row)} for row in task.answer]
        expected = {
            "rows": rows,
            "columns": "positional",
            "order": "given" if task.ordered else "any",
            "tolerance": {"absolute": 1e-6, "relative": 1e-6},
        }
        given = {"task": task.text, "data": data}
        cases.append(_case(task.name, "transform", given, {"table": expected}))
    return _written(folder / "transform.jsonl", cases)


def write_flows(folder: Path) -> Path:
    cases = (
        _case(task.name, "flow", {"flow": diagram(task.before), "message": task.message}, {"flow": diagram(task.after)})
        for task in FLOWS
    )
    return _written(folder / "flows.jsonl", cases)


def write_documents(folder: Path) -> Path:
    cases = (
        _case(
            task.name,
            "document",
            {"markdown": task.markdown, "execute": "all"},
            {"required": [task.reply, *task.required], "forbidden": list(task.forbidden)},
        )
        for task in DOCUMENTS
    )
    return _written(folder / "documents.jsonl", cases)


def write_detect(folder: Path) -> Path:
    """Return the suite with its projects in the same folder."""
    cases = []
    for task in DETECT:
        for path, text in task.files.items():
            (folder / task.language).mkdir(exist_ok=True)
            (folder / task.language / path).write_text(text)
        labels = {"language": task.language, **({"build_system": task.build_system} if task.build_system else {})}
        given = {"source": {"file": task.language}, "mode": task.mode}
        cases.append(_case(task.language, "detect", given, {"labels": {"": labels}}))
    return _written(folder / "detect.jsonl", cases)


def write_search(folder: Path) -> Path:
    """Return the golden questions: what was planned finds nothing, so it takes a better query to find a relevant
    record.
    """
    cases = []
    for number, golden in enumerate(load(), 1):
        relevant = {table: sorted(ids) for table, ids in golden.relevant.items()}
        if not relevant:
            continue  # absent: no record is expected, so it is not a case of a suite
        asked = {
            "collection": GOLDEN,
            "question": golden.question,
            "plan": [golden.query],
            "relax_filters": True,
            "answer": False,
        }
        enough = 1 / sum(map(len, relevant.values()))
        name = f"{golden.kind} {number}"
        cases.append(_case(name, "search", asked, {"relevant": relevant, "recall": enough}))
    return _written(folder / "search.jsonl", cases)


def script(tasks: Sequence[Task]) -> dict[str, Any]:
    """Return what the models answer: the task's own code; ``wrong`` loses the last row of every third table."""
    rules: list[dict[str, Any]] = []
    for number, task in enumerate(tasks):
        said = re.escape(task.text)
        right = f"```python\n{task.pandas}\n```"
        first = {"role": PROMPT, "turn": 1, "last": said}
        if number % 3 == 0:
            lost = f"```python\n{task.pandas}\nresult = result.iloc[:-1]\n```"
            if number % 2 == 0:
                rules.append({"when": {**first, "model": "wrong", "any": re.escape(ADDED)}, "reply": right})
            rules.append({"when": {**first, "model": "wrong"}, "reply": lost})
        missing = "```python\nresult = no_such_name\n```"
        rules.append({"when": {**first, "model": "slow"}, "latency_ms": 300, "reply": missing})
        second = {"role": PROMPT, "turn": 2, "model": "slow", "any": said}
        rules.append({"when": second, "latency_ms": 300, "reply": right})
        rules.append({"when": first, "reply": right})
    rules.append({"when": {"role": PROMPT}, "reply": "DONE"})
    return {"rules": [*rules, *_answers()]}


def _answers() -> Iterable[Json]:
    for flow in FLOWS:
        yield {"when": {"role": "flows.edit", "last": re.escape(flow.message)}, "reply": flow.reply}
    for document in DOCUMENTS:
        messages = (document.message,) if isinstance(document.message, str) else document.message
        said = "|".join(map(re.escape, messages))
        yield {"when": {"role": "documents.instruction", "last": said}, "reply": document.reply}
    for project in DETECT:
        yield {"when": {"role": "stacks.identify", "any": re.escape(project.proof)}, "reply": project.reply}
    for golden in load():
        if golden.reply:
            asked = {"role": "search.reflect", "any": re.escape(golden.question)}
            yield {"when": asked, "reply": golden.reflection}


def _case(name: str, kind: str, given: Json, expect: Json) -> Json:
    return {"name": name, "kind": kind, "input": given, "expect": expect}


def _written(path: Path, cases: Iterable[Json]) -> Path:
    path.write_text("\n".join(map(json.dumps, cases)))
    return path
