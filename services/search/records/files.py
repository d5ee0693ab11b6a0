"""Records of uploaded files, one at a time, in any of the formats. It reads untrusted bytes: see ``spool.py``."""

from __future__ import annotations

import codecs
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import BinaryIO, TypeAlias, cast, get_args

from pydantic import JsonValue

from services.search.records import archives, documents, schedule
from services.search.records.notes import Notes
from services.search.records.shape import TEXT_COLUMNS, Raw, Refused, from_row
from shared.contracts.search import IngestFormat, RecordMapping, TableSpec
from shared.errors import InvalidRequest, UnreadableFile
from shared.reading.delimited import BadRow, is_even, layout_of
from shared.reading.json_tables import FieldTwice, decoder, load, load_documents
from shared.reading.records import (
    columns_of,
    entries_of_line,
    fault_of_line,
    is_row_of,
    records_of,
    wrapped_records,
)
from shared.reading.rows import open_rows
from shared.reading.source import Unreadable, encoding_of, is_list, utf16_of
from shared.reading.stated import NOTHING_STATED, Stated

Item: TypeAlias = "Raw | Refused"
_FORMATS = {*get_args(get_args(IngestFormat.__value__)[0]), "json"} - {"auto"}
_TABLES = {"csv": ".csv", "excel": ".xlsx", "parquet": ".parquet", "arrow": ".arrow"}  #: and the ending of each
_TABLE_ENDINGS = (".xls", ".xlsx", ".csv", ".tsv", ".tab")
_SNIFFED = 65_536  # bytes that a format is guessed from
_BLOCK = 1 << 20
_MAX_LINE = 16_000_000
_MAX_WHOLE = 256_000_000  # of a format that is read at once
_SEPARATOR = re.compile(r"[ \t\r\n]*(,?)[ \t\r\n]*")
_NUMBERS = ("integer", "float", "bool", "datetime")
_BEGINNINGS = {
    b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow", b"\xd0\xcf\x11\xe0": "excel",
    b"\x1f\x8b": "archive", b"%PDF": "pdf",
}  # fmt: skip


@dataclass(frozen=True)
class RecordFile:
    """A file, and what the request says of it."""

    stream: BinaryIO  #: a file of the file system
    table: str
    spec: TableSpec
    format: str = "auto"
    name: str = ""  #: the file's own
    mapping: RecordMapping | None = None
    stated: Stated = NOTHING_STATED
    notes: Notes = field(default_factory=Notes)

    @property
    def path(self) -> Path:
        return Path(f"/proc/self/fd/{self.stream.fileno()}")


def read(file: RecordFile) -> Iterator[Item]:
    """Yield the records of the file.

    Raises: UnreadableFile, InvalidRequest.
    """
    try:
        yield from _read(file)
    except (Unreadable, documents.UnreadableDocument) as fault:
        raise UnreadableFile(f"the file cannot be read: {fault}") from None
    except (UnicodeDecodeError, RecursionError):
        raise UnreadableFile("the file cannot be read; name its format") from None


def _read(file: RecordFile) -> Iterator[Item]:
    chosen = file.format if file.format != "auto" else sniff(file.stream, file.name)
    if chosen not in _FORMATS:
        raise InvalidRequest(f"there is no format {chosen!r}")
    file.stream.seek(0)
    if chosen in ("pentabarf", "pretalx"):
        yield from _of_schedule(file, chosen)
    elif chosen == "archive":
        yield from _of_gzip(file) or _of_archive(file)
    elif chosen in documents.READERS:
        yield from documents.read(chosen, file.path, file.name or "document", file.notes)
    elif chosen in _TABLES:
        yield from _of_table(file, chosen)
    else:
        yield from _of_json(file, chosen)


def _of_schedule(file: RecordFile, format: str) -> Iterator[Item]:
    if format == "pentabarf":
        yield from schedule.records(schedule.pentabarf(file.stream), file.table)
        return
    with _in_utf8(file) as text:
        document = _whole(text, file.notes)
    if file.format == "auto" and not schedule.is_schedule(document):
        yield from _as_records(_rows_of(document, file.notes), file)
    else:
        yield from schedule.records(schedule.pretalx(document), file.table)


