"""Graded transform tasks and instructions for flows as suites, run by ``assay eval`` beside scripted models.

``python -m benchmarks.evaluation``         20 tasks, three models (right, subtly wrong, slow), two prompts
``python -m benchmarks.evaluation --all``   every task and every instruction for a flow, answered rightly, and
                                            ``evals/basics.yaml`` (``make eval``)
``python -m benchmarks.evaluation --live``  every task in the installation that ``assay`` finds, by its own models;
                                            what follows goes to ``assay eval run``: ``--model groq/... --repeat 3``
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.flow_tasks import TASKS as FLOW_TASKS
from benchmarks.flow_tasks import diagram
from benchmarks.installation import ROOT
from benchmarks.transform_tasks import TASKS
from benchmarks.transform_tasks.shop import SHOP_TASKS
from benchmarks.transform_tasks.task import Task, content

GRADED = (*TASKS, *SHOP_TASKS)  #: over public tables, and over tables of our own
BASICS = ROOT / "evals" / "basics.yaml"  #: what needs no model
_PROMPT = "execution.transform"
_ADDED = "Look at the last row before you answer."
_DEMONSTRATED = 20
_FOREIGN = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_", "BLOB_URL", "ANTHROPIC_", "GROQ_", "CEREBRAS_", "OPENAI_")


def main(arguments: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="assay-eval-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        if arguments[:1] == ["--live"]:
            suites = [write(folder, GRADED), write_flows(folder)]
            return max([_assay(os.environ, "eval", "run", str(suite), *arguments[1:]) for suite in suites])
        if arguments[:1] == ["--all"]:
            with installation(folder, script(GRADED), "search=0") as environment:
                suites = [BASICS, write(folder, GRADED), write_flows(folder)]
                words = ["--require", "1", *arguments[1:]]
                return max([_assay(environment, "eval", "run", str(suite), *words) for suite in suites])
        tasks = [task for task in TASKS if len(task.answer()) > 1][:_DEMONSTRATED]
        with installation(folder, script(tasks)) as environment:
            models = [word for name in ("right", "wrong", "slow") for word in ("--model", f"groq/{name}")]
            prompts = [word for number in _versions(environment) for word in ("--prompt", f"transform@{number}")]
            return _assay(environment, "eval", "run", str(write(folder, tasks)), *models, *prompts, *arguments)


def write(folder: Path, tasks: Sequence[Task]) -> Path:
    """The suite with its files beside it."""
    lines = []
    for task in tasks:
        data: list[dict[str, Any]] = []
        for name in task.data:
            file, body = content(name)
            (folder / file).write_bytes(body)
            data.append({"name": name, "file": file})
        data += [{"name": name, "rows": list(rows)} for name, rows in task.rows.items()]
        rows = [{f"column {number}": cell for number, cell in enumerate(row)} for row in task.answer()]
        expected = {
            "rows": rows,
            "columns": "positional",
            "order": "given" if task.ordered else "any",
            "tolerance": {"absolute": 1e-6, "relative": 1e-6},
        }
        case = {"name": task.name, "kind": "transform", "input": {"task": task.text, "data": data}}
        lines.append(json.dumps({**case, "expect": {"table": expected}}))
    path = folder / "transform.jsonl"
    path.write_text("\n".join(lines))
    return path


def write_flows(folder: Path) -> Path:
    """The suite of instructions for flows."""
    lines = [
        {
            "name": task.name,
            "kind": "flow",
            "input": {"flow": diagram(task.before), "message": task.message},
            "expect": {"flow": diagram(task.after)},
        }
        for task in FLOW_TASKS
    ]
    path = folder / "flows.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def script(tasks: Sequence[Task]) -> dict[str, Any]:
    """What the models answer: the task's own code; ``wrong`` loses the last row of every third table."""
    rules: list[dict[str, Any]] = []
    for number, task in enumerate(tasks):
        said = re.escape(task.text)
        right = f"```python\n{task.pandas}\n```"
        first = {"role": _PROMPT, "turn": 1, "last": said}
        if number % 3 == 0:
            lost = f"```python\n{task.pandas}\nresult = result.iloc[:-1]\n```"
            if number % 2 == 0:
                rules.append({"when": {**first, "model": "wrong", "any": re.escape(_ADDED)}, "reply": right})
            rules.append({"when": {**first, "model": "wrong"}, "reply": lost})
        missing = "```python\nresult = no_such_name\n```"
        rules.append({"when": {**first, "model": "slow"}, "latency_ms": 300, "reply": missing})
        second = {"role": _PROMPT, "turn": 2, "model": "slow", "any": said}
        rules.append({"when": second, "latency_ms": 300, "reply": right})
        rules.append({"when": first, "reply": right})
    flows = [
        {"when": {"role": "flows.edit", "last": re.escape(task.message)}, "reply": task.reply} for task in FLOW_TASKS
    ]
    return {"rules": [*rules, {"when": {"role": _PROMPT}, "reply": "DONE"}, *flows]}


@contextmanager
def installation(
    folder: Path, script: Mapping[str, Any], replicas: str = "search=0,flows=0"
) -> Iterator[Mapping[str, str]]:
    """The environment of a command beside an installation that runs for as long as this is open."""
    (folder / "script.json").write_text(json.dumps(script))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    environment = {
        **kept, "ASSAY_HOME": str(folder / "home"), "ASSAY_PORT": "0", "PYTHONPATH": str(ROOT),
        "ASSAY_REPLICAS": replicas, "ASSAY_REQUESTS_PER_MINUTE": "0",
    }  # fmt: skip
    begun = _assay(environment, "up", "-d", "--script", str(folder / "script.json"), output=subprocess.DEVNULL)
    if begun != 0:
        raise SystemExit("the installation did not start")
    try:
        yield environment
    finally:
        _assay(environment, "down", output=subprocess.DEVNULL)


def _versions(environment: Mapping[str, str]) -> tuple[int, int]:
    """The version of the prompt in use, and one with a line more."""
    command = [sys.executable, "-m", "assay", "--json", "prompts"]
    shown = subprocess.run([*command, "get", _PROMPT], env=environment, cwd=ROOT, check=True, capture_output=True)
    prompt = json.loads(shown.stdout)
    text = f"{prompt['text'].rstrip()}\n\n{_ADDED}\n".encode()
    saved = subprocess.run(
        [*command, "set", _PROMPT, "-"], env=environment, cwd=ROOT, check=True, capture_output=True, input=text
    )
    return int(prompt["version"]), int(json.loads(saved.stdout)["version"])


def _assay(environment: Mapping[str, str], *words: str, output: int | None = None) -> int:
    return subprocess.run(
        [sys.executable, "-m", "assay", *words], env=environment, check=False, stdout=output
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
