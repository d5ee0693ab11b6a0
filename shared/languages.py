"""The languages that code may be written in: what the API, the command and documents know of each.

How a language runs is the other half, its ``LanguageSpec`` in ``services/execution/languages``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from shared.specs import SpecTable


@dataclass(frozen=True)
class Language:
    name: str
    title: str  #: in prose, as people and models write it
    extensions: tuple[str, ...]  #: of files, with the dot
    aliases: tuple[str, ...] = ()  #: other words for it behind a code fence
    libraries: tuple[str, ...] = ()  #: words behind a model's code fence that mean code in this language
    transforms: bool = False  #: it works on tables, so a transform may be written in it
    result: Literal["variable", "query"] = "variable"  #: where a transform's result stands when its code has ended
    plots: bool = False  #: a transform may draw in it


LANGUAGES: SpecTable[Language] = SpecTable(
    "language",
    [
        Language(
            name="python",
            title="Python",
            extensions=(".py",),
            aliases=("py", "python3", "ipython", "ipython3"),
            libraries=("pandas", "polars"),
            transforms=True,
            plots=True,
        ),
        Language(
            name="r",
            title="R",
            extensions=(".r",),
            aliases=("ir",),
            libraries=("rscript", "splus"),
            transforms=True,
            plots=True,
        ),
        Language(
            name="javascript",
            title="JavaScript",
            extensions=(".js", ".mjs"),
            aliases=("js", "node", "nodejs"),
        ),
        Language(
            name="sql",
            title="DuckDB SQL",
            extensions=(".sql",),
            aliases=("duckdb",),
            transforms=True,
            result="query",
        ),
    ],
)


def language_of_word(word: str) -> Language | None:
    """The language that goes by this name, in any case."""
    word = word.lower()
    return next((row for row in LANGUAGES.values() if word == row.name or word in row.aliases), None)


def language_of_file(path: str) -> Language | None:
    extension = PurePath(path).suffix.lower()
    return next((row for row in LANGUAGES.values() if extension in row.extensions), None)


class _NameOf:
    """Accepts the names of the table's rows: those that it has when a value is checked or a schema is made."""

    def __init__(self, fits: Callable[[Language], bool] = lambda _row: True) -> None:
        self._fits = fits

    @property
    def names(self) -> list[str]:
        return [row.name for row in LANGUAGES.values() if self._fits(row)]

    def _checked(self, value: object) -> str:
        names = self.names
        if isinstance(value, str) and value in names:
            return value
        *others, last = [repr(name) for name in names]
        expected = f"{', '.join(others)} or {last}" if others else last
        raise PydanticKnownError("literal_error", {"expected": expected})

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"enum": self.names, "type": "string"}


LanguageName: TypeAlias = Annotated[str, _NameOf()]
TransformLanguage: TypeAlias = Annotated[str, _NameOf(lambda row: row.transforms)]
