"""Calls operations of the OpenAPI document with any values, and holds the answers against it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import checks
from schemathesis.generation import GenerationMode

_CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
#: More of them with HYPOTHESIS=random, as everywhere; there are 130 operations.
_SETTINGS = settings(
    max_examples=12 if os.environ.get("HYPOTHESIS") == "random" else 6,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
_MAX_SECONDS = 60  #: for an answer, on a machine however busy


def broken_promises(
    document: dict[str, Any], operations: Sequence[tuple[str, str]], url: str, key: str, *, fitting: bool
) -> Iterator[str]:
    """What was answered otherwise than the document says, when values that fit, or do not, are sent."""
    schema = schemathesis.openapi.from_dict(document)
    mode = GenerationMode.POSITIVE if fitting else GenerationMode.NEGATIVE
    for method, path in operations:
        try:
            _try(schema[path][method], mode, url, key)
        except Exception as error:  # of one operation; the others are tried too
            yield f"{method} {path}: {error} {getattr(error, 'exceptions', '')!s}"


def _try(operation: Any, mode: GenerationMode, url: str, key: str) -> None:
    values = operation.as_strategy(generation_mode=mode)

    @given(data=st.data())
    @_SETTINGS
    def call(data: st.DataObject) -> None:
        try:
            case = data.draw(values)
        except Unsatisfiable:
            return  # there is nothing that would not fit
        answer = case.call(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=_MAX_SECONDS)
        assert answer.status_code != 500
        case.validate_response(answer, checks=_CHECKS)

    call()
