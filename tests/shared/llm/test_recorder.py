"""Recordings: the same question gets the recorded answer, another one a clear error, and nothing secret is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shared.llm.chat import ChatMessage, ChatRequest
from shared.llm.ledger import Owner
from shared.llm.recorder import RecordingMissing
from shared.loop import Budget
from tests.shared.llm.support import ask, layer
from tests.support.scripted import ScriptedLlm


def words(text: str) -> dict[str, Any]:
    return {"messages": (ChatMessage("system", "Be brief."), ChatMessage("user", text))}


def recorded(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(folder.rglob("*.json"))]


def test_a_recorded_call_is_replayed_without_any_provider(scripted_llm: ScriptedLlm, tmp_path: Path) -> None:
    call = {"name": "addNode", "params": {"label": "ü"}, "id": "1"}
    scripted_llm.play({"reply": {"text": "recorded", "tool_calls": [call], "input_tokens": 7, "output_tokens": 3}})
    with layer(scripted_llm, ("groq",), recordings=tmp_path, record="record") as llm:
        first = ask(llm, **words("Hello")).reply
    with layer(scripted_llm, (), recordings=tmp_path, record="replay") as llm:
        assert llm.configured("flows.edit")
        asked = ask(llm, **words("Hello"))
    assert first is not None
    assert asked.reply is not None
    assert (asked.reply.text, asked.reply.tool_calls) == (first.text, first.tool_calls)
    assert asked.reply.source == "replay"
    assert asked.attempts("source", "outcome") == [("replay", "ok")]
    assert (asked.usage.llm_calls, asked.usage.sources) == (0, {"replay"})
    assert len(scripted_llm.requests()) == 1


def test_what_changes_from_run_to_run_is_not_part_of_the_question(scripted_llm: ScriptedLlm, tmp_path: Path) -> None:
    scripted_llm.play({"reply": "recorded"})
    first = "Job 0193b3a4-5c6d-7e8f-9a0b-1c2d3e4f5a6b at 2026-11-20T10:00:00Z in /tmp/abc123/work"
    later = "Job ffffffff-5c6d-7e8f-9a0b-1c2d3e4f5a6b at 2027-01-01T23:59:59.123+01:00 in /tmp/xyz/other"
    with layer(scripted_llm, ("groq",), recordings=tmp_path, record="auto") as llm:
        ask(llm, **words(first))
        asked = ask(llm, "groq/another-model", max_tokens=9, **words(later))
    assert asked.attempts("source") == [("replay",)]
    assert len(scripted_llm.requests()) == 1


def test_auto_asks_and_records_what_is_new(scripted_llm: ScriptedLlm, tmp_path: Path) -> None:
    scripted_llm.play({"when": {"last": "one"}, "reply": "1"}, {"reply": "2"})
    with layer(scripted_llm, ("groq",), recordings=tmp_path, record="auto") as llm:
        for text in ("one", "two", "one", "two"):
            asked = ask(llm, **words(text))
            assert asked.reply is not None
            assert asked.reply.text == {"one": "1", "two": "2"}[text]
    assert len(scripted_llm.requests()) == 2


def test_a_question_asked_again_in_a_job_has_a_recording_of_its_own(scripted_llm: ScriptedLlm, tmp_path: Path) -> None:
    scripted_llm.play({"replies": ["first", "second"]})
    for mode in ("record", "replay"):
        with layer(scripted_llm, ("groq",), recordings=tmp_path, record=mode) as llm:
            job = llm.for_job(Owner("t", "j"), Budget())
            request = ChatRequest("flows.edit", words("again")["messages"])
            assert [job.complete(request).text for _ in range(2)] == ["first", "second"]
    with layer(scripted_llm, (), recordings=tmp_path, record="replay") as llm:
        job = llm.for_job(Owner("t", "j"), Budget())
        assert [job.complete(request).text for _ in range(3)] == ["first", "second", "second"]


def test_a_miss_names_the_nearest_recording_and_where_it_differs(scripted_llm: ScriptedLlm, tmp_path: Path) -> None:
    scripted_llm.play({"reply": "ok"})
    with layer(scripted_llm, ("groq",), recordings=tmp_path, record="record") as llm:
        ask(llm, **words("add a login page"))
        ask(llm, **words("something else entirely"))
    with layer(scripted_llm, ("groq",), recordings=tmp_path, record="replay") as llm:
        with pytest.raises(RecordingMissing, match="add a login page") as missing:
            ask(llm, **words("add a logout page"))
        assert "add a logout page" in missing.value.detail
        with pytest.raises(RecordingMissing, match="Nothing was recorded"):
            ask(llm, role="search.plan", **words("add a login page"))
    assert len(scripted_llm.requests()) == 2, "a replay never asks anybody"


def test_secrets_are_never_stored(scripted_llm: ScriptedLlm, tmp_path: Path) -> None:
    secrets = [
        "sk-abcdefghijklmnop1234",
        "gsk_abcdefghijklmnop1234",  # not a secret
        "AKIAABCDEFGHIJKLMNOP",  # not a secret
        "hunter2hunter2",
        "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK",
    ]
    text = f"{secrets[0]} {secrets[1]} {secrets[2]} postgres://me:{secrets[3]}@host/db Bearer {secrets[4]}"
    scripted_llm.play({"reply": f"I saw {secrets[0]}"})
    with layer(scripted_llm, ("groq",), recordings=tmp_path, record="record") as llm:
        ask(llm, **words(text))
    stored = json.dumps(recorded(tmp_path))
    assert not [secret for secret in [*secrets, "key-of-groq"] if secret in stored]
    assert "<secret>" in stored


def test_a_broken_recording_is_as_good_as_none(scripted_llm: ScriptedLlm, tmp_path: Path) -> None:
    scripted_llm.play({"reply": "ok"})
    with layer(scripted_llm, ("groq",), recordings=tmp_path, record="auto") as llm:
        ask(llm, **words("Hello"))
        for file in tmp_path.rglob("*.json"):
            file.write_text('{"half": ')
        assert ask(llm, **words("Hello")).attempts("source") == [("scripted",)]
