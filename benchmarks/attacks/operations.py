"""Every operation of the API document and every tool of `/mcp`, called with the heaviest input that its limits allow.

Nothing here names an operation: a new route or tool is attacked because the server describes it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from benchmarks.attacks.attacker import Attacker

Json: TypeAlias = dict[str, Any]
Site: TypeAlias = tuple[str | int, ...]  #: a path in a value

AT_ONCE = 12
TOOL = "TOOL"  #: the method of a tool of /mcp
_METHODS = ("get", "put", "post", "delete", "patch")
#: What is sent of a body that the limit of its type would allow more of: a little below the usual limit of a JSON body.
_BYTES = 900_000
_LARGE_BYTES = 8_000_000
_MAX_ITEMS = 20_000
_MAX_INPUTS = 24
_MAX_SITES = 6  #: places of one body that are filled, each in a request of its own
_MAX_DEPTH = 8
_QUERY_CHARACTERS = 4_000
_FILE = b"a,b\n" + b"1,x\n" * 500_000
#: Texts that cost more than their length: braces, brackets, nesting, words.
_COSTLY = ("{a,b}", "[" * 40 + "]" * 40, "{{ x }}", "a --> b\n", "- &a [*a]\n", "é ", "select 1;\n")


@dataclass(frozen=True)
class Operation:
    """What can be called; ``name`` is "POST /v1/jobs" or "TOOL run_python"."""

    method: str
    path: str
    body: Json | None = None  #: the schema of a JSON body, or of the arguments of a tool
    raw: bool = False  #: the body is a file's content
    query: Sequence[Json] = ()

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def operations(document: Json) -> list[Operation]:
    """Return the operations that end: streams of events are attacked by name."""
    found = []
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item and not _is_stream(item[method]):
                content = item[method].get("requestBody", {}).get("content", {})
                schema = content.get("application/json", {}).get("schema")
                parameters = [_resolved(each, document) for each in item[method].get("parameters", [])]
                query = [each for each in parameters if each["in"] == "query"]
                found.append(Operation(method.upper(), path, schema, bool(content) and schema is None, query))
    return found


def tools(listed: Sequence[Json]) -> list[Operation]:
    return [Operation(TOOL, tool["name"], tool["inputSchema"]) for tool in listed]


def _is_stream(operation: Json) -> bool:
    return any("text/event-stream" in answer.get("content", {}) for answer in operation["responses"].values())


def bodies(schema: Json, document: Json, size: int = _BYTES) -> Iterator[Any]:
    """Yield a value for each place of the schema that may be large, with that place filled up to ``size`` bytes."""
    for choice in _choices(schema, document):
        small = smallest(choice, document)
        sites = list(itertools.islice(_sites(choice, document, small), _MAX_SITES))
        for number, (site, spec) in enumerate(sites):
            value = json.loads(json.dumps(small))
            yield _with(value, site, _filled(spec, document, size, _COSTLY[number % len(_COSTLY)]))
        if not sites:
            yield small


def _choices(schema: Json, document: Json) -> Sequence[Json]:
    """Return what the schema chooses from, such as the kinds of a job."""
    spec = _resolved(schema, document)
    choices = [_resolved(choice, document) for choice in spec.get("oneOf") or spec.get("anyOf") or [spec]]
    return [choice for choice in choices if _type(choice) != "null"]


def smallest(schema: Json, document: Json, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON
    """Return a small value that fits the schema, with every property that it names."""
    spec = _chosen(schema, document)
    given = [spec["const"]] if "const" in spec else spec.get("enum", [])[:1]
    given += [spec[name] for name in ("example", "default") if spec.get(name) is not None]
    kind = _type(spec)
    if given:
        return given[0]
    if kind == "object":
        wanted = spec.get("properties", {}) if depth < _MAX_DEPTH else {}
        names = [name for name in wanted if depth < 3 or name in spec.get("required", ())]
        return {name: smallest(wanted[name], document, depth + 1) for name in names}
    if kind == "array":
        return [smallest(spec.get("items", {}), document, depth + 1)] * min(1, spec.get("maxItems", 1))
    if kind in ("integer", "number"):
        return spec.get("minimum", spec.get("exclusiveMinimum", 0) + 1)
    return {"boolean": False, "null": None}.get(kind or "", "a" * max(1, spec.get("minLength", 1)))


def _sites(schema: Json, document: Json, value: Any) -> Iterator[tuple[Site, Json]]:  # noqa: ANN401 - any JSON
    """Yield the places that may be large, the outer ones first."""
    level: list[tuple[Json, Any, Site]] = [(schema, value, ())]
    for _ in range(_MAX_DEPTH):
        below = []
        for each, inside, site in level:
            spec = _chosen(each, document)
            kind = _type(spec)
            if kind is None:
                yield site, {"type": "object", "additionalProperties": {"type": "string"}}
            elif _may_be_large(spec, kind):
                yield site, spec
            if kind == "object" and isinstance(inside, dict):
                named = spec.get("properties", {})
                below += [(named[name], inside[name], (*site, name)) for name in inside if name in named]
            elif kind == "array" and inside:
                below.append((spec.get("items", {}), inside[0], (*site, 0)))
        level = below


def _may_be_large(spec: Json, kind: str) -> bool:
    if kind == "object":
        return bool(spec.get("additionalProperties", False))
    return kind == "array" or (kind == "string" and not {"enum", "const", "format", "pattern"} & spec.keys())


def _filled(spec: Json, document: Json, size: int, costly: str) -> Any:  # noqa: ANN401 - any JSON
    """Return a value of about so many bytes, within the limits that the schema states."""
    match _type(spec):
        case "array":
            item = smallest(spec.get("items", {}), document)
            count = size // (len(json.dumps(item)) + 2) + 1
            return [item] * max(spec.get("minItems", 0), min(count, spec.get("maxItems", _MAX_ITEMS), _MAX_ITEMS))
        case "object":
            more = spec.get("additionalProperties")
            item = smallest(more if isinstance(more, dict) else {}, document)
            count = min(size // (len(json.dumps(item)) + 14) + 1, spec.get("maxProperties", _MAX_ITEMS), _MAX_ITEMS)
            return {f"n{number}": item for number in range(count)}
        case _:
            length = min(size, spec.get("maxLength", size))
            return (costly * (length // len(costly) + 1))[:length]


def _with(value: Any, site: Site, part: Any) -> Any:  # noqa: ANN401 - any JSON
    if not site:
        return part
    inside = value
    for step in site[:-1]:
        inside = inside[step]
    inside[site[-1]] = part
    return value


def _resolved(schema: Json, document: Json) -> Json:
    for _ in range(_MAX_DEPTH):
        if "$ref" not in schema:
            break
        target: Any = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    return schema


def _chosen(schema: Json, document: Json) -> Json:
    """Return the schema itself; of several that it allows the one that may hold most."""
    spec = _resolved(schema, document)
    for _ in range(_MAX_DEPTH):
        choices = spec.get("anyOf") or spec.get("oneOf") or spec.get("allOf")
        if not choices:
            break
        order = ("object", "array", "string", "number", "integer")
        kinds = [_resolved(choice, document) for choice in choices]
        spec = min(kinds, key=lambda each: order.index(_type(each) or "") if _type(each) in order else 9)
    return spec


def _type(spec: Json) -> str | None:
    kind = spec.get("type") or ("object" if "properties" in spec else None)
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    return kind


class Caller:
    """Attacks one operation at a time with the ids that the attacker's own tenant has."""

    def __init__(self, attacker: Attacker, document: Json, size: int = _BYTES) -> None:
        """``size``: the bytes of a body."""
        self._size = size
        self._attacker = attacker
        self._document = document
        self._ids: dict[str, str] = {}

    async def once(self, operation: Operation) -> None:
        """Call it with each heavy input, twelve at a time."""
        limit = asyncio.Semaphore(AT_ONCE)

        async def send(body: object) -> None:
            async with limit:
                await self._send(operation, body)

        async with asyncio.TaskGroup() as group:
            for body in self.inputs(operation):
                group.create_task(send(body))

    async def endlessly(self, operation: Operation) -> None:
        """Call it twelve at a time, again and again, with bodies of the limit of large ones where it takes them."""
        if operation.body is not None:
            usual, self._size = self._size, _LARGE_BYTES
            if "too_large" in await self._send(operation, next(self.inputs(operation))):
                self._size = usual
        inputs = itertools.cycle(list(itertools.islice(self.inputs(operation), _MAX_INPUTS)))
        await self._attacker.endlessly(lambda: self._send(operation, next(inputs)), AT_ONCE)

    def inputs(self, operation: Operation) -> Iterator[object]:
        if operation.raw:
            yield _FILE
        elif operation.body is None:
            yield None
        elif operation.method == TOOL:
            for arguments in bodies(operation.body, operation.body, self._size):
                call = {"name": operation.path, "arguments": arguments}
                yield json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
        else:
            for body in bodies(operation.body, self._document, self._size):
                yield json.dumps(body).encode()

    async def _send(self, operation: Operation, body: object) -> str:
        if operation.method == TOOL:
            return await self._attacker.send("POST", "/mcp", body, Accept="application/json, text/event-stream")
        path = await self._path(operation)
        if operation.raw:
            return await self._attacker.send(operation.method, path, body, Content_Type="application/octet-stream")
        return await self._attacker.send(operation.method, path, body)

    async def _path(self, operation: Operation) -> str:
        """Return the path with ids of the tenant, where a list has one, and with the largest query."""
        path = operation.path
        while match := re.search(r"\{(\w+)(:path)?\}", path):
            before = path[: match.start()].rstrip("/")
            path = path[: match.start()] + await self._id(before) + path[match.end() :]
        query = "&".join(f"{each['name']}={_query_value(each['schema'], self._document)}" for each in operation.query)
        return f"{path}?{query}" if query and operation.method == "GET" else path

    async def _id(self, collection: str) -> str:
        if collection not in self._ids:
            answer = await self._attacker.send("GET", f"{collection}?limit=1")
            try:
                items = json.loads(answer)["items"]
                self._ids[collection] = str(items[0].get("id") or items[0].get("name"))
            except (ValueError, LookupError, TypeError, AttributeError):
                self._ids[collection] = "none"
        return self._ids[collection]


