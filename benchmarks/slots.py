"""What an endpoint with one slot still does when 200 calls of 20 tenants want it at once, from two processes' layers.

``python -m benchmarks.slots``: a scripted server that answers one call at a time, in 0.2 s, and a Redis. One tenant
sends 105 calls, the others 5 each; the peer is the same server without other callers, one call after the other.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.table import Line, at_least, at_most, show
from services.host.redis import Redis
from shared.errors import AssayError
from shared.llm.chat import ChatMessage, ChatRequest
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.settings import CallSettings, ProviderSettings
from shared.loop import Budget
from tests.support.scripted import ScriptedLlm, started

_HEAVY, _CALM, _TENANTS = 105, 5, 19
_ALONE, _LATENCY_MS = 30, 200
_REQUEST = ChatRequest("flows.edit", (ChatMessage("user", "Say hello"),))


def main() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        redis = stack.enter_context(Redis(folder / "redis", durable=False))
        scripted = stack.enter_context(_scripted())
        file = folder / "endpoints.yaml"
        url = scripted.base_url("openai")
        file.write_text(f"alone: {{url: '{url}', model: m}}\nshared: {{url: '{url}', model: m, concurrency: 1}}\n")
        layers = [LlmLayer(ProviderSettings({}), CallSettings(endpoints=file), None, redis.url) for _ in range(2)]
        for layer in layers:
            stack.callback(layer.close)
        _ask(layers[0], "warm", "alone/m")
        alone = _seconds(lambda: _one_by_one(layers[0])) / _ALONE
        tenants = ["heavy"] * _HEAVY + [f"calm-{number}" for number in range(_TENANTS)] * _CALM
        order: list[str] = []
        taken = _seconds(lambda: order.extend(_all(layers, tenants)))
    show("An endpoint with one slot, 200 calls of 20 tenants", _lines(alone, taken, order))


def _lines(alone: float, taken: float, order: Sequence[str]) -> list[Line]:
    answered = Counter(order)
    while_calm = order[: max(place for place, tenant in enumerate(order) if tenant != "heavy") + 1]
    heavy = sum(tenant == "heavy" for tenant in while_calm)
    return [
        at_least("calls a second", len(order) / taken, 1 / alone, "/s", 0.95),
        at_least("calls answered, none timed out", answered.total(), _HEAVY + _CALM * _TENANTS, "calls", 1),
        at_most("calls of the busy tenant while others waited, against theirs", heavy, _CALM, "calls", 2),
    ]


def _all(layers: Sequence[LlmLayer], tenants: Sequence[str]) -> list[str]:
    """Return the tenants in the order of their answers; those that failed are left out."""
    order: list[str] = []
    together = threading.Barrier(len(tenants), timeout=120)

    def run(number: int) -> None:
        together.wait()
        try:
            _ask(layers[number % 2], tenants[number], "shared/m")
        except AssayError:
            return
        order.append(tenants[number])

    with ThreadPoolExecutor(len(tenants)) as pool:
        list(pool.map(run, range(len(tenants))))
    return order


def _one_by_one(layer: LlmLayer) -> None:
    for _ in range(_ALONE):
        _ask(layer, "nobody else", "alone/m")


def _ask(layer: LlmLayer, tenant: str, model: str) -> None:
    layer.for_job(Owner(tenant, "job"), Budget(seconds=300), selector=(model,)).complete(_REQUEST)


def _seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


@contextmanager
def _scripted() -> Iterator[ScriptedLlm]:
    process, url = started()
    try:
        scripted = ScriptedLlm(url)
        scripted.play({"reply": "Hello."}, latency_ms=_LATENCY_MS, server={"models": ["m"], "slots": 1})
        yield scripted
    finally:
        process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()


if __name__ == "__main__":
    main()
