"""The cost of a call through Assay's layer, compared with the same call without it, and intervals of shares."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

from benchmarks.real_model.server import ModelServer
from shared.llm.chat import ChatMessage, ChatRequest
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.settings import CallSettings, ProviderSettings
from shared.loop import Budget

_ROUNDS, _CAP = 30, 8
_WORDS = "Count to three."


def overhead(server: ModelServer) -> tuple[float, float]:
    """Median seconds of a short streamed answer: by the layer, and by a bare client; in turns, on the same server."""
    layer = LlmLayer(
        ProviderSettings({"OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "smollm2"}), CallSettings(), None, None
    )
    request = ChatRequest(
        "flows.edit",
        (ChatMessage("user", _WORDS),),
        max_tokens=_CAP,
        parameters={"temperature": 0},
        selector=("openai/smollm2",),
    )
    job = layer.for_job(Owner("bench", "job"), Budget(seconds=300))
    ours: list[float] = []
    bare: list[float] = []
    try:
        for _ in range(_ROUNDS):
            ours.append(_seconds(lambda: job.complete(request)))
            bare.append(_seconds(lambda: server.ask(_WORDS, _CAP)))
    finally:
        layer.close()
    return statistics.median(ours[1:]), statistics.median(bare[1:])


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def interval(right: int, of: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    if not of:
        return 0.0, 1.0
    z, share = 1.96, right / of
    middle = share + z * z / (2 * of)
    spread = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return (middle - spread) / scale, (middle + spread) / scale
