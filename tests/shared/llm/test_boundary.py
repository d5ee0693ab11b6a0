"""The boundary of every answer: what providers really send is an answer, or a fault with its attempt and its tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from shared.errors import AssayError, ContextTooLong, ProvidersFailed
from shared.llm.chat import ChatMessage, Finish, JsonSchema, Tool
from shared.llm.layer import LlmLayer
from shared.llm.wires.error_body import ErrorBody
from shared.llm.wires.limits import RateLimits
from tests.shared.llm.support import Asked, ask, layer
from tests.support.raw_provider import DONE, USAGE, Raw, RawProvider, chat, chunk, event, messages, stream, whole

SCHEMA = JsonSchema("s", {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
TOOL = Tool("addNode", "adds", {"type": "object", "properties": {"label": {"type": "string"}}})


@pytest.fixture(scope="module")
def provider() -> Iterator[RawProvider]:
    with closing(RawProvider()) as provider:
        yield provider


@pytest.fixture
def llm(provider: RawProvider) -> Iterator[LlmLayer]:
    with layer(provider, ("groq",), patience_seconds=0) as llm:
        yield llm


def answered(llm: LlmLayer, provider: RawProvider, *responses: Raw, **request: Any) -> Asked:
    provider.play(*responses)
    return ask(llm, **request)


def failed(llm: LlmLayer, provider: RawProvider, *responses: Raw, **request: Any) -> str:
    """Return the one outcome of a request without an answer, which is in the trail."""
    provider.play(*responses)
    asked = ask(llm, fails=ProvidersFailed, **request)
    assert len(asked.attempts("outcome")) == len(provider.asked)
    return str(asked.attempts("outcome")[-1][0])


def text(asked: Asked) -> str:
    assert asked.reply is not None
    return asked.reply.text


@pytest.mark.parametrize("vendor", ["groq", "cerebras", "openai", "anthropic"])
@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085", "\x0b", "\x1c", "\ufeff", "\U0001f600"])
def test_a_character_that_python_takes_for_the_end_of_a_line_is_none(
    provider: RawProvider, vendor: str, character: str
) -> None:
    words = f"a{character}b" * 3
    sent = messages(words) if vendor == "anthropic" else chat(words)
    with layer(provider, (vendor,)) as llm:
        for piece_size in (1, 7, 10_000):
            data = b"".join(sent)
            pieces = [data[at : at + piece_size] for at in range(0, len(data), piece_size)]
            assert text(answered(llm, provider, stream(*(pieces if piece_size > 1 else sent)))) == words


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("begin", [b"", b"\xef\xbb\xbf", b": comment\n\n", b"\n\n", b"retry: 10\n\n", b"data:\n\n"])
def test_a_stream_begins_and_ends_its_lines_as_it_likes(
    llm: LlmLayer, provider: RawProvider, begin: bytes, end: bytes
) -> None:
    sent = [each.replace(b"\n", end) for each in (begin, *chat("ABC def"))]
    assert text(answered(llm, provider, stream(*sent))) == "ABC def"


@pytest.mark.parametrize("done", [b"data: [DONE]\n\n", b"data:[DONE]\n\n", b"data: [DONE]", b"data:  [DONE] \n\n"])
def test_done_is_read_with_and_without_a_space(llm: LlmLayer, provider: RawProvider, done: bytes) -> None:
    asked = answered(llm, provider, stream(chunk({"content": "all"}), done))
    assert text(asked) == "all"


@pytest.mark.parametrize("type", ["text/event-stream; charset=iso-8859-1", "text/plain", "application/json", ""])
def test_a_stream_is_utf8_and_a_stream_whatever_its_header_says(
    llm: LlmLayer, provider: RawProvider, type: str
) -> None:
    assert text(answered(llm, provider, stream(*chat("h\u00e9\u20ac"), type=type))) == "h\u00e9\u20ac"


def test_bytes_that_are_not_utf8_are_a_fault(llm: LlmLayer, provider: RawProvider) -> None:
    sent = b"".join(chat("h\u00e9")).decode().encode("latin-1")
    assert failed(llm, provider, stream(sent)) == "unreadable_answer"


@pytest.mark.parametrize("stream_asked", [True, False])
def test_one_piece_is_read_where_a_stream_was_asked_for_and_the_other_way_round(
    provider: RawProvider, stream_asked: bool
) -> None:
    message = {"choices": [{"message": {"content": "w\u2028hole"}, "finish_reason": "stop"}], "usage": USAGE}
    with layer(provider, ("groq",), stream=stream_asked) as llm:
        for response in (whole(200, message), whole(200, message, type="text/plain"), stream(*chat("w\u2028hole"))):
            asked = answered(llm, provider, response)
            assert (text(asked), asked.usage.input_tokens) == ("w\u2028hole", 100)


@pytest.mark.parametrize(
    ("finish", "outcome"),
    [
        ("abort", "stream_cut"),
        ("error", "stream_cut"),
        ("cancelled", "stream_cut"),
        ("insufficient_system_resource", "overloaded"),
        ("content_filter", "content_filtered"),
        ("content_filter: SAFETY", "content_filtered"),
        ("SAFETY", "content_filtered"),
        ("RECITATION", "content_filtered"),
        ("MALFORMED_FUNCTION_CALL", "tool_use_failed"),
        ("pause_turn", "stream_cut"),
        ("time_limit", "stream_cut"),
        ("something new", "stream_cut"),
        ("repetition", "stream_cut"),
        ("guardrail_intervened", "content_filtered"),
        ("ERROR_TOXIC", "content_filtered"),
        ("sensitive", "content_filtered"),
        ("network_error", "stream_cut"),
        ("too_many_tool_calls", "tool_use_failed"),
        (7, "stream_cut"),
        ({"reason": "stop"}, "stream_cut"),
        ({"type": "abort", "message": "in the queue"}, "stream_cut"),
    ],
    ids=str,
)
def test_half_an_answer_is_never_whole(provider: RawProvider, finish: object, outcome: str) -> None:
    """In a stream and in one piece; the reason is in the trail, and the tokens count."""
    piece = {"choices": [{"message": {"content": "half"}, "finish_reason": finish}], "usage": USAGE}
    with layer(provider, ("groq",), patience_seconds=0) as llm:
        for response in (stream(*chat("half an answer", finish)), whole(200, piece)):
            provider.play(response)
            asked = ask(llm, fails=ProvidersFailed)
            ((told, detail, tokens),) = asked.attempts("outcome", "detail", "input_tokens")
            assert (told, tokens, asked.usage.input_tokens) == (outcome, 100, 100)
            assert str(finish["type"] if isinstance(finish, dict) and "type" in finish else finish) in str(detail)


def test_a_reason_that_no_database_can_hold_is_told_without_it(llm: LlmLayer, provider: RawProvider) -> None:
    provider.play(stream(b'data: {"choices":[{"delta":{"content":"half"},"finish_reason":"\\ud83d\\u0000"}]}\n\n'))
    ((detail,),) = ask(llm, fails=ProvidersFailed).attempts("detail")
    assert "`\ufffd\u2400`" in str(detail)


@pytest.mark.parametrize(
    ("reasons", "outcome"),
    [
        (["error", "stop"], "stream_cut"),
        (["content_filter", "stop"], "content_filtered"),
        (["stop", "content_filter"], "content_filtered"),
        (["stop", "error"], "stream_cut"),
        (["abort", "tool_calls"], "stream_cut"),
    ],
    ids=str,
)
def test_no_later_reason_makes_a_bad_end_a_good_one(
    llm: LlmLayer, provider: RawProvider, reasons: list[str], outcome: str
) -> None:
    sent = [chunk({"content": "half"}), *(chunk({}, reason) for reason in reasons), DONE]
    assert failed(llm, provider, stream(*sent)) == outcome


def test_a_cut_answer_stays_cut_and_a_gateway_passes_on_why_it_is_an_error(
    llm: LlmLayer, provider: RawProvider
) -> None:
    reply = answered(llm, provider, stream(chunk({"content": "half"}, "length"), chunk({}, "stop"), DONE)).reply
    assert reply is not None
    assert reply.finish is Finish.LENGTH
    choice = {"finish_reason": "error", "native_finish_reason": "MALFORMED_FUNCTION_CALL"}
    for response in (
        whole(200, {"choices": [{**choice, "message": {"content": None}}]}),
        stream(event({"choices": [{**choice, "delta": {}}]})),
    ):
        assert failed(llm, provider, response) == "tool_use_failed"


@pytest.mark.parametrize("stop", ["pause_turn", "error", "content_filter", "compaction"])
def test_half_a_message_is_never_whole(provider: RawProvider, stop: str) -> None:
    with layer(provider, ("anthropic",), patience_seconds=0) as llm:
        provider.play(stream(*messages("half", stop)))
        asked = ask(llm, fails=ProvidersFailed)
        assert (asked.usage.input_tokens, asked.usage.output_tokens) == (100, 20)


@pytest.mark.parametrize(
    "word", ["stop", "STOP", "eos", "eos_token", "end_turn", "stop_sequence", "COMPLETE", {"type": "stop"}, None, ""]
)
def test_good_ends(llm: LlmLayer, provider: RawProvider, word: object) -> None:
    reply = answered(llm, provider, stream(*chat("all", word))).reply
    assert reply is not None
    assert (reply.text, reply.finish) == ("all", Finish.STOP)


@pytest.mark.parametrize("word", ["length", "max_tokens", "model_length", "MAX_TOKENS", "max_output_tokens"])
def test_cut_ends(llm: LlmLayer, provider: RawProvider, word: str) -> None:
    reply = answered(llm, provider, stream(*chat("some", word))).reply
    assert reply is not None
    assert reply.finish is Finish.LENGTH


CALL = {"id": "a", "type": "function", "function": {"name": "addNode", "arguments": '{"label":"1"}'}}
OTHER = {"id": "b", "type": "function", "function": {"name": "addNode", "arguments": '{"label":"2"}'}}


def piece(arguments: object, **more: object) -> dict[str, object]:
    return {"function": {"name": "addNode", "arguments": arguments}, **more}


@pytest.mark.parametrize(
    ("deltas", "labels"),
    [
        ([{"tool_calls": [piece({"label": "x"}, index=0, id="c")]}], ["x"]),
        ([{"tool_calls": [piece('"{\\"label\\": \\"x\\"}"', index=0)]}], ["x"]),
        ([{"tool_calls": [CALL]}, {"tool_calls": [OTHER]}], ["1", "2"]),
        ([{"tool_calls": [CALL, OTHER]}], ["1", "2"]),
        ([{"tool_calls": [{**CALL, "index": 0}]}, {"tool_calls": [{**OTHER, "index": 0}]}], ["1", "2"]),
        ([{"tool_calls": [{**CALL, "index": 1}]}, {"tool_calls": [{**OTHER, "index": 0}]}], ["2", "1"]),
        ([{"tool_calls": [{**CALL, "index": "0"}]}], ["1"]),
        ([{"tool_calls": [piece('{"label":"1"}', index=0)]},
          {"tool_calls": [piece('{"label":"2"}', index=0)]}], ["1", "2"]),
        ([{"tool_calls": [piece('{"label":"1"}')]}, {"tool_calls": [piece('{"label":"2"}')]}], ["1", "2"]),
        ([{"tool_calls": [piece("", index=0, id="a")]},
          {"tool_calls": [{"index": 0, "function": {"arguments": '{"label":'}}]},
          {"tool_calls": [{"index": 0, "id": "", "function": {"name": None, "arguments": '"x"}'}}]}], ["x"]),
        ([{"tool_calls": [piece("", id="a")]}, {"tool_calls": [{"function": {"arguments": '{"label":'}}]},
          {"tool_calls": [{"function": {"arguments": '"x"}'}}]}], ["x"]),
        ([{"tool_calls": [piece('{"label"', index=0, id="a")]},
          {"tool_calls": [piece(':"x"}', index=0, id="a")]}], ["x"]),
        ([{"tool_calls": [piece('{"la', id="a")]}, {"tool_calls": [piece('{"la', id="b")]},
          {"tool_calls": [{"id": "a", "function": {"arguments": 'bel":"1"}'}}]},
          {"tool_calls": [{"id": "b", "function": {"arguments": 'bel":"2"}'}}]}], ["1", "2"]),
        ([{"function_call": {"name": "addNode", "arguments": '{"label":'}},
          {"function_call": {"arguments": '"x"}'}}], ["x"]),
        ([{"function_call": {"name": "addNode", "arguments": {"label": "x"}}}], ["x"]),
        ([{"tool_calls": [{"id": 7, "name": "addNode", "arguments": {"label": "x"}}]}], ["x"]),
        ([{"tool_calls": piece('{"label":"x"}', id="c")}], ["x"]),
        ([{"tool_calls": [{"id": "c", "function": {"name": "addNode", "parameters": {"label": "x"}}}]}], ["x"]),
        ([{"tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "addNode", "input": '{"label":"x"}'}}]}],
         ["x"]),
        ([{"tool_calls": [{"index": 0, "id": "c", "function": {"name": "add", "arguments": ""}}]},
          {"tool_calls": [{"index": 0, "function": {"name": "Node"}}]},
          {"tool_calls": [{"index": 0, "function": {"arguments": '{"label":"x"}'}}]}], ["x"]),
        ([{"tool_calls": [piece("null", index=0)]}], [None]),
        ([{"tool_calls": [piece(None, index=0)]}], [None]),
        ([{"tool_calls": [piece("", index=0)]}], [None]),
        ([{"tool_calls": [piece("{}", index=0)]}], [None]),
    ],
)  # fmt: skip
def test_calls_in_every_form(
    llm: LlmLayer, provider: RawProvider, deltas: list[dict[str, Any]], labels: list[str | None]
) -> None:
    for finish in ("tool_calls", "function_call", "stop"):
        sent = [chunk(delta) for delta in deltas]
        reply = answered(llm, provider, stream(*sent, chunk({}, finish), DONE), tools=(TOOL,)).reply
        assert reply is not None
        assert [(call.name, call.params.get("label")) for call in reply.tool_calls] == [
            ("addNode", each) for each in labels
        ]
        ids = [call.id for call in reply.tool_calls]
        assert all(ids)
        assert len(set(ids)) == len(ids)


def test_calls_of_a_whole_answer_need_neither_index_nor_id(provider: RawProvider) -> None:
    message = {"content": None, "tool_calls": [piece({"label": "1"}), piece('{"label": "2"}'), piece('{"label": "2"}')]}
    with layer(provider, ("groq",), stream=False) as llm:
        answer = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
        reply = answered(llm, provider, whole(200, answer), tools=(TOOL,)).reply
    assert reply is not None
    assert [call.params["label"] for call in reply.tool_calls] == ["1", "2", "2"]


@pytest.mark.parametrize(
    "part",
    [
        piece('{"label": "1'),
        piece("[1]"),
        piece([1]),
        piece("NaN"),
        piece('{"a": NaN}'),
        {"function": {"arguments": "{}"}},
    ],
)
def test_a_malformed_call_is_the_models_fault_and_counts_against_no_provider(
    llm: LlmLayer, provider: RawProvider, part: dict[str, Any]
) -> None:
    sent = stream(chunk({"tool_calls": [part]}), chunk({}, "tool_calls"), DONE)
    for _ in range(4):
        assert failed(llm, provider, sent, tools=(TOOL,)) == "tool_use_failed"
    assert {each.name: each.state for each in llm.providers()}["groq"] == "refusing"


@pytest.mark.parametrize(
    ("deltas", "said"),
    [
        ([{"content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}], "AB"),
        ([{"content": {"type": "text", "text": "A"}}], "A"),
        ([{"content": ["A", "B"]}], "AB"),
        ([{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, {"content": "A"}], "A"),
        ([{"content": [{"type": "reference", "reference_ids": [1]}, {"type": "output_text", "text": "A"}]}], "A"),
        ([{"content": "\ud83d"}, {"content": "\ude00"}], "\U0001f600"),
        ([{"content": "a\ud83db"}], "a\ufffdb"),
        ([{"content": "a\x00b"}], "a\u2400b"),
        ([{"content": None}, {"content": "A"}, {"content": ""}], "A"),
    ],
    ids=str,
)
def test_a_text_in_every_form(llm: LlmLayer, provider: RawProvider, deltas: list[dict[str, Any]], said: str) -> None:
    sent = [chunk(delta).replace(b"\x00", b"\\u0000") for delta in deltas]
    escaped = [each.decode("utf-8", "surrogatepass").encode("ascii", "backslashreplace") for each in sent]
    assert text(answered(llm, provider, stream(*escaped, chunk({}, "stop"), DONE))) == said


def test_only_the_first_of_several_answers_is_read(llm: LlmLayer, provider: RawProvider) -> None:
    def of(index: object, content: str, finish: str | None = None) -> bytes:
        return event({"choices": [{"index": index, "delta": {"content": content}, "finish_reason": finish}]})

    both = event({"choices": [{"index": 1, "delta": {"content": "B"}}, {"index": 0, "delta": {"content": "A"}}]})
    sent = [of(1, "B", "stop"), of(0, "A"), both, of(2, "C", "error"), of(0, "A", "stop"), DONE]
    assert text(answered(llm, provider, stream(*sent))) == "AAA"


def test_an_answer_that_is_not_numbered_from_0_or_stands_in_another_place_is_read(
    llm: LlmLayer, provider: RawProvider
) -> None:
    def of(index: int, content: str, finish: str | None = None) -> bytes:
        return event({"choices": [{"index": index, "delta": {"content": content}, "finish_reason": finish}]})

    choice = {"index": 1, "message": {"content": "AB"}, "finish_reason": "stop"}
    older = {"index": 0, "text": "AB", "finish_reason": "stop"}
    for response in (
        stream(of(1, "A"), of(2, "C"), of(1, "B", "stop"), of(2, "D", "error"), DONE),
        whole(200, {"choices": [choice]}),
        whole(200, [{"choices": [choice]}]),
        whole(200, {"choices": [older]}),
        stream(event({"choices": [{"index": 0, "text": "A"}]}), event({"choices": [{**older, "text": "B"}]}), DONE),
    ):
        assert text(answered(llm, provider, response)) == "AB"


@pytest.mark.parametrize(
    "sent",
    [
        b'data: {"choices":[{"delta":{"content":"A"}}]}\ndata: {"choices":[{"delta":{"content":"B"}}]}\ndata: [DONE]\n',
        b'data: data: {"choices":[{"delta":{"content":"AB"}}]}\n\ndata: data: [DONE]\n\n',
        b'data: {"choices":[{"delta":\ndata: {"content":"AB"},"finish_reason":"stop"}]}\n\n',
    ],
)
def test_events_that_a_proxy_has_changed_are_read(llm: LlmLayer, provider: RawProvider, sent: bytes) -> None:
    assert text(answered(llm, provider, stream(sent))) == "AB"


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_a_redirect_is_a_fault_that_names_its_target(llm: LlmLayer, provider: RawProvider, status: int) -> None:
    moved = whole(status, b"", {"Location": "https://user:pw@models.example/v1/chat?key=secret"})
    provider.play(moved)
    asked = ask(llm, fails=ProvidersFailed)
    ((outcome, http_status, detail),) = asked.attempts("outcome", "http_status", "detail")
    assert (outcome, http_status) == ("endpoint_moved", status)
    assert "https://models.example/v1/chat" in str(detail)
    assert "pw" not in str(detail)
    assert "secret" not in str(detail)
    ask(llm, fails=ProvidersFailed)
    assert len(provider.asked) == 1, "it is not called again until it is parked no longer"


@pytest.mark.parametrize("status", [*range(201, 209), *range(400, 452), 498, 499, *range(500, 530), 599, 600, 999])
def test_every_status_is_a_fault_and_in_the_trail(provider: RawProvider, status: int) -> None:
    bodies = (b"", b"no json", b'{"error": ', b"[]", b"null", b"<html></html>", b'{"a": [[]]}')
    for turn in range(2):
        with layer(provider, ("groq",), patience_seconds=0, starting_seconds=0) as llm:
            provider.play(whole(status, bodies[(status + turn * 3) % len(bodies)]))
            asked = ask(llm, fails=AssayError)
            assert len(asked.attempts("outcome")) == len(provider.asked) >= 1
            assert {outcome for (outcome,) in asked.attempts("outcome")}.isdisjoint({"adapter_fault", "ok"})


def test_a_defect_of_ours_is_an_attempt_and_the_next_provider_answers(
    provider: RawProvider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise LookupError("a defect")

    with layer(provider, ("groq", "cerebras")) as llm, monkeypatch.context() as patched:
        from shared.llm.wires.chat_answer import ChatAnswer  # noqa: PLC0415

        patched.setattr(ChatAnswer, "take_events", broken)
        provider.play(stream(*chat("half")))
        asked = ask(llm, fails=ProvidersFailed)
        assert asked.attempts("provider", "outcome") == [("groq", "adapter_fault"), ("cerebras", "adapter_fault")]
    assert "LookupError: a defect" in caplog.text


def test_the_tokens_of_a_cut_answer_count(provider: RawProvider) -> None:
    with layer(provider, ("anthropic",), patience_seconds=0) as llm:
        provider.play(stream(*messages("abc")[:3], reset=True))
        asked = ask(llm, fails=ProvidersFailed)
        assert asked.attempts("outcome", "input_tokens", "output_tokens") == [("stream_cut", 100, 1)]
        assert asked.usage.input_tokens == 100


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 100.0, "completion_tokens": 20.0}, (100, 20)),
        ({"prompt_tokens": "100", "completion_tokens": "20"}, (100, 20)),
        ({"input_tokens": 100, "output_tokens": 20}, (100, 20)),
        ({"promptTokens": 100, "completionTokens": 20}, (100, 20)),
        ({"prompt_tokens": 100, "completion_tokens": None}, (100, None)),
        ([], (None, None)),
        ("many", (None, None)),
    ],
    ids=str,
)
def test_tokens_in_every_form(
    llm: LlmLayer, provider: RawProvider, usage: object, counted: tuple[int | None, int | None]
) -> None:
    sent = [chunk({"content": "x"}), chunk({}, "stop", usage=usage), event({"choices": [], "usage": None}), DONE]
    assert answered(llm, provider, stream(*sent)).attempts("input_tokens", "output_tokens") == [counted]


def test_tokens_of_a_choice_and_of_an_error_count(llm: LlmLayer, provider: RawProvider) -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}
    counted = answered(llm, provider, stream(chunk({"content": "x"}), event({"choices": [choice]}), DONE))
    assert counted.attempts("input_tokens", "output_tokens") == [(100, 20)]
    error = {"error": {"message": "x", "code": 502}, "usage": USAGE}
    for response in (stream(chunk({"content": "half"}), event(error)), whole(200, error)):
        provider.play(response)
        counted = ask(llm, fails=ProvidersFailed)
        assert counted.attempts("outcome", "input_tokens", "output_tokens") == [("server_error", 100, 20)]


def test_what_a_server_does_not_know_of_streams_is_left_out_and_remembered(provider: RawProvider) -> None:
    words = {"error": {"message": "Unrecognized request argument supplied: stream_options"}}
    with layer(provider, ("openai",)) as llm:
        asked = answered(llm, provider, whole(400, words), stream(*chat("all")))
        assert asked.attempts("outcome") == [("usage_unsupported",), ("ok",)]
        answered(llm, provider, stream(*chat("all")))
        assert "stream_options" not in provider.asked[-1]
        assert [fact.what for fact in llm.endpoints.view("openai").learned] == ["usage"]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("sk-proj-abcdef123456 was not found", "[secret] was not found"),
        ("Incorrect API key provided by you", "Incorrect API key provided by you"),
        ("the key abc123def456 and Bearer 0123456789", "the [secret] and [secret]"),
        ('Provider returned error: {"error":{"message":"A of B","code":"x"}}', "Provider returned error: A of B"),
        (
            'litellm: {"a":1} {"error":{"message":"{\\"error\\":{\\"message\\":\\"deep\\"}}"}} end',
            'litellm: {"a":1} deep end',
        ),
    ],
)
def test_an_error_is_shown_in_words_and_without_secrets(message: str, shown: str) -> None:
    assert ErrorBody.read({"error": {"message": message}}).shown == shown


def test_words_far_behind_in_a_long_error_are_read(llm: LlmLayer, provider: RawProvider) -> None:
    words = "the gateway could not go on. " * 30 + "This model's maximum context length is 4096 tokens."
    provider.play(whole(400, {"error": {"message": words}}))
    outcome, detail = ask(llm, fails=ContextTooLong).attempts("outcome", "detail")[0]
    assert outcome == "context_too_long"
    assert len(str(detail)) < 400


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"ratelimit-reset": "17"}, 17),
        ({"x-ratelimit-reset": "3", "x-ratelimit-remaining": "0"}, 3),
        ({"ratelimit": '"default";r=0;t=25'}, 25),
        ({"retry-after": "7, 9"}, 7),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-1"}, None),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"x-ratelimit-reset": "tomorrow"}, None),
    ],
    ids=str,
)
def test_waits_that_gateways_name(headers: dict[str, str], seconds: float | None) -> None:
    assert RateLimits.read(headers).wait() == seconds


def test_a_cap_beside_the_prompt_is_made_smaller_and_the_prompt_stays(provider: RawProvider) -> None:
    words = "input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000, decrease input length or"
    refused = whole(400, {"type": "error", "error": {"type": "invalid_request_error", "message": words}})
    with layer(provider, ("anthropic",)) as llm:
        asked = answered(llm, provider, refused, stream(*messages("a")))
        first, second = provider.asked
        assert (first["max_tokens"], second["max_tokens"]) == (8192, 200_000 - 195_000 - 16)
        assert (first["messages"], asked.warnings) == (second["messages"], [])
        assert [(fact.what, fact.tokens) for fact in llm.endpoints.view("anthropic").learned] == [("window", 200_000)]


def refusal(message: str, status: int = 400, **more: object) -> Raw:
    return whole(status, {"error": {"message": message, "type": "invalid_request_error", **more}})


@pytest.mark.parametrize(
    ("words", "cap"),
    [
        ("`max_tokens` must be less than or equal to `4096`, the maximum value for `max_tokens` is less than the "
         "`context_window` for this model", 4096),
        ("max_tokens is too large: 8192. This model supports at most 4,096 completion tokens", 4096),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]", 4096),
        ("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 4096]", 4096),
        ("max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-3", 4096),
        ("a maxOutputTokens value of 8192 but the supported range is from 1 (inclusive) to 4097 (exclusive)", 4096),
        ("max_completion_tokens must not exceed 4096", 4096),
        ("max_completion_tokens is too high for this model", 4096),
    ],
)  # fmt: skip
def test_a_cap_above_the_models_is_asked_again_with_the_models(provider: RawProvider, words: str, cap: int) -> None:
    with layer(provider, ("groq",)) as llm:
        asked = answered(llm, provider, refusal(words), stream(*chat("a")))
        ask(llm)
    assert asked.attempts("outcome") == [("cap_too_large",), ("ok",)]
    assert [each["max_completion_tokens"] for each in provider.asked] == [8192, cap, cap]


def test_the_other_name_of_the_cap_is_used_and_remembered(provider: RawProvider) -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    with layer(provider, ("openai",)) as llm:
        asked = answered(llm, provider, refusal(words, code="unsupported_parameter"), stream(*chat("a")))
        ask(llm)
        assert [fact.what for fact in llm.endpoints.view("openai").learned] == ["cap"]
    assert asked.attempts("outcome") == [("cap_name_unsupported",), ("ok",)]
    sent = [("max_tokens" in each, "max_completion_tokens" in each) for each in provider.asked]
    assert sent == [(True, False), (False, True), (False, True)]


@pytest.mark.parametrize(
    "words",
    [
        "Unrecognized request argument supplied: max_completion_tokens",
        "max_completion_tokens: Extra inputs are not permitted",
    ],
)
def test_an_older_server_gets_the_older_name(provider: RawProvider, words: str) -> None:
    with layer(provider, ("groq",)) as llm:
        answered(llm, provider, refusal(words), stream(*chat("a")))
    assert "max_tokens" in provider.asked[1]


def test_a_bad_generation_under_a_schema_is_asked_again_with_the_schema(llm: LlmLayer, provider: RawProvider) -> None:
    bad = refusal("Failed to validate JSON.", code="json_validate_failed", failed_generation='{"a": "x"')
    asked = answered(llm, provider, bad, stream(*chat('{"a":"y"}')), schema=SCHEMA)
    assert asked.attempts("outcome") == [("schema_missed",), ("ok",)]
    ask(llm, schema=SCHEMA)
    assert ["response_format" in each for each in provider.asked] == [True, True, True]
    asked = answered(llm, provider, bad, bad, stream(*chat('{"a":"y"}')), schema=SCHEMA)
    assert asked.attempts("outcome") == [("schema_missed",), ("schema_missed",), ("ok",)]
    ask(llm, schema=SCHEMA)
    assert ["response_format" in each for each in provider.asked] == [True, True, False, True], "it is not remembered"


def test_a_generation_that_is_read_from_its_refusal_says_so(llm: LlmLayer, provider: RawProvider) -> None:
    written = '<function=addNode{"label": "x"}</function>'
    bad = refusal("Failed to call a function.", code="tool_use_failed", failed_generation=written)
    asked = answered(llm, provider, bad, tools=(TOOL,))
    ((outcome, status, detail),) = asked.attempts("outcome", "http_status", "detail")
    assert (outcome, status) == ("ok", 400)
    assert "tool_use_failed" in str(detail)


def test_a_prompt_above_the_tokens_of_a_minute_is_shortened(llm: LlmLayer, provider: RawProvider) -> None:
    words = "Request too large for model `m` on tokens per minute (TPM): Limit 3000, Requested 12345, please reduce"
    provider.play(refusal(words, 413, code="rate_limit_exceeded"), stream(*chat("short")))
    asked = ask(llm, messages=(ChatMessage("user", "word " * 8000),))
    assert text(asked) == "short"
    assert len(asked.warnings) == 1
    first, second = (len(str(each["messages"])) for each in provider.asked)
    assert second < first / 2


def test_the_body_of_an_error_may_be_a_list(llm: LlmLayer, provider: RawProvider) -> None:
    words = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    provider.play(whole(400, [{"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}]))
    with pytest.raises(ContextTooLong, match="input token count") as failure:
        ask(llm)
    assert (failure.value.extra["window"], failure.value.extra["prompt_tokens"]) == (1_048_576, 1_200_000)


@pytest.mark.parametrize("key", ["key\nof", "kl\u00fc\u010d", "a\x00b"])
def test_a_key_that_no_header_can_hold_is_an_invalid_key(provider: RawProvider, key: str) -> None:
    class Keyed(RawProvider):
        def environment(self, vendors: Any) -> dict[str, str]:
            return {"GROQ_API_KEY": key, "GROQ_BASE_URL": provider.url}

    with closing(Keyed()) as keyed, layer(keyed, ("groq",), patience_seconds=0) as llm:
        provider.play(stream(*chat("never")))
        assert ask(llm, fails=ProvidersFailed).attempts("outcome") == [("invalid_key",)]
    assert not provider.asked


def test_the_models_name_and_what_it_says_of_itself_are_bounded(llm: LlmLayer, provider: RawProvider) -> None:
    sent = [chunk({"content": "x"}, model="m" * 10_000), chunk({}, "stop", model={"a": 1}), DONE]
    reply = answered(llm, provider, stream(*sent)).reply
    assert reply is not None
    assert len(reply.model) == 200
