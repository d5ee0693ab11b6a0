"""The OpenAPI 3.1 document: what the routes say of themselves, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel, JsonValue, TypeAdapter

from services.gateway.http.problems import MEDIA_TYPE
from services.gateway.http.rules import EndpointRules
from shared import errors
from shared.contracts.common import FieldError, Problem
from shared.contracts.events import JobEvent
from shared.contracts.jobs import EventPage, JobChanges
from shared.contracts.webhooks import JobFinished
from shared.kinds import KINDS

Json = dict[str, Any]

_EXAMPLES: dict[int, errors.AssayError] = {
    400: errors.MalformedJson("unexpected character (line 1, column 9)."),
    401: errors.NotAuthenticated("Send the API key: Authorization: Bearer KEY."),
    403: errors.MissingScope("This needs a key with the scope write."),
    404: errors.NotFound("There is no such job."),
    409: errors.RequestInFlight("The first request with this Idempotency-Key has not been answered yet."),
    412: errors.PreconditionFailed("The flow has changed since you read it."),
    413: errors.TooLarge("The body may have 1,000,000 bytes at most."),
    415: errors.UnsupportedMediaType("Send JSON, with Content-Type: application/json."),
    422: errors.InvalidRequest("body.kind is missing", [(["body", "kind"], "is missing")]),
    429: errors.TooManyRequests("The tenant's rate is used up."),
    500: errors.InternalError("An unexpected error happened."),
    503: errors.DatabaseUnavailable("Postgres does not answer; nothing was written. Try again shortly."),
}


def describe(app: FastAPI) -> None:
    """Let ``app.openapi()`` give the whole document, made once."""

    def openapi() -> Json:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _document(app: FastAPI) -> Json:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description="Every error is `application/problem+json`; `/docs/errors` lists the codes.",
        routes=app.routes,
    )
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for model in (Problem, FieldError):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schema.pop("$defs", None)
        schemas[model.__name__] = schema
    _add_schema(schemas, EventPage)
    _add_schema(schemas, JobChanges)
    _add_events(schemas)
    for kind in KINDS.values():
        _add_schema(schemas, kind.result)
    _add_schema(schemas, JobFinished)
    document["webhooks"] = {"job.finished": {"post": _WEBHOOK}}
    schemas["JobKind"] = {
        "type": "string", "enum": list(KINDS), "title": "JobKind", "description": "Kind of a job"
    }  # fmt: skip
    schemas["JsonValue"] = {"description": "Any JSON value"}
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "An API key"}}
    for route in _routes(app):
        for method in route.methods or ():
            operation = document["paths"][route.path_format][method.lower()]
            _complete(operation, method, route)
            if operation["operationId"] in _HELD:
                operation.setdefault("parameters", []).append(_PREFER)
    bodies = [
        operation["requestBody"]
        for path in document["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict) and "requestBody" in operation
    ]
    _move_defaults(bodies, schemas)
    return document


def _move_defaults(bodies: list[Json], schemas: Json) -> None:
    """Move the defaults of request bodies to ``x-default``: generators of types take a default for a promise that the
    member is always there, so that they require it of the caller.
    """
    waiting: list[object] = [*bodies]
    seen: set[str] = set()
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            name = str(part.get("$ref", "")).rpartition("/")[2]
            if name and name not in seen:
                seen.add(name)
                waiting.append(schemas.get(name))
            properties = part.get("properties")
            for member in properties.values() if isinstance(properties, dict) else ():
                if isinstance(member, dict) and "default" in member:
                    member["x-default"] = member.pop("default")
            waiting += [value for key, value in part.items() if key not in {"example", "examples", "x-default"}]


def _add_schema(schemas: Json, model: type[BaseModel]) -> None:
    """Add a model that no operation names: ``Job.result`` is that of the job's kind, events are also a stream."""
    schema = model.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
    for name, part in {**schema.pop("$defs", {}), model.__name__: schema}.items():
        if schemas.setdefault(name, part).get("properties", {}).keys() != part.get("properties", {}).keys():
            raise ValueError(f"two models are named {name}: the description can hold one")


def _add_events(schemas: Json) -> None:
    """Add the events by type; ``JobEvent`` is any of them."""
    union = TypeAdapter[JobEvent](JobEvent).json_schema(
        mode="serialization", ref_template="#/components/schemas/{model}"
    )
    schemas.update(union.pop("$defs"))
    schemas["JobEvent"] = {
        "title": "JobEvent",
        "description": "An event of a job; its members depend on `type`",
        **union,
    }


def _routes(app: FastAPI) -> list[APIRoute]:
    return [route for route in app.routes if isinstance(route, APIRoute) and route.include_in_schema]


#: PATCH sends parts, and a part may not begin at the upload's offset.
_OF_BODIES: Mapping[str, frozenset[int]] = MappingProxyType(
    {
        "POST": frozenset({400, 413, 415, 422}),
        "PUT": frozenset({400, 413, 415, 422}),
        "PATCH": frozenset({400, 409, 413, 415, 422}),
    }
)


