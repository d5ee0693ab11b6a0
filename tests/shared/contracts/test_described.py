"""Contracts describe their fields where they are written."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from pydantic import Field, create_model

import shared.contracts
from shared.contracts.common import Answer, Page
from shared.contracts.described import Contract, field_texts


class Parcel(Answer):
    """A parcel."""

    weight: float
    """Weight
    in kilograms"""
    from_: str = Field(alias="from")
    """Sender"""


class Letter(Parcel):
    stamps: list[str]
    """Stamps on it"""


def test_a_docstring_under_a_field_is_its_description() -> None:
    properties = Letter.model_json_schema()["properties"]
    texts = {name: part["description"] for name, part in properties.items()}
    assert texts == {"weight": "Weight in kilograms", "from": "Sender", "stamps": "Stamps on it"}


def test_a_page_and_a_narrowed_model_keep_the_texts_of_their_origin() -> None:
    schema = Page[Parcel].model_json_schema()
    assert schema["description"] == "One page of a list."
    assert schema["properties"]["items"]["description"] == "Entries of this page"
    narrowed = create_model("Narrowed", __base__=Letter, stamps=(list[int], ...))
    assert narrowed.model_json_schema()["properties"]["stamps"]["description"] == "Stamps on it"


def test_every_field_of_every_contract_has_a_docstring() -> None:
    for module in pkgutil.iter_modules(shared.contracts.__path__):
        import_module(f"shared.contracts.{module.name}")
    models = [model for model in _subclasses(Contract) if model.__module__.startswith("shared.contracts.")]
    assert len(models) > 200
    silent = [
        f"{model.__name__}.{name}"
        for model in models
        for name in model.model_fields
        if not field_texts(model).get(name, "").strip()
    ]
    assert silent == []


def _subclasses(model: type[Contract]) -> Iterator[type[Contract]]:
    for child in model.__subclasses__():
        yield child
        yield from _subclasses(child)
