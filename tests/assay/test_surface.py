"""Every operation of the API document has a call in the client, and every call a method that sends it."""

from __future__ import annotations

import inspect
import io
import json
import re
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import assay
from assay.calls import evaluations, files, flows, jobs, rest, shadows, stacks, uploads
from assay.calls.call import ApiCall, Reply
from services.gateway.app import create_app
from services.gateway.settings import Settings
from shared.settings import StoreSettings

_MODULES = (evaluations, files, flows, jobs, rest, shadows, stacks, uploads)
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
    "format": "json", "limits": {}, "suite": {}, "part": b"x", "size": 7,
}  # fmt: skip


def _calls() -> dict[str, ApiCall[Any]]:
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
                if isinstance(call, ApiCall):
                    made[f"{module.__name__.rpartition('.')[2]}.{name}"] = call
    return made


def _in_general(path: str) -> str:
    """Without the names of what a path refers to."""
    return re.sub(r"(?<=/)(\{[^}]*\}|ID|7|x\.csv)(?=/|$)", "{}", path)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    stores = {"database_url": "postgresql://x/x", "redis_url": "redis://x", "blob_url": "file:///x"}
    return create_app(Settings(stores=StoreSettings.model_validate(stores))).openapi()


@pytest.fixture(scope="module")
def operations(document: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """What the document says of each operation."""
    return {
        (method, _in_general(path)): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if not path.startswith("/api/")
    }


def test_every_operation_has_a_call(operations: Mapping[tuple[str, str], Any]) -> None:
    called = {(call.method.lower(), _in_general(call.path)) for call in _calls().values()}
    assert set(operations) - called - _ELSEWHERE == set()


def test_every_call_has_a_method_that_sends_it() -> None:
    folder = Path(assay.__file__).parent
    modules = ("_async/client.py", "_async/resources.py", "_async/job.py", "submits.py")
    text = "".join((folder / name).read_text() for name in modules)
    missing = [name for name in _calls() if not re.search(rf"\b{re.escape(name)}\b", text)]
    assert missing == []


#: Of browsers and programs: a session, and what a person has better words for.
_NOT_COMMANDS = {
    "rest.create_session": "browsers sign in; `assay login` makes the code",
    "rest.end_session": "browsers sign out",
    "rest.session": "browsers show whose key it is; `assay config show` where it comes from",
    "uploads.append": "a part of `assay files put`, by `client.uploads.send`",
    "evaluations.case_of": "`assay eval add` makes the case with its files",
    "flows.operate": "tool calls of an editor; `assay flow edit` takes words",
    "flows.name_version": "the console names versions",
    "jobs.create_batch": "programs submit batches; commands take one input, or `--label` for many",
    "jobs.get_batch": "of those",
}


def _sent_by(folder: Path) -> set[str]:
    """The calls that the commands send, directly or by a method of the client."""
    sources = [*(folder / "commands").glob("*.py"), *(folder / "suites").glob("*.py"), folder / "submits.py"]
    sources += [folder / "_sync" / name for name in ("client.py", "job.py")]
    text = "".join(path.read_text() for path in sources)
    methods = {}
    resources = (folder / "_sync" / "resources.py").read_text()
    for noun, body in re.findall(r"^class (\w+)\(Noun\):\n(.*?)(?=^class |\Z)", resources, re.DOTALL | re.MULTILINE):
        attribute = re.sub(r"(?<!^)(?=[A-Z])", "_", noun).lower()
        for verb, call in re.findall(r"^    (\w+) = sends\((\w+\.\w+)\)", body, re.MULTILINE):
            methods[call] = rf"\.{attribute}\.{verb}\("
    return {
        call
        for call in _calls()
        if re.search(rf"\b{re.escape(call)}\b", text) or (call in methods and re.search(methods[call], text))
    }


def test_every_call_has_a_command_that_sends_it() -> None:
    assert set(_calls()) - _sent_by(Path(assay.__file__).parent) == set(_NOT_COMMANDS)


@pytest.mark.parametrize("call", _calls().values(), ids=_calls().keys())
def test_every_call_reads_its_answer_with_the_contract_of_the_document(
    document: Mapping[str, Any], operations: Mapping[tuple[str, str], Any], call: ApiCall[Any]
) -> None:
    answers = operations[call.method.lower(), _in_general(call.path)]["responses"]
    bodies = [answer["content"] for status, answer in answers.items() if status.startswith("2") and "content" in answer]
    schemas = re.findall(r"#/components/schemas/([^\"]+)", json.dumps(bodies))
    required = [set(document["components"]["schemas"][name].get("required", [])) for name in schemas]
    try:
        value = call.read(Reply(200, {}, b"{}"))
    except ValidationError as error:
        missing = {problem["loc"][0] for problem in error.errors()}
    else:
        missing = set()
        assert value in ({}, "{}", b"{}") if bodies else value is None
    assert not missing or missing in required
