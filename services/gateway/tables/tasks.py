"""Tasks on an untrusted table in a process with limits: converting it to a format, or answering a query."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import JsonValue

from services.gateway.tables.binary import STREAMED, WHOLE
from services.gateway.tables.forms import CannotHold
from services.gateway.tables.opened import connect, open_table
from services.gateway.tables.plain_frames import write_plain
from services.gateway.tables.profile import profile
from services.gateway.tables.rows import rows
from services.gateway.tables.text import TEXT


def write_table(argument: JsonValue, source: BinaryIO, output: BinaryIO) -> JsonValue:
    """Write the Parquet file in a ``form``.

    Returns None, or why the form cannot hold the table.
    """
    given = cast(dict[str, str], argument)
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    try:
        with pq.ParquetFile(source, pre_buffer=False) as file:
            form = given["form"]
            if not write_plain(form, file, source, output):
                _write(form, file, output)
        if not output.closed:  # what packs it has closed it
            output.flush()
    except CannotHold as error:
        return str(error)
    return None


def _write(form: str, file: pq.ParquetFile, out: IO[bytes]) -> None:
    name, _, packing = form.partition(".")
    if name in WHOLE:
        target = Path(tempfile.gettempdir()) / f"whole.{name}"
        WHOLE[name](file, target)
        with target.open("rb") as made:
            shutil.copyfileobj(made, out, 1 << 18)
    elif packing:
        with pa.CompressedOutputStream(pa.PythonFile(out, "w"), {"gz": "gzip", "zst": "zstd"}[packing]) as packed:
            TEXT[name](file, packed)
    else:
        (TEXT.get(name) or STREAMED[name])(file, out)


def answer_question(argument: JsonValue, source: BinaryIO, output: BinaryIO) -> JsonValue:
    """Answer a ``question`` to the table: ``answer``, or ``refused`` with the reason; nothing is written."""
    del output
    given = cast(dict[str, Any], argument)
    question = given["question"]
    try:
        with connect() as database:
            table = open_table(database, Path(f"/proc/self/fd/{source.fileno()}"), given["name"], question["reading"])
            answer = (profile if question["ask"] == "profile" else rows)(database, table, question)
    except CannotHold as error:
        return {"refused": str(error)}
    return {"answer": orjson.loads(orjson.dumps(answer, default=str, option=orjson.OPT_NON_STR_KEYS))}
