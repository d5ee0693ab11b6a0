"""Search: what it finds, what it rightly refuses, and what it costs. ``python -m benchmarks.search [quality|cost]``."""

from __future__ import annotations

import sys

from benchmarks import search_cost, search_quality
from benchmarks.table import show


def main() -> None:
    wanted = set(sys.argv[1:]) or {"quality", "cost"}
    if "quality" in wanted:
        show(
            "Finding: 143 questions without a hit at first, over ruff's rules and the standard library",
            search_quality.lines(),
        )
    if "cost" in wanted:
        show("Cost, at 10,000 records", search_cost.lines())


if __name__ == "__main__":
    main()
