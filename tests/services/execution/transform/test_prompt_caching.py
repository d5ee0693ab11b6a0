"""What a loop's turns have in common is read from the vendor's cache: by marks, or because it begins alike."""

from __future__ import annotations

import pytest

from shared.llm.chat import ChatRequest
from tests.services.execution.transform.support import TransformJobs, python
from tests.shared.llm.support import ask, layer
from tests.support.scripted import ScriptedLlm

WIDE = [{f"measurement_{column}": row * column for column in range(120)} for row in range(5)]
WRONG = python("result = data[['missing']]")
GOOD = python("result = data[['measurement_1']].sum().to_frame('total')")
LEAST = 1024  #: tokens of the shortest prompt that vendors keep


def loop(jobs: TransformJobs) -> list[ChatRequest]:
    """Return the requests of a transform of four turns."""
    jobs.transform(WRONG, WRONG.replace("missing", "absent"), GOOD, "DONE", data=WIDE)
    assert len(jobs.script.asked) == 4
    return jobs.script.asked


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    "model", ["anthropic/claude-haiku-5-5", "groq/openai/gpt-oss-120b", "openai/gpt-5.4-mini", "cerebras/gpt-oss-120b"]
)
def test_each_turn_reads_the_turns_before_from_the_cache(
    jobs: TransformJobs, scripted_llm: ScriptedLlm, model: str
) -> None:
    requests = loop(jobs)
    scripted_llm.play({"reply": "ok"}, caches=LEAST)
    usages = []
    with layer(scripted_llm) as llm:
        for request in requests:
            asked = ask(llm, model, messages=request.messages, grows=request.grows, turn=request.turn)
            assert asked.reply is not None
            usages.append(asked.reply.usage)

    inputs = [usage.input or 0 for usage in usages]
    cached = [usage.cached or 0 for usage in usages]
    assert inputs == sorted(inputs), "all of the prompt is counted, whether it was kept or not"
    assert cached[0] == 0
    # Vendors without marks keep in steps of 128 tokens.
    assert all(before - 128 <= now <= before for now, before in zip(cached[1:], inputs, strict=False))
    assert sum(cached) >= sum(inputs) / 2


@pytest.mark.slow(seconds=1)
def test_without_the_mark_on_the_last_message_nothing_of_it_would_be_kept(
    jobs: TransformJobs, scripted_llm: ScriptedLlm
) -> None:
    requests = loop(jobs)
    scripted_llm.play({"reply": "ok"}, caches=LEAST)
    with layer(scripted_llm) as llm:
        replies = [ask(llm, "anthropic/claude-haiku-5-5", messages=request.messages).reply for request in requests]
    assert [reply.usage.cached or 0 for reply in replies if reply is not None] == [0, 0, 0, 0]


def test_a_prompt_that_will_not_grow_is_marked_for_its_system_alone(scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "ok"})
    with layer(scripted_llm) as llm:
        for grows in (False, True):
            ask(llm, "anthropic/claude-haiku-5-5", grows=grows)
    plain, marked = (request["body"] for request in scripted_llm.requests())
    mark = {"cache_control": {"type": "ephemeral"}}
    assert plain["system"] == [{"type": "text", "text": "Be brief.", **mark}]
    assert plain["messages"] == [{"role": "user", "content": "Say hello"}]
    assert marked["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Say hello", **mark}]}]
