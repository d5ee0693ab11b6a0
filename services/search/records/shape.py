"""One record, as the caller or a file wrote it, fitted to its table or refused with a reason."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from services.search.queries.values import geo_value, meant, typed
from services.search.records.notes import Notes
from shared.contracts.search import FieldType, Record, RecordMapping, TableSpec
from shared.errors import InvalidRequest
from shared.faults import field_fault, worded

Raw = Mapping[str, JsonValue]
_OWN = ("id", "name", "text", "facets", "fields")
TEXT_COLUMNS = ("text", "description", "abstract", "summary", "body")  #: columns of a record's text
_ALIASES = {"name": ("name", "title"), "text": TEXT_COLUMNS}


@dataclass(frozen=True)
class Refused:
    """Why a record is not taken; the code is stable."""

    code: str
    message: str
    id: str | None = None


def record(raw: object, spec: TableSpec, notes: Notes | None = None) -> Record | Refused:
    """Return the record of a raw object of the contract's shape."""
    if not isinstance(raw, Mapping):
        return Refused("not_an_object", "a record is an object with id, name, text, facets and fields")
    if "id" not in raw and "_id" in raw:
        raw = {**{key: value for key, value in raw.items() if key != "_id"}, "id": raw["_id"]}
        if notes is not None:
            notes.add("_id is read as id")
    identity = _identity(raw.get("id"))
    if isinstance(identity, Refused):
        return identity
    try:
        parsed = Record.model_validate({**_present(raw), "id": identity})
    except ValidationError as fault:
        return _refused(fault, identity)
    return _fitted(parsed, spec, notes or Notes())


def _fitted(parsed: Record, spec: TableSpec, notes: Notes) -> Record | Refused:
    """Return the record with its fields as the table declares them."""
    identity = parsed.id
    if not _storable(parsed.model_dump(mode="json")):
        return _unstorable(identity)
    if not (parsed.name.strip() or parsed.text.strip() or any(text.strip() for text in parsed.facets.values())):
        return Refused(
            "empty_record",
            "a record needs a name, a text or a facet to be found by: map a column to `name` or to `text`",
            identity,
        )
    try:
        fields: dict[str, JsonValue] = {}
        for given, value in parsed.fields.items():
            name = _field_name(given, parsed.fields, spec)
            fields[name] = _field(name, value, spec.fields.get(name))
            _note(notes, given, name, value, fields[name])
    except InvalidRequest as fault:
        return Refused("invalid_field", fault.detail, identity)
    facets = {key: text for key, text in parsed.facets.items() if text.strip()}
    present = {name: value for name, value in fields.items() if value is not None}
    return parsed.model_copy(update={"fields": present, "facets": facets})


def from_row(
    row: Raw, spec: TableSpec, mapping: RecordMapping | None = None, notes: Notes | None = None
) -> dict[str, JsonValue]:
    """Return a row of a file as a record: columns are matched by name or by the mapping, the rest become fields."""
    if notes is None:
        notes = Notes()
    if mapping is not None and mapping.fields:
        names = {column: name for name, column in mapping.fields.items()}
        row = {names.get(key.strip(), key): value for key, value in row.items()}
    out, taken = _by_name(row, spec) if mapping is None else _mapped(row, mapping)
    if "_id" in taken:
        notes.add("column _id is read as id")
    facets, fields = _inner(row, "facets"), _inner(row, "fields")
    for key, value in row.items():
        name = key.strip()
        if key in taken or _missing(value) or (name in ("facets", "fields") and isinstance(value, dict)):
            continue
        if name.startswith("facets.") or name in spec.facets:
            facets[name.removeprefix("facets.")] = _text(value)
        else:
            given = name.removeprefix("fields.")
            field = _field_name(given, row, spec)
            fields[field] = _parsed(value, spec.fields.get(field))
            _note(notes, given, field, value, fields[field])
    return {**out, "facets": facets, "fields": fields}


def _note(notes: Notes, given: str, name: str, before: JsonValue, after: JsonValue) -> None:
    """Note a name and a value that were taken for what they are not letter by letter."""
    if given != name:
        notes.add(f"{given[:100]} is read as the field {name}")
    if type(before) is type(after) or isinstance(after, (list, dict)) or before is None:
        return
    if isinstance(before, str) and before.strip().lower() == str(after).lower():
        return  # 12 of a text file
    if isinstance(before, int) and isinstance(after, float) and before == after:
        return
    notes.read_as(name, before, after)


def _field_name(name: str, row: Raw, spec: TableSpec) -> str:
    """Return the declared field that a column is; capitals do not count where only one column can be meant."""
    if name in spec.fields:
        return name
    declared = [field for field in spec.fields if field.lower() == name.lower() and field not in row]
    rivals = [key for key in row if key.strip().removeprefix("fields.").lower() == name.lower()]
    return declared[0] if len(declared) == 1 and len(rivals) == 1 else name