def _query_value(schema: Json, document: Json) -> str:
    spec = _chosen(schema, document)
    if "enum" in spec:
        return str(spec["enum"][-1])
    match _type(spec):
        case "integer" | "number":
            return str(min(spec.get("maximum", 1000), 10**9))
        case "boolean":
            return "true"
        case _:
            return "a" * int(min(_QUERY_CHARACTERS, spec.get("maxLength", _QUERY_CHARACTERS)))


async def described(attacker: Attacker) -> tuple[Json, Mapping[str, Operation]]:
    """Return the server's document, and all that it describes by name."""
    document = json.loads(await attacker.send("GET", "/openapi.json"))
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    answer = await attacker.send("POST", "/mcp", listing, Accept="application/json, text/event-stream")
    text = next((line[5:] for line in answer.splitlines() if line.startswith("data:")), answer)
    listed = json.loads(text)["result"]["tools"]
    return document, {each.name: each for each in (*operations(document), *tools(listed))}


async def prepare(attacker: Attacker) -> None:
    """Give the tenant one of what most operations refer to."""
    sql = {"language": "sql", "code": "SELECT 1"}
    await attacker.submit("execute", sql)
    await attacker.upload("t.csv", _FILE[:1000])
    nodes = [{"id": f"n{number}", "position": {"x": 0, "y": 0}, "data": {"label": "x"}} for number in range(2_000)]
    edges = [{"id": f"e{number}", "source": "n0", "target": f"n{number}"} for number in range(1, 2_000)]
    await attacker.send("POST", "/v1/flows", {"name": "f", "nodes": nodes, "edges": edges})
    await attacker.send("POST", "/v1/collections", {"name": "c", "tables": {"t": {}}})
    await attacker.send("POST", "/v1/batches", {"jobs": [{"kind": "execute", "input": sql}]})
    case = {"name": "c", "kind": "execute", "input": {"language": "python", "code": "1"}}
    await attacker.send("POST", "/v1/evaluations", {"suite": {"name": "s", "cases": [case]}})


async def attack(attacker: Attacker, name: str) -> None:
    """Attack the operation of this name until it is stopped."""
    document, known = await described(attacker)
    await prepare(attacker)
    attacker.outcomes.clear()
    await Caller(attacker, document).endlessly(known[name])
