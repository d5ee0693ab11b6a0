"""The curves of docs/scale.md: ``python -m benchmarks.scale_curves [--rows ROWS] [--svg FILE]``, a million unless told.

Each point is the median at the client, with the statistics of an empty table, as in ``benchmarks.scale``.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection

from benchmarks.scale_operations import OPERATIONS, database, fill

_TIMES = 30
Points = dict[int, float]  #: milliseconds by the length of the queue, or by what else grows

#: As measured when the queue was one table that each claim sorted, on the same kind of machine.
_BEFORE: Mapping[str, Points] = {
    "claim": {1: 0.52, 10: 0.96, 100: 1.9, 1_000: 15.8, 10_000: 104},
    "claim, one conversation": {1_000: 40, 5_000: 116, 20_000: 444},
    "admission, all": {100: 0.21, 1_000_000: 384},
    "/metrics depth": {100: 0.19, 1_000_000: 610},
    "waiting notifications": {100: 0.32, 1_000_000: 5464},
    "places of 20 jobs": {100: 0.64, 1_000_000: 616},
    "list: rare kind": {100: 0.50, 1_000_000: 810},
    "list: rare label": {100: 1.6, 1_000_000: 1247},
    "list: rare state": {100: 0.86, 1_000_000: 1914},
}
_OF_ROWS = (
    "submit", "claim", "complete", "admission, all", "/metrics depth", "waiting notifications", "places of 20 jobs",
)  # fmt: skip
_OF_LISTS = (
    "list: first page", "list: label, hundredth page", "list: rare label", "list: rare state", "list: rare kind",
    "list: words of no title",
)  # fmt: skip


@dataclass(frozen=True)
class Panel:
    """One diagram: curves over one thing that grows."""

    title: str
    grows: str
    curves: Mapping[str, Points]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--svg", type=Path)
    asked = parser.parse_args()
    with database() as connection:
        panels = measured(connection, asked.rows)
    tell(panels)
    if asked.svg is not None:
        draw(panels, asked.svg)


def tell(panels: Sequence[Panel]) -> None:
    for panel in panels:
        Console(width=140).print(_table(panel))


def measured(connection: Connection, most: int) -> Sequence[Panel]:
    lengths = [10**power for power in range(2, 8) if 10**power <= most]
    rows: dict[str, Points] = {name: {} for name in (*_OF_ROWS, *_OF_LISTS)}
    for length in lengths:
        fill(connection, length, 100)
        for name, points in rows.items():
            points[length] = _median(connection, name)
    tenants: Points = {}
    for count in (1, 10, 100, 1_000, 10_000):
        fill(connection, min(100_000, most), count)
        tenants[count] = _median(connection, "claim")
    chained: Points = {}
    for count in (1_000, 5_000, 20_000):
        fill(connection, count, 1, count)
        chained[count] = _median(connection, "claim")
    return (
        Panel("100 tenants", "queued jobs", {name: rows[name] for name in _OF_ROWS}),
        Panel("lists of a tenant", "jobs of 100 tenants", {name: rows[name] for name in _OF_LISTS}),
        Panel("a claim", "tenants; jobs of one conversation", {"claim": tenants, "claim, one conversation": chained}),
    )


def _median(connection: Connection, name: str) -> float:
    operation = OPERATIONS[name]
    operation(connection)  # plans are made, pages are read
    return statistics.median(operation(connection) for _ in range(_TIMES)) * 1000


def _table(panel: Panel) -> Table:
    places = sorted({place for points in panel.curves.values() for place in points})
    table = Table("median ms", *(f"{place:,}" for place in places), title=f"{panel.title}, by {panel.grows}")
    for name, points in panel.curves.items():
        table.add_row(name, *(f"{points[place]:.2f}" if place in points else "" for place in places))
    return table


def draw(panels: Sequence[Panel], file: Path) -> None:
    """Diagrams side by side, both axes logarithmic; what was measured before is dashed."""
    import matplotlib as mpl  # noqa: PLC0415 - takes a second, and only --svg needs it

    mpl.use("svg")
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "assay", "font.size": 8})
    from matplotlib import pyplot  # noqa: PLC0415

    figure, axes = pyplot.subplots(1, len(panels), figsize=(11, 3.4), sharey=True, layout="constrained")
    for axis, panel in zip(axes, panels, strict=True):
        for name, points in panel.curves.items():
            (line,) = axis.loglog(list(points), list(points.values()), marker="o", markersize=3, label=name)
            before = {place: taken for place, taken in _BEFORE.get(name, {}).items() if place in points}
            if len(before) > 1:  # a line needs two of the measured lengths
                axis.loglog(list(before), list(before.values()), "--", color=line.get_color(), linewidth=1)
        axis.set(title=panel.title, xlabel=panel.grows)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(fontsize=6)
    axes[0].set_ylabel("median ms; dashed: before")
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    main()
