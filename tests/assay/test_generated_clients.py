"""Clients that others' generators make of the API document work: one of Python, one of TypeScript's types."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from shared.contracts.events import JobEvent
from tests.assay.terminal import ROOT, Shell, written

_MODULES = ROOT / "console" / "node_modules"

_PYTHON = """\
import os
from assay_generated import AuthenticatedClient
from assay_generated.api.jobs import get_job, submit_job
from assay_generated.models import ExecuteInput, ExecuteJob, JobView, LanguageName, Problem

with AuthenticatedClient(os.environ["ASSAY_URL"], token=os.environ["ASSAY_API_KEY"]) as client:
    program = ExecuteInput(language=LanguageName.PYTHON, code="print(6 * 7)")
    order = ExecuteJob(kind="execute", input_=program)
    job = submit_job.sync(client=client, body=order, prefer="wait=60")
    assert isinstance(job, JobView), job
    while job.state in ("queued", "running"):
        job = get_job.sync(job.id, client=client, prefer="wait=60")
    print(job.state, job.result.to_dict()["stdout"])
    missing = get_job.sync("01900000-0000-7000-8000-000000000000", client=client)
    assert isinstance(missing, Problem), missing
    print(missing.code)
"""

_TYPESCRIPT = """\
import type { components, operations, paths, webhooks } from "./schema";

type Event = components["schemas"]["JobEvent"];
type Job = components["schemas"]["JobView"];
type Order = paths["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"];
type Told = webhooks["job.finished"]["post"]["requestBody"]["content"]["application/json"];

export const order: Order = { kind: "execute", input: { language: "python", code: "print(1)" } };
export const wait: operations["submit_job"]["parameters"]["header"] = { Prefer: "wait=20" };

export function line(event: Event): string {
  switch (event.type) {
    case "output":
      return `${event.stream}: ${event.text}`;
    case "failover":
      return `${event.from.model} -> ${event.to.model}`;
    case "job_started":
      return event.attempt.toFixed();
    default:
      return event.type;
  }
}
export const ended = (told: Told): string => `${told.data.id} ${told.data.state}`;
export const state = (job: Job): string => job.state;
// @ts-expect-error a field that there is not is an error
export const wrong = (told: Told) => told.data.result;
"""


@pytest.fixture(scope="module")
def document(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The document as the installation serves it."""
    file = tmp_path_factory.mktemp("document") / "openapi.json"
    file.write_text(shell("api", "GET", "/openapi.json").out)
    return file


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_generated_python_client_runs_a_job(shell: Shell, document: Path, tmp_path: Path) -> None:
    generator = shutil.which("openapi-python-client", path=str(Path(sys.executable).parent))
    if generator is None:
        pytest.skip("openapi-python-client is not installed here")
    (tmp_path / "settings.yaml").write_text("post_hooks: []\npackage_name_override: assay_generated\n")
    made = subprocess.run(
        [generator, "generate", "--path", str(document), "--output-path", str(tmp_path / "made"),
         "--config", str(tmp_path / "settings.yaml"), "--fail-on-warning"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    models = (tmp_path / "made" / "assay_generated" / "models" / "__init__.py").read_text()
    numbered = re.findall(r"import (\w+\d+)\b", models)
    assert [name for name in numbered if not re.search(r"Type\d+$", name)] == [], "an enum is written at each use"
    status = json.loads(shell("status", "-o", "json").out)
    env = {**shell.env, "PYTHONPATH": str(tmp_path / "made")}
    used = subprocess.run(
        [sys.executable, "-W", "error", "-c", _PYTHON],
        env={**env, "ASSAY_URL": status["url"], "ASSAY_API_KEY": status["api_key"]},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert used.returncode == 0, used.stderr
    assert used.stdout == "succeeded 42\n\nnot_found\n"


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_generated_typescript_types_fit_their_use(document: Path, tmp_path: Path) -> None:
    node = next(iter([*(ROOT / "console" / ".node").rglob("bin/node"), *filter(None, [_path_of("node")])]), None)
    if node is None or not (_MODULES / "openapi-typescript").is_dir() or not (_MODULES / "typescript").is_dir():
        pytest.skip("Node, openapi-typescript or typescript is not installed here (console: npm ci)")
    (tmp_path / "use.ts").write_text(_TYPESCRIPT)
    for command in (
        [_MODULES / "openapi-typescript/bin/cli.js", document, "-o", tmp_path / "schema.d.ts",
         "--default-non-nullable", "false"],
        [_MODULES / "typescript/bin/tsc", "--noEmit", "--strict", "--target", "es2022", tmp_path / "use.ts"],
    ):  # fmt: skip
        ran = subprocess.run(
            [str(node), *map(str, command)], capture_output=True, text=True, timeout=300, check=False,
            env={**os.environ, "NO_COLOR": "1"},
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr


def _path_of(command: str) -> Path | None:
    place = shutil.which(command)
    return None if place is None else Path(place)


@pytest.mark.slow
def test_every_event_of_real_jobs_is_described(shell: Shell) -> None:
    reader = TypeAdapter[JobEvent](JobEvent)
    table = written(shell, "described.csv", "city,n\nOslo,1\nRome,2\n")
    program = written(shell, "described.py", "print(1)\n")
    page = written(shell, "described.md", "```{python}\n1 + 1\n```\n")
    for words in (
        ("execute", program),
        ("transform", table, "total by city"),
        ("doc", "run", page, "--flavour", "quarto"),
    ):
        shell(*words)
        items = json.loads(shell("jobs", "events", "@last", "--limit", "1000", "--json").out)["items"]
        events = [reader.validate_python(item) for item in items]
        assert events[0].type == "job_queued"
        assert {name for event in events for name in event.model_extra or {}} == set(), words