def _complete(operation: Json, method: str, route: APIRoute) -> None:
    """Add what every operation has: the key, the errors, and the idempotency key of a POST."""
    rules = getattr(route.endpoint, "rules", EndpointRules())
    parameters = operation.get("parameters", [])
    statuses = {500, 503}
    if not rules.public or rules.optional_key:
        operation["security"] = [{"key": []}, *([{}] if rules.public else [])]
        statuses |= {401, 403, 429}
    if "{" in route.path_format:
        statuses.add(404)
    if method == "POST" and not rules.public:
        operation.setdefault("parameters", []).append(_IDEMPOTENCY)
        statuses.add(409)
    statuses |= _OF_BODIES.get(method, frozenset())
    if parameters:
        statuses.add(422)
    if any(parameter["name"].lower() in ("if-match", "tus-resumable") for parameter in parameters):
        statuses.add(412)
    example = _BODIES.get(operation["operationId"])
    for content in operation.get("requestBody", {}).get("content", {}).values():
        if example is not None and "schema" in content:
            content.setdefault("example", example)
    answers = operation["responses"]
    answers.pop("422", None)
    for status in sorted(statuses):
        answers.setdefault(str(status), _answer(status))


_IDEMPOTENCY: Json = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key and body answer the same again for 24 hours, and do the work once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}


#: Operations whose answer may be held until the job has ended.
_HELD = frozenset({"submit_job", "get_job", "replay_job"})
_PREFER: Json = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "`wait=20` holds the answer for up to 20 seconds (60 at most), until the job has ended.",
    "schema": {"type": "string"},
}


def _header(name: str, description: str, example: str) -> Json:
    parameter = {"name": name, "in": "header", "required": True, "schema": {"type": "string"}}
    return {**parameter, "description": description, "example": example}


_WEBHOOK: Json = {
    "operationId": "job_finished",
    "summary": "A job has ended",
    "description": "Posted to `webhook.url` of the submit, signed by each of the tenant's secrets (Standard Webhooks).",
    "tags": ["Webhooks"],
    "parameters": [
        _header("webhook-id", "The same over all attempts at a delivery", "msg_0197a1c2-7c3b-7e12-9d5e-0f6a2b1c3d4e"),
        _header("webhook-timestamp", "When it was sent, in seconds since 1970", "1795413600"),
        _header(
            "webhook-signature", "`v1,` and base64, for each secret one, separated by spaces", "v1,K5oZfzN95Z9UVu1E="
        ),
    ],
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JobFinished"}}},
    },
    "responses": {
        "2XX": {"description": "Taken; anything else is tried again"},
        "410": {"description": "Nothing more of this job is wanted"},
    },
}


def _answer(status: int) -> Json:
    error = _EXAMPLES[status]
    example = {**error.problem(), "request_id": "0e4f6c0a7e8b4d53"}
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": error.title, "content": {MEDIA_TYPE: {"schema": schema, "example": example}}}


#: Bodies that the documentation shows, by operation id; those of jobs are in the table of kinds.
_BODIES: Mapping[str, JsonValue] = MappingProxyType(
    {
        "replay_job": {"input": {"max_iterations": 3}, "model": "groq/openai/gpt-oss-120b"},
        "submit_batch": {
            "jobs": [
                {"kind": "execute", "input": {"language": "python", "code": "print(1)"}},
                {"kind": "execute", "input": {"language": "sql", "code": "SELECT 42 AS answer"}, "priority": 9},
            ]
        },
        "create_flow": {
            "name": "main",
            "nodes": [
                {"id": "a", "position": {"x": 0, "y": 0}, "data": {"label": "Draft"}},
                {"id": "b", "position": {"x": 0, "y": 120}, "data": {"label": "Review"}},
            ],
            "edges": [{"id": "a-b", "source": "a", "target": "b"}],
        },
        "save_flow": {
            "name": "main",
            "nodes": [{"id": "a", "position": {"x": 0, "y": 0}, "data": {"label": "Draft"}}],
            "edges": [],
        },
        "import_flow": {"format": "mermaid", "text": "flowchart TD\n  a[Draft] --> b[Review]"},
        "run_operations": {"tool_calls": [{"name": "addNode", "params": {"label": "Publish"}}], "atomic": True},
        "undo_flow": {"scope": "mine"},
        "redo_flow": {"scope": "all"},
        "lay_out_flow": {"direction": "LR"},
        "set_prompt": {"text": "Write data-frame code for this task: {{ task }}"},
        "rollback_prompt": {"version": 1},
        "set_model_chain": {
            "chain": [
                {"provider": "groq", "model": "openai/gpt-oss-120b", "parameters": {"temperature": 1}},
                {"provider": "cerebras", "model": "gpt-oss-120b"},
            ]
        },
        "set_endpoint": {"url": "https://models.example.com/v1", "key_env": "MODEL_KEY_GPU1", "concurrency": 4},
        "set_tenant_models": {"models": ["groq/*", "anthropic/claude-haiku-*"]},
        "create_collection": {
            "name": "conference",
            "tables": {"sessions": {"facets": {"session_topic": 1.5}, "fields": {"track": "keyword"}}},
        },
        "set_definitions": {
            "yaml": "definitions:\n  - id: blorb\n    kind: build_system\n    name: Blorb\n    files: [Blorbfile]\n"
        },
        "check_definitions": {
            "definitions": [
                {
                    "id": "acme",
                    "kind": "framework",
                    "name": "Acme",
                    "dependencies": [{"ecosystem": "npm", "name": "@acme/core"}],
                }
            ]
        },
        "rollback_definitions": {"version": 1},
        "promote_stack_proposal": {"files": ["*.blorb"]},
        "create_key": {"tenant": "acme", "name": "ci", "scopes": ["read", "write"]},
    }
)
