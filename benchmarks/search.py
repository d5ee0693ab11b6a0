"""Search: finding and costs. ``python -m benchmarks.search [quality|long|ingest|cost]``."""

from __future__ import annotations

import sys

from benchmarks import search_cost, search_ingest, search_long, search_quality
from benchmarks.table import show

_PARTS = {
    "quality": ("Finding: 142 questions without a hit at first", search_quality),
    "long": ("Long records: 300 sentences of ten manuals of 50 pages", search_long),
    "ingest": ("Embedding, compared with fastembed with the same weights", search_ingest),
    "cost": ("Cost, at 10,000 records", search_cost),
}

if __name__ == "__main__":
    for part in sys.argv[1:] or _PARTS:
        title, measured = _PARTS[part]
        show(title, measured.lines())
