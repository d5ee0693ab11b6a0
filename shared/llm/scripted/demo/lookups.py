"""A search's plan, its next plan, and an answer in the words of the records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from shared.llm.scripted.demo.words import stem

_TABLE = re.compile(r"^- (\S+)\. Facets: (.*?)\. Fields: (.*?)\.$", re.MULTILINE)
_LIMIT = re.compile(r"usually (\d+)\.")
_WORD = re.compile(r"[^\W_]+")
_HEADING = re.compile(r"^#{1,6} .*$", re.MULTILINE)  #: of Markdown: it names what follows, and says nothing
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_MAX_TABLES, _MAX_SENTENCE, _MAX_RECORDS = 20, 300, 3
_STOP = frozenset(
    (
        "a an the of for to in on at by with about and or is are was were be do does did has have can could will "
        "would shall should may might what which who whom whose when where why how that this these those it its i you "
        "we me my your our there any some no not from as into find show give list tell get need want looking please "
        "let us if than then so much many kind thing things something anything"
    ).split()
)
_BOUNDS = {
    "under": "lt", "below": "lt", "less than": "lt", "cheaper than": "lt", "before": "lt", "up to": "lte",
    "at most": "lte", "over": "gt", "above": "gt", "more than": "gt", "after": "gt", "at least": "gte",
    "since": "gte", "from": "gte", "until": "lte",
}  # fmt: skip
_NUMERIC = frozenset({"int", "integer", "float", "number"})


def plan(system: str, question: Mapping[str, Any]) -> JsonValue:
    """Search every table, or those that the question names, in the question's own words."""
    text = str(question.get("question", ""))
    tables = [(match[1], match[3]) for match in _TABLE.finditer(system)]
    named = [(name, fields) for name, fields in tables if {stem(name)} & _stems(text)]
    limit = int(limited[1]) if (limited := _LIMIT.search(system)) else 10
    queries: list[JsonValue] = []
    for name, fields in (named or tables)[:_MAX_TABLES]:
        filters, left = _filters(text, fields)
        queries.append(
            {"table": name, "search_mode": "master", "query_text": left or text, "limit": limit, "filters": filters}
        )
    return {"queries": queries}


def _filters(text: str, fields: str) -> tuple[dict[str, JsonValue], str]:
    """Return bounds of numbers whose field the question names, and the question without them."""
    filters: dict[str, JsonValue] = {}
    bounds = "|".join(_BOUNDS)
    for field, kind in (pair.split(": ", 1) for pair in fields.split(", ") if ": " in pair):
        if kind.strip() not in _NUMERIC:
            continue
        name = re.escape(field.replace("_", " "))
        pattern = (
            rf"(?:with|and|where|whose)?\s*(?:an?|the)?\s*\b{name}s?\s+(?:is |are |of )?({bounds})\s+\$?(\d+(?:\.\d+)?)"
        )
        if match := re.search(pattern, text.replace("_", " "), re.I):
            number = float(match[2])
            filters[field] = {_BOUNDS[match[1].lower()]: int(number) if number.is_integer() else number}
            text = re.sub(pattern, "", text, flags=re.I)
    return filters, text.strip(" ,?") if filters else text


def replan(system: str, question: Mapping[str, Any]) -> JsonValue:
    """Search the empty tables with the telling words alone, then the tables that were not searched, then relax."""
    text = str(question.get("user_message", ""))
    tables = [match[1] for match in _TABLE.finditer(system)]
    tried = {
        (str(query.get("table")), _normal(str(query.get("query_text", ""))))
        for attempt in _objects(question.get("attempts"))
        for query in _objects(attempt.get("queries"))
    }
    empty = [str(name) for name in question.get("zero_result_tables") or ()]
    words = " ".join(word for word in _WORD.findall(text) if word.casefold() not in _STOP)
    rewritten = [name for name in empty if words and (name, _normal(words)) not in tried]
    untried = [name for name in tables if name not in {table for table, _ in tried}]
    strategy, chosen, query, message = "relax", [], text, "Let me look a little more widely."
    if rewritten:
        strategy, chosen, query, message = "rewrite", rewritten, words, "Let me look for the distinctive words alone."
    elif untried:
        strategy, chosen, query, message = "pivot", untried, text, "Let me look in the other places."
    queries: list[JsonValue] = [
        {"table": name, "search_mode": "master", "query_text": query, "limit": 10} for name in chosen
    ]
    reasoning = "The demo model follows rules: fewer words first, then other tables, then weaker matches."
    return {"reasoning": reasoning, "strategy": strategy, "user_message": message, "new_queries": queries}


def answer(question: Mapping[str, Any]) -> JsonValue:
    """Quote the records that share words with the question; nothing is said that no record says."""
    wanted = _stems(str(question.get("question", "")))
    ranked = sorted(_quotes(question.get("hits"), wanted), key=lambda quote: -quote[0])
    best = [quote for quote in ranked if quote[0] == ranked[0][0]][:_MAX_RECORDS]
    sentences: list[JsonValue] = [
        {"text": text, "citations": [{"table": table, "id": record}]} for _, text, table, record in best
    ]
    return {"answered": question.get("verdict") == "found" and bool(sentences), "sentences": sentences}


def _quotes(hits: object, wanted: set[str]) -> Iterator[tuple[int, str, str, str]]:
    """Yield of each record that is no weak match: how many words it shares, a sentence, table and id."""
    for table, records in hits.items() if isinstance(hits, dict) else ():
        for record in _objects(records):
            if record.get("weak"):
                continue
            name, text = str(record.get("name") or record.get("id")), str(record.get("text", ""))
            prose = _HEADING.sub("", text)
            sentences = [part.strip() for part in _SENTENCE.split(prose) if part.strip()] or [name]
            sentence = max(sentences, key=lambda part: len(wanted & _stems(part)))[:_MAX_SENTENCE]
            shared = len(wanted & _stems(f"{name} {text}"))
            quote = sentence if name.casefold() in sentence.casefold() else f"{name}: {sentence}"
            yield shared, quote, str(table), str(record.get("id"))


def _stems(text: str) -> set[str]:
    return {stem(word) for word in _WORD.findall(text) if word.casefold() not in _STOP}


def _normal(text: str) -> str:
    return " ".join(text.lower().split()).rstrip("?!. ")


def _objects(value: object) -> Sequence[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def read(message: str) -> Mapping[str, Any]:
    """Return the JSON of a message. Raises: ValueError."""
    value = json.loads(message[message.index("{") :])
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value
