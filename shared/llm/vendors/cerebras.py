"""Cerebras."""

from __future__ import annotations

from shared.llm.vendors.spec import QUICK, Defaults, EnvironmentVariable, Variables, VendorSpec
from shared.llm.wires.chat_completions import ChatCompletions
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.sdk import Sdk, common_options
from shared.llm.wires.transport import watched_client


def sdk(endpoint: Endpoint) -> Sdk:
    import httpcore  # noqa: PLC0415
    import httpx  # noqa: PLC0415
    from cerebras.cloud.sdk import Cerebras, Stream  # noqa: PLC0415

    # Warming up would send a request from the constructor.
    http = watched_client(httpx, httpcore, endpoint)
    client = Cerebras(http_client=http, warm_tcp_connection=False, **common_options(endpoint))
    return Sdk(client, Stream[object])


SPEC = VendorSpec(
    name="cerebras",
    sdk=sdk,
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
)
