"""Every operation of the API document has a call in the client, and every call a method that sends it."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import types
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import assay
from assay.calls import files, flows, jobs, registries, rest, stacks
from assay.calls.call import Call, Reply
from services.gateway.app import create_app
from services.gateway.settings import Settings

_MODULES = (files, flows, jobs, registries, rest, stacks)
#: Read by other means, or meant for machines: streams, health, metrics, the routes of an older editor.
_ELSEWHERE = frozenset(
    {
        ("get", "/v1/jobs/{}/events"), ("get", "/v1/flows/{}/events"), ("get", "/healthz"), ("get", "/metrics"),
        ("get", "/docs"), ("get", "/openapi.json"),
    }
)  # fmt: skip
_SAMPLES: dict[str, object] = {
    "kind": "execute", "input": {}, "jobs": [], "content": io.BytesIO(b"x"), "name": "x.csv", "flow": {},
    "tool_calls": [], "number": 7, "old": 7, "new": 7, "version": 7, "chain": [], "scopes": ["read"], "tables": {},
    "format": "json",
}  # fmt: skip


def _calls() -> dict[str, Call[Any]]:
    made = {}
    for module in _MODULES:
        for name, function in vars(module).items():
            if isinstance(function, types.FunctionType) and function.__module__ == module.__name__ and name[0] != "_":
                required = [
                    each.name
                    for each in inspect.signature(function).parameters.values()
                    if each.default is inspect.Parameter.empty or each.name == "name"
                ]
                call = function(**{each: _SAMPLES.get(each, "ID") for each in required})
                if isinstance(call, Call):
                    made[f"{module.__name__.rpartition('.')[2]}.{name}"] = call
    return made


def _operations(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    for name, value in (("DATABASE_URL", "postgresql://x/x"), ("REDIS_URL", "redis://x"), ("BLOB_URL", "file:///x")):
        monkeypatch.setenv(name, value)
    document = create_app(Settings()).openapi()
    return {
        (method, re.sub(r"\{[^}]*\}", "{}", path))
        for path, methods in document["paths"].items()
        for method in methods
        if not path.startswith("/api/")
    }


@pytest.mark.slow
def test_every_operation_has_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    called = {
        (call.method.lower(), re.sub(r"(?<=/)(ID|7|x\.csv)(?=/|$)", "{}", call.path)) for call in _calls().values()
    }
    assert _operations(monkeypatch) - called - _ELSEWHERE == set()


def test_every_call_has_a_method_that_sends_it() -> None:
    folder = Path(assay.__file__).parent
    modules = ("_async/client.py", "_async/resources.py", "_async/job.py", "submits.py")
    text = "".join((folder / name).read_text() for name in modules)
    missing = [name for name in _calls() if not re.search(rf"\b{re.escape(name)}\(", text)]
    assert missing == []


@pytest.mark.parametrize("call", _calls().values(), ids=_calls().keys())
def test_every_call_reads_its_answer_with_a_contract_that_exists(call: Call[Any]) -> None:
    with contextlib.suppress(ValidationError):  # an empty object is no answer, but the model was found
        call.read(Reply(200, {}, b"{}"))
