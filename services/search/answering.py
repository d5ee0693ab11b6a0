"""The answer: from the hits and nothing else, with citations that exist; honest when there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from services.search.ask import Asker
from services.search.library import Library, OpenTable
from services.search.points import point_id
from services.search.replies import AnswerReply
from services.search.store.port import Part
from shared.contracts.search import Attempt, Citation, Hit, WhyEmpty

Verdict = Literal["found", "weak", "not_found"]
Hits = Mapping[str, Sequence[Hit]]
_TOLD = 10  # hits per table
_SNIPPET = 500
_NAMED = 3


@dataclass(frozen=True)
class Answered:
    text: str
    citations: list[Citation]
    dropped: int = 0  #: citations of the model that no hit has


def verdict(hits: Hits) -> Verdict:
    """Found when a hit is as similar as answers of its table usually are."""
    every = [hit for found in hits.values() for hit in found]
    if not every:
        return "not_found"
    return "weak" if all(hit.weak for hit in every) else "found"


def by_model(
    asker: Asker, question: str, hits: Hits, attempts: Sequence[Attempt], texts: Mapping[tuple[str, str], str]
) -> Answered | None:
    """None when no model answers."""
    said: dict[str, JsonValue] = {
        "question": question,
        "verdict": verdict(hits),
        "hits": {table: [_told(table, hit, texts) for hit in found[:_TOLD]] for table, found in hits.items()},
        "tried": [{"strategy": done.strategy, "tables": [query.table for query in done.queries]} for done in attempts],
    }
    reply = asker.ask("search.answer", said, AnswerReply)
    if reply is None or not reply.answer.strip():
        return None
    known = {(table, hit.id) for table, found in hits.items() for hit in found}
    cited = list(dict.fromkeys((item.table, item.id) for item in reply.citations))
    real = [Citation(table=table, id=identity) for table, identity in cited if (table, identity) in known]
    return Answered(reply.answer.strip(), real, len(cited) - len(real))


def texts_of(library: Library, tables: Mapping[str, OpenTable], hits: Hits) -> dict[tuple[str, str], str]:
    """The beginnings of what the told hits say."""
    out: dict[tuple[str, str], str] = {}
    for table, found in hits.items():
        ids = {point_id(hit.id): hit.id for hit in found[:_TOLD]}
        payloads = library.store.payloads(tables[table].bucket(Part.MASTER), list(ids), ["text", "facets"])
        for identity, payload in payloads.items():
            facets = payload.get("facets")
            parts = [str(payload.get("text", "")), *(map(str, facets.values()) if isinstance(facets, dict) else ())]
            out[(table, ids[identity])] = "\n".join(part for part in parts if part)[:_SNIPPET]
    return out


def by_hand(question: str, hits: Hits) -> Answered:
    """Without a model: the best hits by name."""
    lines = []
    citations: list[Citation] = []
    for table, found in hits.items():
        best = found[:_NAMED]
        names = "; ".join(f"{hit.name or hit.id} [{hit.id}]" for hit in best)
        more = f" and {len(found) - len(best)} more" if len(found) > len(best) else ""
        lines.append(f"{table}: {names}{more}.")
        citations.extend(Citation(table=table, id=hit.id) for hit in best)
    start = {
        "found": "These records match the question.",
        "weak": "Nothing matches the question well; these come closest.",
        "not_found": "",
    }[verdict(hits)]
    labels = {hit.label for found in hits.values() for hit in found[:_NAMED]}
    if "exact" not in labels:
        start += " They were found only after the search was changed, so compare them with what you asked for."
    return Answered("\n".join([start, *lines]), citations)


def not_here(question: str, attempts: Sequence[Attempt], why: Sequence[WhyEmpty]) -> Answered:
    """An honest no: where it was looked for and in which words, and what stood in the way."""
    tables = ", ".join(dict.fromkeys(query.table for done in attempts for query in done.queries))
    wordings = dict.fromkeys(query.query_text[:200] for done in attempts for query in done.queries)
    lines = [
        "Nothing in this collection answers the question.",
        f"Searched: {tables}.",
        f"Tried the wording: {'; '.join(wordings)}.",
    ]
    barred = [item for item in why if item.constraint != "score_threshold" and item.hits_without]
    lines.extend(
        f"Without the filter on {item.constraint}, {item.table} would have {item.hits_without}." for item in barred
    )
    return Answered("\n".join(lines), [])


def _told(table: str, hit: Hit, texts: Mapping[tuple[str, str], str]) -> JsonValue:
    return {
        "id": hit.id,
        "name": hit.name,
        "label": hit.label,
        "weak": hit.weak,
        "fields": {key: value for key, value in list(hit.fields.items())[:20] if len(str(value)) <= _SNIPPET},
        "text": texts.get((table, hit.id), ""),
    }
