"""The suites of graded tasks, run by ``assay eval`` with scripted models.

``python -m benchmarks.evaluation``         20 tasks, three models (right, subtly wrong, slow), two prompts
``python -m benchmarks.evaluation --all``   transform, flows, documents, detect and search, answered rightly, and
                                            ``evals/basics.yaml`` (``make eval``)
``python -m benchmarks.evaluation --live``  all but search in the installation that ``assay`` finds, by its own models;
                                            what follows goes to ``assay eval run``: ``--model groq/... --repeat 3``
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.evaluation_suites import (
    ADDED,
    GOLDEN,
    PROMPT,
    script,
    write_detect,
    write_documents,
    write_flows,
    write_search,
    write_transform,
)
from benchmarks.golden import corpus
from benchmarks.installation import ROOT
from benchmarks.tasks import SHOP, TRANSFORM

GRADED = (*TRANSFORM, *SHOP)  #: over public tables, and over tables of our own
BASICS = ROOT / "evals" / "basics.yaml"  #: what needs no model
_DEMONSTRATED = 20
_ENOUGH = "0.95"  #: of the golden questions: what is found also depends on how records are ranked
_FOREIGN = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_", "BLOB_URL", "ANTHROPIC_", "GROQ_", "CEREBRAS_", "OPENAI_")


def main(arguments: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="assay-eval-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        if arguments[:1] == ["--live"]:
            return max([_assay(os.environ, "eval", "run", str(suite), *arguments[1:]) for suite in _every(folder)])
        if arguments[:1] == ["--all"]:
            with installation(folder, script(GRADED), "") as environment:
                fill(folder, environment)
                required = [*((suite, "1") for suite in (BASICS, *_every(folder))), (write_search(folder), _ENOUGH)]
                return max(
                    [_assay(environment, "eval", "run", str(suite), "--require", share, *arguments[1:])
                     for suite, share in required]
                )  # fmt: skip
        tasks = [task for task in TRANSFORM if len(task.answer) > 1][:_DEMONSTRATED]
        with installation(folder, script(tasks)) as environment:
            models = [word for name in ("right", "wrong", "slow") for word in ("--model", f"groq/{name}")]
            prompts = [word for number in _versions(environment) for word in ("--prompt", f"transform@{number}")]
            return _assay(
                environment, "eval", "run", str(write_transform(folder, tasks)), *models, *prompts, *arguments
            )


def fill(folder: Path, environment: Mapping[str, str]) -> None:
    """Create the collection that the golden questions search, from what this machine has."""
    tables = folder / "tables.json"
    tables.write_text(json.dumps(corpus.TABLES))
    made = [_assay(environment, "collection", "create", GOLDEN, str(tables), output=subprocess.DEVNULL)]
    for table, records in corpus.tables().items():
        path = folder / f"{table}.jsonl"
        path.write_text("\n".join(map(json.dumps, records)))
        made.append(_assay(environment, "ingest", str(path), "-c", GOLDEN, "-t", table, output=subprocess.DEVNULL))
    if any(made):
        raise SystemExit("the golden collection could not be filled")


def _every(folder: Path) -> list[Path]:
    """Return the suites that call models, without the golden questions, which take a collection."""
    return [write_transform(folder, GRADED), write_flows(folder), write_documents(folder), write_detect(folder)]


@contextmanager
def installation(
    folder: Path, script: Mapping[str, Any], replicas: str = "search=0,flows=0"
) -> Iterator[Mapping[str, str]]:
    """Yield the environment of a command, with an installation that runs for as long as this is open."""
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
    """Return the version of the prompt in use, and one with a line more."""
    command = [sys.executable, "-m", "assay", "--json", "prompts"]
    shown = subprocess.run([*command, "get", PROMPT], env=environment, cwd=ROOT, check=True, capture_output=True)
    prompt = json.loads(shown.stdout)
    text = f"{prompt['text'].rstrip()}\n\n{ADDED}\n".encode()
    saved = subprocess.run(
        [*command, "set", PROMPT, "-"], env=environment, cwd=ROOT, check=True, capture_output=True, input=text
    )
    return int(prompt["version"]), int(json.loads(saved.stdout)["version"])


def _assay(environment: Mapping[str, str], *words: str, output: int | None = None) -> int:
    return subprocess.run(
        [sys.executable, "-m", "assay", *words], env=environment, check=False, stdout=output
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