def _of_json(file: RecordFile, format: str) -> Iterator[Item]:
    with _in_utf8(file) as text:
        if format == "jsonl" and not _is_document(text):
            rows = _lines(text, file.notes)
        elif _are_lists(text):
            rows = _records_of_list(_entries_of_lines(text, file.notes), file.notes)
        elif _starts_with_list(text):
            rows = _list(text, file.notes)
        else:
            rows = _rows_of(_whole(text, file.notes), file.notes)
        yield from _as_records(rows, file)


def _as_records(rows: Iterator[Item], file: RecordFile) -> Iterator[Item]:
    first = next(rows, None)
    if first is None:
        return
    mapping = file.mapping
    if isinstance(first, dict):
        mapping = _with_ids(list(first), file, "made from the content of each record")
    for item in chain([first], rows):
        yield item if isinstance(item, Refused) else from_row(item, file.spec, mapping, file.notes)


def _rows_of(document: JsonValue, notes: Notes) -> Iterator[Item]:
    """Yield the records of a document. Raises: Unreadable for one that holds none."""
    records = records_of(document)
    notes.add_all(records.notes)
    for row in records.rows:
        yield row if isinstance(row, dict) else Refused("not_an_object", "the entry is not an object")


def _of_table(file: RecordFile, format: str) -> Iterator[Item]:
    """Yield the rows of a table, read as for a data frame."""
    declared = {name.lower() for name, kind in file.spec.fields.items() if kind in _NUMBERS}
    mapping = file.mapping
    called = {column.lower(): name.lower() for name, column in mapping.fields.items()} if mapping else {}

    def is_typed(column: str) -> bool:
        own = column.strip().lower().removeprefix("fields.")
        return called.get(own, own) in declared

    name = file.name if file.format == "auto" and file.name else f"file{_TABLES[format]}"
    table = open_rows(file.path, name, file.stated, is_typed)
    file.notes.add_all(table.notes)
    if mapping is not None:
        _check_columns(table.names, mapping)
    mapping = _with_ids(table.names, file, "made from the content of each row")
    for row in table.rows:
        if isinstance(row, BadRow):
            yield Refused("wrong_columns", row.message)
        else:
            yield from_row(row, file.spec, mapping, file.notes)


def _with_ids(names: Sequence[str], file: RecordFile, how: str) -> RecordMapping | None:
    """Return the mapping; where no column has ids, one that makes them."""
    known = {name.strip().lower() for name in names}
    if file.mapping is not None:
        if file.mapping.id is None:
            file.notes.add(f"ids are {how}")
        return file.mapping
    if known & {"id", "_id"}:
        return None
    file.notes.add(f"there is no column id: ids are {how}")
    named = {part: next((name for name in names if name.strip().lower() in aliases), None)
             for part, aliases in (("name", ("name", "title")), ("text", TEXT_COLUMNS))}  # fmt: skip
    text = [] if named["text"] is None or named["text"] in file.spec.fields else [named["text"].strip()]
    name = None if named["name"] is None or named["name"] in file.spec.fields else named["name"].strip()
    return RecordMapping(id=None, name=name, text=text)


def _of_gzip(file: RecordFile) -> Iterator[Item] | None:
    """Return the records of the file that gzip has packed; None for an archive of files. Raises: UnreadableFile."""
    content = archives.unzipped(file.stream)
    return _unpacked(content, file) if content is not None else None


def _unpacked(content: BinaryIO, file: RecordFile) -> Iterator[Item]:
    """Yield the records of the unpacked file. Raises: UnreadableFile."""
    name = re.sub(r"\.gz$", "", file.name, flags=re.IGNORECASE)
    with content:
        if sniff(content, name) == "archive":
            raise UnreadableFile("archives in archives are not read")
        yield from _read(replace(file, stream=content, name=name, format="auto"))


