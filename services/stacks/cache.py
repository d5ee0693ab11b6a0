"""Results by their tenant, the hash of their tree, the rules and what was asked: an unchanged tree is no work."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from shared.contracts.detect import DetectResult


def identity_of(tenant: str, tree: str, rules: str, definitions: int, asked: str) -> str:
    """One key for everything that a result depends on and for whose it is; the source's address is not among it."""
    parts = (tenant, tree, rules, str(definitions), asked)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


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
            entry = self._results.get(identity)
            if entry is not None:
                self._results.move_to_end(identity)
            return entry

    def keep(self, identity: str | None, result: DetectResult, warnings: list[str]) -> None:
        if identity is None or self.most <= 0:
            return
        with self._lock:
            self._results[identity] = (result, warnings)
            while len(self._results) > self.most:
                self._results.popitem(last=False)
