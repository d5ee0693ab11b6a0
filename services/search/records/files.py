"""Records of uploaded files, one at a time, in any of the formats. It reads a stranger's bytes: see ``spool.py``."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias, get_args

from pydantic import JsonValue

from services.search.records import schedule
from services.search.records.shape import Raw, Refused, from_row
from shared.contracts.search import RecordMapping, TableSpec
from shared.errors import InvalidRequest, UnreadableFile

if TYPE_CHECKING:
    from _csv import Reader

Format: TypeAlias = Literal["jsonl", "json", "csv", "parquet", "pentabarf", "pretalx"]
Item = Raw | Refused
_SNIFFED = 65_536  # bytes that a format is guessed from
_MOST_LINE = 16_000_000
_MOST_WHOLE = 256_000_000  # of a format that is read at once
_ODD_BYTES = re.compile("[\udc80-\udcff]")  #: bytes that are no UTF-8, as Python escapes them
_UNDEFINED = re.compile("[\udc81\udc8d\udc8f\udc90\udc9d]")  #: of these those that windows-1252 does not define
_SEPARATOR = re.compile(r"[ \t\r\n]*(,?)[ \t\r\n]*")


def read(
    stream: BinaryIO, name: str, table: str, spec: TableSpec, mapping: RecordMapping | None = None
) -> Iterator[Item]:
    """The records of the file; ``name`` is a format, or ``auto``.

    Raises: UnreadableFile.
    """
    chosen = name if name != "auto" else sniff(stream)
    if chosen == "jsonl" and _starts_with_list(stream):
        chosen = "json"
    if chosen not in get_args(Format):
        raise InvalidRequest(f"there is no format {chosen!r}")
    stream.seek(0)
    try:
        if chosen in ("pentabarf", "pretalx"):
            events = schedule.pentabarf(stream) if chosen == "pentabarf" else schedule.pretalx(_whole(stream))
            yield from schedule.records(events, table)
            return
        needed = ["id"] if mapping is None else [*filter(None, (mapping.id, mapping.name)), *mapping.text]
        for item in _ROWS[chosen](stream, needed):
            yield item if isinstance(item, Refused) else from_row(item, spec, mapping)
    except (UnicodeDecodeError, csv.Error, RecursionError):
        raise UnreadableFile(f"the file cannot be read as {chosen}; name its format") from None


def sniff(stream: BinaryIO) -> str:
    """The format that the first bytes look like."""
    stream.seek(0)
    head = stream.read(_SNIFFED)
    if head.startswith(b"PAR1"):
        return "parquet"
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"<"):
        return "pentabarf"
    if start.startswith(b"["):
        return "json"
    if start.startswith(b"{"):
        stream.seek(len(head) - len(start))
        return "jsonl" if _is_lines(stream) else "pretalx"
    return "csv"


def _is_lines(stream: BinaryIO) -> bool:
    """Whether each line is an object; an object over several lines, or a schedule, is one document."""
    first, second = stream.readline(_MOST_LINE + 1), stream.readline(_SNIFFED)
    try:
        document = json.loads(first)
    except (ValueError, RecursionError):
        # One line that is too long or malformed, among others that are objects.
        return second.startswith(b"{") or len(first) > _MOST_LINE
    return isinstance(document, dict) and ("id" in document or not document.keys() & schedule.DOCUMENTS)


def _starts_with_list(stream: BinaryIO) -> bool:
    stream.seek(0)
    return stream.read(_SNIFFED).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")


def _lines(stream: BinaryIO, _needed: Sequence[str]) -> Iterator[Item]:
    number = 0
    while line := stream.readline(_MOST_LINE + 1):
        number += 1
        if len(line) > _MOST_LINE:
            while line and not line.endswith(b"\n"):
                line = stream.readline(_MOST_LINE)
            yield Refused("too_large", f"line {number} is longer than {_MOST_LINE} bytes")
            continue
        text = line.removeprefix(codecs.BOM_UTF8).strip() if number == 1 else line.strip()
        if text:
            yield _line(text, number)


def _line(text: bytes, number: int) -> Item:
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return Refused("malformed_json", f"line {number} is not JSON")
    return value if isinstance(value, dict) else Refused("not_an_object", f"line {number} is not an object")


def _list(stream: BinaryIO, _needed: Sequence[str]) -> Iterator[Item]:
    """The entries one after the other: a list may be far longer than what fits into memory."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig")
    try:
        for value in _entries(text):
            yield value if isinstance(value, dict) else Refused("not_an_object", "the entry is not an object")
    finally:
        text.detach()


