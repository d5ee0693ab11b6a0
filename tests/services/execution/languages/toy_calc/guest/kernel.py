"""The calc kernel: whole numbers, names, plus and times."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import cast

from services.execution.sandbox.guest import service
from services.execution.sandbox.guest.displays import Displays
from services.execution.sandbox.protocol.exact import decode
from services.execution.sandbox.protocol.wire import Json, Message


class CalcKernel:
    stop: Callable[[], None] | None = None
    recover: Callable[[], None] | None = None

    def __init__(self, _displays: Displays) -> None:
        self._space: dict[str, int] = {}

    def prewarm(self) -> Message:
        return {}

    def execute(self, request: Message) -> Message:
        last: int | None = None
        for line in filter(None, map(str.strip, str(request["code"]).splitlines())):
            name, equals, text = line.rpartition("=")
            last = self._sum(text)
            if equals:
                self._space[name.strip()] = last
                last = None
        return {"value": None if last is None else _view(last), "class": "number"}

    def _sum(self, text: str) -> int:
        return sum(math.prod(self._number(word.strip()) for word in part.split("*")) for part in text.split("+"))

    def _number(self, word: str) -> int:
        return int(word) if word.isdigit() else self._space[word]

    def evaluate(self, request: Message) -> Message:
        value = self._sum(str(request["code"]))
        return {"value": _view(value), "typed": {**_view(value), "kind": "json", "exact": value}}

    def look(self, request: Message) -> Message:
        names = cast("list[str]", request["names"])
        looks: dict[str, Json] = {
            name: {"kind": "json", "type": "number", "bytes": 8, "exact": self._space[name]}
            for name in names
            if name in self._space
        }
        return {"looks": looks}

    def digests(self, _request: Message) -> Message:
        return {"digests": {name: {"value": str(value), "refs": []} for name, value in self._space.items()}}

    def restore(self, _request: Message) -> Message:
        return {}

    def picture(self, _request: Message) -> Message:
        raise TypeError("sums have no figures")

    def get(self, request: Message) -> Message:
        value = self._space[str(request["name"])]
        return {"typed": {**_view(value), "kind": "json", "exact": value}}

    def set(self, request: Message) -> Message:
        value = int(decode(cast("Mapping[str, Json]", request["typed"])["exact"]))
        self._space[str(request["name"])] = value
        return {"kind": "json", "exact": value}

    def list(self, _request: Message) -> Message:
        return {"variables": [{"name": name, "type": "number", "shape": None, "bytes": 8} for name in self._space]}

    def remove(self, request: Message) -> Message:
        self._space.pop(str(request["name"]), None)
        return {}

    def info(self, _request: Message) -> Message:
        return {"language": "calc", "version": "1.0"}

    def packages(self, _request: Message) -> Message:
        return {"packages": {}}


def _view(value: int) -> dict[str, Json]:
    return {"type": "number", "shape": None, "text": str(value)}


def serve(requests: int, replies: int) -> None:
    service.serve(CalcKernel, requests, replies)
