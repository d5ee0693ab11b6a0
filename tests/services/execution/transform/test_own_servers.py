"""The three commands of ``docs/how-to/own-model-server.md``, by the wire of each server."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from services.execution.transform.transform import Transform
from shared.contracts.transform import TransformInput
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.settings import CallSettings, ProviderSettings
from tests.services.execution.transform.support import TransformJobs, python
from tests.support.scripted import ScriptedLlm

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "own-model-server.md"
KINDS = {"llama.cpp": "llama.cpp", "Ollama": "ollama", "vLLM": "vllm", "LM Studio": "lm-studio"}
WRONG = python("result = data")
RIGHT = python("result = data.groupby('region', as_index=False)['amount'].sum().sort_values('amount', ascending=False)")


def commands(server: str) -> list[str]:
    section = PAGE.read_text().split(f"\n## {server}\n")[1].split("\n## ")[0]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block is not None
    return block[1].strip().splitlines()


def variables(command: str) -> Mapping[str, str]:
    """Return the variables before the words of a command."""
    return dict(word.split("=", 1) for word in shlex.split(command) if re.match(r"[A-Z_]+=", word))


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("server", KINDS)
def test_three_commands_lead_to_a_checked_answer(jobs: TransformJobs, scripted_llm: ScriptedLlm, server: str) -> None:
    started, up, task = commands(server)
    told = variables(up)
    assert urlsplit(told["OPENAI_BASE_URL"]).path == "/v1"
    model = told.get("OPENAI_MODEL", "the-only-one")
    assert "OPENAI_MODEL" not in told or model in started, "the model that is asked is the one that is served"
    data, words = (shlex.split(part) for part in task.split(" | "))
    scripted_llm.play(
        {"times": 1, "reply": WRONG},
        {"reply": f"<think>By region.</think>{RIGHT}"},
        server={"kind": KINDS[server], "models": [model], "window": 4096},
    )
    named = {**told, "OPENAI_BASE_URL": scripted_llm.base_url("openai")}
    layer = LlmLayer(ProviderSettings(named), CallSettings(), None, None)
    try:
        context = replace(jobs.context(), llm=layer.for_job(Owner("tenant", "job"), jobs.budget))
        csv = data[1].replace("\\n", "\n")
        wanted = {"task": words[3], "data": [{"name": "data", "csv": csv}], "assertions": [words[5]]}
        result = Transform(jobs.sandbox, jobs.limits)(context, TransformInput.model_validate(wanted))
    finally:
        layer.close()

    assert words[:3] + words[4:5] == [".venv/bin/assay", "transform", "-", "--assert"]
    assert {request["model"] for request in scripted_llm.requests()} == {model}
    assert result.status == "done"
    assert result.table is not None
    assert result.table.rows == [["north", 6], ["south", 3], ["west", 1]]
    assert [one.outcome for one in result.iterations] == ["assertion_failed", "result"]
