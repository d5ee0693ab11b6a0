"""Results by the hash of their tree, the rule set and what was asked: an unchanged tree is no work."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from shared.contracts.detect import DetectInput, DetectResult


def identity_of(tree: str, rules: str, request: DetectInput) -> str:
    """One key for everything that a result depends on, the source's address not among it."""
    asked = request.model_dump_json(exclude={"source"})
    return hashlib.sha256(f"{tree}\0{rules}\0{asked}".encode()).hexdigest()


@dataclass
class Remembered:
    """The newest results of this process; answers of models are never among them."""

    most: int
    _results: OrderedDict[str, tuple[DetectResult, list[str]]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, identity: str | None) -> tuple[DetectResult, list[str]] | None:
        if identity is None:
            return None
        with self._lock:
            found = self._results.get(identity)
            if found is not None:
                self._results.move_to_end(identity)
            return found

    def keep(self, identity: str | None, result: DetectResult, warnings: list[str]) -> None:
        if identity is None or self.most <= 0:
            return
        with self._lock:
            self._results[identity] = (result, warnings)
            while len(self._results) > self.most:
                self._results.popitem(last=False)
