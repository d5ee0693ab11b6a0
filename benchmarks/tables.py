"""``python -m benchmarks tables``: rows of a result in every form, compared with polars writing the same file."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import cast

import polars as pl

from benchmarks.table import Line, at_most, show
from benchmarks.transform import large_table
from shared.bounded_process import Bounds, run

_WRITE = "services.gateway.tables.tasks:write_table"
_TARGET = 1.2
#: What polars writes in each form; it has none for the others.
_PEERS: Mapping[str, Callable[[pl.DataFrame, Path], object]] = {
    "csv": lambda frame, path: frame.write_csv(path),
    "tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    "jsonl": lambda frame, path: frame.write_ndjson(path),
    "records": lambda frame, path: frame.write_json(path),
    "arrow": lambda frame, path: frame.write_ipc_stream(path),
    "feather": lambda frame, path: frame.write_ipc(path, compression="lz4"),
    # polars needs a package for it, which is not one of ours: pip install xlsxwriter
    **({"xlsx": lambda frame, path: frame.write_excel(path)} if find_spec("xlsxwriter") else {}),
}


def lines(rows: int, times: int) -> list[Line]:
    """Both begin with the Parquet file of the result, and end with a file; the best of several runs each."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        source = place / "rows.parquet"
        large_table(rows).write_parquet(source)
        _ours("csv", source, place)  # starts the server of processes
        measured = []
        for form, write in _PEERS.items():
            ours = min(_ours(form, source, place) for _ in range(times))
            peer = min(_peer(write, source, place) for _ in range(times))
            measured.append(at_most(f"{form}, {rows:,} rows", ours, peer, "s", _TARGET))
        return measured


def _ours(form: str, source: Path, place: Path) -> float:
    with source.open("rb") as reading, (place / "ours").open("wb") as writing:
        began = time.perf_counter()
        refused = run(_WRITE, {"form": form, "folder": str(place)}, reading, writing, Bounds(1024), Event())
        taken = time.perf_counter() - began
    assert refused is None, cast(str, refused)
    return taken


def _peer(write: Callable[[pl.DataFrame, Path], object], source: Path, place: Path) -> float:
    began = time.perf_counter()
    write(pl.read_parquet(source), place / "peer.xlsx")  # the ending that the writer of workbooks demands
    return time.perf_counter() - began


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--times", type=int, default=3)
    given = arguments.parse_args()
    show("Rows of a result", lines(given.rows, given.times))


if __name__ == "__main__":
    main()
