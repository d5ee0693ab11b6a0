"""Anthropic."""

from __future__ import annotations

from shared.llm.vendors.spec import Defaults, EnvironmentVariable, Variables, VendorSpec
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.messages import Messages
from shared.llm.wires.sdk import Sdk, common_options
from shared.llm.wires.transport import watched_client


def sdk(endpoint: Endpoint) -> Sdk:
    import anthropic  # noqa: PLC0415
    import httpcore2  # noqa: PLC0415
    import httpx2  # noqa: PLC0415

    client = anthropic.Anthropic(http_client=watched_client(httpx2, httpcore2, endpoint), **common_options(endpoint))
    return Sdk(client, anthropic.Stream[object])


SPEC = VendorSpec(
    name="anthropic",
    sdk=sdk,
    path="/v1/messages",
    wire=Messages(),
    variables=Variables(
        prefix="ANTHROPIC_",
        api_key=EnvironmentVariable("ANTHROPIC_API_KEY", "A key of Anthropic"),
        base_url=EnvironmentVariable("ANTHROPIC_BASE_URL", "Another address than Anthropic's own"),
    ),
    defaults=Defaults("claude-haiku-5-5", thorough=1),
    address="https://api.anthropic.com",
    version="/v1",
)