def _of_archive(file: RecordFile) -> Iterator[Item]:
    """Yield the records of every file of an archive; one that cannot be read is refused alone."""
    for member in archives.members(file.stream, file.notes):
        if isinstance(member, archives.Skipped):
            yield Refused("unreadable_file", f"{member.path}: {member.why}", member.path[:256])
            continue
        with member.content as content:
            inner = RecordFile(content, file.table, file.spec, "auto", member.path, file.mapping, file.stated, Notes())
            kind = sniff(content, member.path)
            ending = PurePosixPath(member.path.lower()).suffix
            if kind == "archive":
                is_known = ending in documents.ENDINGS or ending in _TABLE_ENDINGS
                why = f"it is no readable {ending[1:]} file" if is_known else "archives in archives are not read"
                yield Refused("unreadable_file", f"{member.path}: {why}", member.path[:256])
                continue
            if kind == "csv" and ending not in (".csv", ".tsv", ".tab", ".txt"):
                is_empty = content.seek(0, io.SEEK_END) == 0
                why = "it is empty" if is_empty else "its ending is that of no document and no table"
                file.notes.add(f"{member.path}: not read, as {why}")
                continue
            try:
                for item in read(inner):
                    yield item if isinstance(item, Refused) else _located(item, member.path)
            except UnreadableFile as fault:
                yield Refused("unreadable_file", f"{member.path}: {fault.detail}"[:500], member.path[:256])
            file.notes.add_all(f"{member.path}: {note}" for note in inner.notes.texts())


def _located(record: Raw, path: str) -> Raw:
    fields = record.get("fields")
    return {**record, "fields": {"path": path, **(fields if isinstance(fields, dict) else {})}}


def sniff(stream: BinaryIO, name: str = "") -> str:
    """Return the format that the first bytes look like; the name decides between kinds of text."""
    stream.seek(0)
    head = stream.read(_SNIFFED)
    ending = PurePosixPath(name.lower()).suffix
    if head.startswith(b"PK\x03\x04"):
        return archives.kind_of_zip(stream)
    if head[257:262] == b"ustar":
        return "archive"
    for beginning, format in _BEGINNINGS.items():
        if head.startswith(beginning):
            return format
    if ending in documents.ENDINGS:
        return documents.ENDINGS[ending]
    return _kind_of_text(stream, head, ending)


def _kind_of_text(stream: BinaryIO, head: bytes, ending: str) -> str:
    wide = utf16_of(head)
    if wide:
        head = head[: len(head) // 4 * 4].decode(wide, errors="replace").encode()
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"<") and ending in _TABLE_ENDINGS:
        return "excel"  # a table of HTML, as the reader of tables finds
    if start[:14].lower().startswith((b"<!doctype html", b"<html")):
        return "html"
    if start.startswith((b"<", b"[")):
        return "pentabarf" if start.startswith(b"<") else "json"
    if start.startswith(b"{") and wide:
        return "jsonl"
    if start.startswith(b"{"):
        stream.seek(len(head) - len(start))
        return _kind_of_object(stream, ending)
    return "text" if ending in (".txt", ".text", ".log") and not _is_table(head) else "csv"


def _is_table(head: bytes) -> bool:
    """Return whether a text is a table whatever its extension: its rows are even, or it has a column id or name."""
    try:
        layout = layout_of(head, is_whole=True)
        if is_even(head):
            return True
    except (Unreadable, ValueError):
        return False
    names = {name.strip().lower() for name in layout.names} if layout else set()
    return len(names) > 1 and bool(names & {"id", "_id", "name", "title"})


def _kind_of_object(stream: BinaryIO, ending: str) -> str:
    """Return whether each line is an object; one over several lines, or a schedule, is one document."""
    first, second = stream.readline(_MAX_LINE + 1), stream.readline(_SNIFFED)
    try:
        document = json.loads(first.decode(errors="replace"))
    except (ValueError, RecursionError):
        # One line that is too long or malformed, among others that are objects.
        return "jsonl" if second.startswith(b"{") or len(first) > _MAX_LINE else "pretalx"
    if not isinstance(document, dict):
        return "pretalx"
    if document.keys() & schedule.DOCUMENTS and "id" not in document and not second.startswith(b"{"):
        return "pretalx"
    return "json" if ending == ".json" and not second.strip() else "jsonl"


def _starts_with_list(stream: BinaryIO) -> bool:
    stream.seek(0)
    is_list = stream.read(_SNIFFED).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")
    stream.seek(0)
    return is_list


def _are_lists(stream: BinaryIO) -> bool:
    """Return whether the first line is a list, and others follow."""
    first, second = stream.readline(_SNIFFED), stream.readline(_SNIFFED)
    stream.seek(0)
    return is_list(first.removeprefix(codecs.BOM_UTF8)) and bool(second.strip())


def _is_document(stream: BinaryIO) -> bool:
    """Return whether the lines are those of one document: a list, or an object over several lines."""
    if _starts_with_list(stream):
        return True
    first, second = stream.readline(_SNIFFED), stream.readline(_SNIFFED)
    stream.seek(0)
    return first.removeprefix(codecs.BOM_UTF8).strip() == b"{" and not second.startswith(b"{")


