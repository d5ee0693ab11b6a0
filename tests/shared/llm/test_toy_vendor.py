"""A vendor is a folder and a row: an installation with the toy vendor answers a job through HTTP by its model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from tests.shared.llm import toy_vendor
from tests.support.scripted import ScriptedLlm, started

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PLUGINS = {"ASSAY_PLUGINS": toy_vendor.__name__}
REPLY = '<response>[{"type":"tool_use","id":"1","name":"addNode","input":{"id":"b","label":"B"}}]</response>'


@pytest.fixture(scope="module")
def scripted() -> Iterator[ScriptedLlm]:
    process, url = started(environment={**os.environ, **PLUGINS})
    try:
        yield ScriptedLlm(url)
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(scope="module")
def client(scripted: ScriptedLlm, servers_folder: Path) -> Iterator[httpx.Client]:
    """A client of an installation in which only the toy vendor has a key."""
    foreign = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_URL", "BLOB_URL")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(foreign)},
        **scripted.environment(()),
        **PLUGINS,
        "TOY_API_KEY": "key-of-toy",
        "TOY_BASE_URL": f"{scripted.url}/toy",
        "ASSAY_HOME": str(servers_folder / "toy-vendor"),
        "ASSAY_PORT": "0",
        "ASSAY_REPLICAS": "execution=0,search=0,stacks=0,reconciler=0",
    }
    try:
        up = _host(environment, "up", "-d")
        assert up.returncode == 0, up.stderr
        status = json.loads(_host(environment, "status", "-o", "json").stdout)
        headers = {"Authorization": f"Bearer {status['api_key']}"}
        with httpx.Client(base_url=status["url"], headers=headers, timeout=60) as client:
            yield client
    finally:
        _host(environment, "down")


def _host(environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "services.host", *words]
    return subprocess.run(
        command, cwd=ROOT, env=dict(environment), capture_output=True, text=True, timeout=150, check=False
    )


def test_a_job_is_answered_by_the_toy_vendor(client: httpx.Client, scripted: ScriptedLlm) -> None:
    scripted.play({"when": {"provider": "toy", "model": "toy-1"}, "reply": REPLY})
    flow = client.post("/v1/flows", json={"name": "Toy", "nodes": [{"id": "a"}], "edges": []}).json()

    body = {"kind": "flow", "input": {"flow_id": flow["id"], "message": "Add B"}}
    job = client.post("/v1/jobs", json=body, headers={"Prefer": "wait=50"}).json()

    assert job["state"] == "succeeded", job
    (call,) = client.get(f"/v1/jobs/{job['id']}/llm-calls").json()["items"]
    assert call["served"] == {"provider": "toy", "model": "toy-1"}
    (request,) = scripted.requests("toy")
    assert (request["path"], request["body"]["most_tokens"]) == ("/toy/talk/chat/completions", 8192)


def test_the_toy_vendor_is_listed_beside_the_others(client: httpx.Client) -> None:
    providers = {each["name"]: each["configured"] for each in client.get("/v1/providers").json()["items"]}

    assert providers == {"groq": False, "cerebras": False, "anthropic": False, "openai": False, "toy": True}


def test_a_chain_may_name_the_toy_vendor(client: httpx.Client) -> None:
    chain = [{"provider": "toy", "model": "toy-2"}]

    assert client.put("/v1/models/flows.edit", json={"chain": chain}).status_code == 200
    assert client.post("/v1/models/reset").status_code == 200
