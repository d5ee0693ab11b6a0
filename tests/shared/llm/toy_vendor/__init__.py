"""A vendor for tests: a plugin for ``ASSAY_PLUGINS`` that speaks the chat-completions wire at a path of its own."""

from __future__ import annotations

from shared.llm.vendors.spec import Defaults, EnvironmentVariable, Variables, VendorSpec
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.chat_completions import ChatCompletions
from shared.llm.wires.sdk import SdkClient

SPEC = VendorSpec(
    name="toy",
    sdk=SdkClient("openai", "OpenAI", http="httpx2"),
    path="/talk/chat/completions",
    wire=ChatCompletions(cap="most_tokens"),
    variables=Variables(
        prefix="TOY_",
        api_key=EnvironmentVariable("TOY_API_KEY", "A key of the toy vendor"),
        base_url=EnvironmentVariable("TOY_BASE_URL", "Where the toy vendor is"),
    ),
    defaults=Defaults("toy-1"),
)


def register() -> None:
    VENDORS.register(SPEC)
