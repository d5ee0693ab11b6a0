"""What is said to the person: friendly, short, and free of the machinery."""

from __future__ import annotations

import re

from services.search.query import Strategy

_LONGEST = 300
_TECHNICAL = re.compile(
    r"\b(score|scores|scoring|threshold|thresholds|facet|facets|faceted|master (?:search|mode|index)|vector|vectors|"
    r"embedding|embeddings|cosine|similarity|semantic|query|queries|requery|json|sql|api|database|index|indexes|payload|"
    r"parameter|parameters|retry|retries|replan|pivot|pivoting|llm|prompt|token|tokens|null|zero[- ]result|query_text|"
    r"search_mode|score_threshold)\b",
    re.IGNORECASE,
)
_UNSAFE = re.compile(r"https?:|www\.|[<>{}\[\]`|\\]|javascript:", re.IGNORECASE)
_STOCK: dict[Strategy, str] = {
    "relax": "Let me broaden my search a little...",
    "rewrite": "Let me try that in other words...",
    "pivot": "Let me look somewhere else...",
    "mechanical": "Let me broaden my search a little...",
}


def friendly(message: str, strategy: Strategy) -> str:
    """The model's message when it is fit for a person, else a stock one."""
    plain = " ".join("".join(sign for sign in message if sign.isprintable() or sign.isspace()).split())
    if not plain or len(plain) > _LONGEST or _TECHNICAL.search(plain) or _UNSAFE.search(plain):
        return _STOCK.get(strategy, _STOCK["mechanical"])
    return plain


def stock(strategy: Strategy) -> str:
    return _STOCK.get(strategy, _STOCK["mechanical"])