def _entries(text: io.TextIOWrapper) -> Iterator[JsonValue]:
    """Raises: UnreadableFile."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    buffer, at, first, complete = text.read(_SNIFFED).lstrip(), 1, True, False
    if not buffer.startswith("["):
        raise UnreadableFile("the file is JSON, but not a list of records")
    while True:
        comma, start = _separator(buffer, at)
        if buffer.startswith("]", start) and not comma:
            if (buffer[start + 1 :] + text.read()).strip():
                raise UnreadableFile("the file is not JSON")
            return
        entry = _decoded(decoder, buffer, start) if comma != first else None
        if entry is not None and (entry[1] < len(buffer) or complete):  # a number may go on behind the buffer
            at, first = entry[1], False
            yield entry[0]
        elif complete or len(buffer) - at > _MOST_LINE:
            raise UnreadableFile("the file is not JSON" if complete else "an entry of the file is too large")
        else:
            more = text.read(max(_SNIFFED, len(buffer) - at))
            buffer, at, complete = buffer[at:] + more, 0, not more


def _separator(buffer: str, at: int) -> tuple[bool, int]:
    """Whether a comma stands before the next entry, and where that begins."""
    match = _SEPARATOR.match(buffer, at)
    return (match[1] == ",", match.end()) if match else (False, at)


def _decoded(decoder: json.JSONDecoder, buffer: str, start: int) -> tuple[JsonValue, int] | None:
    try:
        value, end = decoder.raw_decode(buffer, start)
    except ValueError:
        return None
    return value, end


def _whole(stream: BinaryIO) -> JsonValue:
    raw = stream.read(_MOST_WHOLE + 1)
    if len(raw) > _MOST_WHOLE:
        raise UnreadableFile("the file is too large for one JSON document; use JSON lines")
    try:
        value: JsonValue = json.loads(raw.removeprefix(codecs.BOM_UTF8), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise UnreadableFile("the file is not JSON") from None
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _csv(stream: BinaryIO, needed: Sequence[str]) -> Iterator[Item]:
    encoding = _encoding(stream)
    text = io.TextIOWrapper(stream, encoding=encoding, newline="")
    try:
        sample = text.read(_SNIFFED)
        text.seek(0)
        delimiter = _delimiter(sample)
        csv.field_size_limit(_MOST_LINE)
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        _, names = next(_numbered(reader), (1, []))
        _check_columns("CSV", names, needed)
        for line, row in _numbered(reader):
            if len(row) != len(names):
                yield Refused("wrong_columns", f"line {line} has {len(row)} columns, the header has {len(names)}")
            else:
                yield dict(zip(names, row, strict=True))
    finally:
        text.detach()


def _numbered(reader: Reader) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, with the line that each begins in. Raises: UnreadableFile, which names that line."""
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            reason = "its quoted cell is not closed" if "end of data" in str(error) else str(error)
            raise UnreadableFile(f"line {line} of the CSV file cannot be read: {reason}") from None
        if row:
            yield line, row


def _encoding(stream: BinaryIO) -> str:
    """UTF-8, UTF-16 where it begins with its mark, else windows-1252.

    Raises: UnreadableFile, which names the line, for a byte that is neither: in a file whose other letters are UTF-8,
    or one that windows-1252 does not define.
    """
    stream.seek(0)
    head = stream.read(2)
    if head in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        stream.seek(0)
        return "utf-16"
    stream.seek(0)
    letters = odd = lines = 0
    first_odd = first_undefined = 0  # lines
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    while chunk := stream.read(_SNIFFED):
        text = decoder.decode(chunk)
        escaped = [match.start() for match in _ODD_BYTES.finditer(text)]
        odd += len(escaped)
        letters += 0 if text.isascii() else sum(sign > "\x7f" for sign in text) - len(escaped)
        if escaped and not first_odd:
            first_odd = lines + text.count("\n", 0, escaped[0]) + 1
        if not first_undefined and (match := _UNDEFINED.search(text)):
            first_undefined = lines + text.count("\n", 0, match.start()) + 1
        lines += text.count("\n")
    if decoder.getstate()[0]:  # it ends within a letter
        odd, first_odd = odd + 1, first_odd or lines + 1
    stream.seek(0)
    if not odd:
        return "utf-8-sig"
    if letters > odd:
        raise UnreadableFile(f"line {first_odd} of the CSV file has a byte that is not UTF-8, as the rest of it is")
    if first_undefined:
        raise UnreadableFile(f"line {first_undefined} of the CSV file has a byte that is no text; save it as UTF-8")
    return "cp1252"


def _check_columns(kind: str, names: Sequence[str | None], needed: Sequence[str]) -> None:
    """Raises: UnreadableFile when a column is not there; capitals do not count."""
    known = {(name or "").strip().lower() for name in names}
    if missing := [name for name in needed if name.lower() not in known]:
        shown = ", ".join(str(name) for name in names[:50])[:500]
        raise UnreadableFile(f"the {kind} file has no column named {missing[0][:100]}; it has {shown}")
    twice = [name for name, count in Counter(name for name in names if name).items() if count > 1]
    if twice:
        raise UnreadableFile(f"the {kind} file has two columns named {twice[0][:100]}: give each a name of its own")


def _delimiter(sample: str) -> str:
    header = sample.partition("\n")[0]
    return max(",;\t|", key=header.count)


def _parquet(stream: BinaryIO, needed: Sequence[str]) -> Iterator[Item]:
    import pyarrow as pa  # noqa: PLC0415 - few ingests need it, and every start would pay for it
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        file = pq.ParquetFile(stream)
        _check_columns("Parquet", file.schema_arrow.names, needed)
        for batch in file.iter_batches(batch_size=100, use_threads=False):
            for row in batch.to_pylist():
                yield {key: _json_value(value) for key, value in row.items()}
    except pa.ArrowMemoryError:
        raise MemoryError from None
    except pa.ArrowException:
        raise UnreadableFile("the file cannot be read as parquet; name its format") from None


def _json_value(value: object) -> JsonValue:
    """A value of Arrow as JSON: times as RFC 3339, other unknown types as text."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None  # noqa: PLR0124 - NaN
    if isinstance(value, list):
        return [_json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    formatted = getattr(value, "isoformat", None)
    return str(formatted()) if formatted else str(value)


_ROWS = {"jsonl": _lines, "json": _list, "csv": _csv, "parquet": _parquet}
