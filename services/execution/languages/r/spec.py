"""R: a separate process; it has no Arrow in Debian, so tables are columns of plain binary."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from services.execution.languages.columns import NA_INTEGER, NA_REAL, table_from_columns
from services.execution.languages.r.values import Exact, expression
from services.execution.sandbox.language import (
    EVERYTHING,
    Analysis,
    Codec,
    Guest,
    LanguageSpec,
    Sent,
    names_by_pattern,
    path_inside,
    version_of,
)
from services.execution.sandbox.protocol.wire import Json, Message

# NumPy and Arrow have no types for their arrays' contents here, so those values are Any.

_SAFE = 2**53


class RCodec(Codec):
    def request(self, message: Message) -> bytes:
        body = expression(message)
        return struct.pack(">I", len(body)) + body

    def value(self, exact: Json) -> Sent:
        return Sent({"kind": "json", "exact": cast("Json", Exact(exact))})

    def written(self, table: Path, target: Path) -> tuple[Path, Mapping[str, Json]]:
        return target, {"columns": write_columns(table, target)}

    def brought(self, claimed: Mapping[str, Json], content: Path, target: Path) -> Path | None:
        return target if table_from_columns(claimed.get("columns"), content, target) else None

    def column_loss(self, column: Any) -> str | None:
        import pyarrow
        import pyarrow.compute

        types, kind = pyarrow.types, column.type
        if types.is_int64(kind) or types.is_uint64(kind):
            return "whole numbers beyond 2^53 are rounded" if _beyond(column) else None
        if types.is_decimal(kind):
            return "decimals are floats in R"
        if types.is_string(kind) or types.is_large_string(kind):
            cut = pyarrow.compute.any(pyarrow.compute.match_substring(column, "\x00")).as_py()
            return "R has no texts with NUL in them: it was taken out" if cut else None
        if types.is_timestamp(kind) and kind.unit == "ns" and _finer(column):
            return "nanoseconds are cut to microseconds"
        return None if _is_kept(kind) else f"{kind} is text in R"


def _is_kept(kind: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    checks = (
        *(types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary),
        *(types.is_null, types.is_boolean, types.is_integer, types.is_floating, types.is_dictionary),
        *(types.is_date, types.is_timestamp, types.is_duration),
    )
    return any(check(kind) for check in checks)


def _beyond(column: Any) -> bool:
    import pyarrow.compute

    ends = pyarrow.compute.min_max(column).as_py()
    return any(end is not None and abs(end) > _SAFE for end in ends.values())


def _finer(column: Any) -> bool:
    import pyarrow

    try:
        column.cast(pyarrow.timestamp("us", column.type.tz))
    except pyarrow.ArrowInvalid:
        return True
    return False


def write_columns(source: Path, target: Path) -> list[Json]:
    """Write an Arrow file's columns for R; the description of them that R needs."""
    import pyarrow.ipc

    with pyarrow.memory_map(str(source)) as opened, target.open("xb") as sink:
        table = pyarrow.ipc.open_file(opened).read_all()
        columns: list[Json] = []
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind, parts, more = _written(_whole(column))
            for part in parts:
                sink.write(part)
            columns.append({"name": name, "kind": kind, "rows": table.num_rows, **more})
        return columns


