"""What the layer of models does next to the jobs, and that it ends with the layer."""

from __future__ import annotations

import threading

from shared.db import connect
from tests.shared.llm.support import ask, layer
from tests.support.scripted import ScriptedLlm


def test_nothing_goes_on_after_the_layer_was_closed(
    scripted_llm: ScriptedLlm, database_url: str, redis_url: str
) -> None:
    scripted_llm.play({"reply": "ok"})
    engine, before = connect(database_url), set(threading.enumerate())
    with layer(scripted_llm, ("groq", "cerebras"), engine, redis_url) as llm:
        ask(llm)
        beside = [thread for thread in threading.enumerate() if thread not in before]
        assert beside, "the second provider's SDK is loaded after a moment"
    engine.dispose()
    assert not [thread.name for thread in beside if thread.is_alive()]
