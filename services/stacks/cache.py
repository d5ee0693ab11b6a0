"""Results by everything that decides them: an unchanged tree under unchanged rules and code is not detected again."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from threading import Lock

from pydantic import BaseModel

from shared.contracts.detect import DetectResult


@dataclass(frozen=True)
class Answer:
    result: DetectResult
    warnings: list[str]  #: about the source
    source: bytes | None = None  #: the form of that name: ``outputs.source``


#: What of the package decides an answer: code, rules, language data, prompts.
_SOURCES = (".py", ".yaml", ".json", ".md")
#: Libraries that parse what a source holds.
_LIBRARIES = ("orjson", "packaging", "pyyaml")


@cache
def engine_version(package: Path = Path(__file__).parent, result: type[BaseModel] = DetectResult) -> str:
    """Digest of the detection itself, read once per process.

    It changes with any source file of the package, with the schema of the result, and with the parsing libraries: a
    result that another version of Assay stored is never served again.
    """
    digest = hashlib.sha256(json.dumps(result.model_json_schema(mode="serialization"), sort_keys=True).encode())
    digest.update(f"{sys.version_info[:2]}{[(name, version(name)) for name in _LIBRARIES]}".encode())
    for path in sorted(path for path in package.rglob("*") if path.suffix in _SOURCES):
        digest.update(f"\0{path.relative_to(package).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def cache_key(tenant: str, tree: str, engine: str, definitions: int, request: str) -> str:
    """Return one key for everything that a result depends on and for its tenant.

    ``tree`` is a hash of the content (the source's address is not part of the key), ``engine`` an ``engine_version``.
    """
    parts = (tenant, tree, engine, str(definitions), request)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@dataclass
class ResultCache:
    """The newest results of this process; answers of models are never among them."""

    most: int
    _answers: OrderedDict[str, Answer] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: str) -> Answer | None:
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
            return answer

    def put(self, key: str, answer: Answer) -> None:
        with self._lock:
            self._answers[key] = answer
            while len(self._answers) > self.most:
                self._answers.popitem(last=False)
