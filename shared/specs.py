"""Tables of specifications: what varies (job kind, language, vendor) is one row, and everything else reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError, core_schema


class Named(Protocol):
    @property
    def name(self) -> str: ...


Spec = TypeVar("Spec", bound=Named)


class SpecTable(Mapping[str, Spec]):
    """Rows by name, in the order in which they were registered."""

    def __init__(self, what: str, rows: Iterable[Spec] = ()) -> None:
        self._what = what  #: of the rows, for messages: "job kind"
        self._rows: dict[str, Spec] = {}
        for row in rows:
            self.register(row)

    def register(self, row: Spec) -> None:
        """Add a row. Raises: ValueError for a name that is taken."""
        if row.name in self._rows:
            raise ValueError(f"there is already a {self._what} {row.name!r}")
        self._rows[row.name] = row

    def __getitem__(self, name: str) -> Spec:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class NameIn(Generic[Spec]):
    """An annotation for the name of a row: the rows are read when a value is checked or a schema is made."""

    def __init__(
        self, table: Mapping[str, Spec], description: str, fits: Callable[[Spec], bool] = lambda _row: True
    ) -> None:
        self._table = table
        self._description = description
        self._fits = fits

    @property
    def names(self) -> list[str]:
        return [name for name, row in self._table.items() if self._fits(row)]

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
        return {"enum": self.names, "type": "string", "description": self._description}
