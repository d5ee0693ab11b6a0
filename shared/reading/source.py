"""What kind of file it is: its first bytes decide, its name only breaks ties; and its text as UTF-8."""

from __future__ import annotations

import codecs
import json
import os
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .code_pages import likelier
from .scripts import encoding_of_script, may_be_wide, possible_encodings, sample_of

#: What one data set may hold; beyond it the answer is a clear error, never a slow death.
MAX_COLUMNS = 2_000
MAX_ROWS = 20_000_000
MAX_CELLS = 200_000_000
MAX_UNPACKED_BYTES = 2_000_000_000
MAX_JSON_BYTES = 200_000_000
MAX_TABLE_BYTES = 300_000_000  #: in memory, and on the way out of the sandbox

Format = Literal["csv", "json", "jsonl", "parquet", "arrow", "excel", "html"]
_HEAD = 65536
_ODD_BYTES = re.compile("[\udc80-\udcff]")
#: Western words have single letters beyond ASCII; other scripts have them in a row.
_RUN = re.compile(rb"[\x80-\xff]{3,}")
_MIN_RUNS = 6  #: bytes
_MAX_PER_ZERO = 20  #: bytes of UTF-16 for each ASCII letter; a table has delimiters and line ends in any script
_MIN_UNEVEN = 2  #: a few letters of other scripts, such as U+4E00, have a zero at the other place
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]")
_SIGNS = re.compile(r"[\n\r,;\t|{\[]")
_MAX_PLACES = 20
_UNDEFINED = (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")  #: in windows-1252
_END_OF_DOS = b"\x1a"  #: what old programs write at the end of a text
_ZIP = b"PK\x03\x04"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FOREIGN = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"SQLite format 3", "an SQLite database"),
)
_MARKUP = re.compile(rb"<(\?xml|!doctype|!--|html|head|body|meta|style|table|div|center|font)\b", re.IGNORECASE)
_XML = re.compile(rb"<\?xml(?!.{0,500}<html)", re.IGNORECASE | re.DOTALL)
_READABLE = "CSV, TSV, JSON, JSON lines, Parquet, Arrow, Excel and tables of HTML can be read"


class Unreadable(Exception):
    """The file is not what it should be; the text says what is wrong and where."""


class TableTooLarge(Unreadable):
    """The table would not fit in memory."""


@dataclass(frozen=True)
class Text:
    """The content of a text file as UTF-8: no byte order mark, no line ends of lone carriage returns."""

    content: bytes
    encoding: str
    note: str = ""  #: what could not be read, and what replaces it


def detect(path: Path, name: str) -> Format:
    """Return the format of a file. Raises: Unreadable for an empty or foreign file."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return _workbook(path) if head.startswith(_ZIP) else format_of(head, name)


def format_of(head: bytes, name: str) -> Format:
    """Return the format according to the first 64 kB. Raises: Unreadable for an empty or foreign file."""
    head = head[:_HEAD].rstrip(_END_OF_DOS)
    if not head.strip(b" \t\r\n\x00\xef\xbb\xbf"):
        raise Unreadable("the file is empty")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    if head.startswith((OLE, _ZIP)):
        return "excel"
    for magic, what in _FOREIGN:
        if head.startswith(magic):
            raise Unreadable(f"the file is {what}, not a table: {_READABLE}")
    wide = utf16_of(head)
    if wide:
        return _text_format(head[: len(head) // 4 * 4].decode(wide, errors="replace").encode(), name.lower())
    if _is_binary(head):
        raise Unreadable(f"the file holds binary data, not text: {_READABLE}")
    return _text_format(head, name.lower())


def read_text(path: Path, encoding: str | None = None) -> Text:
    """Return the whole text in UTF-8; the encoding is detected when it is not given."""
    content = path.read_bytes().rstrip(_END_OF_DOS)
    wide = utf16_of(content[:_HEAD])
    if wide:
        encoding = wide
        content = _decode(content, wide)
    elif content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
    note = ""
    if not wide and not _is_utf8(content):
        encoding, note = encoding_of([content])
        if encoding == "windows-1252":
            encoding, note = likelier(content, note)
        text = content.decode(encoding, errors="replace")
        note = note or _note_on_undefined(text.count("\ufffd"), encoding)
        content = text.encode()
    if b"\r" in content[:_HEAD] and b"\n" not in content[:_HEAD]:
        content = content.replace(b"\r", b"\n")
    return Text(content, encoding or "utf-8", note)


def encoding_of(pieces: Iterable[bytes]) -> tuple[str, str]:
    """Return the encoding of a text without a mark, and a note on bytes that it does not define.

    Text that is no UTF-8 is damaged UTF-8 when most of its letters are, else of a script whose usual letters it has,
    else windows-1252. Raises: Unreadable when it is certainly none of these.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")
    letters = odd = undefined = above = beyond = in_runs = 0
    lines: list[int] = []
    sample = b""
    for piece in pieces:
        text = decoder.decode(piece)
        if not text.isascii():
            places = [match.start() for match in _ODD_BYTES.finditer(text)]
            odd += len(places)
            letters += len(text) - len(text.encode("ascii", errors="ignore")) - len(places)
            if odd:
                undefined += sum(piece.count(byte) for byte in _UNDEFINED)
                beyond += len(piece) - len(piece.decode("ascii", errors="ignore"))
                in_runs += sum(map(len, _RUN.findall(piece)))
                sample = sample or sample_of(piece)
            lines += [above + text.count("\n", 0, place) + 1 for place in places[: _MAX_PLACES - len(lines)]]
        above += text.count("\n")
    rest = len(decoder.decode(b"", final=True))
    if rest:
        odd += rest
        lines.append(above + 1)
    if not odd:
        return "utf-8", ""
    if letters > odd:
        named = sorted(set(lines))
        shown = ", ".join(map(str, named[:5])) + (" ..." if len(named) > 5 else "")
        return (
            "utf-8",
            f"not UTF-8, read as \ufffd: {odd} byte{'s' * (odd > 1)} in line{'s' * (len(named) > 1)} {shown}",
        )
    script = encoding_of_script(sample)
    if script is not None:
        return script, ""
    if (in_runs >= _MIN_RUNS and in_runs > beyond / 2) or may_be_wide(sample):
        possible = possible_encodings(sample) or "that of the program that wrote it"
        raise Unreadable(f"the text is neither UTF-8 nor windows-1252: state its encoding, such as {possible}")
    return "windows-1252", _note_on_undefined(undefined, "windows-1252")


