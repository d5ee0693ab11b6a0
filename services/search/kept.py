"""What a search leaves behind: its attempts, and the wordings that worked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from services.search.catalog import Rewrite
from services.search.ledger import Ledger


def rows(ledger: Ledger, job_id: str, tenant_id: str, collection_id: str) -> list[Mapping[str, JsonValue]]:
    """The ledger as rows of ``search_attempts``."""
    return [
        {
            "job_id": job_id,
            "number": done.number,
            "tenant_id": tenant_id,
            "collection_id": collection_id,
            "strategy": done.strategy,
            "reasoning": done.reasoning,
            "user_message": done.user_message,
            "queries": [item.shown().model_dump(mode="json") for item in done.executed],
            "gain": done.gain,
        }
        for done in ledger.tries
    ]


def rewrites(ledger: Ledger) -> Iterator[Rewrite]:
    """Wordings of the first plan that found nothing, each with the one that found something strong."""
    first = {item.query.table: item.query.text for item in ledger.tries[0].executed}
    for done in ledger.tries[1:]:
        for item in done.executed:
            before = first.get(item.query.table)
            strong = any(not match.weak for match in item.matches)
            if item.query.label == "rewritten" and strong and before and before != item.query.text:
                yield Rewrite(item.query.table, before, item.query.text)
