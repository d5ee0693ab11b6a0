"""OpenAI itself, or any server with its API: Ollama, vLLM, llama.cpp."""

from __future__ import annotations

from shared.llm.vendors.spec import Defaults, EnvironmentVariable, Variables, VendorSpec
from shared.llm.wires.chat_completions import ChatCompletions
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.sdk import Sdk, common_options
from shared.llm.wires.transport import watched_client


def sdk(endpoint: Endpoint) -> Sdk:
    import httpcore2  # noqa: PLC0415
    import httpx2  # noqa: PLC0415
    import openai  # noqa: PLC0415

    client = openai.OpenAI(http_client=watched_client(httpx2, httpcore2, endpoint), **common_options(endpoint))
    return Sdk(client, openai.Stream[object])


_MODEL = "gpt-5.4-mini"

SPEC = VendorSpec(
    name="openai",
    sdk=sdk,
    path="/chat/completions",
    wire=ChatCompletions(cap_elsewhere="max_tokens"),
    variables=Variables(
        prefix="OPENAI_",
        api_key=EnvironmentVariable("OPENAI_API_KEY", "A key of OpenAI or of the endpoint below; also for embeddings"),
        base_url=EnvironmentVariable("OPENAI_BASE_URL", "Any OpenAI-compatible endpoint: Ollama, vLLM, llama.cpp"),
        model=EnvironmentVariable("OPENAI_MODEL", "The model asked when no other provider is configured", _MODEL),
    ),
    defaults=Defaults(_MODEL),
    address="https://api.openai.com/v1",
    keyless=True,
    scripted="local/v1",
)
