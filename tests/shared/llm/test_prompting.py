"""A model's size decides how it is prompted, unless its row in the chain says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.llm.chat import ChainLink, ChatRequest, KnowsModels
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.prompting import billions, prompting_of
from shared.llm.settings import CallSettings, ProviderSettings, endpoints
from shared.loop import Budget


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("qwen2.5-coder:0.5b", 0.5),
        ("Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", 1.5),
        ("/models/SmolLM2-135M-Instruct.gguf", 0.135),
        ("llama-3.3-70b-versatile", 70.0),
        ("mixtral-8x7b-32768", 56.0),
        ("openai/gpt-oss-120b", 120.0),
        ("gpt-5.4-mini", None),
        ("claude-haiku-5-5", None),
        ("qwen05", None),
    ],
)
def test_the_size_is_read_from_the_name(model: str, size: float | None) -> None:
    assert billions(model) == size


@pytest.mark.parametrize(
    ("url", "model", "prompting"),
    [
        ("http://127.0.0.1:9/v1", "qwen2.5-coder:0.5b", "examples"),
        ("http://127.0.0.1:9/v1", "qwen05", "examples"),
        ("http://127.0.0.1:9/v1", "Qwen2.5-72B-Instruct", "plain"),
        ("http://127.0.0.1:9/v1", "gpt-5.4-mini", "plain"),
        (None, "some-new-model", "plain"),
        (None, "some-3b", "examples"),
    ],
)
def test_the_default(url: str | None, model: str, prompting: str) -> None:
    variables = {"OPENAI_BASE_URL": url} if url else {"OPENAI_API_KEY": "key"}
    (endpoint,) = [each for each in endpoints(ProviderSettings(variables), CallSettings()) if each.name == "openai"]
    assert prompting_of(ChainLink("openai", model), endpoint) == prompting


def test_the_row_of_the_chain_decides() -> None:
    link = ChainLink("openai", "qwen2.5-coder:0.5b", prompting="plain")
    assert prompting_of(link, None) == "plain"
    assert prompting_of(replace(link, model="gpt-5.4-mini", prompting="examples"), None) == "examples"


def test_a_job_knows_how_its_models_are_prompted() -> None:
    layer = LlmLayer(ProviderSettings({"GROQ_API_KEY": "key"}), CallSettings(), None, None)
    try:
        job = layer.for_job(
            Owner("tenant", None), Budget(), selector=["groq/tiny-0.6b", "groq/llama-3.3-70b-versatile"]
        )
        assert isinstance(job, KnowsModels)
        links = job.links_of(ChatRequest("execution.transform", ()))
        assert [(link.model, link.prompting) for link in links] == [
            ("tiny-0.6b", "examples"),
            ("llama-3.3-70b-versatile", "plain"),
        ]
    finally:
        layer.close()


def test_a_models_test_shows_how_it_is_prompted() -> None:
    layer = LlmLayer(ProviderSettings({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}), CallSettings(), None, None)
    try:
        small = layer.test("execution.transform", "tenant", ChainLink("openai", "tiny-0.5b"))
        set_plain = layer.test("execution.transform", "tenant", ChainLink("openai", "tiny-0.5b", prompting="plain"))
    finally:
        layer.close()
    assert (small.ok, small.prompting, set_plain.prompting) == (False, "examples", "plain")
