"""A job kind is a folder and a row: with the kind ``translate`` registered, a job of it runs through HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import httpx2 as httpx
import pytest

from assay import Client
from shared import keys
from shared.settings import StoreSettings
from tests.services.gateway.jobs import toy_kind
from tests.support.platform import ROOT, Platform
from tests.support.ports import free_port
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def url(platform: Platform, scripted_llm: ScriptedLlm) -> str:
    """A gateway and a worker that load the plugin, and call the scripted server."""
    port = str(free_port())
    variables = {"ASSAY_PLUGINS": toy_kind.__name__, **scripted_llm.environment()}
    platform.start("services.gateway", ASSAY_HOST="127.0.0.1", ASSAY_PORT=port, **variables)
    platform.start(toy_kind.__name__, **variables)
    return f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def key(platform: Platform) -> str:
    with platform.engine.begin() as connection:
        return keys.create(connection, "acme", "test", ("read", "write"))[1]


@pytest.fixture(scope="module")
def client(url: str, key: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:

        def is_ready() -> bool:
            try:
                kinds = client.get("/v1/capabilities").json()["kinds"]
            except httpx.TransportError:
                return False
            return bool(kinds["translate"]["state"] == "ready")

        until(is_ready, "a worker of translate jobs", 60)
        yield client


def test_a_job_of_the_toy_kind_runs_through_http(client: httpx.Client, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "Bonjour"})

    body = {"kind": "translate", "input": {"text": "Good morning"}}
    job = client.post("/v1/jobs", json=body, headers={"Prefer": "wait=50"}).json()

    assert job["state"] == "succeeded", job
    assert job["result"] == {"text": "Bonjour"}
    assert [each["id"] for each in client.get("/v1/jobs?kind=translate").json()["items"]] == [job["id"]]
    calls = client.get(f"/v1/jobs/{job['id']}/llm-calls").json()["items"]
    assert [(call["role"], call["prompt"]["key"]) for call in calls] == [("translation.translate",) * 2]


def test_its_prompt_is_a_file_that_an_operator_can_change(client: httpx.Client) -> None:
    prompt = client.get("/v1/prompts/translation.translate").json()

    assert prompt["text"].startswith("Translate into {{ language }}")
    assert prompt["variables"]["required"] == ["language", "text"]


def test_its_input_is_checked(client: httpx.Client) -> None:
    problem = client.post("/v1/jobs", json={"kind": "translate", "input": {"text": ""}}).json()

    assert [error["loc"] for error in problem["errors"]] == [["body", "input", "text"]]


def test_the_api_describes_it(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()

    body = document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]
    assert body["examples"]["translate"]["value"] == {"kind": "translate", "input": {"text": "Good morning"}}
    assert "translate" in body["schema"]["discriminator"]["mapping"]
    assert "translate" in document["components"]["schemas"]["JobKind"]["enum"]


def test_its_role_is_played_by_the_default_models(client: httpx.Client) -> None:
    roles = client.get("/v1/models").json()["roles"]

    assert roles["translation.translate"] == roles["flows.edit"]


def test_the_python_client_and_the_command_run_it(
    client: httpx.Client, url: str, key: str, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"reply": "Bonsoir"})

    with Client(url, api_key=key) as assay:
        job = assay.submit("translate", {"text": "Good evening"})
        result = job.result(timeout=50)
    words = [sys.executable, "-m", "assay", "jobs", "result", job.id]
    environment = {**os.environ, "ASSAY_URL": url, "ASSAY_API_KEY": key}
    printed = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True)

    assert result == {"text": "Bonsoir"}
    assert json.loads(printed.stdout) == result


def test_it_has_a_command_where_the_plugin_is_loaded(
    client: httpx.Client, url: str, key: str, scripted_llm: ScriptedLlm
) -> None:
    scripted_llm.play({"reply": "Bonne nuit"})
    words = [sys.executable, "-m", "assay", "translate", "--text", "Good night", "--timeout", "50"]
    environment = {**os.environ, "ASSAY_URL": url, "ASSAY_API_KEY": key, "ASSAY_PLUGINS": toy_kind.__name__}

    printed = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=90, check=True)

    assert json.loads(printed.stdout) == {"text": "Bonne nuit"}
