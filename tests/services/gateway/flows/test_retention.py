"""Two gateways and a worker process on one flow, whose old versions are dropped while they write."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

import httpx2 as httpx
import pytest

from shared.flows.settings import FlowSettings
from tests.services.gateway.conftest import Gateway, serving, settings_of
from tests.services.gateway.flows.conftest import flows_worker, wait_until_ready
from tests.services.gateway.flows.test_flows import make, operate
from tests.support.scripted import ScriptedLlm

EDITS = 300  #: of one gateway, before the others use the flow again; 70 versions are kept
ROUNDS = 2


@dataclass(frozen=True)
class Platform:
    first: httpx.Client
    second: httpx.Client


@pytest.fixture
def platform(gateway: Gateway, scripted_llm: ScriptedLlm) -> Iterator[Platform]:
    key = {"Authorization": f"Bearer {gateway.key('retention')}"}
    with flows_worker(settings_of(gateway.settings.stores), scripted_llm, ASSAY_FLOW_VERSIONS="70") as with_worker:
        settings = replace(with_worker, flows=FlowSettings(undo_depth=200, flow_versions=70))
        with (
            serving(settings) as first,
            serving(settings) as second,
            httpx.Client(base_url=first, headers=key, timeout=60) as one,
            httpx.Client(base_url=second, headers=key, timeout=60) as other,
        ):
            wait_until_ready(one)
            yield Platform(one, other)


def edit_by_words(client: httpx.Client, flow_id: str, label: str, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play(
        {"reply": {"text": f'<response>[{{"name": "addNode", "input": {{"label": "{label}"}}}}]</response>'}}
    )
    body = {"kind": "flow", "input": {"flow_id": flow_id, "message": "go on"}}
    job = client.post("/v1/jobs", json=body, headers={"Prefer": "wait=30"}).json()
    assert (job["state"], job["error"]) == ("succeeded", None)


@pytest.mark.slow
def test_all_of_them_work_after_the_versions_that_they_knew_are_dropped(
    platform: Platform, scripted_llm: ScriptedLlm
) -> None:
    flow = make(platform.first, "a")
    path, read = f"/v1/flows/{flow['id']}", list[int]()
    edit_by_words(platform.first, flow["id"], "Before", scripted_llm)
    for number in range(ROUNDS):
        busy, idle = (platform.first, platform.second) if number % 2 == 0 else (platform.second, platform.first)
        assert idle.get(path).status_code == 200
        over = threading.Event()

        def look(client: httpx.Client = idle, over: threading.Event = over) -> None:
            while not over.wait(0.05):
                read.append(client.get(path).status_code)

        reader = threading.Thread(target=look)
        if number:  # no one reads in the first round, so that the other gateway's copy is as old as can be
            reader.start()
        for step in range(EDITS):
            operate(busy, flow, ("updateNode", {"nodeId": "a", "label": f"{number}.{step}"}))
        over.set()
        if number:
            reader.join()
        now = idle.get(path).json()
        assert now["nodes"][0]["data"]["label"] == f"{number}.{EDITS - 1}"
        assert idle.post(f"{path}/undo").json()["flow"]["nodes"][0]["data"]["label"] == f"{number}.{EDITS - 2}"
        assert idle.post(f"{path}/redo").json()["success"]
        assert idle.get(f"{path}/versions").status_code == 200
        assert idle.get(f"{path}/versions/2").status_code == 404
        edit_by_words(idle, flow["id"], f"Job {number}", scripted_llm)
        assert len(idle.get(path).json()["nodes"]) == 3 + number
    assert read
    assert set(read) == {200}
