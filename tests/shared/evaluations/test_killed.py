"""Workers, reconcilers and gateways are killed in the middle of an evaluation: no run is lost, and none is doubled."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx2 as httpx
import pytest
from sqlalchemy import text

from services.host.prefork import PreforkedProcess
from shared import keys
from shared.settings import StoreSettings
from tests.support.platform import Platform, check_history, wait_for
from tests.support.ports import free_port

CASES, VARIANTS, REPETITIONS = 20, 2, 3
RUNS = CASES * VARIANTS * REPETITIONS


@pytest.fixture
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores)
    yield started
    started.stop()


def gateway(platform: Platform, port: int) -> PreforkedProcess:
    process = platform.start("services.gateway", ASSAY_PORT=str(port), ASSAY_HOST="127.0.0.1")

    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_for(answers, 60, "a gateway that listens")
    return process


def finished(platform: Platform, least: int) -> bool:
    with platform.engine.connect() as connection:
        count = connection.scalar(text("SELECT count(*) FROM evaluation_runs WHERE state = 'finished'"))
    return (count or 0) >= least


@pytest.mark.chaos
@pytest.mark.slow(seconds=8)
@pytest.mark.timeout(300)
def test_no_run_is_lost_or_doubled_when_everything_is_killed_in_the_middle(platform: Platform) -> None:
    with platform.engine.begin() as connection:
        _, key = keys.create(connection, tenant="t", name="test", scopes=["read", "write"])
    port = free_port()
    reconcilers, workers = [platform.reconciler()], [platform.ready_worker()]
    gateways = [gateway(platform, port)]
    url, headers = f"http://127.0.0.1:{port}/v1/evaluations", {"Authorization": f"Bearer {key}"}
    cases = [
        {"name": f"case {n}", "kind": "execute", "input": {"language": "python", "code": "effect judged sleep 0.02"}}
        for n in range(CASES)
    ]
    body = {"suite": {"name": "s", "cases": cases}, "variants": [{"name": "a"}, {"name": "b"}], "repeat": REPETITIONS}
    sent = {**headers, "Idempotency-Key": "once"}
    begun = httpx.post(url, json=body, headers=sent, timeout=60)
    assert begun.status_code == 202, begun.text
    gateways[-1].kill()
    gateways[-1].wait()

    for share in (0.1, 0.3, 0.5, 0.7):
        wait_for(partial(finished, platform, int(share * RUNS)), 60, f"the end of {share:.0%} of the runs")
        for processes, start in ((workers, platform.worker), (reconcilers, platform.reconciler)):
            processes[-1].kill()
            processes[-1].wait()
            processes.append(start())
    gateways.append(gateway(platform, port))
    again = httpx.post(url, json=body, headers=sent, timeout=60)
    assert (again.json()["id"], again.headers["idempotency-replayed"]) == (begun.json()["id"], "true")

    def view() -> dict[str, Any] | None:
        answer: dict[str, Any] = httpx.get(f"{url}/{begun.json()['id']}", headers=headers, timeout=60).json()
        return answer if answer["state"] == "finished" else None

    ended = wait_for(view, 120, "the end of the evaluation")
    jobs = [job for cell in ended["cells"] for job in cell["jobs"]]
    assert len(set(jobs)) == len(jobs) == RUNS
    assert [(total["runs"], total["successes"]) for total in ended["totals"]] == [(RUNS // 2, RUNS // 2)] * 2
    check_history(platform, jobs)
    with platform.engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM jobs WHERE labels ? 'evaluation'")) == RUNS
        assert connection.scalar(text("SELECT count(*) FROM evaluations")) == 1
