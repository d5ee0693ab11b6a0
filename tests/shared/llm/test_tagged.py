"""Tagged answers: every slip that models make, and how it is read."""

from __future__ import annotations

import pytest

from shared.llm.tagged import Tagged, parse_tagged

CALL = '{"type":"tool_use","id":"1","name":"addNode","input":{"label":"A"}}'
PARAMS = {"label": "A"}


def response(body: str) -> Tagged:
    return parse_tagged(f"<thinking>why</thinking>\n<response>{body}</response>")


def params(answer: Tagged) -> list[object]:
    assert answer.error is None
    return [dict(call.params) for call in answer.calls]


@pytest.mark.parametrize(
    "body",
    [
        f"[{CALL}]",
        CALL,
        f"// all of it\n[{CALL}]",
        f"[{CALL} // the node\n]",
        '[{"name": "addNode", // first\n "input": {"label": "A"} // second\n}]',
        f"/* one */[{CALL}]",
        f"[/* many\nlines */{CALL}]",
        f"// both\n[/* kinds */ {CALL} // mixed\n]",
    ],
)
def test_json_and_its_comments_are_read_without_a_repair(body: str) -> None:
    answer = response(body)
    assert params(answer) == [PARAMS]
    assert not answer.repaired
    assert not answer.truncated
    assert answer.thinking == "why"


@pytest.mark.parametrize(
    "body",
    [
        f"[{CALL},]",
        '[{"name":"addNode","input":{"label":"A",},},]',
        f"```json\n[{CALL}]\n```",
        f"```\n{CALL}\n```",
        f"Here they are:\n[{CALL}]\nThat is all.",
        "[{'name': 'addNode', 'input': {'label': 'A'}}]",
        "[{name: 'addNode', input: {label: 'A'}}]",
        '[{"name":"addNode","arguments":{"label":"A"}}]',
    ],
)
def test_slips_are_mended_and_flagged(body: str) -> None:
    answer = response(body)
    assert params(answer) == [PARAMS]
    assert answer.repaired


@pytest.mark.parametrize(
    ("body", "label"),
    [
        ('[{"name":"n","input":{"label":"https://x.io//y"}}]', "https://x.io//y"),
        ('[{"name":"n","input":{"label":"a /* b */ c"}}]', "a /* b */ c"),
        ('[{"name":"n","input":{"label":"</response>"}}]', "</response>"),
        ('[{"name":"n","input":{"label":"NaN"}}]', "NaN"),
        ('[{"name":"n","input":{"label":"say \\"hi\\", // ok"}} // "odd\n]', 'say "hi", // ok'),
        ('[{"name":"n","input":{"label":"a,]"}},]', "a,]"),
        ('[{"name":"n","input":{"label":"two\nlines"}}]', "two\nlines"),
        ('[{"name":"n","input":{"label":"he said "hi" to me"}}]', 'he said "hi" to me'),
        ('[{"name":"n","input":{"label":"\\u0000\\ud800"}}]', "\ufffd\ufffd"),
    ],
)
def test_what_stands_in_a_string_stays_as_it_is(body: str, label: str) -> None:
    assert params(response(body)) == [{"label": label}]


def test_python_literals_are_understood() -> None:
    assert params(response("[{'name': 'n', 'input': {'a': True, 'b': None}}]")) == [{"a": True, "b": None}]


@pytest.mark.parametrize("between", ["\n", ",\n", " ; ", "\n// next\n"])
def test_several_objects_in_a_row_are_all_kept(between: str) -> None:
    answer = response(CALL + between + CALL.replace("A", "B"))
    assert params(answer) == [{"label": "A"}, {"label": "B"}]
    assert answer.repaired


@pytest.mark.parametrize(
    "body",
    [
        "garbage",
        "null",
        "42",
        "{}",
        "[1, 2]",
        '["text"]',
        '[{"input": {}}]',
        '[{"name": ""}]',
        '[{"name": "n", "input": [1]}]',
        '[{"name": "n", "input": "text"}]',
        '[{"name": "n", "input": {"x": NaN}}]',
        "[{'name': 'n', 'input': {'x': -Infinity}}]",
        '[{"name": "n", "input": {"x": 1e400}}]',
        "[{'name': 'n', 'input': {'x': 1e400}}]",
        '[{"name": "n", "input": {"label": "Hel',
        '[{"name": "n", "input": {"a": [1], "label": "Hel',
        "[" * 500 + "]" * 500,
        "[" * 100_000,
        '{"a":' * 500 + "1" + "}" * 500,
    ],
)
def test_what_cannot_be_trusted_is_an_error_without_any_call(body: str) -> None:
    answer = response(body)
    assert answer.error
    assert answer.calls == ()


def test_nesting_within_the_cap_is_fine() -> None:
    deep = '{"a":' * 40 + "1" + "}" * 40
    assert len(response(f'[{{"name":"n","input":{deep}}}]').calls) == 1


def test_a_huge_answer_is_refused() -> None:
    assert response("[" + " " * 2_000_000 + "]").error


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (f"[{CALL},{CALL},", 2),
        (f"[{CALL},{{", 1),
        (f'[{CALL},{{"name":"b","input":{{"label":"half a la', 1),
        (f"[{CALL}", 1),
        (f"[{CALL}]", 1),
        (CALL, 1),
        (f"// note\n[{CALL}, // and\n", 1),
    ],
)
def test_an_answer_that_was_cut_gives_its_complete_calls(body: str, count: int) -> None:
    answer = parse_tagged(f"<response>{body}")
    assert [dict(call.params) for call in answer.calls] == [PARAMS] * count
    assert answer.truncated
    assert answer.error is None


@pytest.mark.parametrize("body", ["", "[", '[{"name":"a","inp', "words", "[NaN, {"])
def test_a_cut_answer_without_a_complete_call_is_an_error(body: str) -> None:
    answer = parse_tagged(f"<response>{body}")
    assert answer.error
    assert answer.truncated
    assert answer.calls == ()


def test_the_first_thinking_and_the_first_response_win() -> None:
    text = f"<thinking>a</thinking><thinking>b</thinking><response>[{CALL}]</response><response>[]</response>"
    answer = parse_tagged(text)
    assert (answer.thinking, len(answer.calls)) == ("a", 1)


def test_thinking_after_the_response_is_ignored() -> None:
    assert parse_tagged("<response>[]</response><thinking>late</thinking>").thinking == ""


def test_thinking_may_be_missing_or_unclosed_or_speak_of_tags() -> None:
    assert parse_tagged("<response>[]</response>").thinking == ""
    assert parse_tagged("<thinking>open <response>[]</response>").thinking == "open"
    spoken = parse_tagged(f"<thinking>a <response> tag</thinking><response>[{CALL}]</response>")
    assert (spoken.thinking, len(spoken.calls)) == ("a <response> tag", 1)


def test_no_response_and_an_empty_response_mean_no_calls() -> None:
    assert parse_tagged("just words") == Tagged("", answered=False)
    assert parse_tagged("") == Tagged("", answered=False)
    assert response("") == Tagged("why")
    assert response("[]") == Tagged("why")


def test_ids_are_kept_and_made_up_where_there_are_none() -> None:
    answer = response('[{"id":"x","name":"a"},{"id":7,"name":"b"},{"name":"c"},{"id":null,"name":"d"}]')
    assert [call.id for call in answer.calls] == ["x", "7", "call_3", "call_4"]
