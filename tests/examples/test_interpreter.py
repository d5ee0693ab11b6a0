"""The agents of other frameworks in ``examples/interpreter``, with scripted models and a real sandbox.

The frameworks are not dependencies: ``ASSAY_EXAMPLES_PYTHON`` names an interpreter that has them (see the how-to).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assay.terminal import ROOT, Shell, plain
from tests.support.scripted import Rule, ScriptedLlm

PYTHON = os.environ.get("ASSAY_EXAMPLES_PYTHON", sys.executable)
TOOLS: list[Rule] = [
    {
        "when": {"turn": 1, "any": "six times seven"},
        "reply": {"tool_calls": [{"name": "run_python", "id": "c1", "params": {"code": "n = 6 * 7"}}]},
    },
    {
        "when": {"turn": 2},
        "reply": {"tool_calls": [{"name": "run_python", "id": "c2", "params": {"code": "n + 1"}}]},
    },
    {"when": {"turn": 3, "any": "43"}, "reply": "One more is 43."},
]
CODE: list[Rule] = [
    {
        "when": {"turn": 1, "any": "six times seven"},
        "reply": "Thought: compute.\n<code>\nn = 6 * 7\nprint('so far', n)\n</code>",
    },
    {"when": {"turn": 2, "any": "so far 42"}, "reply": "<code>\nno_such_name\n</code>"},
    {
        "when": {"turn": 3, "any": "NameError"},
        "reply": "<code>\nfinal_answer(f'One more is {n + 1}.')\n</code>",
    },
]
EXAMPLES = {
    "pydantic_ai_agent": ("pydantic_ai", TOOLS),
    "openai_agents_agent": ("agents", TOOLS),
    "langgraph_agent": ("langgraph, langchain_openai", TOOLS),
    "smolagents_agent": ("smolagents", CODE),
}


@pytest.fixture(scope="module")
def shell(servers_folder: Path) -> Iterator[Shell]:
    home = servers_folder / "frameworks"
    shell = Shell(ROOT, {**plain(), "ASSAY_HOME": str(home), "ASSAY_REPLICAS": "search=0,flows=0,stacks=0"})
    try:
        ran = shell("up", "-d")
        assert ran.status == 0, ran.talk
        yield shell
    finally:
        assert shell("down").status == 0


def importable(modules: str) -> bool:
    return subprocess.run([PYTHON, "-c", f"import {modules}"], capture_output=True, check=False).returncode == 0


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_agent_computes_in_the_sandbox(name: str, request: pytest.FixtureRequest, scripted_llm: ScriptedLlm) -> None:
    modules, script = EXAMPLES[name]
    if not importable(modules):
        pytest.skip(f"{modules}: not installed for {PYTHON} (docs/how-to/code-interpreter.md says how)")
    shell: Shell = request.getfixturevalue("shell")
    scripted_llm.play(*script)
    ran = subprocess.run(
        [PYTHON, str(ROOT / "examples" / "interpreter" / f"{name}.py"), "What is one more than six times seven?"],
        env={**shell.env, **scripted_llm.environment(["openai"]), "MODEL": "scripted"},
        capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "One more is 43." in ran.stdout.splitlines()[-1]
