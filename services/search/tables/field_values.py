"""The values that a table's fields hold: what a model means by a value, and what a misspelt one is like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from unicodedata import combining, normalize

from pydantic import JsonValue

from services.search.queries.filters import AnyOf, Conditions, Either
from services.search.store.port import TablePart, VectorStore
from services.search.tables.library import OpenTable
from services.search.tables.words import DEFAULT_LANGUAGE
from shared.contracts.search import Filters

_MAX_VALUES = 5000  #: of a field that are compared with a misspelt one
_MAX_SUGGESTIONS = 3
_MAX_CHECKED = 50  #: values of one filter that are compared with all others
_SIMILAR, _MISSPELT = 0.7, 0.85  #: of the characters of two values
_SAMPLED_RECORDS = 8
_SHOWN_NAMES, _SHOWN_VALUES, _SHOWN_CHARACTERS = 5, 10, 60
_COUNTED_KINDS = ("keyword", "integer", "bool")
_COMBINED = ("or", "and", "not")


class FieldValues:
    """The values of one table's fields, each field read at its first use."""

    def __init__(self, store: VectorStore, table: OpenTable) -> None:
        self._store = store
        self._table = table
        self._bucket = table.bucket(TablePart.MASTER)
        self._folded: dict[str, dict[str, list[str]]] = {}

    def holds(self, field: str, value: str) -> bool:
        """Return whether a record has exactly that value of a keyword field. Raises: SearchStoreUnavailable."""
        return self._store.count(self._bucket, (AnyOf(f"fields.{field}", "keyword", (value,)),)) > 0

    def written_like(self, field: str, value: str) -> list[str]:
        """Return the values that differ in case, accents, blanks and signs only. Raises: SearchStoreUnavailable."""
        return self._by_folded(field).get(_folded(value), [])

    def similar(self, field: str, value: str, least: float = _SIMILAR) -> list[str]:
        """Return the values that are written most like this one. Raises: SearchStoreUnavailable."""
        by_folded = self._by_folded(field)
        folded = _folded(value)
        close = [folded] if folded in by_folded else get_close_matches(folded, by_folded, _MAX_SUGGESTIONS, least)
        return [own for each in close for own in by_folded[each]][:_MAX_SUGGESTIONS]

    def meant(self, filters: Filters, warnings: list[str]) -> Filters:
        """Return a model's filters with the values of keywords as the records write them.

        ``warnings`` receives the values that were taken for others. Raises: SearchStoreUnavailable.
        """
        return {name: self._meant_of(name, value, warnings) for name, value in filters.items()}

    def unknown(self, conditions: Conditions) -> Iterator[tuple[str, str]]:
        """Yield the fields and values of keyword conditions that no record has. Raises: SearchStoreUnavailable."""
        for condition in conditions:
            if isinstance(condition, Either):
                for alternative in condition.alternatives:
                    yield from self.unknown(alternative)
            elif isinstance(condition, AnyOf) and condition.type == "keyword":
                field = condition.key.removeprefix("fields.")
                values = map(str, condition.values[:_MAX_CHECKED])
                yield from ((field, value) for value in values if not self.holds(field, value))

    def suggestions(self, conditions: Conditions) -> list[str]:
        """Suggest values similar to those of the conditions that no record has. Raises: SearchStoreUnavailable."""
        close = [each for field, value in self.unknown(conditions) for each in self.similar(field, value)]
        return list(dict.fromkeys(close))[:_MAX_SUGGESTIONS]

    def _meant_of(self, name: str, value: JsonValue, warnings: list[str]) -> JsonValue:
        fields = self._table.spec.fields
        if name not in fields and name in _COMBINED:
            parts = value if isinstance(value, list) else [value]
            own: list[JsonValue] = [self.meant(each, warnings) if isinstance(each, dict) else each for each in parts]
            return own if isinstance(value, list) else own[0]
        if fields.get(name) != "keyword":
            return value
        if isinstance(value, dict):
            return {key: self._meant_of(name, each, warnings) if key == "not" else each for key, each in value.items()}
        values = value if isinstance(value, list) else [value]
        taken: list[JsonValue] = []
        for one in values:
            if not isinstance(one, str):
                taken.append(one)
            elif len(values) > _MAX_CHECKED:
                taken.extend(self.written_like(name, one) or [one])
            else:
                taken.extend(self._taken(name, one, warnings))
        taken = [each for index, each in enumerate(taken) if each not in taken[:index]]
        return taken[0] if len(taken) == 1 and not isinstance(value, list) else taken

    def _taken(self, field: str, value: str, warnings: list[str]) -> Sequence[str]:
        """Return the records' values that this one means; itself where it is like none of them."""
        alike = self.written_like(field, value)
        if alike:
            return alike
        close = [] if self.holds(field, value) else self.similar(field, value, _MISSPELT)
        if len(close) != 1:
            if not self.holds(field, value):
                warnings.append(self._warning(field, value))
            return [value]
        warnings.append(
            f"No record of table {self._table.name} has the {field} {value[:100]!r}: {close[0]!r} was taken."
        )
        return close

    def _warning(self, field: str, value: str) -> str:
        close = ", ".join(map(repr, self.similar(field, value)))
        hint = f"; similar values are {close}" if close else ""
        return f"No record of table {self._table.name} has the {field} {value[:100]!r}{hint}."

    def _by_folded(self, field: str) -> dict[str, list[str]]:
        if field not in self._folded:
            by_folded: dict[str, list[str]] = {}
            for value, _ in self._store.values(self._bucket, field, "keyword", _MAX_VALUES):
                by_folded.setdefault(_folded(str(value)), []).append(str(value))
            self._folded[field] = by_folded
        return self._folded[field]


def sampled(store: VectorStore, table: OpenTable) -> JsonValue:
    """Return what a model is shown of a table: its language, names of records and values of fields.

    Raises: SearchStoreUnavailable.
    """
    bucket = table.bucket(TablePart.MASTER)
    layout = table.layouts.get(TablePart.MASTER)
    payloads, _ = store.page(bucket, None, _SAMPLED_RECORDS)
    names = dict.fromkeys(str(payload.get("name", ""))[:_SHOWN_CHARACTERS] for payload in payloads)
    values: dict[str, JsonValue] = {}
    for field, kind in table.spec.fields.items():
        if kind in _COUNTED_KINDS:
            own: list[JsonValue] = [value for value, _ in store.values(bucket, field, kind, _SHOWN_VALUES)]
        else:
            fields = [payload.get("fields") for payload in payloads]
            own = [each[field] for each in fields if isinstance(each, dict) and field in each][:3]
        values[field] = [each[:_SHOWN_CHARACTERS] if isinstance(each, str) else each for each in own]
    shown: list[JsonValue] = [name for name in names if name]
    return {
        "language": layout.language if layout else DEFAULT_LANGUAGE,
        "records": store.count(bucket),
        "names": shown[:_SHOWN_NAMES],
        "values": values,
    }


def _folded(text: str) -> str:
    """Return the letters and digits of a text, without case and accents."""
    decomposed = normalize("NFKD", text.casefold())
    letters = "".join(sign for sign in decomposed if sign.isalnum() and not combining(sign))
    return letters or text.strip().casefold()
