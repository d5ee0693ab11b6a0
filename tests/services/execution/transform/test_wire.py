"""The loop over real provider SDKs and HTTP, against the scripted server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache

import pytest

from services.execution.transform.transform import Transform
from shared.contracts.transform import TransformInput
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.settings import CallSettings, ProviderSettings
from shared.loop import Budget
from tests.services.execution.transform.support import TransformJobs, confirmed
from tests.support.scripted import ScriptedLlm, scripted_llm

__all__ = ["scripted_llm"]
SALES = "city,amount\nBerlin,10\nParis,20\nBerlin,5\n"
SUM = "result = data.groupby('city', as_index=False)['amount'].sum()"
SECOND = "SELECT city, sum(amount) FROM data GROUP BY city"


Layer = Callable[[str], LlmLayer]


@pytest.fixture(scope="module")
def layer(scripted_llm: ScriptedLlm) -> Iterator[Layer]:
    with ExitStack() as opened:

        @cache
        def made(provider: str) -> LlmLayer:
            llm = LlmLayer(ProviderSettings(scripted_llm.environment([provider])), CallSettings(), None, None)
            opened.callback(llm.close)
            return llm

        yield made


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["anthropic", "openai", "groq"])
def test_text_replies_drive_the_loop(
    jobs: TransformJobs, scripted_llm: ScriptedLlm, layer: Layer, provider: str
) -> None:
    scripted_llm.play({"replies": ["```python\nresult = data['x']\n```", f"```python\n{SUM}\n```", confirmed(SECOND)]})
    wanted = TransformInput.model_validate({"task": "sum by city", "data": [{"csv": SALES}]})
    budget = Budget()
    job = layer(provider).for_job(Owner("tenant", None), budget)
    context = replace(jobs.context(), llm=job, budget=budget)
    result = Transform(jobs.sandbox)(context, wanted)
    assert [one.outcome for one in result.iterations] == ["error", "result"]
    assert result.status == "done"
    assert len(scripted_llm.requests()) == 3
    assert job.usage.llm_calls == 3


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["anthropic", "openai", "groq"])
def test_native_tool_calls_drive_the_loop(
    jobs: TransformJobs, scripted_llm: ScriptedLlm, layer: Layer, provider: str
) -> None:
    calls = [
        {"tool_calls": [{"name": "look", "params": {"code": "print(data.shape)"}}]},
        {"tool_calls": [{"name": "run_code", "params": {"code": SUM}}]},
        {"tool_calls": [{"name": "finish", "params": {"explanation": "summed", "second": SECOND}}]},
    ]
    scripted_llm.play({"replies": calls})
    body = {"task": "sum by city", "data": [{"csv": SALES}], "strategy": "tools"}
    budget = Budget()
    job = layer(provider).for_job(Owner("tenant", None), budget)
    result = Transform(jobs.sandbox)(
        replace(jobs.context(), llm=job, budget=budget), TransformInput.model_validate(body)
    )
    assert result.status == "done"
    assert result.explanation == "summed"
    assert len(scripted_llm.requests()) == 3


@pytest.mark.slow
def test_spent_tokens_end_the_loop_with_the_best_so_far(
    jobs: TransformJobs, scripted_llm: ScriptedLlm, layer: Layer
) -> None:
    scripted_llm.play({"reply": {"text": f"```python\n{SUM}\n```", "input_tokens": 500, "output_tokens": 500}})
    wanted = TransformInput.model_validate({"task": "sum by city", "data": [{"csv": SALES}]})
    budget = Budget(tokens=900)
    job = layer("openai").for_job(Owner("tenant", None), budget)
    result = Transform(jobs.sandbox)(replace(jobs.context(), llm=job, budget=budget), wanted)
    assert result.status == "best_so_far"
    assert len(scripted_llm.requests()) == 1
