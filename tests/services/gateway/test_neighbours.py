"""A slice of ``python -m benchmarks.neighbours``: whatever one tenant does, the other is answered as ever."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from benchmarks.attacks.__main__ import run
from benchmarks.attacks.table import ATTACKS
from tests.services.gateway.conftest import Gateway

JOB = {"kind": "execute", "input": {"language": "python", "code": "1"}}


def test_there_are_many_attacks() -> None:
    assert len(ATTACKS) >= 40


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "records-with-unknown-fields", "expression-that-backtracks", "arrays-within-arrays",
        "bodies-that-are-too-large", "sockets-that-say-nothing", "headers-that-come-slowly", "keys-that-are-wrong",
        "bytes-that-are-no-http",
    ],
)  # fmt: skip
def test_a_neighbour_is_answered_during(name: str, gateway: Gateway) -> None:
    address = urlsplit(gateway.url)
    assert address.hostname is not None
    assert address.port is not None
    attack = run(ATTACKS[name], address.hostname, address.port, gateway.key("attacker"), seconds=1)
    with ThreadPoolExecutor(1) as threads, gateway.client("neighbour") as neighbour:
        attacking = threads.submit(asyncio.run, attack)
        answered = {neighbour.get("/healthz").status_code: neighbour.post("/v1/jobs", json=JOB).status_code}
        while not attacking.done():
            answered[neighbour.get("/healthz").status_code] = neighbour.post("/v1/jobs", json=JOB).status_code
    outcomes = attacking.result()
    assert answered == {200: 202}
    assert outcomes
    assert "500" not in outcomes
