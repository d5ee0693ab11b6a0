"""Every error as an RFC 9457 document: ours, the framework's, and unexpected ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic_core.core_schema import ErrorType
from starlette.exceptions import HTTPException
from starlette.routing import Match

from services.gateway.http.responses import Json
from shared import tracing
from shared.errors import (
    AssayError,
    InternalError,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
)
from shared.faults import field_fault, worded

MEDIA_TYPE = "application/problem+json"
_MAX_ERRORS = 100
_PYDANTIC = frozenset(get_args(ErrorType))


def install(app: FastAPI) -> None:
    """Answer every exception of a route with a problem."""
    app.add_exception_handler(AssayError, _of_assay)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_framework)


def problem(error: AssayError, request_id: str | None) -> Response:
    """Return the response to an error, with the headers that its status requires."""
    headers: dict[str, str] = {}
    if error.status in (429, 503):
        headers["Retry-After"] = str(error.extra.get("retry_after", 1))
    elif error.code == "request_in_flight":
        headers["Retry-After"] = "1"
    elif error.status == 416:
        headers["Content-Range"] = f"bytes */{error.extra.get('size', '*')}"
    elif error.status == 408:
        headers["Connection"] = "close"  # the rest of the request is not read
    elif error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    document = {**error.problem(), "request_id": request_id}
    if trace_id := tracing.trace_id_of(tracing.traceparent()):
        document["trace_id"] = trace_id
    return Json(document, error.status, headers, media_type=MEDIA_TYPE)


def internal() -> InternalError:
    return InternalError("An unexpected error happened; its cause is in the server's log under the request id.")


def by_code() -> dict[str, type[AssayError]]:
    """Return the catalog: every error class by its code."""

    def walk(kind: type[AssayError]) -> Iterator[type[AssayError]]:
        yield kind
        for child in kind.__subclasses__():
            yield from walk(child)

    return {kind.code: kind for kind in reversed(list(walk(AssayError)))}


def invalid(errors: Sequence[Mapping[str, Any]], body: object = None) -> AssayError:
    """Return pydantic's errors as one problem; a custom error type (``PydanticCustomError``) is the problem's code."""
    located = [(_loc(_pointed(error), body), worded(error)) for error in errors[:_MAX_ERRORS]]
    detail = "; ".join(field_fault(".".join(map(str, loc)), msg) for loc, msg in located[:3])
    if len(errors) > 3:
        detail += f"; and {len(errors) - 3} more"
    own = next((error["type"] for error in errors if error["type"] not in _PYDANTIC), None)
    kind = _class_of(own) if own else InvalidRequest
    if kind is InvalidRequest:
        return InvalidRequest(detail, located)
    return kind(detail, errors=[{"loc": list(loc), "msg": msg} for loc, msg in located])


def _class_of(code: str) -> type[AssayError]:
    """Return the error with that code, or a 422 of that code."""
    known = by_code().get(code)
    texts = {name: getattr(InvalidRequest, name) for name in ("title", "status", "cause", "remedy")}
    return known or type("Invalid", (AssayError,), {"code": code, **texts})


def _pointed(error: Mapping[str, Any]) -> Sequence[str | int]:
    """Return the location of the error; pydantic names the whole object when a union's discriminator is wrong."""
    field = str(error.get("ctx", {}).get("discriminator", "")).strip("'")
    return (*error["loc"], field) if field else error["loc"]


def _loc(loc: Sequence[str | int], body: object) -> list[str | int]:
    """Return the location in the request: pydantic also names the members of a union, which are not part of it."""
    if not loc or loc[0] != "body" or body is None:
        return list(loc)
    located: list[str | int] = ["body"]
    value: object = body
    for position, step in enumerate(loc[1:], 2):
        missing = position == len(loc) and isinstance(value, dict)
        try:
            value = value[step]  # type: ignore[index]
        except (LookupError, TypeError):
            if not missing:
                continue
        located.append(step)
    return located


async def _of_assay(request: Request, error: Exception) -> Response:
    assert isinstance(error, AssayError)
    return problem(error, request_id(request))


async def _of_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problem(invalid(error.errors(), error.body), request_id(request))


async def _of_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(_allowed(request))
        answer = problem(MethodNotAllowed(f"This path answers {allowed}."), request_id(request))
        answer.headers["Allow"] = allowed
        return answer
    if error.status_code == 404:
        return problem(NotFound("There is nothing at this path; /docs lists what there is."), request_id(request))
    return problem(InvalidRequest("The request cannot be understood."), request_id(request))


def _allowed(request: Request) -> list[str]:
    """Return every method of the path: the framework names those of the first route only."""
    methods: set[str] = set()
    for route in request.app.routes:
        match, _ = route.matches(request.scope)
        if match is not Match.NONE:
            methods |= getattr(route, "methods", None) or set()
    if "GET" in methods:
        methods.add("HEAD")
    return sorted(methods)


def request_id(request: Request) -> str | None:
    located = getattr(request.state, "request_id", None)
    return located if isinstance(located, str) else None
