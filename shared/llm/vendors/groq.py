"""Groq."""

from __future__ import annotations

from shared.llm.vendors.spec import QUICK, Defaults, EnvironmentVariable, Variables, VendorSpec
from shared.llm.wires.chat_completions import ChatCompletions
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.sdk import Sdk, common_options
from shared.llm.wires.transport import watched_client


def sdk(endpoint: Endpoint) -> Sdk:
    import groq  # noqa: PLC0415
    import httpcore  # noqa: PLC0415
    import httpx  # noqa: PLC0415

    http = watched_client(httpx, httpcore, endpoint)
    client = groq.Groq(http_client=http, **common_options(endpoint))
    return Sdk(client, groq.Stream[object])


SPEC = VendorSpec(
    name="groq",
    sdk=sdk,
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
)
