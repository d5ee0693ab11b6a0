"""Whatever bytes a provider sends: an answer or a fault, in the trail, with every token that was counted.

``FUZZ=200000 pytest tests/shared/llm/test_wire_fuzz.py`` tries that number of inputs of each kind.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.errors import AssayError
from shared.llm.call_clock import Timeouts, Watch
from shared.llm.chat import ChatReply, ChatRequest, JsonSchema, Tool
from shared.llm.faults import AdapterFault, ProviderFault
from shared.llm.vendors.adapter import Adapter
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.chat_answer import ChatAnswer
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.failures import fault_of
from shared.llm.wires.message_answer import MessageAnswer
from shared.llm.wires.sdk import received
from tests.shared.llm.support import HELLO, ask, layer
from tests.support.raw_provider import Raw, RawProvider, chat, chunk, event, messages, stream, whole

TRIES = int(os.environ.get("FUZZ", "200"))
FUZZED = settings(max_examples=TRIES, deadline=None, suppress_health_check=list(HealthCheck))
REQUEST = ChatRequest("flows.edit", HELLO, (Tool("t", "d", {"type": "object"}),), JsonSchema("s", {"type": "object"}))

WORDS = st.sampled_from(
    ["stop", "length", "tool_calls", "abort", "text", "", "0", "{}", '{"a":1}', "[DONE]", "error", "\ud83d", "\x00"]
) | st.text(st.characters(codec=None), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers(-5, 10**12) | st.floats() | WORDS
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
)


def mostly(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The right shape, and anything else in its place now and then."""
    return st.integers(0, 5).flatmap(lambda number: JSON if number == 0 else strategy)


def some(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name: mostly(each) for name, each in members.items()})


FUNCTION = some(name=WORDS, arguments=WORDS | st.dictionaries(WORDS, JSON, max_size=2))
CALLS = st.lists(mostly(some(index=st.integers(0, 2), id=WORDS, function=FUNCTION, name=WORDS)), max_size=3)
PARTS = st.lists(mostly(some(type=WORDS, text=WORDS, thinking=JSON)), max_size=3)
SAID = some(content=WORDS | PARTS, refusal=WORDS, reasoning=WORDS, tool_calls=CALLS, function_call=FUNCTION, role=WORDS)
CHOICE = some(index=st.integers(0, 1), delta=SAID, message=SAID, finish_reason=WORDS, error=JSON)
COUNTS = some(prompt_tokens=st.integers(0, 1000), completion_tokens=st.integers(0, 1000), prompt_tokens_details=JSON)
ERROR = some(message=WORDS, type=WORDS, code=SCALARS, details=JSON, metadata=JSON, failed_generation=WORDS, param=WORDS)
CHUNK = some(
    choices=st.lists(mostly(CHOICE), max_size=2), usage=COUNTS, model=WORDS, x_groq=some(usage=COUNTS, error=WORDS),
    error=ERROR, object=WORDS, message=WORDS, detail=JSON,
)  # fmt: skip
BLOCK = some(type=st.sampled_from(["text", "tool_use", "thinking"]), text=WORDS, id=WORDS, name=WORDS, input=JSON)
MESSAGE = some(
    type=st.sampled_from(
        ["message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "error"]
    ),
    message=some(model=WORDS, usage=JSON), index=st.integers(0, 2), content_block=BLOCK,
    delta=some(type=WORDS, text=WORDS, partial_json=WORDS, stop_reason=WORDS), error=ERROR,
    usage=some(input_tokens=st.integers(0, 1000), output_tokens=st.integers(0, 1000), cache_read_input_tokens=JSON),
)  # fmt: skip


def written(value: object) -> bytes:
    return json.dumps(value).encode()


def events_of(values: list[Any]) -> bytes:
    return b"".join(b"data: " + written(value) + b"\n\n" for value in values)


def read(make: Callable[[], Any], chunks: list[bytes]) -> tuple[Any, ProviderFault | ChatReply]:
    """Return the answer as it was read, and its outcome. Raises: anything that is not a provider's fault."""
    watch, answer = Watch(Timeouts(), time.monotonic() + 60), make()
    try:
        arriving = received(iter(chunks), watch)
        if isinstance(arriving, dict):
            answer.take_whole(arriving)
        else:
            answer.take_events(arriving, watch)
        return answer, answer.reply("groq", REQUEST)
    except Exception as error:
        return answer, fault_of(error, watch)


def check(outcome: ProviderFault | ChatReply) -> None:
    assert not isinstance(outcome, AdapterFault), outcome
    if isinstance(outcome, ProviderFault):
        outcome.detail.encode()
        return
    calls = [(call.id, call.name, dict(call.params)) for call in outcome.tool_calls]
    stored = json.dumps([outcome.text, outcome.reasoning, outcome.model, calls], ensure_ascii=False, allow_nan=False)
    assert "\\u0000" not in stored, "a database holds it"
    stored.encode()
    assert len({id for id, _, _ in calls}) == len(calls)


WIRES = pytest.mark.parametrize(
    ("make", "piece"), [(ChatAnswer, CHUNK), (MessageAnswer, MESSAGE)], ids=["chat_completions", "messages"]
)


@WIRES
@given(data=st.data())
@FUZZED
def test_any_shape_of_json(make: Callable[[], Any], piece: st.SearchStrategy[Any], data: st.DataObject) -> None:
    values = data.draw(st.lists(mostly(piece), max_size=6))
    sent = events_of(values) if data.draw(st.booleans()) else written(values[0] if values else None)
    check(read(make, [sent + data.draw(st.sampled_from([b"", b"data: [DONE]\n\n", b"data: {"]))])[1])


@WIRES
@given(chunks=st.lists(st.binary(max_size=60) | st.sampled_from([b"data: ", b"\n\n", b"{", b'"choices":[', b"\r"])))
@FUZZED
def test_any_bytes(make: Callable[[], Any], piece: object, chunks: list[bytes]) -> None:
    check(read(make, chunks)[1])


GOOD = [b"".join(chat("h\u00e9llo \u2028 w\u00f6rld")), b"".join(messages("h\u00e9llo \u2028 w\u00f6rld"))]


@pytest.mark.parametrize("make", [ChatAnswer, MessageAnswer])
@given(data=st.data())
@FUZZED
def test_the_borders_of_chunks_and_flipped_bytes(make: Callable[[], Any], data: st.DataObject) -> None:
    good = GOOD[make is MessageAnswer]
    borders = sorted(data.draw(st.lists(st.integers(0, len(good)), max_size=6)))
    chunks = [good[first:last] for first, last in zip([0, *borders], [*borders, len(good)], strict=True)]
    answer, reply = read(make, chunks)
    assert isinstance(reply, ChatReply), reply
    assert (reply.text, reply.usage.input) == ("h\u00e9llo \u2028 w\u00f6rld", 100)
    at = data.draw(st.integers(0, len(good) - 1))
    check(read(make, [good[:at] + data.draw(st.binary(max_size=2)) + good[at + 1 :]])[1])
    answer, cut = read(make, [good[:at]])
    check(cut)
    if isinstance(cut, ChatReply):
        assert b'"finish_reason": "stop"' in good[:at] or b"message_stop" in good[:at], "half an answer is not whole"
    if b'"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}\n\n' in good[:at]:
        assert answer.usage.input == 100


@given(counts=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=3), data=st.data())
@FUZZED
def test_no_token_that_was_told_is_lost(counts: list[tuple[int, int]], data: st.DataObject) -> None:
    """The last count holds, whatever comes after it."""
    told = [chunk({"content": "x"}, usage={"prompt_tokens": sent, "completion_tokens": got}) for sent, got in counts]
    error, nothing = event({"error": {"message": "x"}}), event({"usage": None})
    after = data.draw(st.sampled_from([b"data: {\n\n", b"", error, nothing, b"data: 1\n\n"]))
    answer, _ = read(ChatAnswer, [*told, after])
    assert (answer.usage.input, answer.usage.output) == counts[-1]


