"""What models answer: requested by schema, parsed leniently, because one bad entry should not spoil a good plan."""

from __future__ import annotations

import json
import math
import re
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, ValidationError, model_validator
from pydantic.json_schema import SkipJsonSchema

from services.search.queries.query import Strategy

Shape = TypeVar("Shape", bound=BaseModel)
_LONGEST_REPLY = 200_000
_MAX_OBJECTS = 20  # of a reply that are tried as the answer
_LONGEST_MESSAGE = 300
_TECHNICAL = re.compile(
    r"\b(score|scores|scoring|threshold|thresholds|facet|facets|faceted|master (?:search|mode|index)|vector|vectors|"
    r"embedding|embeddings|cosine|similarity|semantic|query|queries|requery|json|sql|api|database|index|indexes|payload|"
    r"parameter|parameters|retry|retries|replan|pivot|pivoting|llm|prompt|token|tokens|null|zero[- ]result|query_text|"
    r"search_mode|score_threshold)\b",
    re.IGNORECASE,
)
_UNSAFE = re.compile(r"https?:|www\.|[<>{}\[\]`|\\]|javascript:", re.IGNORECASE)
_BROADEN = "Let me broaden my search a little..."
_STOCK_MESSAGES: dict[Strategy, str] = {
    "rewrite": "Let me try that in other words...",
    "pivot": "Let me look somewhere else...",
}


def _text(value: object) -> object:
    return value if isinstance(value, str) else ""


def _whole(value: object) -> object:
    """Return a number as a whole number; anything else as not given."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return int(max(min(value, 10**9), -(10**9)))


def _share(value: object) -> object:
    """Return a number between 0 and 1; anything else as not given."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        return None
    return float(value)


def _object(value: object) -> object:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> object:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _mode(value: object) -> object:
    return value if value == "faceted" else "master"


def _unless_false(value: object) -> object:
    return value is not False


def _strategy(value: object) -> object:
    return value if value in ("relax", "rewrite", "pivot") else "relax"


Text = Annotated[str, BeforeValidator(_text)]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")


class ReplannedQuery(_Reply):
    """A query of a reflection: what the model wants to search next."""

    table: Text = ""
    search_mode: Annotated[Literal["faceted", "master"], BeforeValidator(_mode)] = "master"
    query_text: Text = ""
    limit: Annotated[int | None, BeforeValidator(_whole)] = None


class ProposedQuery(ReplannedQuery):
    """A query of a first plan, which may also filter."""

    score_threshold: Annotated[float | None, BeforeValidator(_share)] = None
    filters: Annotated[dict[str, JsonValue], BeforeValidator(_object)] = {}


class PlanReply(_Reply):
    queries: Annotated[list[ProposedQuery], BeforeValidator(_objects)]


class ReflectReply(_Reply):
    """Missing members have defaults; without new queries the plan stays as it is."""

    reasoning: Text = ""
    strategy: Annotated[Literal["relax", "rewrite", "pivot"], BeforeValidator(_strategy)] = "relax"
    user_message: Text = ""
    new_queries: Annotated[list[ReplannedQuery], BeforeValidator(_objects)] = []


class CitedRecord(_Reply):
    table: Text = ""
    id: Text = ""


class AnsweredSentence(_Reply):
    """One sentence, or item of a list, with the records that say it."""

    text: Text = ""
    citations: Annotated[list[CitedRecord], BeforeValidator(_objects)] = []


class AnswerReply(_Reply):
    """Sentences with citations; also read is one ``answer`` with ``citations`` for all of it."""

    answered: Annotated[bool, BeforeValidator(_unless_false)] = True
    sentences: Annotated[list[AnsweredSentence], BeforeValidator(_objects)] = []
    answer: SkipJsonSchema[Text] = ""
    citations: SkipJsonSchema[Annotated[list[CitedRecord], BeforeValidator(_objects)]] = []

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        said = self.answer.strip() or any(sentence.text.strip() for sentence in self.sentences)
        if self.answered and not said:
            raise ValueError("neither sentences nor an answer")
        return self


def parse(text: str, shape: type[Shape]) -> Shape | None:
    """Return the first JSON object in the text that fits the shape, whatever surrounds it; None if there is not one."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    text = text[:_LONGEST_REPLY]
    start = text.find("{")
    for _ in range(_MAX_OBJECTS):
        if start < 0:
            return None
        try:
            value, _end = decoder.raw_decode(text, start)
            return shape.model_validate(value)
        except (ValueError, ValidationError, RecursionError):
            start = text.find("{", start + 1)
    return None


def friendly(message: str, strategy: Strategy) -> str:
    """Return the model's message to the person, or a stock one when it is technical, unsafe, too long or empty."""
    printable = " ".join("".join(sign for sign in message if sign.isprintable() or sign.isspace()).split())
    fit = printable and len(printable) <= _LONGEST_MESSAGE
    if not fit or _TECHNICAL.search(printable) or _UNSAFE.search(printable):
        return stock_message(strategy)
    return printable


def stock_message(strategy: Strategy) -> str:
    return _STOCK_MESSAGES.get(strategy, _BROADEN)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
