"""``python -m benchmarks.attacks NAME HOST PORT KEY SECONDS``: run one attack in this process.

It prints ``READY`` when the attack begins, and its outcomes at the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from functools import partial

import httpx2 as httpx

from benchmarks.attacks import operations
from benchmarks.attacks.attacker import ADDRESS, Attacker
from benchmarks.attacks.table import ATTACKS

READY = "ready"


async def run(name: str, host: str, port: int, key: str, seconds: float) -> dict[str, int]:
    """Attack for some seconds, at least until something is answered; return how often it was answered what."""
    limits = httpx.Limits(max_connections=None)
    transport = httpx.AsyncHTTPTransport(limits=limits, local_address=ADDRESS)
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", timeout=60, transport=transport) as client:
        attacker = Attacker(host, port, key, client)
        attack = partial(ATTACKS[name], attacker) if name in ATTACKS else await operations.prepared(attacker, name)
        print(READY, flush=True)
        under_way = asyncio.ensure_future(attack())
        await asyncio.wait({under_way}, timeout=seconds)
        while not attacker.outcomes and not under_way.done():
            await asyncio.wait({under_way}, timeout=0.1)
        under_way.cancel()
        with suppress(asyncio.CancelledError):
            await under_way
    return dict(attacker.outcomes)


def main() -> None:
    name, host, port, key, seconds = sys.argv[1:]
    os.nice(19)  # in place of another machine: its own work should not be measured
    print(json.dumps(asyncio.run(run(name, host, int(port), key, float(seconds)))))


if __name__ == "__main__":
    main()