def _note_on_undefined(count: int, encoding: str) -> str:
    return f"not defined in {encoding}, read as \ufffd: {count} byte{'s' * (count > 1)}" if count else ""


def decoded(path: Path, encoding: str) -> Text:
    """Return the text in an encoding that the caller names. Raises: Unreadable."""
    try:
        content = path.read_bytes().decode(encoding).removeprefix("\ufeff").encode()
    except LookupError:
        raise Unreadable(f"there is no text encoding {encoding!r}") from None
    except UnicodeError as error:
        at = f": byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise Unreadable(f"the file is not text in {encoding}{at}") from None
    if not content.strip():
        raise Unreadable("the file is empty")
    return Text(content, encoding)


def is_plain(path: Path) -> bool:
    """Return whether the head looks like UTF-8 with ordinary line ends, so that the file can be mapped unchanged."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
        file.seek(-1, os.SEEK_END)
        is_ended = file.read(1) == _END_OF_DOS
    return not is_ended and utf16_of(head) is None and (b"\n" in head or b"\r" not in head)


def utf16_of(head: bytes) -> str | None:
    """Return the kind of UTF-16 or UTF-32 of the first bytes of a text; None for other text, and for what is no text.

    Without a byte order mark, the zeros of its ASCII letters are nearly all at even or at odd places.
    """
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    head = head[: len(head) // 2 * 2]
    zeros = head[::2].count(0), head[1::2].count(0)
    if max(zeros) < max(1, len(head) // _MAX_PER_ZERO) or min(zeros) * _MIN_UNEVEN > max(zeros):
        return None
    encoding = "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(head)
    except UnicodeDecodeError:
        return None
    return encoding if not _NO_TEXT.search(text) and _SIGNS.search(text) else None


def _decode(content: bytes, encoding: str) -> bytes:
    try:
        return content.decode(encoding).encode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"the file begins as {encoding} text but is not: byte {error.start}") from None


def _is_utf8(content: bytes) -> bool:
    if content.isascii():
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_binary(head: bytes) -> bool:
    if b"\x00" in head:
        return True
    control = sum(head.count(byte) for byte in range(32) if byte not in (9, 10, 12, 13, 27))
    return control > len(head) / 100


def _text_format(head: bytes, name: str) -> Format:
    stripped = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if _MARKUP.match(stripped):
        if _XML.match(stripped):
            raise Unreadable(f"the file is XML, not a table: {_READABLE}")
        return "html"
    if name.endswith((".jsonl", ".ndjson")):
        return "jsonl"
    if name.endswith(".json"):
        return _json_format(head)
    if name.endswith((".csv", ".tsv", ".tab", ".txt")):
        return "csv"
    is_json = stripped.startswith((b"[{", b'{"', b"[\n", b"{\n", b"[ ", b"[]")) or is_list(stripped.partition(b"\n")[0])
    return _json_format(head) if is_json else "csv"


def _json_format(head: bytes) -> Format:
    """Return the format of JSON: one object per line is JSON lines, whatever the file's name."""
    lines = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n", 2)
    if len(lines) < 2 or not lines[0].strip().startswith((b"{", b"[")):
        return "json"
    first, second = lines[0].strip(), lines[1].strip()
    are_lists = is_list(first) and second.startswith(b"[")
    return "jsonl" if are_lists or (first.endswith(b"}") and second.startswith(b"{")) else "json"


def is_list(line: bytes) -> bool:
    """Return whether the line is a list of JSON."""
    try:
        return line.lstrip().startswith(b"[") and isinstance(json.loads(line), list)
    except (ValueError, RecursionError):
        return False


def _workbook(path: Path) -> Format:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError):
        raise Unreadable("the file is a damaged zip archive") from None
    if not any(entry.filename.startswith(("xl/", "content.xml")) for entry in entries):
        raise Unreadable(f"the file is a zip archive, not a workbook: {_READABLE}")
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
        raise Unreadable("the workbook unpacks to more than 2 GB")
    return "excel"
