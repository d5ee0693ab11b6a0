"""Every operation of the API document and every tool of `/mcp`, called with the heaviest input that its limits allow.

Nothing here names an operation: a new route or tool is attacked because the server describes it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import urlencode

from benchmarks.attacks.attacker import Act, Attacker

Json: TypeAlias = dict[str, Any]
Site: TypeAlias = tuple[str | int, ...]  #: a path in a value

AT_ONCE = 12
TOOL = "TOOL"  #: the method of a tool of /mcp
_METHODS = ("get", "put", "post", "delete", "patch")
#: What is sent of a body that the limit of its type would allow more of: a little below the usual limit of a JSON body.
_BYTES = 900_000
_LARGE_BYTES = 8_000_000
_MAX_ITEMS = 20_000
_MAX_INPUT_BYTES = 100_000_000  #: of all that one attack sends in turns
_MAX_SITES = 12  #: places of one body that are filled, each in a request of its own
_MAX_WIDTH = 200
_MAX_REPAIRS = 6
_SMALL_BYTES = 1_000
_MAX_DEPTH = 8
_QUERY_CHARACTERS = 4_000
_HELD_SECONDS = 1.0  #: a stream is left, and opened again
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
    stream: bool = False  #: the answer is a stream of events, which is held open
    parameters: Sequence[Json] = ()
    examples: Sequence[Json] = ()  #: bodies that the server accepts

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def operations(document: Json) -> list[Operation]:
    """Return every operation of the document."""
    listed = []
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                content = item[method].get("requestBody", {}).get("content", {})
                of_json = content.get("application/json", {})
                schema = of_json.get("schema")
                examples = [each["value"] for each in of_json.get("examples", {}).values()]
                parameters = [_resolved(each, document) for each in item[method].get("parameters", [])]
                raw, stream = bool(content) and schema is None, _is_stream(item[method])
                listed.append(Operation(method.upper(), path, schema, raw, stream, parameters, examples))
    return listed


def tools(listed: Sequence[Json]) -> list[Operation]:
    return [Operation(TOOL, tool["name"], tool["inputSchema"]) for tool in listed]


def _is_stream(operation: Json) -> bool:
    return any("text/event-stream" in answer.get("content", {}) for answer in operation["responses"].values())


def bodies(schema: Json, document: Json, size: int = _BYTES, examples: Sequence[Json] = ()) -> Iterator[Any]:
    """Yield a value for each place of the schema that may be large, with that place filled up to ``size`` bytes.

    The rest is that of an example, where there is one of the same kind, or what is required.
    """
    for choice in _choices(schema, document):
        sites = list(itertools.islice(_sites(choice, document), _MAX_SITES))
        small = _base(choice, document, examples)
        for number, (site, specs) in enumerate(sites):
            part = _filled(specs[-1], document, size, _COSTLY[number % len(_COSTLY)])
            yield _with(json.loads(json.dumps(small)), site, specs, document, part)
        if not sites:
            yield small


def _choices(schema: Json, document: Json) -> Sequence[Json]:
    """Return what the schema chooses from, such as the kinds of a job."""
    spec = _resolved(schema, document)
    choices = [_resolved(choice, document) for choice in spec.get("oneOf") or spec.get("anyOf") or [spec]]
    return [choice for choice in choices if _type(choice) != "null"]


def _base(choice: Json, document: Json, examples: Sequence[Json]) -> Any:  # noqa: ANN401 - any JSON
    """Return the example of this choice, or its smallest value."""
    small = smallest(choice, document)
    for example in examples:
        constants = {
            name: _resolved(spec, document).get("const") for name, spec in choice.get("properties", {}).items()
        }
        if all(value in (None, example.get(name)) for name, value in constants.items()):
            return {**small, **example} if isinstance(small, dict) else example
    return small


def smallest(schema: Json, document: Json, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON
    """Return a small value that fits the schema, with the properties that it requires."""
    spec = _chosen(schema, document)
    given = [spec["const"]] if "const" in spec else [*spec.get("enum", [])[:1], *spec.get("examples", [])[:1]]
    given += [spec[name] for name in ("example", "default") if spec.get(name) is not None]
    kind = _type(spec)
    if given:
        return given[0]
    if kind == "object":
        wanted = spec.get("required", ()) if depth < _MAX_DEPTH else ()
        return {name: smallest(spec.get("properties", {}).get(name, {}), document, depth + 1) for name in wanted}
    if kind == "array":
        return [smallest(spec.get("items", {}), document, depth + 1)] * min(1, spec.get("maxItems", 1))
    if kind in ("integer", "number"):
        return int(spec.get("minimum", spec.get("exclusiveMinimum", 0) + 1))
    return {"boolean": False, "null": None}.get(kind or "", "a" * max(1, spec.get("minLength", 1)))


def _sites(schema: Json, document: Json) -> Iterator[tuple[Site, Sequence[Json]]]:
    """Yield the places that may be large, the outer ones first, with the schemas of the way to each."""
    level: list[tuple[Site, Sequence[Json]]] = [((), (_chosen(schema, document),))]
    for _ in range(_MAX_DEPTH):
        below: list[tuple[Site, Sequence[Json]]] = []
        for site, specs in level:
            spec, kind = specs[-1], _type(specs[-1])
            if kind is None:
                yield site, (*specs[:-1], {"type": "object", "additionalProperties": {"type": "string"}})
            elif _may_be_large(spec, kind):
                yield site, specs
            inner = spec.get("properties", {}) if kind == "object" else {0: spec["items"]} if "items" in spec else {}
            below += [((*site, step), (*specs, _chosen(each, document))) for step, each in inner.items()]
        level = below[:_MAX_WIDTH]


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
            count = max(spec.get("minItems", 0), min(count, spec.get("maxItems", _MAX_ITEMS), _MAX_ITEMS))
            return [_numbered(item, number) for number in range(count)]
        case "object":
            more = spec.get("additionalProperties")
            item = smallest(more if isinstance(more, dict) else {}, document)
            count = min(size // (len(json.dumps(item)) + 14) + 1, spec.get("maxProperties", _MAX_ITEMS), _MAX_ITEMS)
            return {f"n{number}": item for number in range(count)}
        case _:
            length = min(size, spec.get("maxLength", size))
            return (costly * (length // len(costly) + 1))[:length]


def _numbered(item: Any, number: int) -> Any:  # noqa: ANN401 - any JSON
    """Return the item as one of many: where it has an id, with one of its own."""
    return (
        {**item, "id": f"{item['id']}{number}"} if isinstance(item, dict) and isinstance(item.get("id"), str) else item
    )


def _with(value: Any, site: Site, specs: Sequence[Json], document: Json, part: Any) -> Any:  # noqa: ANN401 - any JSON
    """Put the part at its place, and what is required on the way to it."""
    if not site:
        return part
    step, below = site[0], specs[1]
    if step == 0:
        inside = value[0] if value else smallest(below, document)
        return [_with(inside, site[1:], specs[1:], document, part), *value[1:]]
    inside = value.get(step)
    if inside is None and len(site) > 1:
        inside = smallest(below, document)
    return {**value, step: _with(inside, site[1:], specs[1:], document, part)}


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


@dataclass
class Input:
    """What one call sends."""

    query: dict[str, str]
    body: Any = None  #: JSON, or the bytes of a file

    def without(self, errors: Sequence[Json]) -> bool:
        """Leave out what the server refuses, unless that is what makes the input large; return whether it changed."""
        changed = False
        for place, *steps in (error["loc"] for error in errors):
            if place == "query" and steps and steps[0] in self.query:
                del self.query[steps[0]]
                changed = True
            elif place == "body":
                changed = _left_out(self.body, steps) or changed
        return changed


def _left_out(body: Any, steps: Sequence[str | int]) -> bool:  # noqa: ANN401 - any JSON
    """Delete the outermost small value on the way to the place."""
    inside = body
    for step in steps:
        if not isinstance(inside, dict) or step not in inside:
            if not (isinstance(inside, list) and isinstance(step, int) and step < len(inside)):
                return False
        elif len(json.dumps(inside[step])) < _SMALL_BYTES:
            del inside[step]
            return True
        inside = inside[step]
    return False


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

        async def send(given: Input) -> None:
            async with limit:
                await self._accepted(operation, given)

        async with asyncio.TaskGroup() as group:
            for given in self.inputs(operation):
                group.create_task(send(given))

    async def endless(self, operation: Operation) -> Act:
        """Return what calls it twelve at a time, again and again, with large bodies where it takes them."""
        if operation.body is not None:
            usual, self._size = self._size, _LARGE_BYTES
            if "too_large" in await self._send(operation, next(self.inputs(operation))):
                self._size = usual
        most = max(AT_ONCE, _MAX_INPUT_BYTES // self._size)
        inputs = itertools.cycle(list(itertools.islice(self.inputs(operation), most)))
        return partial(self._attacker.endlessly, lambda: self._accepted(operation, next(inputs)), AT_ONCE)

    def inputs(self, operation: Operation) -> Iterator[Input]:
        """Yield the heavy inputs."""
        query = self._values(operation, "query")
        if operation.raw:
            yield Input(query, _FILE)
        elif operation.body is None:
            yield Input(query)
        else:
            document = operation.body if operation.method == TOOL else self._document
            for body in bodies(operation.body, document, self._size, operation.examples):
                yield Input(dict(query), body)

    async def _accepted(self, operation: Operation, given: Input) -> None:
        """Send the input; what the server refuses of it is left out, so that the rest is worked on."""
        for _ in range(_MAX_REPAIRS):
            answer = await self._send(operation, given)
            if not given.without(_errors(answer)):
                return

    async def _send(self, operation: Operation, given: Input) -> str:
        body = await self._with_ids(given.body)
        if operation.method == TOOL:
            params = {"name": operation.path, "arguments": body}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            return await self._attacker.send("POST", "/mcp", call, Accept="application/json, text/event-stream")
        path = await self._path(operation, given.query)
        if operation.stream:
            return await self._attacker.hold(path, _HELD_SECONDS)
        headers = {"Content-Type": "application/octet-stream"} if operation.raw else {}
        headers |= self._values(operation, "header", lambda each: bool(each.get("required")))
        return await self._attacker.send(operation.method, path, body, **headers)

    def _values(self, operation: Operation, kind: str, wanted: Callable[[Json], bool] = bool) -> dict[str, str]:
        """Return the largest values of the parameters of this kind."""
        chosen = [each for each in operation.parameters if each["in"] == kind and wanted(each)]
        return {each["name"]: _parameter_value(each["schema"], self._document) for each in chosen}

    async def _path(self, operation: Operation, query: Mapping[str, str]) -> str:
        """Return the path with ids of the tenant, where a list has one, and with the query."""
        path = operation.path
        schemas = {each["name"]: _chosen(each["schema"], self._document) for each in operation.parameters}
        while match := re.search(r"\{(\w+)(:path)?\}", path):
            spec = schemas.get(match[1], {})
            own = "1" if _type(spec) == "integer" else str(spec["enum"][0]) if "enum" in spec else None
            own = own or await self._id(path[: match.start()].rstrip("/"))
            path = path[: match.start()] + own + path[match.end() :]
        return f"{path}?{urlencode(query)}" if query else path

    async def _with_ids(self, body: Any) -> Any:  # noqa: ANN401 - any JSON
        """Name the tenant's own things where the body names some: ``flow_id`` is one of /v1/flows."""
        if not isinstance(body, dict):
            return body
        named: dict[str, Any] = {}
        for name, value in body.items():
            collection = f"/v1/{name.removesuffix('_id')}s"
            if isinstance(value, dict):
                named[name] = await self._with_ids(value)
            elif isinstance(value, str) and len(value) < _SMALL_BYTES and collection in self._document["paths"]:
                named[name] = await self._id(collection)
        return {**body, **named}

    async def _id(self, collection: str) -> str:
        if collection not in self._ids:
            answer = await self._attacker.send("GET", collection)
            try:
                item = json.loads(answer)["items"][0]
                self._ids[collection] = str(next(item[name] for name in ("id", "name", "number") if name in item))
            except (ValueError, LookupError, TypeError, AttributeError, StopIteration):
                self._ids[collection] = "1"
        return self._ids[collection]


def _errors(answer: str) -> Sequence[Json]:
    """Return what the server says is wrong with fields."""
    if not answer.startswith("{") or '"errors"' not in answer:
        return ()
    problem: Json = json.loads(answer)
    errors: Sequence[Json] = problem.get("errors") or ()
    return errors


def _parameter_value(schema: Json, document: Json) -> str:
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


async def prepared(attacker: Attacker, name: str) -> Act:
    """Return the attack on the operation of this name, when all that it sends is made."""
    document, known = await described(attacker)
    await prepare(attacker)
    act = await Caller(attacker, document).endless(known[name])
    attacker.outcomes.clear()
    return act
