"""Tables of ratios: every line compares two measurements of one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Line:
    what: str
    ours: str
    peer: str
    ratio: float
    target: str
    met: bool


def at_least(what: str, ours: float, peer: float, unit: str, target: float) -> Line:
    """Return a line whose target is ours / peer >= ``target``."""
    ratio = ours / peer
    return Line(what, f"{ours:,.1f} {unit}", f"{peer:,.1f} {unit}", ratio, f">= {target}x", ratio >= target)


def at_most(what: str, ours: float, peer: float, unit: str, target: float) -> Line:
    """Return a line whose target is ours / peer <= ``target``."""
    ratio = ours / peer
    return Line(what, f"{ours:,.2f} {unit}", f"{peer:,.2f} {unit}", ratio, f"<= {target}x", ratio <= target)


def within(what: str, seconds: float, most: float) -> Line:
    """Return a line whose target is an absolute time."""
    return Line(what, f"{seconds:.2f} s", "", seconds / most, f"<= {most:g} s", seconds <= most)


def show(title: str, lines: Sequence[Line]) -> None:
    table = Table(title=title)
    for heading in ("measured", "Assay", "peer", "ratio", "target", ""):
        table.add_column(heading)
    for line in lines:
        mark = "met" if line.met else "MISSED"
        table.add_row(line.what, line.ours, line.peer, f"{line.ratio:.2f}", line.target, mark)
    Console(width=120).print(table)


def median_us(work: Callable[[], object], times: int) -> float:
    """Return the median time of a call, in microseconds."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1e6
