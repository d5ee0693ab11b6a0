"""Connections that request much, or nothing, or never end."""

from __future__ import annotations

import asyncio

from benchmarks.attacks.attacker import ADDRESS, Attack, Attacker


async def sockets_that_say_nothing(attacker: Attacker) -> None:
    await attacker.drip(800, pause=1)


async def headers_that_come_slowly(attacker: Attacker) -> None:
    await attacker.drip(400, b"POST /v1/jobs HTTP/1.1\r\n", b"X-Slow: 1\r\n", pause=0.5)


async def bodies_that_come_slowly(attacker: Attacker) -> None:
    head = attacker.head + b"Content-Length: 900000\r\n\r\n"
    await attacker.drip(300, head, b'{"kind":', b" ", pause=0.5)


async def answers_that_nobody_reads(attacker: Attacker) -> None:
    request = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    await attacker.drip(100, request * 20, request, pause=0.2)


async def bytes_that_are_no_http(attacker: Attacker) -> None:
    await attacker.drip(100, b"\x16\x03\x01" + b"\0" * 500, b"\xff" * 10_000, pause=0.1)


async def keys_that_are_wrong(attacker: Attacker) -> None:
    await attacker.endlessly(lambda: attacker.send("GET", "/v1/jobs", key="ask_nobody_nothing"), 32)


async def keys_of_many_kinds(attacker: Attacker) -> None:
    numbers = iter(range(10**9))
    await attacker.endlessly(lambda: attacker.send("GET", "/v1/jobs", key=f"ask_{next(numbers)}_x"), 32)


async def streams_by_the_hundred(attacker: Attacker) -> None:
    job = await attacker.submit("execute", {"language": "python", "code": "import time; time.sleep(100)"})
    head = f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {attacker.key}\r\n\r\n"
    await attacker.drip(300, head.encode(), b"", pause=1)


async def streams_begun_again_and_again(attacker: Attacker) -> None:
    job = await attacker.submit("execute", {"language": "sql", "code": "SELECT 1"})
    await attacker.endlessly(lambda: attacker.send("GET", f"/v1/jobs/{job}/events"), 16)


async def waits_by_the_hundred(attacker: Attacker) -> None:
    nap = {"language": "python", "code": "import time; time.sleep(5)"}
    await attacker.endlessly(lambda: attacker.submit("execute", nap, prefer="wait=60"), 200)


async def health_asked_without_end(attacker: Attacker) -> None:
    await attacker.endlessly(lambda: attacker.send("GET", "/healthz"), 32)


async def document_asked_without_end(attacker: Attacker) -> None:
    await attacker.endlessly(lambda: attacker.send("GET", "/openapi.json"), 16)


async def readiness_asked_without_end(attacker: Attacker) -> None:
    await attacker.endlessly(lambda: attacker.send("GET", "/readyz"), 32)


async def one_idempotency_key_at_once(attacker: Attacker) -> None:
    body = {"kind": "execute", "input": {"language": "sql", "code": "SELECT 1"}}
    await attacker.endlessly(lambda: attacker.send("POST", "/v1/jobs", body, Idempotency_Key="same"), 32)


async def connections_opened_and_dropped(attacker: Attacker) -> None:
    async def once() -> None:
        _, writer = await asyncio.open_connection(attacker.host, attacker.port, local_addr=(ADDRESS, 0))
        writer.write(attacker.head)
        writer.transport.abort()
        attacker.outcomes["dropped"] += 1

    await attacker.endlessly(once, 16)


ATTACKS: tuple[Attack, ...] = (
    sockets_that_say_nothing, headers_that_come_slowly, bodies_that_come_slowly, answers_that_nobody_reads,
    bytes_that_are_no_http, keys_that_are_wrong, keys_of_many_kinds, streams_by_the_hundred,
    streams_begun_again_and_again, waits_by_the_hundred, health_asked_without_end, document_asked_without_end,
    readiness_asked_without_end, one_idempotency_key_at_once, connections_opened_and_dropped,
)  # fmt: skip
