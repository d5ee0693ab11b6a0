"""Tables of specifications: what varies (job kind, language, vendor) is one row, and everything else reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeVar


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
