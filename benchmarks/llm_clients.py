"""One client under measurement, in a process of its own: reads ``SCENARIO COUNT`` lines, prints seconds as JSON.

``python -P benchmarks/llm_clients.py NAME URL``; it imports nothing of Assay unless its own client is measured, so
that the peers' environments need only the peers. Scenarios: ``up`` (the primary answers), ``down`` (it answers 500),
``limited`` (429 with retry-after 7).
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

Ask = Callable[[str], object]
WORDS = "Say hello"


def bare(url: str) -> Ask:
    httpx = importlib.import_module("httpx")
    client = httpx.Client(timeout=10)

    def ask(scenario: str) -> object:
        body = {"model": scenario, "messages": [{"role": "user", "content": WORDS}]}
        answer = client.post(f"{url}/local/v1/chat/completions", json=body)
        return answer.json()["choices"][0]["message"]["content"]

    return ask


def bare_streamed(url: str) -> Ask:
    httpx = importlib.import_module("httpx")
    client = httpx.Client(timeout=10)

    def ask(scenario: str) -> object:
        body = {"model": scenario, "messages": [{"role": "user", "content": WORDS}], "stream": True}
        text = []
        with client.stream("POST", f"{url}/local/v1/chat/completions", json=body) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: {"):
                    choices = json.loads(line[6:])["choices"]
                    text += [choice["delta"].get("content") or "" for choice in choices]
        return "".join(text)

    return ask


def assay(url: str, redis_url: str | None, stream: bool) -> Ask:
    chat = importlib.import_module("shared.llm.chat")
    link = chat.ChainLink
    endpoint = importlib.import_module("shared.llm.wires.endpoint").Endpoint
    states = importlib.import_module("shared.llm.health_store")
    breaker = importlib.import_module("shared.llm.breaker").Breaker
    failover = importlib.import_module("shared.llm.failover").Failover
    adapter = importlib.import_module("shared.llm.vendors.adapter").Adapter
    vendors = importlib.import_module("shared.llm.vendors.table").VENDORS
    # Health is shared by key: each way of calling has its own.
    one = adapter(vendors["openai"], endpoint("openai", f"key-{stream}", f"{url}/local/v1", stream=stream))
    kept = states.SharedStates(redis_url) if redis_url else states.LocalStates()
    router = failover(
        {"openai": one}, lambda request: [link("openai", request.role), link("openai", "up")], breaker(kept)
    )

    def ask(scenario: str) -> object:
        return router.complete(chat.ChatRequest(scenario, (chat.ChatMessage("user", WORDS),))).text

    return ask


def litellm(url: str, retries: int | None) -> Ask:
    module: Any = importlib.import_module("litellm")
    module.suppress_debug_info = True

    def model(name: str) -> dict[str, Any]:
        parameters = {"model": f"openai/{name}", "api_base": f"{url}/local/v1", "api_key": "key"}
        return {"model_name": name, "litellm_params": parameters}

    more = {} if retries is None else {"num_retries": retries}
    names = ("up", "down", "limited", "backup")
    fallbacks = [{"down": ["backup"]}, {"limited": ["backup"]}]
    router = module.Router(model_list=[model(name) for name in names], fallbacks=fallbacks, **more)

    def ask(scenario: str) -> object:
        answer = router.completion(model=scenario, messages=[{"role": "user", "content": WORDS}])
        return answer.choices[0].message.content

    return ask


def pydantic_ai(url: str) -> Ask:
    openai = importlib.import_module("pydantic_ai.models.openai")
    provider = importlib.import_module("pydantic_ai.providers.openai").OpenAIProvider
    fallback = importlib.import_module("pydantic_ai.models.fallback").FallbackModel
    direct = importlib.import_module("pydantic_ai.direct")
    messages = importlib.import_module("pydantic_ai.messages")
    at = provider(base_url=f"{url}/local/v1", api_key="key")
    chains = {
        name: fallback(openai.OpenAIChatModel(name, provider=at), openai.OpenAIChatModel("backup", provider=at))
        for name in ("up", "down", "limited")
    }

    def ask(scenario: str) -> object:
        request = [messages.ModelRequest.user_text_prompt(WORDS)]
        return direct.model_request_sync(chains[scenario], request).parts[0].content

    return ask


def client(name: str, url: str, redis_url: str | None) -> Ask:
    makers: dict[str, Callable[[], Ask]] = {
        "bare": lambda: bare(url),
        "bare-streamed": lambda: bare_streamed(url),
        "assay": lambda: assay(url, redis_url, stream=False),
        "assay-streamed": lambda: assay(url, redis_url, stream=True),
        "litellm": lambda: litellm(url, None),
        "litellm-no-retries": lambda: litellm(url, 0),
        "pydantic-ai": lambda: pydantic_ai(url),
    }
    return makers[name]()


def main() -> None:
    name, url, *rest = sys.argv[1:]
    ask = client(name, url, rest[0] if rest else None)
    ask("up")  # connections and caches are not what is measured
    print("ready", flush=True)
    for line in sys.stdin:
        scenario, count = line.split()
        taken = []
        for _ in range(int(count)):
            began = time.perf_counter()
            answer = ask(scenario)
            taken.append(time.perf_counter() - began)
            assert answer == "hello there", answer
        print(json.dumps(taken), flush=True)


if __name__ == "__main__":
    main()