def _lines(stream: BinaryIO, notes: Notes) -> Iterator[Item]:
    """Yield the records of the lines; where the first one wraps a list of records, each line may."""
    are_wrapped = True
    for number, text in _numbered(stream):
        item = text if isinstance(text, Refused) else _line(text, number, notes)
        if isinstance(text, Refused):
            yield item
            continue
        records = wrapped_records(item) if are_wrapped and isinstance(item, dict) else None
        if records is None:
            are_wrapped = False
            yield item
            continue
        notes.add_all(records.notes)
        for row in records.rows:
            yield (
                row if isinstance(row, dict) else Refused("not_an_object", f"line {number}: an entry is not an object")
            )


def _numbered(stream: BinaryIO) -> Iterator[tuple[int, bytes | Refused]]:
    """Yield the lines that hold anything, with their numbers; one that is too long is refused."""
    number = 0
    while line := stream.readline(_MAX_LINE + 1):
        number += 1
        if len(line) > _MAX_LINE:
            while line and not line.endswith(b"\n"):
                line = stream.readline(_MAX_LINE)
            yield number, Refused("too_large", f"line {number} is longer than {_MAX_LINE} bytes")
            continue
        text = line.removeprefix(codecs.BOM_UTF8).strip() if number == 1 else line.strip()
        if text:
            yield number, text


def _line(text: bytes, number: int, notes: Notes) -> Item:
    value = _value_of_line(text, number, notes)
    known = isinstance(value, (dict, Refused))
    return value if known else Refused("not_an_object", f"line {number} is not an object")  # type: ignore[return-value]


def _value_of_line(text: bytes, number: int, notes: Notes) -> JsonValue | Refused:
    try:
        value = load(text)
    except FieldTwice as fault:
        return Refused("malformed_json", f"line {number}: {fault}")
    except (ValueError, RecursionError):
        return Refused("malformed_json", f"line {number} is not JSON")
    if not _may_be_infinite(text):
        return cast(JsonValue, value)
    if isinstance(value, dict):
        return {key: _finite(one, notes, key) for key, one in value.items()}
    return _finite(value, notes)


def _may_be_infinite(text: bytes) -> bool:
    return b"NaN" in text or b"Infinity" in text


def _finite(value: JsonValue, notes: Notes, name: str = "") -> JsonValue:
    """Return the value with null for the numbers that JSON lacks, and note each of them."""
    if isinstance(value, float) and not math.isfinite(value):
        notes.read_as(name, value, None)
        return None
    if isinstance(value, list):
        return [_finite(one, notes, name) for one in value]
    return {key: _finite(one, notes, key) for key, one in value.items()} if isinstance(value, dict) else value


