"""Full collections of garbage come at the gateway's own times, and leave out what the application is made of."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import asyncio, gc
from types import SimpleNamespace
from services.gateway.__main__ import _collect_rarely

class Circle:
    def __init__(self): self.own = self

def alive(): return sum(type(each) is Circle for each in gc.get_objects())

server = SimpleNamespace(config=SimpleNamespace())
_collect_rarely(server)
full = gc.get_stats()[2]["collections"]
old = [Circle() for _ in range(300_000)]
gc.collect(1)
del old
young = [[] for _ in range(300_000)]
print(gc.get_stats()[2]["collections"] - full, alive(), gc.get_freeze_count() > 100_000)
asyncio.run(server.config.callback_notify())
print(alive(), server.config.timeout_notify)
"""


def test_only_the_periodic_collection_is_a_full_one() -> None:
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout == "0 300000 True\n0 30\n"
