"""The names of types in the API, from polars types."""

from __future__ import annotations

from typing import Literal

import polars as pl

TypeName = Literal["int", "float", "decimal", "bool", "string", "date", "datetime", "duration", "list", "struct"]


def type_name(dtype: pl.DataType) -> TypeName:
    """Everything that is none of the others (text, categories, bytes, times of day) is a string."""
    if dtype.is_integer():
        return "int"
    if dtype.is_float():
        return "float"
    if dtype.is_decimal():
        return "decimal"
    by_class: dict[type[pl.DataType], TypeName] = {
        pl.Boolean: "bool",
        pl.Date: "date",
        pl.Datetime: "datetime",
        pl.Duration: "duration",
        pl.List: "list",
        pl.Array: "list",
        pl.Struct: "struct",
    }
    return by_class.get(type(dtype), "string")
