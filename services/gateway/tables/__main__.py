"""``python -m services.gateway.tables FORM TABLE.parquet MEGABYTES``: the table in that form, on standard output."""

from __future__ import annotations

import resource
import shutil
import sys
from pathlib import Path
from typing import IO

from services.gateway.tables.forms import CannotHold

#: What a table cannot be said in: the reason stands on standard error, for the caller to read.
REFUSED = 3


def main() -> int:
    form, table, megabytes = sys.argv[1:]
    most = int(megabytes) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        _write(form, Path(table), sys.stdout.buffer)
        if not sys.stdout.closed:  # what packs it has closed it
            sys.stdout.flush()
    except BrokenPipeError:
        return 0
    except CannotHold as error:
        sys.stderr.write(str(error))
        return REFUSED
    return 0


def _write(form: str, table: Path, out: IO[bytes]) -> None:
    import pyarrow as pa  # noqa: PLC0415 - after the limits
    import pyarrow.parquet as pq  # noqa: PLC0415

    from services.gateway.tables.binary import STREAMED, WHOLE  # noqa: PLC0415
    from services.gateway.tables.text import TEXT  # noqa: PLC0415

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with pq.ParquetFile(table, pre_buffer=False) as file:
        name, _, packing = form.partition(".")
        if name in WHOLE:
            target = table.with_name(f"whole.{name}")
            WHOLE[name](file, target)
            with target.open("rb") as made:
                shutil.copyfileobj(made, out, 1 << 18)
        elif packing:
            with pa.CompressedOutputStream(pa.PythonFile(out, "w"), {"gz": "gzip", "zst": "zstd"}[packing]) as packed:
                TEXT[name](file, packed)
        else:
            (TEXT.get(name) or STREAMED[name])(file, out)


if __name__ == "__main__":
    sys.exit(main())