def _whole(column: Any) -> Any:
    """Return a chunked array as one array with one dictionary."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks()


def _written(column: Any) -> tuple[str, list[bytes], dict[str, Json]]:
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(column.type) and _is_text(column.type.value_type):
        levels = column.dictionary.to_pylist()
        codes = column.indices.cast(pyarrow.int32())
        if None not in levels and len(set(levels)) == len(levels):
            return "factor", [_numbers(codes, "int32")], {"levels": levels, "ordered": bool(column.type.ordered)}
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_boolean(kind) or types.is_null(kind):
        return "logical", [_numbers(column.cast(pyarrow.int32()), "int32")], {}
    if types.is_integer(kind):
        try:
            return "integer", [_numbers(column.cast(pyarrow.int32()), "int32")], {}
        except pyarrow.ArrowInvalid:
            return "double", [_numbers(column.cast(pyarrow.float64(), safe=False), "float64")], {}
    if types.is_floating(kind) or types.is_decimal(kind):
        return "double", [_numbers(column.cast(pyarrow.float64(), safe=False), "float64")], {}
    if types.is_date(kind):
        days = column.cast(pyarrow.date32()).cast(pyarrow.int32())
        return "date", [_numbers(days.cast(pyarrow.float64()), "float64")], {}
    if types.is_timestamp(kind):
        moments = column.cast(pyarrow.timestamp("us", kind.tz), safe=False).cast(pyarrow.int64())
        body = _numbers(moments.cast(pyarrow.float64(), safe=False), "float64", 1e-6)
        return "datetime", [body], {} if kind.tz is None else {"zone": kind.tz}
    if types.is_duration(kind):
        spans = column.cast(pyarrow.duration("us"), safe=False).cast(pyarrow.int64())
        return "duration", [_numbers(spans.cast(pyarrow.float64(), safe=False), "float64", 1e-6)], {}
    if types.is_binary(kind) or types.is_large_binary(kind):
        return "bytes", _bytes(column.to_pylist()), {}
    return "string", _texts(column), {}


def _is_text(kind: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _numbers(column: Any, kind: str, factor: float = 1.0) -> bytes:
    import numpy

    missing = column.is_null().to_numpy(zero_copy_only=False)
    values = column.fill_null(0).to_numpy(zero_copy_only=False).astype(kind)
    if kind == "int32":
        values[missing] = NA_INTEGER
        return bytes(values.astype("<i4").tobytes())
    values = values * factor
    values.view(numpy.uint64)[missing] = NA_REAL
    return bytes(values.astype("<f8").tobytes())


def _texts(column: Any) -> list[bytes]:
    return _bytes([None if value is None else str(value).replace("\x00", "").encode() for value in column.to_pylist()])


def _bytes(encoded: Sequence[bytes | None]) -> list[bytes]:
    import numpy

    sizes = numpy.array([-1 if text is None else len(text) for text in encoded], dtype="<i4")
    return [bytes(sizes.tobytes()), b"".join(text for text in encoded if text)]


_R = Path("/usr/lib/R/bin/R")
_GUEST = "services.execution.languages.r.guest"
_SETS = re.compile(r"(?:^|[;{\n])\s*([A-Za-z.][\w.]*)(?:[$\[][^\n=]*?)?\s*(?:<<?-|=(?!=))")

_WORD = re.compile(r"[^\W\d][\w.]*|\.[\w.]*|`([^`\n]+)`|%[^%\s]*%")
_OPERATORS = "+ - * / ^ < > <= >= == != ! & && | || ~ : :: ( { [ [[ $ @ [<- [[<- $<- @<- <- <<- = ?"
_LEADING = (
    "get mget get0 exists eval evalq parse str2lang str2expression ls objects globalenv .GlobalEnv"
    " parent.frame sys.frame sys.function environment eapply dynGet source as.environment rm remove save.image"
    " topenv pos.to.env list2env"
)
_LEADS = frozenset(_LEADING.split())  #: words through which code comes to names that it does not spell out

#: A function by a text that is computed.
_BY_TEXT = re.compile(
    r"\b(?:do\.call|match\.fun)\s*\(\s*"
    r"(?!(?:\w+\s*=\s*)?(?:(?:[\w.:]+|\"[^\"]*\"|'[^']*'|`[^`]*`)\s*[,)]|function\b|\\\())"
)


def _reads(code: str) -> frozenset[str]:
    words = {match[1] or match[0] for match in _WORD.finditer(code)}
    drawn = {"@random"} if ".Random.seed" in words else set()
    words |= {f"{word}<-" for word in words}  # ``part(x) <- 1`` calls the function of that name
    leads = {EVERYTHING} if words & _LEADS or _BY_TEXT.search(code) else set()
    return frozenset(words | drawn | set(_OPERATORS.split()) | leads)


_EXACT = "NULL logical integer numeric character complex raw factor ordered list AsIs Date POSIXct difftime data.frame"

R = LanguageSpec(
    name="r",
    versions=partial(version_of, _R),
    install="R with dplyr, tidyr and ggplot2 (Debian: r-base-core r-cran-dplyr r-cran-tidyr r-cran-ggplot2)",
    guest=Guest(
        packages=(_GUEST,),
        command=(str(_R), "--vanilla", "--no-echo", "-f", path_inside(_GUEST, "kernel.R")),
        threads=7,
    ),
    codec=RCodec(),
    frames="written",
    analysis=Analysis(
        names=names_by_pattern(_SETS, _reads),
        ambient=frozenset(["@builtins", "@classes", "@methods", "@process", "@files", "@random"]),
        drawn=frozenset(["@random"]),
        exact=frozenset(_EXACT.split()),
    ),
)
