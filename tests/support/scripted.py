"""The scripted LLM server for tests: a process of its own, speaking the providers' wire formats on loopback.

``scripted_llm`` is the module's server; give it a script with ``scripted_llm.play(rules...)`` before each request.
``scripted_llm.environment()`` are the variables that send every provider to it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from shared.llm.vendors.table import VENDORS

Rule = Mapping[str, Any]


class ScriptedLlm:
    """A running scripted server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def play(self, *rules: Rule, **script: object) -> None:
        """Follow these rules from now on, and clear the list of requests."""
        self._send("PUT", "script", json.dumps({"rules": list(rules), **script}).encode())
        self._send("DELETE", "requests")

    def requests(self, provider: str | None = None) -> list[dict[str, Any]]:
        """Return the requests since the last ``play``, of one provider or of all."""
        asked: list[dict[str, Any]] = json.loads(self._send("GET", "requests"))["requests"]
        return [each for each in asked if provider in (None, each["provider"])]

    def tokenized(self) -> int:
        """How many texts had their tokens counted since it started."""
        return int(json.loads(self._send("GET", "requests"))["tokenized"])

    def base_url(self, provider: str) -> str:
        return f"{self.url}/{VENDORS[provider].scripted_path}"

    def environment(self, providers: Sequence[str] | None = None) -> dict[str, str]:
        """Variables that make these providers (or all), and no others, be this server."""
        environment = {}
        for name, vendor in VENDORS.items():
            here = providers is None or name in providers
            environment[vendor.variables.api_key.name] = f"key-of-{name}" if here else ""
            environment[vendor.variables.base_url.name] = self.base_url(name) if here else ""
        return environment

    def _send(self, method: str, path: str, body: bytes | None = None) -> bytes:
        request = urllib.request.Request(f"{self.url}/_scripted/{path}", body, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            data: bytes = answer.read()
            return data


def started(*arguments: str, environment: Mapping[str, str] = os.environ) -> tuple[subprocess.Popen[str], str]:
    """Start a server on a free port; the process and its address."""
    command = [sys.executable, "-m", "shared.llm.scripted", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(environment))
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@pytest.fixture(scope="session")
def scripted_server() -> Iterator[str]:
    """The URL of the worker's scripted server."""
    process, url = started()
    try:
        yield url
    finally:
        process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture(scope="module")
def scripted_llm(scripted_server: str) -> ScriptedLlm:
    server = ScriptedLlm(scripted_server)
    server.play()
    return server
