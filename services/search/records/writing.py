"""In the process with bounds: every record of a file as a line, and an ending."""

from __future__ import annotations

import json
from typing import BinaryIO

from pydantic import JsonValue

from services.search.records.files import Item, RecordFile, read
from services.search.records.shape import Refused
from shared.contracts.search import RecordMapping, TableSpec
from shared.errors import AssayError
from shared.reading.stated import Stated

_MAX_RECORD = 16_000_000  #: characters, as JSON
_MAX_NOTE = 500


def write_records(argument: JsonValue, source: BinaryIO, output: BinaryIO) -> JsonValue:
    """Write what the file holds; the ending has the number of records and the notes, or the fault."""
    assert isinstance(argument, dict)
    ending: JsonValue
    count = 0
    mapping, stated = argument["mapping"], argument["stated"]
    assert isinstance(stated, dict)
    file = RecordFile(
        source, str(argument["table"]), TableSpec.model_validate(argument["spec"]), str(argument["format"]),
        str(argument["name"]), None if mapping is None else RecordMapping.model_validate(mapping), Stated.of(stated),
    )  # fmt: skip
    try:
        for item in read(file):
            output.write(_line(item))
            count += 1
    except AssayError as fault:
        ending = {"code": fault.code, "detail": fault.detail[:1000]}
    else:
        ending = {"count": count, "notes": [note[:_MAX_NOTE] for note in file.notes.texts()]}
    output.write(json.dumps(ending).encode())
    return None


def _line(item: Item) -> bytes:
    text = json.dumps([item.code, item.message, item.id] if isinstance(item, Refused) else item)
    if len(text) > _MAX_RECORD:
        text = json.dumps(["too_large", f"the record has more than {_MAX_RECORD} characters", None])
    return text.encode() + b"\n"
