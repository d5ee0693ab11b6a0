"""The answer: from the hits and nothing else, with citations that exist, and how far it can be trusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from services.search import evidence
from services.search.evidence import ShownPassage
from services.search.figures import Figures
from services.search.llm.chat import StructuredChat
from services.search.llm.replies import AnsweredSentence, AnswerReply
from services.search.retrieval.answerability import DOUBTFUL
from services.search.store.port import Payload, TablePart
from services.search.tables.library import Library, OpenTable
from services.search.tables.points import point_id
from services.search.tables.thresholds import Threshold
from shared.contracts.search import Attempt, Citation, Evaluation, Hit, WhyEmpty
from shared.llm.chat import ChatMessage

Verdict = Literal["found", "weak", "not_found"]
Hits = Mapping[str, Sequence[Hit]]
RecordKey = tuple[str, str]  #: table and record id
Texts = Mapping[RecordKey, Sequence[ShownPassage]]
ThresholdOf = Callable[[str], Threshold | None]
_MARKS = re.compile(r"^\s*(?:[-*\u2022]\s+)?\d{1,3}[.)]\s+|\[\d{1,3}(?:,\s*\d{1,3})*\]")
_SHOWN_HITS = 10  # per table, to the model
_MAX_SHOWN = 24_000  # characters of passages that a model reads
_MAX_FIELD = 500  # characters of a field's value
_HISTORY, _MAX_MESSAGE = 5, 2000  # messages of the conversation, and their characters
_NAMED_HITS = 3  # per table, in an answer without a model
_UNCITED_QUALITY = 0.5  # of an answer that cites no record and so cannot be checked


@dataclass(frozen=True)
class ComposedAnswer:
    text: str
    citations: list[Citation]
    dropped: int = 0  #: citations of the model that are not among the hits
    unsupported: int = 0  #: sentences of the model that were left out because nothing found supports them
    answered: bool = True  #: false if the model states that the hits do not answer the question


def verdict(hits: Hits) -> Verdict:
    """``found`` when a hit is as similar as answers of its table usually are."""
    every = [hit for rows in hits.values() for hit in rows]
    if not every:
        return "not_found"
    return "weak" if all(hit.weak for hit in every) else "found"


def from_model(
    chat: StructuredChat,
    question: str,
    hits: Hits,
    attempts: Sequence[Attempt],
    texts: Texts,
    history: Sequence[ChatMessage] = (),
) -> ComposedAnswer | None:
    """Return None when no model answers, or when its answer has no citation that can be checked.

    The text is empty when nothing is left of it; the rest then still tells why.
    """
    content: dict[str, JsonValue] = {
        "question": question,
        "history": [
            {"role": message.role, "content": message.content[:_MAX_MESSAGE]} for message in history[-_HISTORY:]
        ],
        "verdict": verdict(hits),
        "hits": {table: [_hit_view(table, hit, texts) for hit in rows[:_SHOWN_HITS]] for table, rows in hits.items()},
        "tried": [
            {
                "strategy": attempt.strategy,
                "tables": [query.table for query in attempt.queries],
                "wordings": list(dict.fromkeys(query.query_text for query in attempt.queries)),
            }
            for attempt in attempts
        ],
    }
    reply = chat.ask("search.answer", content, AnswerReply)
    if reply is None:
        return None
    known = {(table, hit.id): _hit_text(table, hit, texts) for table, rows in hits.items() for hit in rows}
    kept, unsupported = _supported(reply, question, known) if reply.sentences else ([], 0)
    text = _joined(kept) if reply.sentences else reply.answer.strip()
    every = [*reply.citations, *(citation for sentence in reply.sentences for citation in sentence.citations)]
    cited = list(dict.fromkeys((citation.table, citation.id) for citation in every))
    if not reply.answered and not text:
        return ComposedAnswer("", [], unsupported=unsupported, answered=False)
    if known and not any(each in known for each in cited):
        chat.warn("The model's answer cited no record that was found; the records are listed instead.")
        return None
    existing = [key for key in cited if key in known]
    citations = _citations(existing, kept, text, texts)
    return ComposedAnswer(text, citations, len(cited) - len(existing), unsupported, reply.answered)


def _citations(
    existing: Sequence[RecordKey], kept: Sequence[AnsweredSentence], text: str, texts: Texts
) -> list[Citation]:
    """Return each record that was cited, with the passages that say what it was cited for."""
    out: list[Citation] = []
    for key in existing:
        said = [
            sentence.text for sentence in kept if any((cited.table, cited.id) == key for cited in sentence.citations)
        ]
        for sentence in said or [text]:
            cited = citation(*key, evidence.passage_for(sentence, texts.get(key, ())))
            if cited not in out:
                out.append(cited)
    return out


def citation(table: str, record_id: str, passage: ShownPassage | None) -> Citation:
    if passage is None:
        return Citation(table=table, id=record_id)
    return Citation(table=table, id=record_id, facet=passage.facet, start=passage.start, end=passage.end)


def _supported(reply: AnswerReply, question: str, known: Mapping[RecordKey, str]) -> tuple[list[AnsweredSentence], int]:
    """Return the sentences that cite a record which holds every number and code that they say; and how many do not."""
    said = [sentence for sentence in reply.sentences if sentence.text.strip()]
    kept = []
    for sentence in said:
        records = [known[key] for cited in sentence.citations if (key := (cited.table, cited.id)) in known]
        said_figures = Figures.of(_without_marks(sentence.text), counted=len(records))
        if records and Figures.of("\n".join([*records, question])).hold(said_figures):
            kept.append(sentence)
    return kept, len(said) - len(kept)


def _joined(sentences: Sequence[AnsweredSentence]) -> str:
    texts = [sentence.text.strip() for sentence in sentences]
    return ("\n" if any(text.startswith(("-", "*")) for text in texts) else " ").join(texts)


def _without_marks(text: str) -> str:
    """Return the sentence without what numbers it, or points to its sources."""
    return _MARKS.sub(" ", text)


def texts_of(library: Library, tables: Mapping[str, OpenTable], hits: Hits) -> Texts:
    """Return what a model reads of the hits, by table and record: a short record whole, of a long one what matches.

    The best passage of every hit comes before the second of any; what is beyond the most that is shown is left out.
    """
    parts: dict[RecordKey, list[ShownPassage]] = {}
    for table, rows in hits.items():
        shown = {point_id(hit.id): hit for hit in rows[:_SHOWN_HITS]}
        payloads = library.store.payloads(tables[table].bucket(TablePart.MASTER), list(shown), ["text", "facets", "at"])
        for point, hit in shown.items():
            parts[(table, hit.id)] = _parts_of(payloads.get(point, {}), hit)
    left = _MAX_SHOWN
    texts: dict[RecordKey, list[ShownPassage]] = {}
    for rank in range(max(map(len, parts.values()), default=0)):
        for key, passages in parts.items():
            if rank < len(passages) and left > 0:
                part = passages[rank].cut(left)
                texts.setdefault(key, []).append(part)
                left -= len(part.text)
    return texts


def _parts_of(payload: Payload, hit: Hit) -> list[ShownPassage]:
    matching = [ShownPassage(each.facet, each.start, each.text) for each in hit.passages]
    if "at" in payload or not payload:
        return matching
    facets = payload.get("facets")
    own = [ShownPassage(None, 0, str(payload.get("text", "")))]
    every = own + [
        ShownPassage(facet, 0, str(text)) for facet, text in (facets if isinstance(facets, dict) else {}).items()
    ]
    return [part for part in every if part.text]


def mechanical(hits: Hits, answerable: float | None = None) -> ComposedAnswer:
    """Return an answer without a model: the best hits by name, and a note if ``answerable`` is doubtful."""
    lines = []
    citations: list[Citation] = []
    strong = {table: kept for table, rows in hits.items() if (kept := [hit for hit in rows if not hit.weak])}
    for table, rows in (strong or hits).items():
        best = rows[:_NAMED_HITS]
        names = "; ".join(f"{hit.name or hit.id} [{hit.id}]" for hit in best)
        more = f" and {len(rows) - len(best)} more" if len(rows) > len(best) else ""
        lines.append(f"{table}: {names}{more}.")
        for hit in best:
            passage = next((ShownPassage(each.facet, each.start, each.text) for each in hit.passages), None)
            citations.append(citation(table, hit.id, passage))
    start = {
        "found": "These records match the question.",
        "weak": "Nothing matches the question well; these come closest.",
        "not_found": "",
    }[verdict(hits)]
    if answerable is not None and answerable < DOUBTFUL and strong:
        start = "These records are about the question, but they may not answer it."
    labels = {hit.label for rows in (strong or hits).values() for hit in rows[:_NAMED_HITS]}
    if "exact" not in labels:
        start += " They were found only after the search was changed, so compare them with your question."
    return ComposedAnswer("\n".join([start, *lines]), citations)


def nothing_found(
    attempts: Sequence[Attempt], why_empty: Sequence[WhyEmpty], empty: Sequence[str] = ()
) -> ComposedAnswer:
    """Return where the search looked, in which words, which tables are ``empty``, and which filters kept records
    out.
    """
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
    """Return the share of the citations that are among the hits and strong."""
    strong = {(table, hit.id) for table, rows in hits.items() for hit in rows if not hit.weak}
    cited = len(answer.citations) + answer.dropped
    if not cited:
        return _UNCITED_QUALITY if hits else 1.0  # saying that nothing was found is right when nothing was found
    return round(sum((citation.table, citation.id) in strong for citation in answer.citations) / cited, 3)


def _hit_text(table: str, hit: Hit, texts: Texts) -> str:
    """Return what the model was shown of the hit."""
    shown = [passage.text for passage in texts.get((table, hit.id), ())]
    return "\n".join([hit.id, hit.name, *map(str, hit.fields.values()), *shown])


def _hit_view(table: str, hit: Hit, texts: Texts) -> JsonValue:
    return {
        "id": hit.id,
        "name": hit.name,
        "label": hit.label,
        "weak": hit.weak,
        "fields": {key: value for key, value in list(hit.fields.items())[:20] if len(str(value)) <= _MAX_FIELD},
        "text": "\n\n".join(passage.text for passage in texts.get((table, hit.id), ())),
    }
