"""Curves over the length of the queue: ``python -m benchmarks scale [--rows ROWS]``, a million queued jobs unless told.

Every statement is measured on an empty queue and on a long one, by the server's own clock for many executions, and
with the pages that it reads. Rows are copied in with triggers off; their turns and counts are written beside them.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks import scale_curves
from benchmarks.scale_operations import OPERATIONS, claim, database, fill, measure, retention

ROWS = 1_000_000
_CLAIMS = 200
_FINISHED_JOBS = 50_000


def main() -> None:
    rows = int(sys.argv[-1]) if len(sys.argv) > 1 else ROWS
    shapes = {
        "empty": (0, 1, 0),
        f"{rows:,} of 100 tenants": (rows, 100, 0),
        f"{rows:,} of 10,000 tenants": (rows, 10_000, 0),
        "20,000 of one conversation": (20_000, 1, 20_000),
    }
    with database() as connection:
        results = {}
        for name, (count, tenants, chained) in shapes.items():
            fill(connection, count, tenants, chained)
            results[name] = measure(connection)
        fill(connection, 10_000, 100)
        quiet = [claim(connection) * 1000 for _ in range(_CLAIMS)]
        deleted, claims = retention(connection, _FINISHED_JOBS)
        panels = scale_curves.measured(connection, rows)
    table = Table("median ms", *shapes, title="Statements over the length of the queue")
    for operation in OPERATIONS:
        table.add_row(operation, *(f"{result[operation]:.2f}" for result in results.values()))
    console = Console(width=140)
    console.print(table)
    console.print(f"retention: {deleted:,.0f} jobs a second of {_FINISHED_JOBS:,}; claims beside it: {_told(claims)}")
    console.print(f"claims without it: {_told(quiet)}")
    scale_curves.tell(panels)


def _told(taken: Sequence[float]) -> str:
    return f"median {statistics.median(taken):.2f} ms, p99 {statistics.quantiles(taken, n=100)[98]:.2f} ms"


if __name__ == "__main__":
    main()
