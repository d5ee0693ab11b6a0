"""The table of vendors. Its order is the order in which they are listed."""

from __future__ import annotations

from collections.abc import Mapping

from shared.llm.vendors.spec import QUICK, Defaults, EnvironmentVariable, Variables, VendorSpec
from shared.llm.wires.chat_completions import ChatCompletions
from shared.llm.wires.messages import Messages
from shared.llm.wires.sdk import SdkClient
from shared.specs import SpecTable

_OPENAI_MODEL = "gpt-5.4-mini"

VENDORS: SpecTable[VendorSpec] = SpecTable(
    "vendor",
    [
        VendorSpec(
            name="groq",
            sdk=SdkClient("groq", "Groq", http="httpx"),
            path="/openai/v1/chat/completions",
            wire=ChatCompletions(usage="unasked"),
            variables=Variables(
                prefix="GROQ_",
                api_key=EnvironmentVariable("GROQ_API_KEY", "A key of Groq"),
                base_url=EnvironmentVariable("GROQ_BASE_URL", "Another address than Groq's own"),
            ),
            defaults=Defaults("openai/gpt-oss-120b", QUICK, quick=1, thorough=2),
            address="https://api.groq.com",
            version="/openai/v1",
        ),
        VendorSpec(
            name="cerebras",
            # Warming up would send a request from the constructor.
            sdk=SdkClient("cerebras.cloud.sdk", "Cerebras", http="httpx", options={"warm_tcp_connection": False}),
            path="/v1/chat/completions",
            wire=ChatCompletions(),
            variables=Variables(
                prefix="CEREBRAS_",
                api_key=EnvironmentVariable("CEREBRAS_API_KEY", "A key of Cerebras"),
                base_url=EnvironmentVariable("CEREBRAS_BASE_URL", "Another address than Cerebras' own"),
            ),
            defaults=Defaults("gpt-oss-120b", QUICK, quick=2, thorough=3),
            address="https://api.cerebras.ai",
            version="/v1",
        ),
        VendorSpec(
            name="anthropic",
            sdk=SdkClient("anthropic", "Anthropic", http="httpx2"),
            path="/v1/messages",
            wire=Messages(),
            variables=Variables(
                prefix="ANTHROPIC_",
                api_key=EnvironmentVariable("ANTHROPIC_API_KEY", "A key of Anthropic"),
                base_url=EnvironmentVariable("ANTHROPIC_BASE_URL", "Another address than Anthropic's own"),
            ),
            defaults=Defaults("claude-haiku-5-5", thorough=1),
            address="https://api.anthropic.com",
            list_query="?limit=1000",
            version="/v1",
        ),
        VendorSpec(
            name="openai",  # or any server with its API: Ollama, vLLM, llama.cpp
            sdk=SdkClient("openai", "OpenAI", http="httpx2"),
            path="/chat/completions",
            wire=ChatCompletions(cap_elsewhere="max_tokens"),
            variables=Variables(
                prefix="OPENAI_",
                api_key=EnvironmentVariable(
                    "OPENAI_API_KEY", "A key of OpenAI or of the endpoint below; also for embeddings"
                ),
                base_url=EnvironmentVariable(
                    "OPENAI_BASE_URL", "Any OpenAI-compatible endpoint: Ollama, vLLM, llama.cpp"
                ),
                model=EnvironmentVariable(
                    "OPENAI_MODEL", "The model that is called when no other provider is configured", _OPENAI_MODEL
                ),
            ),
            defaults=Defaults(_OPENAI_MODEL),
            address="https://api.openai.com/v1",
            keyless=True,
            scripted="local/v1",
        ),
    ],
)


def key_variables() -> str:
    """Return the variables of all keys as a person would list them: ``GROQ_API_KEY, ... or OPENAI_API_KEY``."""
    *others, last = (vendor.variables.api_key.name for vendor in VENDORS.values())
    return f"{', '.join(others)} or {last}" if others else last


def sdks_called_first(environment: Mapping[str, str]) -> list[str]:
    """Return the modules of the SDKs that the default chains call first, as far as these variables configure them."""
    configured = [vendor for vendor in VENDORS.values() if _is_set(vendor, environment)]
    modules = set()
    for effort in ("quick", "thorough"):
        ordered = sorted(configured, key=lambda vendor: getattr(vendor.defaults, effort) or len(VENDORS) + 1)
        modules |= {vendor.sdk.module for vendor in ordered[:1]}
    return sorted(modules)


def _is_set(vendor: VendorSpec, environment: Mapping[str, str]) -> bool:
    variables = vendor.variables
    keyless = vendor.keyless and environment.get(variables.base_url.name, "").strip()
    return bool(keyless or environment.get(variables.api_key.name, "").strip())
