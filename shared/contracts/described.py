"""The base of every contract: the docstring under a field is its description in each schema of the model."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class Contract(BaseModel):
    """A model of the API.

    Its schema is described when it is made, not when the class is: pydantic's ``use_attribute_docstrings`` parses each
    class at import, which every command and worker would pay for.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        reference = handler(schema)
        described = handler.resolve_ref_schema(reference)
        origin = cls.__pydantic_generic_metadata__["origin"]
        if origin is not None and origin.__doc__:
            described.setdefault("description", inspect.cleandoc(origin.__doc__))
        texts = field_texts(cls)
        for name, field in cls.model_fields.items():
            part = described.get("properties", {}).get(field.alias or name)
            if part is not None and name in texts:
                part["description"] = texts[name]
        return reference


@cache
def field_texts(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstrings under a model's fields, those of its bases included."""
    texts: dict[str, str] = {}
    for parent in reversed(model.__mro__):
        if issubclass(parent, Contract):
            texts |= _module_texts(parent.__module__).get(parent.__name__, {})
    return texts


@cache
def _module_texts(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the docstrings of a module's fields, by class and field."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {each.name: dict(_docstrings(each)) for each in tree.body if isinstance(each, ast.ClassDef)}


def _docstrings(model: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for statement, following in pairwise(model.body):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            yield statement.target.id, " ".join(str(following.value.value).split())