def _by_name(row: Raw, spec: TableSpec) -> tuple[dict[str, JsonValue], set[str]]:
    """Return the record's own parts, and the columns that they come from."""
    lower = {key.strip().lower(): key for key in row}
    own = lower.get("id") or lower.get("_id", "id")
    out: dict[str, JsonValue] = {"id": row.get(own)}
    taken = {own}
    for target, names in _ALIASES.items():
        # A column that the table declares as its own is that, whatever it is called.
        chosen = next((lower[name] for name in names if name in lower and not _declared(lower[name], spec)), None)
        if chosen is not None:
            out[target] = _text(row[chosen])
            taken.add(chosen)
    return out, taken


def _mapped(row: Raw, mapping: RecordMapping) -> tuple[dict[str, JsonValue], set[str]]:
    keys = {key.strip(): key for key in row}
    identity = _row_id(row) if mapping.id is None else row.get(keys.get(mapping.id, mapping.id))
    if isinstance(identity, float) and identity.is_integer():
        identity = int(identity)
    out: dict[str, JsonValue] = {"id": identity}
    if mapping.name in keys:
        out["name"] = _text(row[keys[mapping.name]])
    texts = [_text(row[keys[name]]) for name in mapping.text if name in keys]
    if texts:
        out["text"] = "\n\n".join(text for text in texts if text)
    own = (mapping.id, mapping.name, *mapping.text)
    return out, {keys[name] for name in own if name is not None and name in keys}


def _row_id(row: Raw) -> str:
    """Return the same for the same content."""
    content = json.dumps(row, sort_keys=True, default=str).encode("utf-8", "backslashreplace")
    return hashlib.sha256(content).hexdigest()[:24]


def _present(raw: Raw) -> dict[str, JsonValue]:
    """Return the record without nulls, which mean absent."""
    out: dict[str, JsonValue] = {key: value for key, value in raw.items() if value is not None}
    facets = out.get("facets")
    if isinstance(facets, dict):
        out["facets"] = {key: text for key, text in facets.items() if text is not None}
    return out


def _inner(row: Raw, key: str) -> dict[str, JsonValue]:
    """Return the object under the key, in a row that already has the contract's shape."""
    value = row.get(key)
    return dict(value) if isinstance(value, dict) else {}


def _unstorable(identity: str) -> Refused:
    shown = identity if _storable(identity) else None
    return Refused("invalid_record", "text may not hold the NUL character or half of a surrogate pair", shown)


def _storable(value: JsonValue) -> bool:
    """Return whether every text in it is valid UTF-8 without NUL, as stores and responses need."""
    if isinstance(value, str):
        if "\0" in value:
            return False
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
        return True
    if isinstance(value, dict):
        return all(_storable(key) and _storable(item) for key, item in value.items())
    return all(map(_storable, value)) if isinstance(value, list) else True


def _declared(name: str, spec: TableSpec) -> bool:
    return name in spec.facets or name in spec.fields


def _identity(value: JsonValue) -> str | Refused:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None or value == "":
        return Refused("missing_id", "the record has no id")
    if not isinstance(value, str) or not value.strip():
        return Refused("invalid_id", "an id is a text of 1 to 256 characters")
    return value


def _field(name: str, value: JsonValue, kind: FieldType | None) -> JsonValue:
    """Return the value as the declared type; undeclared fields are kept as they are. Raises: InvalidRequest."""
    if kind is None:
        _check_numbers(name, value)
        return value
    if value is None:
        return None
    if kind == "geo":
        return geo_value(name, value)
    if isinstance(value, list):
        items: list[JsonValue] = [typed(name, meant(item, kind), kind) for item in value if item is not None]
        return items
    return typed(name, meant(value, kind), kind)


def _check_numbers(name: str, value: JsonValue) -> None:
    """Check a field's numbers. Raises: InvalidRequest for a number that no store can hold."""
    if isinstance(value, int) and abs(value) >= 2**63:
        raise InvalidRequest(f"the field {name[:100]!r} holds a number of more than 64 bits")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        _check_numbers(name, item)


def _parsed(value: JsonValue, kind: FieldType | None) -> JsonValue:
    """Return a value of a text file as the declared type where it reads as one; what does not is refused later."""
    own = value.strip() if isinstance(value, str) and kind not in (None, "keyword", "text") else value
    return own if kind is None else meant(own, kind)


def _missing(value: JsonValue) -> bool:
    return value is None or value == ""


def _text(value: JsonValue) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    return value if isinstance(value, str) else str(value)


def _refused(fault: ValidationError, identity: str) -> Refused:
    first = fault.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:200]
    code = "too_large" if first["type"] in ("string_too_long", "too_long") else "invalid_record"
    if first["type"] == "extra_forbidden":
        return Refused("unknown_key", f"a record has no {where!r}", identity[:256])
    return Refused(code, field_fault(where, worded(first))[:500], identity[:256])