def _list(stream: BinaryIO, notes: Notes) -> Iterator[Item]:
    """Yield the entries one after the other: a list may be far longer than what fits into memory."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig")
    try:
        yield from _records_of_list(_entries(text, notes), notes)
    finally:
        text.detach()


def _records_of_list(entries: Iterator[JsonValue | Refused], notes: Notes) -> Iterator[Item]:
    """Yield the records: the entries, or rows that may have their names in the first entry."""
    begin = list(islice(entries, 2))
    columns = columns_of(begin)
    rows = [row for row in begin[columns.above if columns else 0 :] if not isinstance(row, Refused)]
    if columns is None or not all(is_row_of(columns.names, row) for row in rows):
        columns = None
    else:
        notes.add_all(columns.notes)
    for value in chain(begin[columns.above if columns else 0 :], entries):
        if columns and is_row_of(columns.names, value) and isinstance(value, list):
            yield dict(zip(columns.names, value, strict=True))
        else:
            known = isinstance(value, (dict, Refused))
            yield value if known else Refused("not_an_object", "the entry is not an object")  # type: ignore[misc]


def _entries_of_lines(stream: BinaryIO, notes: Notes) -> Iterator[JsonValue | Refused]:
    """Yield the rows or the objects that each line lists."""
    first: JsonValue = None
    for number, line in _numbered(stream):
        value = line if isinstance(line, Refused) else _value_of_line(line, number, notes)
        if isinstance(value, Refused):
            yield value
            continue
        first = value if first is None else first
        if fault := fault_of_line(first, value):
            yield Refused("not_an_object", f"line {number} {fault}")
        else:
            yield from cast(list[JsonValue], entries_of_line(value))


def _entries(text: io.TextIOWrapper, notes: Notes) -> Iterator[JsonValue]:
    """Yield the entries of a JSON text. Raises: UnreadableFile."""
    constants: list[str] = []

    def constant(name: str) -> float:
        constants.append(name)
        return float(name)

    decode = decoder(constant)
    buffer, at, first, complete = text.read(_SNIFFED).lstrip(), 1, True, False
    if not buffer.startswith("["):
        raise UnreadableFile("the file is JSON, but not a list of records")
    while True:
        comma, start = _separator(buffer, at)
        if buffer.startswith("]", start) and not comma:
            if (buffer[start + 1 :] + text.read()).strip():
                raise UnreadableFile("the file is not JSON")
            return
        entry = _decoded(decode, buffer, start) if comma != first else None
        if entry is not None and (entry[1] < len(buffer) or complete):  # a number may continue past the buffer
            at, first = entry[1], False
            yield _finite(entry[0], notes) if constants else entry[0]
            constants.clear()
        elif complete or len(buffer) - at > _MAX_LINE:
            raise UnreadableFile("the file is not JSON" if complete else "an entry of the file is too large")
        else:
            more = text.read(max(_SNIFFED, len(buffer) - at))
            buffer, at, complete = buffer[at:] + more, 0, not more


def _separator(buffer: str, at: int) -> tuple[bool, int]:
    """Return whether a comma precedes the next entry, and where that entry begins."""
    match = _SEPARATOR.match(buffer, at)
    return (match[1] == ",", match.end()) if match else (False, at)


def _decoded(decoder: json.JSONDecoder, buffer: str, start: int) -> tuple[JsonValue, int] | None:
    try:
        value, end = decoder.raw_decode(buffer, start)
    except FieldTwice as fault:
        raise UnreadableFile(f"the file is not JSON: {fault}") from None
    except ValueError:
        return None
    return value, end


def _whole(stream: BinaryIO, notes: Notes) -> JsonValue:
    raw = stream.read(_MAX_WHOLE + 1)
    if len(raw) > _MAX_WHOLE:
        raise UnreadableFile("the file is too large for one JSON document; use JSON lines")
    try:
        value, several = load_documents(raw.removeprefix(codecs.BOM_UTF8))
    except FieldTwice as fault:
        raise UnreadableFile(f"the file is not JSON: {fault}") from None
    except (ValueError, RecursionError):
        raise UnreadableFile("the file is not JSON") from None
    notes.add_all(several)
    return cast(JsonValue, _finite(value, notes) if _may_be_infinite(raw) else value)


@contextmanager
def _in_utf8(file: RecordFile) -> Iterator[BinaryIO]:
    """Open the text of the file in UTF-8: the file itself, or a copy."""
    file.stream.seek(0)
    head = file.stream.read(_SNIFFED)
    file.stream.seek(0)
    encoding = file.stated.encoding or utf16_of(head)
    errors = "strict"
    if encoding is None:
        encoding, damage = encoding_of(iter(lambda: file.stream.read(_BLOCK), b""))
        file.stream.seek(0)
        if encoding == "utf-8" and not damage:
            yield file.stream
            return
        errors = "replace"
        if damage:
            file.notes.add(damage)
    try:
        reader = codecs.getreader(encoding)(file.stream, errors)
    except LookupError:
        raise Unreadable(f"there is no text encoding {encoding!r}") from None
    with TemporaryFile() as copy:
        try:
            while chunk := reader.read(_SNIFFED):
                copy.write(chunk.encode("utf-8", "replace"))
        except UnicodeError:
            raise Unreadable(f"the file is not text in {encoding}") from None
        if encoding != "utf-8":
            file.notes.add(f"encoding {encoding}")
        copy.seek(0)
        yield copy


def _check_columns(names: Sequence[str], mapping: RecordMapping) -> None:
    """Check that every mapped column exists, ignoring case. Raises: UnreadableFile."""
    known = {name.strip().lower() for name in names}
    needed = [*filter(None, (mapping.id, mapping.name)), *mapping.text, *mapping.fields.values()]
    if missing := [name for name in needed if name.strip().lower() not in known]:
        shown = ", ".join(names[:50])[:500]
        raise UnreadableFile(f"the file has no column named {missing[0][:100]}; it has {shown}")
