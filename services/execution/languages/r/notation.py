"""Messages of ours as R expressions: they only ever build lists, texts and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from services.execution.languages.r.values import Exact, number, text_of, value_of
from services.execution.sandbox.protocol.wire import Json, Message


def expression(message: Message) -> bytes:
    return _r(message).encode("ascii")


def _r(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, Exact):
        return value_of(value.value)
    if isinstance(value, Mapping):
        return f"list({', '.join(f'{text_of(name, tick=True)} = {_r(inner)}' for name, inner in value.items())})"
    return _vector(value)


def _vector(values: Sequence[Json]) -> str:
    """Scalars of one kind become a vector, anything else a list."""
    kinds = {type(value) for value in values if value is not None}
    plain = (len(kinds) == 1 and kinds <= {bool, str, int, float}) or kinds == {int, float}
    if values and plain:
        return f"c({', '.join('NA' if value is None else _r(value) for value in values)})"
    return f"list({', '.join(_r(value) for value in values)})"
