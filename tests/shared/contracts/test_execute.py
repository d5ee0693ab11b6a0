"""Bad input to execute is refused with the name of the field."""

from __future__ import annotations

import math

import pytest
from pydantic import JsonValue, ValidationError

from shared.contracts.execute import ExecuteInput

_FILE = {"id": "f", "path": "a.csv"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("language", "ruby"),
        ("language", None),
        ("code", ""),
        ("code", " \n\t"),
        ("code", "x" * 10_000_000),
        ("code", "a\x00b"),
        ("code", 5),
        ("stdin", "a\x00b"),
        ("stdin", "\ud800"),
        ("seed", -1),
        ("seed", 2**32),
        ("files", [_FILE, _FILE]),
        ("files", [{"id": "f", "path": "a"}, {"id": "g", "path": "a/b"}]),
        ("files", [{"id": "f", "path": "a"}, {"id": "g", "path": "a.b"}, {"id": "h", "path": "a/b"}]),
        ("files", [{"id": "f", "path": "/etc/passwd"}]),
        ("files", [{"id": "f", "path": "../up"}]),
        ("files", [{"id": "f", "path": "a/../../up"}]),
        ("files", [{"id": "f", "path": "a//b"}]),
        ("files", [{"id": "f", "path": "./a"}]),
        ("files", [{"id": "f", "path": "a/"}]),
        ("files", [{"id": "f", "path": "a\x00"}]),
        ("files", [{"id": "f", "path": "a\nb"}]),
        ("files", [{"id": "f", "path": ""}]),
        ("files", [{"id": "f", "path": "x" * 256}]),
        ("files", [{"id": "f"}]),
        ("files", [_FILE | {"id": ""}]),
        ("extra", 1),
    ],
)
def test_a_field_that_does_not_fit_is_named(field: str, value: JsonValue) -> None:
    with pytest.raises(ValidationError) as refused:
        ExecuteInput.model_validate({"language": "python", "code": "1", field: value})
    assert {error["loc"][0] for error in refused.value.errors()} == {field}


@pytest.mark.parametrize(
    ("limit", "most"),
    [
        ("wall_seconds", 300),
        ("cpu_seconds", 120),
        ("memory_mb", 4096),
        ("processes", 256),
        ("output_bytes", 16_000_000),
        ("disk_mb", 2048),
    ],
)
def test_limits_are_numbers_up_to_their_most(limit: str, most: int) -> None:
    accepted = ExecuteInput.model_validate({"language": "sql", "code": "SELECT 1", "limits": {limit: most}})
    assert getattr(accepted.limits, limit) == most
    for bad in (most + 1, 0, -1, math.nan, math.inf, "ten", "10", True, None, [1]):
        with pytest.raises(ValidationError) as refused:
            ExecuteInput.model_validate({"language": "sql", "code": "SELECT 1", "limits": {limit: bad}})
        assert refused.value.errors()[0]["loc"][:2] == ("limits", limit)


def test_ordinary_input_is_taken_as_it_is() -> None:
    paths = ["data.csv", "a/b/ü.txt", "a/b.txt", "..x", "x..", "a b"]
    files = [{"id": f"f{number}", "path": path} for number, path in enumerate(paths)]
    request = ExecuteInput.model_validate({"language": "r", "code": "1\n", "files": files, "stdin": "é\r\n"})
    assert [file.path for file in request.files] == paths
