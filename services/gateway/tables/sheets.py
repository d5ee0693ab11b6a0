"""Excel: one sheet, whose cells are written as XML a batch of rows at a time."""

from __future__ import annotations

import zipfile
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import cast

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from services.gateway.tables.cells import BATCH_ROWS, as_text, batches
from services.gateway.tables.forms import CannotHold

#: Excel keeps 15 digits of a number; a longer number is text, so that none changes.
_MAX_DIGITS = 15
_MAX_CELL_CHARS = 32_767
_NOT_IN_XML = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]"
#: What programs take for an escape of Excel's, such as ``_x0041_`` for ``A``.
_ESCAPE = r"_(x[0-9A-Fa-f]{4}_)"
_MARKUP = _ESCAPE + r"|[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]"
_FIRST_DAY = (date(1900, 3, 1) - date(1970, 1, 1)).days  # Excel counts a 29 February 1900 that there never was
_EPOCH = 25_569  #: 1 January 1970 as Excel counts days
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
#: Numbers of the formats in ``_STYLES``.
_DATE, _MOMENT, _FINE_MOMENT, _TIME, _FINE_TIME = "1", "2", "3", "4", "5"
_FORMATS = ("yyyy-mm-dd", "yyyy-mm-dd h:mm:ss", "yyyy-mm-dd hh:mm:ss.000", "h:mm:ss", "hh:mm:ss.000")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><numFmts count="{len(_FORMATS)}">'
    + "".join(f'<numFmt numFmtId="{164 + n}" formatCode="{code}"/>' for n, code in enumerate(_FORMATS))
    + '</numFmts><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    f'<cellXfs count="{1 + len(_FORMATS)}"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    + "".join(
        f'<xf numFmtId="{164 + n}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
        for n in range(len(_FORMATS))
    )
    + '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="result" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": _STYLES,
}


def write_xlsx(file: pq.ParquetFile, target: Path) -> None:
    """Write one sheet. Text stays text, even if it looks like a formula. Raises: CannotHold for too long a text."""
    fine = _fine_columns(file)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for part, text in _PARTS.items():
            archive.writestr(part, _XML + text)
        with (
            archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet,
            ThreadPoolExecutor(1, "packing") as behind,
        ):
            names = pa.RecordBatch.from_arrays(
                [pa.array([name]) for name in file.schema_arrow.names], ["_"] * _width(file)
            )
            head = f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>'
            packed: Future[int] = behind.submit(sheet.write, head.encode() + _rows(names, 1, frozenset()))
            row = 2
            for batch in batches(file):
                content = _rows(batch, row, fine)
                packed.result()
                packed = behind.submit(sheet.write, content)
                row += batch.num_rows
            packed.result()
            sheet.write(b"</sheetData></worksheet>")


def _width(file: pq.ParquetFile) -> int:
    return len(file.schema_arrow.names)


def _rows(batch: pa.RecordBatch, first: int, fine: frozenset[str]) -> bytes:
    """Return the rows as XML; ``first``: the number of the first one in the sheet."""
    rows = pl.int_range(first, first + batch.num_rows, eager=True).cast(pl.String).alias("row")
    cells = [
        _cells(column, name in fine, rows, letters_of(number))
        for number, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True))
    ]
    frame = pl.DataFrame([rows, *(each.alias(str(number)) for number, each in enumerate(cells))])
    inner = [pl.col(str(number)) for number in range(len(cells))]
    lines = frame.select(pl.concat_str(pl.lit('<row r="'), "row", pl.lit('">'), *inner, pl.lit("</row>")))
    return "".join(lines.to_series().to_list()).encode()


def _cells(column: pa.Array, is_fine: bool, rows: pl.Series, letters: str) -> pl.Series:
    """Return each cell as XML, nothing for a missing one; ``is_fine``: of times that Excel would cut."""
    kind = column.type
    values = _numbers(column) if _has_cells(kind) and not is_fine else None
    number = values if values is not None else pl.DataFrame({"v": [None] * len(column), "s": ["0"] * len(column)})
    frame = number.with_columns(rows)
    if values is None or values["v"].null_count() > column.null_count:
        frame = frame.with_columns(_escaped(as_text(_alone(column)).column(0)).alias("t"))
    else:
        frame = frame.with_columns(pl.lit(None, pl.String).alias("t"))
    begin = [pl.lit(f'<c r="{letters}'), pl.col("row")]
    form = "b" if pa.types.is_boolean(kind) else "n"
    as_number = pl.concat_str(*begin, pl.lit('" s="'), "s", pl.lit(f'" t="{form}"><v>'), "v", pl.lit("</v></c>"))
    text = pl.concat_str(*begin, pl.lit('" t="inlineStr"><is><t xml:space="preserve">'), "t", pl.lit("</t></is></c>"))
    return frame.select(pl.coalesce(as_number, text, pl.lit(""))).to_series()


