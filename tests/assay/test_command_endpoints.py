"""Endpoints by the command: added, checked by ``test`` and ``doctor``, shown by ``models ls``, removed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.assay.terminal import Shell
from tests.support.scripted import ScriptedLlm


def of_doctor(shell: Shell, name: str) -> dict[str, Any] | None:
    checks: list[dict[str, Any]] = shell("doctor", "--json").json
    return next((check for check in checks if check["what"] == f"endpoint {name}"), None)


@pytest.mark.slow(seconds=4)
def test_doctor_looks_at_every_endpoint_and_says_what_to_do(shell: Shell, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play(
        {"reply": "yes"},
        server={"kind": "llama.cpp", "version": "1", "models": ["small"], "window": 2048, "tokenizes": True},
    )
    added = shell("endpoints", "add", "gpu1", scripted_llm.base_url("openai"))
    assert added.status == 0, added.talk
    try:
        check = of_doctor(shell, "gpu1")
        assert check is not None
        assert check["ok"], check
        assert "llama.cpp" in check["finding"]
        assert shell("endpoints", "add", "away", "http://127.0.0.1:9/v1").status in (0, 1)
        away = of_doctor(shell, "away")
        assert away is not None
        assert (away["ok"], away["grave"], away["advice"]) == (False, False, "assay endpoints test away")
        rows = [line.split("\t") for line in shell("endpoints", "ls").out.splitlines()]
        assert rows[0][:4] == ["name", "url", "source", "key"]
        sources = {row[0]: row[2] for row in rows[1:]}
        assert sources["gpu1"] == "api"
        assert sources["groq"] in ("built_in", "environment")
        listed = [line.split("\t") for line in shell("models", "ls", "--all").out.splitlines()]
        assert listed[0] == [
            "provider", "model", "configured", "window", "tokenizer", "takes", "refuses", "retired",
            "input", "output", "as of",
        ]  # fmt: skip
        small = next(line for line in listed if line[:2] == ["gpu1", "small"])
        assert small[2:6] == ["yes", "2048", "yes", "images, schema, stream_usage, system, tools"]
    finally:
        for name in ("gpu1", "away"):
            shell("endpoints", "rm", name)
    assert of_doctor(shell, "gpu1") is None


@pytest.mark.slow(seconds=3)
def test_limits_of_a_vendor_are_changed_one_by_one(shell: Shell) -> None:
    def groq() -> dict[str, Any]:
        listed: list[dict[str, Any]] = shell("endpoints", "ls", "--json").json["items"]
        return next(dict(each["settings"]) for each in listed if each["name"] == "groq")

    changed = shell("endpoints", "set", "groq", "--concurrency", "4")
    assert changed.status == 0, changed.talk
    try:
        assert "concurrency 4" in changed.out
        assert shell("endpoints", "set", "groq", "--first-token", "12").status == 0
        assert groq() == {"concurrency": 4, "first_token": 12}
        assert shell("endpoints", "set", "groq", "--unset", "concurrency").status == 0
        assert groq() == {"first_token": 12}
        assert "there is no endpoint 'grok'" in shell("endpoints", "set", "grok", "--idle", "3").talk
    finally:
        assert shell("endpoints", "rm", "groq").status == 0
