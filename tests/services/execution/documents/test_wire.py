"""What the providers themselves receive, over real SDKs and HTTP, against the scripted server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache

import pytest

from services.execution.documents.document import Documents
from shared.contracts.document import DocumentInput, DocumentResult
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.settings import CallSettings, ProviderSettings
from shared.loop import Budget
from tests.services.execution.documents.support import DocumentJobs, block, codes, python
from tests.support.context import MemoryContext
from tests.support.scripted import ScriptedLlm, scripted_llm

__all__ = ["scripted_llm"]
Layer = Callable[..., LlmLayer]


_ALL = ("anthropic", "openai", "groq", "cerebras")


@pytest.fixture(scope="module")
def layer(scripted_llm: ScriptedLlm) -> Iterator[Layer]:
    with ExitStack() as opened:

        @cache
        def made(*providers: str) -> LlmLayer:
            llm = LlmLayer(ProviderSettings(scripted_llm.environment(providers)), CallSettings(), None, None)
            opened.callback(llm.close)
            return llm

        yield made


def run(
    jobs: DocumentJobs, llm: LlmLayer, markdown: str, budget: Budget | None = None, **wanted: object
) -> DocumentResult:
    budget = budget or Budget()
    memory = MemoryContext(files=jobs.files, budget=budget)
    context = replace(
        memory.context("document"),
        llm=llm.for_job(Owner("tenant", None), budget),
        results=jobs.past,
    )
    return Documents(jobs.sandbox, jobs.renderer)(
        context, DocumentInput.model_validate({"markdown": markdown, **wanted})
    )


@pytest.mark.slow(seconds=1.5)
@pytest.mark.parametrize("provider", ["anthropic", "openai", "groq", "cerebras"])
def test_the_seeds_example_arrives_at_every_provider(
    jobs: DocumentJobs, scripted_llm: ScriptedLlm, layer: Layer, provider: str
) -> None:
    scripted_llm.play({"reply": "Two values."})
    text = (
        python('x = 4\ny = "hello"')
        + f"\n::: describe [{provider}/some-model] Describe these values: {{{{x}}}} and {{{{y}}}} :::\n"
    )
    result = run(jobs, layer(*_ALL), text)
    (asked,) = scripted_llm.requests()
    assert asked["provider"] == provider
    assert '"Describe these values: 4 and hello"' in str(asked).replace("'", '"')
    assert block(result, "instruction-1").model == f"{provider}/some-model"
    assert f':++ {{by="{provider}/some-model"}}\nTwo values.\n:++\n' in result.markdown


def test_an_unknown_model_is_a_message_and_the_rest_goes_on(
    jobs: DocumentJobs, scripted_llm: ScriptedLlm, layer: Layer
) -> None:
    scripted_llm.play({"reply": "Fine."})
    text = "::: describe [no-such-model] one :::\n\n::: describe two :::\n\n::: describe [bad!] three :::\n"
    result = run(jobs, layer("groq"), text)
    assert [(one.status, codes(one)) for one in result.blocks] == [
        ("error", ["no_such_model"]),
        ("ok", []),
        ("error", ["bad_selector"]),
    ]
    assert len(scripted_llm.requests()) == 1


def test_the_users_order_counts_and_the_jobs_model_serves_the_rest(
    jobs: DocumentJobs, scripted_llm: ScriptedLlm, layer: Layer
) -> None:
    scripted_llm.play({"reply": "Fine."})
    llm = layer("groq", "openai")
    text = "::: describe [openai/b, groq/a] one :::\n\n::: describe two :::\n"
    result = run(jobs, llm, text, model="groq/mine")
    assert [one.model for one in result.blocks] == ["openai/b", "groq/mine"]


def test_spent_tokens_leave_a_message_in_each_block_left(
    jobs: DocumentJobs, scripted_llm: ScriptedLlm, layer: Layer
) -> None:
    scripted_llm.play({"reply": {"text": "Fine.", "input_tokens": 500, "output_tokens": 500}})
    text = "::: describe one :::\n\n::: describe two :::\n\n::: describe three :::\n"
    result = run(jobs, layer("groq"), text, Budget(tokens=900))
    assert [(one.status, codes(one)) for one in result.blocks] == [
        ("ok", []),
        ("skipped", ["budget_spent"]),
        ("skipped", ["budget_spent"]),
    ]
    assert result.markdown.count(":++ {by=") == 1


def test_a_dry_run_says_what_it_would_cost_and_asks_nobody(
    jobs: DocumentJobs, scripted_llm: ScriptedLlm, layer: Layer
) -> None:
    scripted_llm.play({"reply": "Fine."})
    text = python("x = 4") + "::: create x2 [groq/openai/gpt-oss-20b] Say {{ x }} :::\n"
    result = run(jobs, layer("groq"), text, dry_run=True)
    assert scripted_llm.requests() == []
    estimate = result.estimate
    assert estimate is not None
    assert estimate.calls == 2
    assert estimate.cost_usd == pytest.approx((estimate.input_tokens * 0.075 + 1000 * 0.3) / 1_000_000)
    unpriced = run(jobs, layer("groq"), text + "::: create [groq/of-mine] Say :::\n", dry_run=True).estimate
    assert unpriced is not None
    assert (unpriced.calls, unpriced.cost_usd) == (3, None)
    unknown = run(jobs, layer("groq"), text + "::: create [nobody] Say :::\n", dry_run=True)
    assert codes(block(unknown, "instruction-2")) == ["no_such_model"]
    looked = run(jobs, layer("groq"), text + "::: create [nobody] Say :::\n", execute="none")
    assert codes(block(looked, "instruction-2")) == ["no_such_model"]


@pytest.mark.parametrize(("model", "seen"), [("openai/gpt-5", True), ("groq/llama-3.3-70b-versatile", False)])
def test_figures_are_sent_to_models_that_see(
    jobs: DocumentJobs, scripted_llm: ScriptedLlm, layer: Layer, model: str, seen: bool
) -> None:
    scripted_llm.play({"reply": "Fine."})
    code = "import matplotlib.pyplot as plt\nfig = plt.figure()"
    result = run(jobs, layer("groq", "openai"), f"{python(code)}\n::: describe [{model}] What is {{{{ fig }}}}? :::\n")
    (asked,) = scripted_llm.requests()
    assert ("data:image/png;base64," in str(asked)) is seen
    assert "What is [figure fig]?" in str(asked)
    assert codes(block(result, "instruction-1")) == ([] if seen else ["image_not_seen"])
