"""Assertions as sentences, for models that would copy our notation into their code."""

from __future__ import annotations

from collections.abc import Sequence

from shared.amounts import amount
from shared.declarations.assertions import (
    ColumnsAre,
    ColumnsContain,
    EachRow,
    NoNulls,
    RowCount,
    RowsUnchanged,
    Sorted,
    SumUnchanged,
    TypeIs,
    Unique,
    parse_assertion,
)

_OPERATORS = {"==": "exactly", "!=": "not", "<": "fewer than", "<=": "at most", ">": "more than", ">=": "at least"}
_COMPARES = {"==": "is", "!=": "is not", "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least"}


def in_prose(assertions: Sequence[str]) -> list[str]:
    """Return a sentence for each assertion that a short prompt can say; what it leaves out is checked all the same."""
    return [sentence for text in assertions if (sentence := _sentence(text))]


def _sentence(text: str) -> str:  # noqa: C901, PLR0911 - one answer for each form
    match parse_assertion(text):
        case RowCount(operator, count):
            return f"The result has {_OPERATORS[operator]} {amount(count, 'row')}."
        case RowsUnchanged():
            return "The result has as many rows as the data."
        case ColumnsAre(names):
            return f"The columns of the result are {', '.join(names)}, in this order."
        case ColumnsContain(names):
            return f"The result has the columns {', '.join(names)}."
        case Unique(names):
            return f"No two rows of the result have the same {' and '.join(names)}."
        case NoNulls(names):
            return f"No value of {', '.join(names)} is missing in the result."
        case SumUnchanged(name):
            return f"The total of {name} stays the same."
        case TypeIs(name, type):
            return f"The column {name} of the result is of type {type}."
        case Sorted(keys):
            orders = (f"{name}{', largest first' if descending else ''}" for name, descending in keys)
            return f"The result is sorted by {', then '.join(orders)}."
        case EachRow(conditions):
            says = (f"{each.name} {_COMPARES[each.operator]} {each.value}" for each in conditions)
            return f"In each row of the result {' and '.join(says)}."
        case _:
            return ""
