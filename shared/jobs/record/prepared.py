"""Text statements that are parsed once, however often they are executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import ARRAY, BigInteger, Double, Text, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

_TYPES: Mapping[str, TypeEngine[Any]] = {
    "json": JSONB(none_as_null=True),
    "texts": ARRAY(Text),
    "numbers": ARRAY(BigInteger),
    "floats": ARRAY(Double),
}


@dataclass(frozen=True)
class Statement:
    """A statement of every job: executed by ``shared.jobs.record.driver``, or as a clause of SQLAlchemy."""

    prepared: TextClause  #: without values, the same object for every job
    values: Mapping[str, object]

    @property
    def clause(self) -> TextClause:
        return self.prepared.bindparams(**self.values)


def sql(words: str, **values: object) -> TextClause:
    """Return a text statement with its parameters; ``json__input`` is the parameter ``input``, of type JSON."""
    return statement(words, **values).clause


def statement(words: str, **values: object) -> Statement:
    """Return the same for ``shared.jobs.record.driver``."""
    short = {name.rpartition("__")[2]: value for name, value in values.items()}
    return Statement(_parsed(words, tuple(values)), short)


@lru_cache(maxsize=256)
def _parsed(words: str, names: tuple[str, ...]) -> TextClause:
    """Return the typed statement, parsed once: parsing is half of a statement's cost."""
    typed = [name.partition("__") for name in names if "__" in name]
    return text(words).bindparams(*[bindparam(short, type_=_TYPES[kind]) for kind, _, short in typed])