@given(status=st.integers(200, 599), body=JSON | ERROR | st.lists(ERROR) | some(error=ERROR) | st.binary(max_size=40))
@settings(FUZZED, max_examples=max(60, TRIES // 20))
def test_any_status_and_body_on_the_wire(status: int, body: object) -> None:
    """By the SDKs and HTTP: each call is in the trail."""
    with sdk_and_provider() as (adapter, provider):
        sent = body if isinstance(body, bytes) else written(body)
        provider.play(whole(status, sent) if status not in (204, 205, 304) else whole(status, b""))
        watch = Watch(Timeouts(), time.monotonic() + 20)
        try:
            check(adapter.ask(REQUEST, watch))
        except ProviderFault as fault:
            check(fault)


_KEPT: list[tuple[Adapter, RawProvider]] = []


@contextmanager
def sdk_and_provider() -> Iterator[tuple[Adapter, RawProvider]]:
    if not _KEPT:
        provider = RawProvider()
        _KEPT.append((Adapter(VENDORS["groq"], Endpoint("groq", "k", provider.url)), provider))
    yield _KEPT[0]


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _KEPT:
        adapter, provider = _KEPT.pop()
        adapter.close()
        provider.close()


@given(chunks=st.lists(st.binary(max_size=30), max_size=4), reset=st.booleans())
@settings(FUZZED, max_examples=max(30, TRIES // 50))
def test_any_bytes_on_the_wire_are_in_the_trail(chunks: list[bytes], reset: bool) -> None:
    """Through the whole layer: as many attempts as the provider had calls, and no error of ours."""
    with closing(RawProvider()) as provider, layer(provider, ("groq",), patience_seconds=0, starting_seconds=0) as llm:
        provider.play(stream(*chunks, reset=reset) if chunks else Raw([b"\x00" * 20], reset))
        asked = ask(llm, fails=AssayError, schema=None)
        assert len(asked.attempts("outcome")) == len(provider.asked) >= 1
        assert ("adapter_fault",) not in asked.attempts("outcome")


def test_a_deep_answer_is_a_fault() -> None:
    for deep in (b"[" * 100_000, b'{"a":' * 100_000, written({"choices": []})[:-1] + b',"a":' + b"[" * 2000):
        assert read(ChatAnswer, [b"data: " + deep + b"\n\n"])[1].code == "unreadable_answer"  # type: ignore[union-attr]
    nested: Any = {}
    for _ in range(300):
        nested = {"a": nested}
    call = {"function": {"name": "t", "arguments": nested}}
    check(read(ChatAnswer, [chunk({"tool_calls": [call]}, "tool_calls")])[1])
