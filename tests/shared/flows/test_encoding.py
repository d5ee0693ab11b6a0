"""Documents and operations are read back as they were written, compressed or not."""

from __future__ import annotations

from typing import cast

import pytest
from pydantic import JsonValue

from shared.errors import InvalidRequest
from shared.flows.document import Document, Item, Kind
from shared.flows.encoding import decode_document, decode_operations, encode_document, encode_operations
from shared.flows.operations import Add, Operation, Remove, Update
from tests.shared.flows.drafts import diagram, edge

OPERATIONS: tuple[Operation, ...] = (
    Add(Kind.NODE, "a", Item(3, {"id": "a", "data": {"label": "Ä\u2028"}})),
    Update(Kind.EDGE, "e", {"hidden": True}, ("data",), 7),
    Update(Kind.SETTING, "/dimensions/zoom", {"value": 1.5}),
    Remove(Kind.NODE, "b"),
)


@pytest.mark.parametrize("times", [1, 200])
def test_operations_are_read_as_they_were_written(times: int) -> None:
    assert decode_operations(encode_operations(OPERATIONS * times)) == OPERATIONS * times


@pytest.mark.parametrize("count", [0, 2, 500])
def test_a_document_keeps_its_order_and_its_settings(count: int) -> None:
    names = [f"n{number}" for number in range(count)]
    plain = diagram(*names, edges=(edge("n1", "n0"),))
    document = Document(plain.nodes, plain.edges, {"/dimensions/zoom": Item(0, {"value": 2})}, plain.top + 5)
    assert decode_document(encode_document(document)) == document


def test_large_data_is_compressed() -> None:
    assert len(encode_document(diagram(*[f"n{number}" for number in range(500)]))) < 20_000


def test_what_json_cannot_hold_is_refused() -> None:
    number = cast(JsonValue, 2**200)
    with pytest.raises(InvalidRequest):
        encode_operations([Update(Kind.NODE, "a", {"x": number})])
