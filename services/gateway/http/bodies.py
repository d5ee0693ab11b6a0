"""Request bodies: counted as they stream in, and read as strict JSON."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

import orjson
from fastapi import Request

from shared.errors import InvalidRequest, MalformedJson, RequestTimedOut, TooLarge, UnsupportedMediaType


class JsonRequest(Request):
    """A request whose body has been read and checked: the framework gets it from here."""

    def __init__(self, request: Request, raw: bytes, content: object) -> None:
        super().__init__(request.scope, request.receive)
        self.raw = raw
        self.content = content

    async def body(self) -> bytes:
        return self.raw

    async def json(self) -> object:
        return self.content


Place: TypeAlias = tuple[str | int, ...]

#: What orjson takes but would change: numbers beyond 64 bits become floats. And what Postgres cannot keep: NUL.
_SUSPECT = re.compile(rb"\d{19}|\\u0000")
_TOO_DEEP = "The JSON is nested too deeply."
_LEAST_BYTES_PER_SECOND = 1_000
_MAX_DIGITS = 40  # twice what 64 bits need
_DEEPEST = 250  # a little less than what orjson writes


async def stream(
    request: Request, most: int, most_pause: float, refusal: Callable[[int], TooLarge] | None = None
) -> AsyncIterator[bytes]:
    """Yield the body as it arrives, counted. Raises: TooLarge, RequestTimedOut after ``most_pause`` seconds without
    a byte.
    """
    if declared_bytes(request) > most:
        raise (refusal or too_large)(most)
    received, began = 0, time.monotonic()
    chunks = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(most_pause):
                chunk = await anext(chunks, None)
        except TimeoutError:
            raise RequestTimedOut("The body stopped coming.") from None
        if chunk is None:
            return
        received += len(chunk)
        seconds = time.monotonic() - began
        if seconds > most_pause and received < seconds * _LEAST_BYTES_PER_SECOND:
            raise RequestTimedOut("The body comes too slowly.")
        if received > most:
            raise (refusal or too_large)(most)
        yield chunk


def declared_bytes(request: Request) -> int:
    """Return the declared length; 0 without one."""
    declared = request.headers.get("content-length", "")
    return int(declared[:20]) if declared.isdecimal() else 0


def parse(body: bytes) -> tuple[object, bool]:
    """Return the body as JSON, and whether it may hold what ``check_values`` refuses. Raises: MalformedJson."""
    try:
        value: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return _parse_surrogates(body, error), True
    if body.count(b"[") + body.count(b"{") > _DEEPEST:
        _check_depth(value)
    return value, _SUSPECT.search(body) is not None


def check_values(body: bytes) -> None:
    """Raise InvalidRequest with the location of a text or number that cannot be stored unchanged."""
    pending: list[tuple[Place, object]] = [(("body",), json.loads(body, parse_int=_whole))]
    while pending:
        place, value = pending.pop()
        reason = _unfitness(value)
        if reason is not None:
            raise InvalidRequest(f"{'.'.join(map(str, place))}: {reason}", [(list(place), reason)])
        if isinstance(value, dict):
            pending.extend(((*place, name), inner) for name, inner in value.items())
            pending.extend((place, name) for name in value)  # checked first: locations are made of them
        elif isinstance(value, list):
            pending.extend(((*place, number), inner) for number, inner in enumerate(value))


def check_json_type(request: Request) -> None:
    """Raise UnsupportedMediaType unless the body is plain JSON in UTF-8 (a missing type counts as that)."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType("Send the body uncompressed.")
    given = request.headers.get("content-type")
    if given is None:
        return
    kind, _, parameters = given.partition(";")
    kind = kind.strip().lower()
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]+)", parameters, re.IGNORECASE)
    if not (kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))):
        named = kind if re.fullmatch(r"[a-z0-9.+/-]{1,100}", kind) else "of another type"
        raise UnsupportedMediaType(f"The body is {named}: send JSON, with Content-Type: application/json.")
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8"):
        raise UnsupportedMediaType("Send the JSON in UTF-8.")


def upload_too_large(most: int) -> TooLarge:
    """Return the refusal of a file, for which the advice to upload it as a file is useless."""
    return TooLarge(
        f"An uploaded file may have {most:,} bytes at most (the operator's ASSAY_UPLOAD_BYTES); send it in parts, or "
        "packed in a columnar form such as Parquet."
    )


def too_large(most: int) -> TooLarge:
    return TooLarge(f"The body may have {most:,} bytes at most; upload large data as a file and refer to it by id.")


def _parse_surrogates(body: bytes, error: orjson.JSONDecodeError) -> object:
    """Parse lone surrogates, which are JSON though not text: the standard library distinguishes them from malformed
    bodies.
    """
    try:
        return json.loads(body, parse_constant=_no_constant, parse_int=_whole)
    except RecursionError:
        raise MalformedJson(_TOO_DEEP) from None
    except UnicodeDecodeError:
        raise MalformedJson("The body is not UTF-8.") from None
    except ValueError:
        raise MalformedJson(f"{error.msg} (line {error.lineno}, column {error.colno}).") from None


def _check_depth(value: object) -> None:
    """Raise MalformedJson when the value is too deep to be encoded again."""
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        raise MalformedJson(_TOO_DEEP) from None


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _whole(digits: str) -> float:
    """Numbers of thousands of digits are refused by length: reading them would take quadratic time."""
    return int(digits) if len(digits) < _MAX_DIGITS else math.inf


def _unfitness(value: object) -> str | None:
    if isinstance(value, str):
        if "\0" in value:
            return "text may not hold the NUL character; send binary data as a file"
        if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
            return "text may not hold half of a surrogate pair"
    elif isinstance(value, float):
        return None if math.isfinite(value) else "a number is too large"
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        return "an integer has more than 64 bits"
    return None