def _alone(column: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([column], ["_"])


def _numbers(column: pa.Array) -> pl.DataFrame:
    """Return the numbers that Excel keeps exactly, as text in ``v``, and the numbers of their styles in ``s``."""
    kind = column.type
    style = pl.lit("0")
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        value, style = _days(column)
    elif pa.types.is_time(kind):
        per_day = _PER_DAY[kind.unit]
        whole = pl.col("c") % (per_day // _PER_DAY["s"]) == 0
        value, style = pl.col("c") / per_day, pl.when(whole).then(pl.lit(_TIME)).otherwise(pl.lit(_FINE_TIME))
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.string())
        digits = pl.col("c").str.replace_all(r"[^\d]", "").str.strip_chars_start("0")
        value = pl.when(digits.str.len_bytes() <= _MAX_DIGITS).then(pl.col("c"))
    elif pa.types.is_floating(kind):
        column = column.cast(pa.float64())
        value = pl.when(pl.col("c").is_finite()).then(pl.col("c"))
    elif pa.types.is_boolean(kind):
        value = pl.col("c").cast(pl.UInt8)
    else:
        most = 10**_MAX_DIGITS
        value = pl.when(pl.col("c").is_between(1 - most, most - 1)).then(pl.col("c"))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        column = _ticks(column)
    frame = pl.DataFrame({"c": cast(pl.Series, pl.from_arrow(column))})
    return frame.select(value.cast(pl.String).alias("v"), style.alias("s"))


def _ticks(column: pa.Array) -> pa.Array:
    kind = column.type
    return column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())


def _days(column: pa.Array) -> tuple[pl.Expr, pl.Expr]:
    """Return the days as Excel counts them, null before its first one, and their style."""
    kind, ticks = column.type, pl.col("c")
    if pa.types.is_date32(kind):
        return pl.when(ticks >= _FIRST_DAY).then(ticks.cast(pl.Int64) + _EPOCH), pl.lit(_DATE)
    per_day = _PER_DAY["ms" if pa.types.is_date(kind) else kind.unit]
    days = pl.when(ticks >= _FIRST_DAY * per_day).then(ticks / per_day + _EPOCH)
    if pa.types.is_date(kind):
        return days, pl.lit(_DATE)
    is_whole = ticks % (per_day // _PER_DAY["s"]) == 0
    return days, pl.when(is_whole).then(pl.lit(_MOMENT)).otherwise(pl.lit(_FINE_MOMENT))


def _escaped(texts: pa.Array) -> pl.Series:
    """Return the texts as XML. Raises: CannotHold."""
    column = cast(pl.Series, pl.from_arrow(texts)).cast(pl.String)
    longest = column.str.len_bytes().max()
    if isinstance(longest, int) and longest > _MAX_CELL_CHARS and (column.str.len_chars() > _MAX_CELL_CHARS).any():
        raise CannotHold(f"a cell of Excel holds {_MAX_CELL_CHARS} characters, one of the table's has more")
    if not column.str.contains(_MARKUP).any():
        return column
    column = column.str.replace_all(_NOT_IN_XML, "\ufffd").str.replace_all(_ESCAPE, "_x005F_${1}")
    for sign, escape in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        column = column.str.replace_all(sign, escape, literal=True)
    return column


def letters_of(column: int) -> str:
    """Return the letters of a column, by its number from 0."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _fine_columns(file: pq.ParquetFile) -> frozenset[str]:
    """Return the columns of times finer than milliseconds, which is what programs read of a workbook."""
    names = [
        field.name
        for field in file.schema_arrow
        if (pa.types.is_timestamp(field.type) or pa.types.is_time64(field.type)) and field.type.unit in ("us", "ns")
    ]
    fine = set()
    for batch in file.iter_batches(BATCH_ROWS, columns=names, use_threads=False) if names else ():
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            per_milli = 1000 if column.type.unit == "us" else 1_000_000
            ticks = column.cast(pa.int64())
            whole = pc.multiply(pc.divide(ticks, per_milli), per_milli)
            if pc.any(pc.not_equal(ticks, whole)).as_py():
                fine.add(name)
    return frozenset(fine)


def _has_cells(kind: pa.DataType) -> bool:
    """Return whether Excel has a type for it."""
    is_local = pa.types.is_timestamp(kind) and kind.tz is None
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return is_local or numeric or pa.types.is_boolean(kind) or pa.types.is_date(kind) or pa.types.is_time(kind)
