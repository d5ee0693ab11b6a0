"""Questions whose answers are known, over the tables of ``benchmarks/golden``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from benchmarks.golden import corpus
from benchmarks.golden.questions import Golden, load
from tests.services.search.service import MemorySearchService

#: What a collection needs for all of the sets.
TABLES: Mapping[str, object] = {
    **corpus.TABLES,
    **{name: {} for name in ("known", "numpy", "pandas")},
}


@dataclass(frozen=True)
class Asked:
    """A question of known answers in one table."""

    id: str
    table: str
    text: str
    relevant: Set[str]


def ingest_golden(service: MemorySearchService) -> None:
    for table, records in corpus.tables().items():
        service.ingest(table, records)


def ingest_known(service: MemorySearchService) -> dict[str, Sequence[Asked]]:
    """Return the four sets by name, the tables of three of them filled; `ingest_golden` fills those of the first."""
    return {
        "golden wordings": golden_wordings(),
        "rule messages": _rule_messages(service),
        "numpy summaries": _summaries(service, "numpy", corpus.numpy_functions()),
        "pandas summaries": _summaries(service, "pandas", corpus.pandas_functions()),
    }


def golden_wordings() -> list[Asked]:
    asked = []
    for number, golden in enumerate(load()):
        if golden.kind != "absent":
            table, text = wording(golden)
            asked.append(Asked(f"g{number}", table, text, golden.relevant[table]))
    return asked


def wording(golden: Golden) -> tuple[str, str]:
    """Return the table and the words that find the answer."""
    if golden.reply is None:
        return str(golden.plan["table"]), golden.question
    return golden.reply["table"], golden.reply["query_text"]


def _rule_messages(service: MemorySearchService) -> list[Asked]:
    """Known items: what a rule's message says has to find the rule by what it does, its own words left out."""
    rules = [record for record in corpus.rules() if record["facets"].keys() >= {"what_it_does", "message"}]
    service.ingest("known", [{"id": rule["id"], "text": rule["facets"]["what_it_does"]} for rule in rules])
    return [Asked(rule["id"], "known", rule["facets"]["message"], {rule["id"]}) for rule in rules]


def _summaries(service: MemorySearchService, table: str, functions: Iterable[corpus.Record]) -> list[Asked]:
    """Known items: the summary of a function has to find the rest of its documentation."""
    documented = list(functions)
    service.ingest(table, [{"id": item["id"], "text": item["rest"]} for item in documented])
    return [Asked(item["id"], table, item["summary"], {item["id"]}) for item in documented]
