"""What each vendor documents to answer, and what must follow: one suite over a file of facts for each vendor."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.errors import AssayError
from shared.llm.chat import JsonSchema, Tool
from shared.llm.faults import PartUnsupported, PromptTooLong, ProviderFault
from shared.llm.wires.refusals import REFUSALS
from tests.shared.llm.support import Asked, ask, layer
from tests.support.raw_provider import Raw, RawProvider, chat, event, messages, stream, whole

FOLDER = Path(__file__).parent / "conformance"
VENDORS: Mapping[str, Any] = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))}
CASES = [
    pytest.param(facts["wire"], case, id=f"{vendor}-{case['name'].replace(' ', '-')}")
    for vendor, facts in VENDORS.items()
    for case in facts["cases"]
]
ALL = {
    "groq", "cerebras", "anthropic", "openai", "azure", "openrouter", "ollama", "llama-cpp", "vllm", "lm-studio",
    "gemini", "deepseek", "mistral", "sglang", "localai", "tgi", "litellm", "xai", "together", "fireworks", "bedrock",
    "proxies",
}  # fmt: skip
KEYS = frozenset(
    {"name", "status", "headers", "error", "body", "raw_body", "events", "raw", "schema", "tools"}
    | {"outcome", "state", "parked", "asked", "window", "prompt", "cap", "then", "text", "finish", "tokens"}
    | {"said", "unsaid"}
)
SCHEMA = JsonSchema("s", {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
TOOL = Tool("ready", "says that it is ready", {"type": "object"})


@pytest.fixture(scope="module")
def provider() -> Iterator[RawProvider]:
    with closing(RawProvider()) as provider:
        yield provider


def response_of(case: Mapping[str, Any], wire: str) -> Raw:
    if "raw" in case:
        return stream(case["raw"].encode())
    if "events" in case:
        named = wire == "anthropic"
        return stream(*(event(each, each["type"] if named else "") for each in case["events"]))
    body = {"error": case["error"]} if "error" in case else case.get("body", b"")
    if "raw_body" in case:
        body = case["raw_body"].encode()
    moment = str(int((time.time() + 30) * 1000))
    return whole(case["status"], _filled(body, moment), case.get("headers"))


def _filled(value: Any, moment: str) -> Any:
    if isinstance(value, dict):
        return {name: _filled(each, moment) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, moment) for each in value]
    return value.replace("{in_30_s_ms}", moment) if isinstance(value, str) else value


@pytest.mark.parametrize(("wire", "case"), CASES)
def test_what_a_vendor_documents(provider: RawProvider, wire: str, case: Mapping[str, Any]) -> None:
    request: dict[str, Any] = {"schema": SCHEMA} if case.get("schema") else {}
    request |= {"tools": (TOOL,)} if case.get("tools") else {}
    again = stream(*(messages("again") if wire == "anthropic" else chat("again")))
    with layer(provider, (wire,), patience_seconds=0, starting_seconds=0) as llm:
        played = response_of(case, wire)
        provider.play(*([played, again] if case.get("then") else [played]))
        answers = case["outcome"] == "ok" or bool(case.get("then"))
        asked = ask(llm, fails=None if answers else AssayError, **request)
        outcome, detail, sent, received = asked.attempts("outcome", "detail", "input_tokens", "output_tokens")[0]
        assert outcome == case["outcome"], detail
        assert ("adapter_fault",) not in asked.attempts("outcome")
        _check_words(case, str(detail))
        _check_answer(case, asked)
        if "tokens" in case:
            assert [sent, received] == case["tokens"]
        if "asked" in case:
            assert len(provider.asked) == case["asked"]
        if "cap" in case:
            assert case["cap"] in (provider.asked[1].get("max_tokens"), provider.asked[1].get("max_completion_tokens"))
        if "window" in case:
            (fact,) = (fact for fact in llm.endpoints.view(wire).learned if fact.what == "window")
            assert fact.tokens == case["window"]
        health = next(each for each in llm.providers() if each.name == wire)
        assert health.state == case.get("state", health.state)
        if "parked" in case:
            assert health.until is not None
            seconds = (health.until - datetime.now(UTC)).total_seconds()
            assert case["parked"] - 3 <= seconds <= case["parked"] + 0.5
        if health.state == "parked" and case.get("parked", 60) > 5:
            knocks = len(provider.asked)
            ask(llm, fails=AssayError, **request)
            assert len(provider.asked) == knocks, "a closed door is not knocked at"


def _check_words(case: Mapping[str, Any], detail: str) -> None:
    """The vendor's words are in the trail, but none of a key."""
    message = (case.get("error") or {}).get("message")
    repeats = case["outcome"] not in ("invalid_key", "ok", "starting", "timed_out", "endpoint_not_found")
    if repeats and isinstance(message, str) and len(message) < 200 and not message.startswith("{"):
        assert message[:20] in detail
    assert case.get("said", "") in detail
    assert "unsaid" not in case or case["unsaid"] not in detail


def _check_answer(case: Mapping[str, Any], asked: Asked) -> None:
    if case["outcome"] != "ok" or asked.reply is None:
        return
    assert asked.reply.text == case.get("text", asked.reply.text)
    assert asked.reply.finish == case.get("finish", asked.reply.finish)


def test_every_vendor_has_a_file_with_its_source_and_date() -> None:
    assert set(VENDORS) == ALL
    for facts in VENDORS.values():
        assert facts["source"].startswith("https://")
        assert str(facts["seen"]) >= "2026-11-26"
        for case in facts["cases"]:
            assert set(case) <= KEYS, case["name"]


def test_every_row_of_the_table_has_a_source_and_a_case() -> None:
    covered = {case["outcome"] for facts in VENDORS.values() for case in facts["cases"]}
    for row in REFUSALS:
        assert row.source.startswith("https://")
        assert row.codes or row.says
        assert issubclass(row.fault, ProviderFault)
        assert not issubclass(row.fault, PartUnsupported | PromptTooLong)
        assert row.fault.code in covered
