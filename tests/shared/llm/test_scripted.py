"""The scripted server: rules by role and turn, successive replies, and errors that say what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.errors import ProvidersFailed
from shared.llm.layer import LlmLayer
from shared.llm.scripted.script import ScriptedRequest, When, fits, parse
from shared.llm.tagged import parse_tagged
from tests.shared.llm.support import Asked, ask, layer
from tests.support.scripted import ScriptedLlm, started

CALLS = '<response>[{"name":"addNode","input":{"label":"A"}},{"name":"addNode","input":{"label":"B"}}]</response>'


@pytest.fixture(scope="module")
def llm(scripted_llm: ScriptedLlm) -> Iterator[LlmLayer]:
    with layer(scripted_llm, ("groq",), breaker_failures=1000) as llm:
        yield llm


def text(asked: Asked) -> str:
    assert asked.reply is not None
    return asked.reply.text


def test_replies_go_by_role_and_turn(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play(
        {"when": {"role": "flows.edit", "turn": 1}, "reply": "first turn"},
        {"when": {"role": "flows.edit"}, "reply": "later turn"},
        {"when": {"role": r"search\..*"}, "reply": "search"},
    )
    assert text(ask(llm, turn=1)) == "first turn"
    assert text(ask(llm, turn=2)) == "later turn"
    assert text(ask(llm, role="search.answer")) == "search"


def test_replies_go_by_words_and_successive_replies_stay_at_the_last(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play(
        {"when": {"any": "nobody says this"}, "reply": "wrong"},
        {"when": {"last": "(?i)say HELLO", "any": "brief"}, "replies": ["one", {"text": "two"}]},
    )
    assert [text(ask(llm)) for _ in range(3)] == ["one", "two", "two"]


def test_a_rule_is_over_after_its_times(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"times": 2, "reply": "twice"}, {"reply": "then"})
    assert [text(ask(llm)) for _ in range(3)] == ["twice", "twice", "then"]


def test_a_request_without_a_rule_is_refused_in_words(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play()
    asked = ask(llm, fails=ProvidersFailed)
    assert asked.attempts("outcome", "http_status") == [("request_refused", 400)]


def test_half_and_fenced_texts_are_what_the_parser_is_made_for(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": CALLS, "fault": "half_json"})
    half = parse_tagged(text(ask(llm)))
    assert (len(half.calls), half.truncated) == (1, True)
    scripted_llm.play({"reply": {"json": {"a": 1}}, "fault": "fenced_json"})
    assert text(ask(llm)).startswith("```json\n")


@pytest.mark.parametrize(("word_ms", "latency_ms"), [(100, 0), (0, 400)])
def test_words_may_come_slowly(scripted_llm: ScriptedLlm, word_ms: int, latency_ms: int) -> None:
    scripted_llm.play({"reply": "a b c d", "fault": {"kind": "slow", "token_ms": word_ms}}, latency_ms=latency_ms)
    with layer(scripted_llm, ("groq",), total_seconds=0.2) as impatient:
        assert ask(impatient, fails=ProvidersFailed).attempts("outcome") == [("timed_out",)]


def test_a_prefix_is_not_needed(scripted_llm: ScriptedLlm) -> None:
    class Plain(ScriptedLlm):
        def base_url(self, provider: str) -> str:
            return f"{self.url}/v1" if provider == "openai" else self.url

    scripted_llm.play({"reply": "ok"})
    with layer(Plain(scripted_llm.url)) as llm:
        for provider in ("groq", "cerebras", "anthropic", "openai"):
            ask(llm, f"{provider}/some-model")
    assert [request["provider"] for request in scripted_llm.requests()] == ["groq", "cerebras", "anthropic", "openai"]


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"null", b'{"messages": 3}', b'{"messages": [3]}', b"\xff"],
)
def test_a_body_that_is_no_request_is_refused(scripted_llm: ScriptedLlm, body: bytes) -> None:
    scripted_llm.play({"reply": "ok"})
    request = urllib.request.Request(f"{scripted_llm.url}/v1/chat/completions", body)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=5)
    with refused.value as answer:
        assert answer.code == 400
        assert "error" in json.loads(answer.read())


def test_a_bad_script_is_refused_and_the_old_one_goes_on(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "old"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        scripted_llm.play({"reply": "x", "falt": "hang"})
    refused.value.close()
    assert text(ask(llm)) == "old"


@pytest.mark.slow
def test_a_script_file_is_read_at_the_start(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("rules:\n  - reply: from a file\n")
    process, url = started("--script", str(script))
    try:
        with layer(ScriptedLlm(url), ("groq",)) as llm:
            assert text(ask(llm)) == "from a file"
    finally:
        process.terminate()
        assert process.wait(10) == 0
        if process.stdout is not None:
            process.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize("content", ["rules: [{reply: 1}]", "rules: {", "- 1", "rules: [{when: {last: '('}}]"])
def test_a_broken_script_file_is_a_clear_error(tmp_path: Path, content: str) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(content)
    command = [sys.executable, "-m", "shared.llm.scripted", "--script", str(script)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode == 2
    assert "the script cannot be used" in ended.stderr


def test_what_has_to_hold_is_all_of_it() -> None:
    asked = ScriptedRequest("groq", "m", "flows.edit", 2, True, ("system", "a\nb"), "a\nb")
    assert fits(When(), asked)
    assert fits(When(provider="groq", role="flows.edit", turn=2, last="a.b", any="^sys", stream=True, model="m"), asked)
    assert not fits(When(provider="groq", turn=1), asked)
    assert not fits(When(role="flows"), asked), "a role is matched whole"
    assert parse("") == parse("rules: []")
