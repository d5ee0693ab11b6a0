"""The answer: from the hits and nothing else, with citations that exist, and how far it can be trusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from services.search.figures import Figures
from services.search.llm.chat import StructuredChat
from services.search.llm.replies import AnswerReply
from services.search.retrieval.answerability import DOUBTFUL
from services.search.store.port import TablePart
from services.search.tables.library import Library, OpenTable
from services.search.tables.points import point_id
from services.search.tables.thresholds import Threshold
from shared.contracts.search import Attempt, Citation, Evaluation, Hit, WhyEmpty

Verdict = Literal["found", "weak", "not_found"]
Hits = Mapping[str, Sequence[Hit]]
ThresholdOf = Callable[[str], Threshold | None]
_MARKS = re.compile(r"^\s*(?:[-*\u2022]\s+)?\d{1,3}[.)]\s+|\[\d{1,3}(?:,\s*\d{1,3})*\]")
_SHOWN_HITS = 10  # per table, to the model
_SNIPPET = 500
_NAMED_HITS = 3  # per table, in an answer without a model
_UNCITED_QUALITY = 0.5  # of an answer that cites no record and so cannot be checked


@dataclass(frozen=True)
class ComposedAnswer:
    text: str
    citations: list[Citation]
    dropped: int = 0  #: citations of the model that are not among the hits
    unsupported: int = 0  #: sentences of the model that were left out because nothing found supports them
    answered: bool = True  #: false where the model says that the hits do not answer the question


def verdict(hits: Hits) -> Verdict:
    """``found`` when a hit is as similar as answers of its table usually are."""
    every = [hit for rows in hits.values() for hit in rows]
    if not every:
        return "not_found"
    return "weak" if all(hit.weak for hit in every) else "found"


def from_model(
    chat: StructuredChat, question: str, hits: Hits, attempts: Sequence[Attempt], texts: Mapping[tuple[str, str], str]
) -> ComposedAnswer | None:
    """None when no model answers, or when its answer cites nothing by which it could be checked.

    The text is empty when nothing is left of it; the rest then still tells why.
    """
    content: dict[str, JsonValue] = {
        "question": question,
        "verdict": verdict(hits),
        "hits": {table: [_hit_view(table, hit, texts) for hit in rows[:_SHOWN_HITS]] for table, rows in hits.items()},
        "tried": [
            {"strategy": attempt.strategy, "tables": [query.table for query in attempt.queries]} for attempt in attempts
        ],
    }
    reply = chat.ask("search.answer", content, AnswerReply)
    if reply is None:
        return None
    known = {(table, hit.id): _hit_text(table, hit, texts) for table, rows in hits.items() for hit in rows}
    text, unsupported = _supported(reply, question, known) if reply.sentences else (reply.answer.strip(), 0)
    every = [*reply.citations, *(citation for sentence in reply.sentences for citation in sentence.citations)]
    cited = list(dict.fromkeys((citation.table, citation.id) for citation in every))
    if not reply.answered and not text:
        return ComposedAnswer("", [], unsupported=unsupported, answered=False)
    if known and not any(each in known for each in cited):
        chat.warn("The model's answer cited no record that was found; the records are listed instead.")
        return None
    existing = [Citation(table=table, id=record_id) for table, record_id in cited if (table, record_id) in known]
    return ComposedAnswer(text, existing, len(cited) - len(existing), unsupported, reply.answered)


def _supported(reply: AnswerReply, question: str, known: Mapping[tuple[str, str], str]) -> tuple[str, int]:
    """The sentences that cite a record which holds every number and code that they say; and how many do not."""
    said = [sentence for sentence in reply.sentences if sentence.text.strip()]
    kept = []
    for sentence in said:
        records = [known[key] for cited in sentence.citations if (key := (cited.table, cited.id)) in known]
        if records and Figures.of("\n".join([*records, question])).hold(Figures.of(_without_marks(sentence.text))):
            kept.append(sentence.text.strip())
    joint = "\n" if any(text.startswith(("-", "*")) for text in kept) else " "
    return joint.join(kept), len(said) - len(kept)


def _without_marks(text: str) -> str:
    """The sentence without what numbers it, or points to its sources."""
    return _MARKS.sub(" ", text)


def texts_of(library: Library, tables: Mapping[str, OpenTable], hits: Hits) -> dict[tuple[str, str], str]:
    """Snippets of the hits that a model is shown, by table and record."""
    snippets: dict[tuple[str, str], str] = {}
    for table, rows in hits.items():
        ids = {point_id(hit.id): hit.id for hit in rows[:_SHOWN_HITS]}
        payloads = library.store.payloads(tables[table].bucket(TablePart.MASTER), list(ids), ["text", "facets"])
        for point, payload in payloads.items():
            facets = payload.get("facets")
            parts = [str(payload.get("text", "")), *(map(str, facets.values()) if isinstance(facets, dict) else ())]
            snippets[(table, ids[point])] = "\n".join(part for part in parts if part)[:_SNIPPET]
    return snippets


def mechanical(hits: Hits, answerable: float | None = None) -> ComposedAnswer:
    """Without a model: the best hits by name; a doubtful ``answerable`` is told."""
    lines = []
    citations: list[Citation] = []
    strong = {table: kept for table, rows in hits.items() if (kept := [hit for hit in rows if not hit.weak])}
    for table, rows in (strong or hits).items():
        best = rows[:_NAMED_HITS]
        names = "; ".join(f"{hit.name or hit.id} [{hit.id}]" for hit in best)
        more = f" and {len(rows) - len(best)} more" if len(rows) > len(best) else ""
        lines.append(f"{table}: {names}{more}.")
        citations.extend(Citation(table=table, id=hit.id) for hit in best)
    start = {
        "found": "These records match the question.",
        "weak": "Nothing matches the question well; these come closest.",
        "not_found": "",
    }[verdict(hits)]
    if answerable is not None and answerable < DOUBTFUL and strong:
        start = "These records are about the question, but they may not answer it."
    labels = {hit.label for rows in (strong or hits).values() for hit in rows[:_NAMED_HITS]}
    if "exact" not in labels:
        start += " They were found only after the search was changed, so compare them with what you asked for."
    return ComposedAnswer("\n".join([start, *lines]), citations)


def nothing_found(
    attempts: Sequence[Attempt], why_empty: Sequence[WhyEmpty], empty: Sequence[str] = ()
) -> ComposedAnswer:
    """Where the search looked, in which words, which tables are ``empty``, and which filters kept records out."""
    searched = list(dict.fromkeys(query.table for attempt in attempts for query in attempt.queries))
    if searched and set(searched) <= set(empty):
        return ComposedAnswer(f"Nothing was ingested yet into what was searched: {', '.join(searched)}.", [])
    tables = ", ".join(f"{table} (which is empty)" if table in empty else table for table in searched)
    wordings = dict.fromkeys(query.query_text[:200] for attempt in attempts for query in attempt.queries)
    lines = [
        "Nothing in this collection answers the question.",
        f"Searched: {tables}.",
        f"Tried the wording: {'; '.join(wordings)}.",
    ]
    filters = [reason for reason in why_empty if reason.constraint != "score_threshold" and reason.hits_without]
    lines.extend(
        f"Without the filter on {reason.constraint}, {reason.table} would have {reason.hits_without}."
        for reason in filters
    )
    lines.extend(
        f"No record of {reason.table} has the {reason.constraint} in the filter; similar values: "
        f"{', '.join(reason.suggestions)}."
        for reason in why_empty
        if reason.suggestions
    )
    return ComposedAnswer("\n".join(lines), [])


def evaluate(
    hits: Hits, answer: ComposedAnswer | None, threshold_of: ThresholdOf, answerable: float | None = None
) -> Evaluation:
    """Confidence and quality by evidence alone: no model judges its own answer.

    ``threshold_of``: the calibrated threshold of a table; None where only keywords are searched.
    """
    every = [(table, hit) for table, rows in hits.items() for hit in rows]
    values = [_confidence(hit, threshold) for table, hit in every if (threshold := threshold_of(table)) is not None]
    confidence = max((value for value in values if value is not None), default=None)
    if not every:
        confidence = 0.0
    quality = None if answer is None else _quality(hits, answer)
    return Evaluation(quality=quality, confidence=confidence, answerable=answerable)


def _confidence(hit: Hit, threshold: Threshold) -> float | None:
    """0 for the similarity of an unrelated record, 1 for that of known answers."""
    if hit.similarity is None:
        return None
    return round(min(max(threshold.way(hit.similarity), 0.0), 1.0), 3)


def _quality(hits: Hits, answer: ComposedAnswer) -> float:
    """The share of the citations that are among the hits and strong."""
    strong = {(table, hit.id) for table, rows in hits.items() for hit in rows if not hit.weak}
    cited = len(answer.citations) + answer.dropped
    if not cited:
        return _UNCITED_QUALITY if hits else 1.0  # saying that nothing was found is right when nothing was found
    return round(sum((citation.table, citation.id) in strong for citation in answer.citations) / cited, 3)


def _hit_text(table: str, hit: Hit, texts: Mapping[tuple[str, str], str]) -> str:
    """What the model was shown of the hit."""
    return "\n".join([hit.id, hit.name, *map(str, hit.fields.values()), texts.get((table, hit.id), "")])


def _hit_view(table: str, hit: Hit, texts: Mapping[tuple[str, str], str]) -> JsonValue:
    return {
        "id": hit.id,
        "name": hit.name,
        "label": hit.label,
        "weak": hit.weak,
        "fields": {key: value for key, value in list(hit.fields.items())[:20] if len(str(value)) <= _SNIPPET},
        "text": texts.get((table, hit.id), ""),
    }
