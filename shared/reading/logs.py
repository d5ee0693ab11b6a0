"""Logs and records by name: what web servers, databases and measuring networks write, as tables.

Each is written again with a delimiter, below a line of names. Texts that are no tables are refused by their name.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence

from .drawn import Drawn
from .source import Unreadable

_MAX_BYTES = 100_000_000
_TOO_LARGE = "a log of this size is not read as a table: split the file, or convert it to CSV"
_HEAD_LINES = 20
_MIN_LINES = 2
_COMMA = ","
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_ACCESS = re.compile(
    rf'(?:(?P<site>[\w.-]+(?::\d+)?) )?(?P<host>\S+) (?P<ident>\S+) (?P<user>\S+|"[^"]*") \[(?P<time>[^\]]+)\] '
    rf"{_QUOTED} (?P<status>\d{{3}}|-) (?P<bytes>\d+|-)(?: {_QUOTED} {_QUOTED})?(?P<rest> .*)?"
)
_OF_SERVER = "a web server's log, read into its fields; '-' means a missing value"
_ACCESS_NAMES = ("host", "ident", "user", "time", "request", "status", "bytes", "referrer", "agent")
_PAIR = re.compile(r'([\w.@/-]+)=("(?:[^"\\]|\\.)*"|[^\s"=]*)(?:\s+|$)')
_LABELED = re.compile(r"[\w.-]+:[^\t]*")
_RECORD = re.compile(r"\*{5,} \d+\. row \*{5,}|-\[ RECORD \d+ \][-+]*")
_RECORD_FIELD = re.compile(r"\s*([^:|]+?)\s*[:|] ?(.*)")
_MOMENT = re.compile(
    r"\[?(<\d+>)?(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|([A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )"
)
_WORDS = re.compile(r"[^\W\d_]{2,}.* \S")
_FOREIGN = (
    (re.compile(r":20:.*\n(.*\n)*?:(25|28C?|60[FM]):|\{1:F01"), "an MT940 statement", "export it as CSV or CAMT-CSV"),
    (re.compile(r"BEGIN:V(CALENDAR|CARD)\b"), "a calendar or a list of contacts", "export it as CSV"),
    (re.compile(r"(?i)(--.*\n|\s|/\*.*\*/;?\n)*(CREATE TABLE|INSERT INTO|DROP TABLE|BEGIN TRANSACTION|PRAGMA)\b"),
     "a dump of SQL statements", "export the table as CSV"),
    (re.compile(r"(?i)(%.*\n|\s)*@relation\b"), "an ARFF file", "give the lines below @data as CSV, with names above"),
    (re.compile(r"(dn|version): .*\n(.*\n)*?objectClass: "), "an LDIF file", "export it as CSV"),
    (re.compile(r"From \S+ .*\d{4}\n|(Return-Path|Received|MIME-Version): "), "e-mail", "give a table"),
    (re.compile(r"-----BEGIN [A-Z ]+-----"), "a key or a certificate", "give a table"),
)  # fmt: skip


def redrawn_log(content: bytes) -> Drawn | None:
    """Return the table of a log or of records in UTF-8; None for a text that is written otherwise.

    Raises: Unreadable for a text that is known and no table, for a log of no fixed fields, and for one beyond 100 MB.
    """
    write = _writer_of(content[: 1 << 16])
    if write is None:
        return None
    if len(content) > _MAX_BYTES:
        raise Unreadable(_TOO_LARGE)
    return write([line.rstrip("\r") for line in content.decode(errors="replace").split("\n")])


def is_log(head: bytes, *, refuses: bool = False) -> bool:
    """Return whether a text is a log or records by name that can be read as a table.

    Raises: Unreadable if it ``refuses`` texts that are known and no table.
    """
    try:
        return _writer_of(head) is not None
    except Unreadable:
        if refuses:
            raise
        return False


def check_log(head: bytes) -> None:
    """Refuse a text larger than memory that is a log, or no table. Raises: Unreadable."""
    if _writer_of(head) is not None:
        raise Unreadable(_TOO_LARGE)


def _writer_of(head: bytes) -> Callable[[Sequence[str]], Drawn] | None:
    """Return what writes the text as a table. Raises: Unreadable for a text that is known and no table."""
    text = head.decode(errors="replace").lstrip("\ufeff")
    for form, what, instead in _FOREIGN:
        if form.match(text):
            raise Unreadable(f"the file is {what}, not a table: {instead}")
    lines = [line.rstrip("\r") for line in text.split("\n")]
    filled = [line for line in (lines if len(lines) < _HEAD_LINES else lines[:-1])[:200] if line.strip()]
    first = filled[:_HEAD_LINES]
    if not first:
        return None
    forms = (
        (any(line.startswith("#Fields:") for line in first[:10]), _extended),
        (_ACCESS.fullmatch(first[0]) and sum(map(_is_access, first)) > len(first) / 2, _access),
        (_RECORD.fullmatch(first[0].strip()), _records),
        (len(first) > 1 and all(_labels(line) == _labels(first[0]) != [] for line in first), _labeled),
        (len(first) > 1 and all(_pairs(line) is not None for line in first), _paired),
        (_names_in_comment(filled) is not None, _commented),
    )
    writer = next((write for is_written_so, write in forms if is_written_so), None)
    if writer is None and _is_plain_log(first):
        raise Unreadable(
            "the file is a log whose lines have no fixed fields: write it as JSON lines or CSV, or state delimiter and "
            "header_row"
        )
    return writer


def _is_plain_log(lines: Sequence[str]) -> bool:
    """Return whether lines begin with a moment and go on with words, differently many between delimiters."""
    begun = [line for line in lines if (moment := _MOMENT.match(line)) and _WORDS.search(line, moment.end())]
    if len(begun) < _MIN_LINES or begun[0] != lines[0] or len(begun) <= len(lines) / 2:
        return False
    widths = [{len(row) for row in csv.reader(begun, delimiter=mark)} for mark in ",;\t|"]
    return all(len(width) > 1 or width == {1} for width in widths)


def _is_access(line: str) -> bool:
    return _ACCESS.fullmatch(line) is not None


def _access(lines: Sequence[str]) -> Drawn:
    """Return the table of a log in the common or the combined form."""
    parsed = [_ACCESS.fullmatch(line) for line in lines]
    matches = [match for match in parsed if match]
    names = [*_ACCESS_NAMES[: 9 if any(match[9] is not None for match in matches) else 7]]
    names += ["more"] * any(match["rest"] for match in matches)
    names = ["site"] * any(match["site"] for match in matches) + names

    def row(match: re.Match[str]) -> list[str]:
        cells = {name: match[name] for name in ("site", "host", "ident", "user", "time", "status", "bytes")}
        cells |= {"request": match[6], "referrer": match[9], "agent": match[10], "more": (match["rest"] or "").strip()}
        return ["" if cells[name] in (None, "-") else _plain(cells[name]) for name in names]

    rows = [row(match) if match else [line] * bool(line.strip()) for match, line in zip(parsed, lines, strict=True)]
    return _drawn(names, rows, [_OF_SERVER])


def _extended(lines: Sequence[str]) -> Drawn:
    """Return the table of a log in the extended form of W3C, as IIS and CloudFront write it."""
    fields = [line for line in lines if line.startswith("#Fields:")]
    if len(set(fields)) > 1:
        raise Unreadable("the fields of the log change within the file: split it there")
    names = fields[0].removeprefix("#Fields:").split()
    mark = "\t" if any("\t" in line for line in lines if not line.startswith("#")) else " "
    rows = [[] if line.startswith("#") else _without_dashes(line.split(mark)) if line else [] for line in lines]
    return _drawn(names, rows, [_OF_SERVER])


def _labels(line: str) -> list[str]:
    parts = line.split("\t")
    is_labeled = len(parts) > 1 and all(_LABELED.fullmatch(part) for part in parts)
    return [part.partition(":")[0] for part in parts] if is_labeled else []


def _labeled(lines: Sequence[str]) -> Drawn:
    """Return the table of lines of labels and values with tabs between them (LTSV)."""
    entries = [dict(part.partition(":")[::2] for part in line.split("\t")) if line else {} for line in lines]
    return _of_entries(entries, "each value has its name before it (LTSV)")


def _pairs(line: str) -> dict[str, str] | None:
    """Return the values of a line of ``name=value``, and None where it holds anything else."""
    entry: dict[str, str] = {}
    at = 0
    while at < len(line):
        pair = _PAIR.match(line, at)
        if pair is None:
            return None
        entry[pair[1]] = _plain(pair[2][1:-1]) if pair[2].startswith('"') else pair[2]
        at = pair.end()
    return entry if len(entry) > 1 else None


def _paired(lines: Sequence[str]) -> Drawn:
    """Return the table of lines of ``name=value`` (logfmt)."""
    entries = []
    for number, line in enumerate(lines, 1):
        entry = _pairs(line) if line.strip() else {}
        if entry is None:
            raise Unreadable(f"line {number} is not written as name=value, as the lines above are")
        entries.append(entry)
    return _of_entries(entries, "each value has its name before it (logfmt)")


def _records(lines: Sequence[str]) -> Drawn:
    r"""Return the table of records one field in each line, as mysql (``\G``) and psql (``\x``) print them."""
    entries: list[dict[str, str]] = []
    for number, line in enumerate(lines, 1):
        field = _RECORD_FIELD.fullmatch(line)
        if _RECORD.fullmatch(line.strip()):
            entries.append({})
        elif re.fullmatch(r"(\d+ rows? in set.*|\(\d+ rows?\)|)", line.strip()):
            continue
        elif field is None or not entries or field[1] in entries[-1]:
            raise Unreadable(f"line {number} continues a value or is no field of a record: export the table as CSV")
        else:
            entries[-1][field[1]] = field[2]
    return _of_entries(entries, "records with a field in each line")


def _names_in_comment(lines: Sequence[str]) -> int | None:
    """Return which line names the columns in a comment above rows whose cells are apart by blanks."""
    count = next((number for number, line in enumerate(lines) if not line.startswith("#")), 0)
    rows = [line.split() for line in lines[count:]]
    width = len(rows[0]) if rows else 0
    if not count or len(rows) < _MIN_LINES or width < 2 or any(len(row) != width for row in rows):
        return None
    if any(mark in line for mark in ",;\t|" for line in lines[count:]) or not any(map(_is_number, rows[0])):
        return None
    return next((n for n in range(count) if len(lines[n].lstrip("# ").split()) == width), None)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text) is not None


def _commented(lines: Sequence[str]) -> Drawn:
    """Return the table whose names are in a comment, as buoys, gnuplot and numpy write it."""
    comments = [line for line in lines if line.startswith("#")]
    named = _names_in_comment([line for line in lines if line.strip()])
    names = comments[named or 0].lstrip("# ").split()
    others = "; ".join(line.lstrip("# ")[:60] for line in comments if line != comments[named or 0])
    notes = ["the names are in a comment, and blanks are between the cells"]
    notes += [f"left out, as a comment: {others[:200]}"] * bool(others)
    return _drawn(names, [[] if line.startswith("#") else line.split() for line in lines], notes)


def _of_entries(entries: Sequence[dict[str, str]], note: str) -> Drawn:
    names = list(dict.fromkeys(name for entry in entries for name in entry))
    return _drawn(names, [[entry.get(name, "") for name in names] if entry else [] for entry in entries], [note])


def _drawn(names: Sequence[str], rows: Sequence[Sequence[str]], notes: list[str]) -> Drawn:
    written = io.StringIO(newline="")
    write = csv.writer(written, delimiter=_COMMA, lineterminator="\n").writerow
    for row in (names, *rows):
        write(row)
    return Drawn(written.getvalue().encode(), _COMMA, notes, 0, above=-1)


def _without_dashes(cells: Sequence[str]) -> list[str]:
    return ["" if cell == "-" else cell for cell in cells]


def _plain(text: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", text)
