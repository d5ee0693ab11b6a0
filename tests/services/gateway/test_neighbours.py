"""A slice of ``python -m benchmarks.neighbours``: whatever one tenant does, the other is answered as ever."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

from benchmarks.attacks import operations
from benchmarks.attacks.__main__ import run
from benchmarks.attacks.attacker import ADDRESS, Attacker
from benchmarks.attacks.table import ATTACKS
from shared.kinds import KINDS
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.holds import Holds, measured

_SHARES = 10
_LONGEST_SECONDS = 3.0
_LONGEST_HOLD = 100.0  #: milliseconds of processor time; the 99th percentile of a submit on a quiet server is about 20
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
    attack = run(name, address.hostname, address.port, gateway.key("attacker"), seconds=1)
    with ThreadPoolExecutor(1) as threads, gateway.client("neighbour") as neighbour:
        attacking = threads.submit(asyncio.run, attack)
        answered = {neighbour.get("/healthz").status_code: neighbour.post("/v1/jobs", json=JOB).status_code}
        while not attacking.done():
            answered[neighbour.get("/healthz").status_code] = neighbour.post("/v1/jobs", json=JOB).status_code
    outcomes = attacking.result()
    assert answered == {200: 202}
    assert outcomes
    assert "500" not in outcomes


async def _walked(gateway: Gateway, share: int, size: int, holds: Holds) -> tuple[Counter[str], dict[str, float]]:
    """Attack a tenth of all operations once each: what the attacker was answered, and the longest hold of each."""
    address, held = urlsplit(gateway.url), {}
    assert address.hostname is not None
    assert address.port is not None
    transport = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None), local_address=ADDRESS)
    async with httpx.AsyncClient(base_url=gateway.url, timeout=60, transport=transport) as client:
        key = gateway.key(f"walker-{share}", "read", "write", "tenant_admin")
        attacker = Attacker(address.hostname, address.port, key, client)
        document, known = await operations.described(attacker)
        await operations.prepare(attacker)
        caller = operations.Caller(attacker, document, size)
        for operation in list(known.values())[share::_SHARES]:
            held[operation.name] = await _longest_hold(caller, operation, holds)
            if held[operation.name] > _LONGEST_HOLD:  # what the input causes comes again, unlike the start of a process
                held[operation.name] = min(held[operation.name], await _longest_hold(caller, operation, holds))
    return attacker.outcomes, held


async def _longest_hold(caller: operations.Caller, operation: operations.Operation, holds: Holds) -> float:
    holds.taken()
    with suppress(TimeoutError):  # what waits for a job, as no worker runs here
        async with asyncio.timeout(_LONGEST_SECONDS):
            await caller.once(operation)
    return holds.taken()


def _walk(gateway: Gateway, share: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    workers.advertise(gateway.engine)
    answered: Counter[int] = Counter()
    with measured(monkeypatch) as holds, ThreadPoolExecutor(1) as threads, gateway.client("neighbour") as neighbour:
        attacking = threads.submit(asyncio.run, _walked(gateway, share, size, holds))
        while not attacking.done():
            answered[neighbour.get("/healthz").status_code] += 1
            answered[neighbour.post("/v1/jobs", json=JOB).status_code] += 1
            time.sleep(0.05)  # a neighbour, no second attacker
    outcomes, held = attacking.result()
    for name, milliseconds in held.items():
        sys.stdout.write(f"| `{name}` | {milliseconds:.0f} |\n")
    assert set(answered) == {200, 202}
    assert not {status for status in outcomes if not status.isdigit() or status in ("500", "502")}, outcomes
    assert {name: took for name, took in held.items() if took > _LONGEST_HOLD} == {}


def test_a_neighbour_is_answered_while_operations_get_heavy_bodies(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another tenth of the operations every day, with bodies of a tenth of the usual limit."""
    _walk(gateway, date.today().toordinal() % _SHARES, 100_000, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(_SHARES))
def test_no_operation_keeps_the_gateway_from_others(
    gateway: Gateway, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, with the heaviest bodies that they allow; it prints the longest hold of each."""
    _walk(gateway, share, 900_000, monkeypatch)


def test_every_operation_and_tool_is_attacked_and_a_new_one_enters_by_itself(gateway: Gateway) -> None:
    document = httpx.get(f"{gateway.url}/openapi.json").json()
    document["paths"]["/v1/inventions"] = {
        "post": {
            "responses": {},
            "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Invention"}}}},
        }
    }
    document["components"]["schemas"]["Invention"] = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 50},
            "parts": {"type": "array", "maxItems": 3000, "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
    known = {each.name: each for each in operations.operations(document)}
    described = {
        f"{method.upper()} {path}"
        for path, item in document["paths"].items()
        for method in item
        if method in ("get", "put", "post", "delete", "patch", "head", "options", "trace", "query")
    }
    assert described == set(known)
    body = known["POST /v1/inventions"].body
    assert body is not None
    sent = list(operations.bodies(body, document, 10_000))
    assert max(len(each.get("name", "")) for each in sent) == 50
    assert max(len(each.get("parts", ())) for each in sent) == 2001
    assert max(len(each.get("labels", ())) for each in sent) > 500
    assert [len(each) for each in sent] == [1] * 4
    jobs = known["POST /v1/jobs"].body
    assert jobs is not None
    kinds = {each["kind"] for each in operations.bodies(jobs, document, 1000)}
    assert kinds == set(KINDS)
