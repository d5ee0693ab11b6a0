"""Search: finding and costs. ``python -m benchmarks.search [goals|quality|near|languages|ingest|cost|job|many]``."""

from __future__ import annotations

import sys

from benchmarks import (
    search_cost,
    search_goals,
    search_ingest,
    search_job,
    search_languages,
    search_many,
    search_near,
    search_quality,
)
from benchmarks.table import show


def main() -> None:
    wanted = set(sys.argv[1:]) or {"goals", "quality", "near", "languages", "ingest", "cost", "job"}
    if "goals" in wanted:
        show("Goals: eight sets of known answers, four of them of titles only", search_goals.lines())
    if "quality" in wanted:
        show(
            "Finding: 142 questions without a hit at first, over ruff's rules and the standard library",
            search_quality.lines(),
        )
    if "near" in wanted:
        show("Near misses: each question with its answers, and without them", search_near.lines())
    if "languages" in wanted:
        show("Languages: 15 records and 30 questions of each", search_languages.lines())
    if "ingest" in wanted:
        show("Embedding, beside fastembed with the same weights", search_ingest.lines())
    if "many" in wanted:
        show("Many tables, many records (only when it is named: it takes long)", search_many.lines())
    if "cost" in wanted:
        show("Cost, at 10,000 records", search_cost.lines())
    if "job" in wanted:
        show("Jobs: gateway, Postgres, Redis and worker, one client, no model", search_job.lines())


if __name__ == "__main__":
    main()
