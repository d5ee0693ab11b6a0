"""Values that are JSON and yet cannot be kept as they are: refused, with the field that holds them."""

from __future__ import annotations

import pytest

from services.gateway.http.bodies import check_values, parse
from shared.errors import InvalidRequest, MalformedJson


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (rb'{"input": {"stdin": "a\u0000b"}}', ["body", "input", "stdin"]),
        (rb'{"input": {"code": "\ud800"}}', ["body", "input", "code"]),
        (b'{"input": {"limits": {"wall_seconds": 1e999}}}', ["body", "input", "limits", "wall_seconds"]),
        (b'{"input": {"seed": 123456789012345678901}}', ["body", "input", "seed"]),
        (rb'{"files": [{"path": "x"}, {"path": "a\u0000"}]}', ["body", "files", 1, "path"]),
        (rb'{"labels": {"\u0000": "\u0000"}}', ["body", "labels"]),
        (rb'"\u0000"', ["body"]),
    ],
)
def test_what_cannot_be_kept_is_refused_by_the_name_of_its_field(body: bytes, place: list[str | int]) -> None:
    _, suspect = parse(body)
    assert suspect
    with pytest.raises(InvalidRequest) as refused:
        check_values(body)
    where, _, reason = refused.value.detail.partition(": ")
    assert refused.value.extra["errors"] == [{"loc": place, "msg": reason}]
    assert where == ".".join(map(str, place))


@pytest.mark.parametrize("body", [b'{"a": NaN}', b'{"a": Infinity}', b"{", rb'{"a": "\ud800", "b": NaN}', b'"\xff"'])
def test_what_is_no_json_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedJson):
        parse(body)
