"""``search`` and ``ingest``: collections of tables, found by plan, checked, and replanned when empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, JsonValue, WrapValidator, model_validator

from shared.contracts.common import Answer, FileId, Reference, Request, Time, in_parts

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
FieldType = Literal["keyword", "text", "integer", "float", "bool", "datetime"]
Filters = dict[str, JsonValue]
EmbeddingFamily = Literal["minilm", "openai", "fastembed", "none"]
#: In effect where neither a collection nor the installation names another.
DEFAULT_EMBEDDING = "minilm"
_ALIASES = {"all-minilm-l6-v2": "minilm", "minilm-l6-v2": "minilm", "sentence-transformers/all-minilm-l6-v2": "minilm"}


@dataclass(frozen=True)
class EmbeddingName:
    """An embedding model: ``minilm``, ``minilm:int8``, ``openai:MODEL``, ``fastembed:MODEL``, or ``none``."""

    family: EmbeddingFamily
    model: str = ""

    @classmethod
    def parse(cls, text: str) -> EmbeddingName:
        """Raises: ValueError."""
        family, _, model = _ALIASES.get(text.lower(), text).partition(":")
        if family not in get_args(EmbeddingFamily):
            raise ValueError("use minilm, minilm:int8, openai:MODEL, fastembed:MODEL or none")
        if family in ("openai", "fastembed") and not model:
            raise ValueError(f"name the model: {family}:MODEL")
        if family == "minilm" and model not in ("", "int8"):
            raise ValueError("minilm comes as minilm or minilm:int8")
        if family == "none" and model:
            raise ValueError("none takes no model")
        return cls(family, model)  # type: ignore[arg-type]  # checked above


def _known_embedding(text: str) -> str:
    EmbeddingName.parse(text)
    return text


class TableSpec(Request):
    """Weighted facets, typed fields, and which facet answers which (``pair``)."""

    facets: Annotated[dict[Name, Annotated[float, Field(gt=0, le=100)]], Field(max_length=50)] = {}
    fields: Annotated[dict[Name, FieldType], Field(max_length=100)] = {}
    pair: dict[Name, Name] = {}

    @model_validator(mode="after")
    def _pairs_exist(self) -> Self:
        for mine, theirs in self.pair.items():
            for facet in (mine, theirs):
                if facet not in self.facets:
                    raise ValueError(f"pair names the facet {facet!r}, which the table does not have")
        return self


class CollectionInput(Request):
    name: Name
    tables: Annotated[dict[Name, TableSpec], Field(min_length=1, max_length=50)]
    embedding: Annotated[str, Field(max_length=200), AfterValidator(_known_embedding)] | None = None


class Collection(Answer):
    name: str
    tables: dict[str, TableSpec]
    embedding: str | None
    created_at: Time


class CollectionView(Collection):
    """A collection and what has been learnt about its tables: records, and thresholds by table."""

    records: dict[str, int] = {}
    thresholds: dict[str, dict[str, float]] = {}


class Record(Request):
    """What a table holds; a text is at most a million characters."""

    id: Annotated[str, Field(min_length=1, max_length=256)]
    name: Annotated[str, Field(max_length=1000)] = ""
    text: Annotated[str, Field(max_length=1_000_000)] = ""
    facets: Annotated[dict[Name, Annotated[str, Field(max_length=100_000)]], Field(max_length=100)] = {}
    fields: Annotated[dict[str, JsonValue], Field(max_length=200)] = {}


_ColumnName = Annotated[str, Field(min_length=1, max_length=500)]


class RecordMapping(Request):
    """Which columns of a file (keys of its objects) a record's own parts come from; the rest are facets and fields."""

    id: _ColumnName | None = None  #: None: made from the content of the row, so the same row has the same id again
    name: _ColumnName | None = None
    text: Annotated[list[_ColumnName], Field(max_length=20)] = []  #: joined by blank lines


class IngestInput(Request):
    collection: Annotated[Name, Reference("collection")]
    table: Name
    records: Annotated[list[dict[str, JsonValue]], WrapValidator(in_parts)] | None = None
    file_id: FileId | None = None
    format: Literal["auto", "jsonl", "csv", "parquet", "pentabarf", "pretalx"] = "auto"
    mapping: RecordMapping | None = None  #: of a file; None: columns called id, name or title, text or description ...
    delete: Annotated[list[Annotated[str, Field(min_length=1, max_length=256)]], Field(max_length=100_000)] = []

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.records is not None and self.file_id is not None:
            raise ValueError("give records or file_id, not both")
        if self.mapping is not None and self.file_id is None:
            raise ValueError("mapping speaks of the columns of a file")
        if self.records is None and self.file_id is None and not self.delete:
            raise ValueError("give records, file_id or delete")
        return self


class RecordError(Answer):
    index: int
    id: str | None
    code: str
    message: str


class IngestResult(Answer):
    ingested: int
    updated: int
    unchanged: int
    deleted: int
    errors: list[RecordError]
    thresholds: dict[str, float]


class RecordsInput(Request):
    """A page of what a table holds, in the order of the store, which no ingest of other records changes."""

    collection: Annotated[Name, Reference("collection")]
    table: Name
    after: Annotated[str, Field(pattern=r"^[0-9a-f-]{36}$")] | None = None  #: `next` of the page before
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class StoredRecord(Answer):
    id: str
    name: str
    text: str
    facets: dict[str, str]
    fields: dict[str, JsonValue]
    cut: bool  #: whether text or facets are longer than what is told of them


class RecordsResult(Answer):
    records: list[StoredRecord]
    total: int  #: records of the table
    next: str | None  #: where the next page begins; null after the last


class PlannedQuery(Request):
    table: Name
    search_mode: Literal["faceted", "master"] = "faceted"
    query_text: Annotated[str, Field(min_length=1, max_length=8000)]
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    filters: Filters = {}


class SearchInput(Request):
    collection: Annotated[Name, Reference("collection")]
    question: Annotated[str, Field(min_length=1, max_length=8000)]
    tables: Annotated[list[Name], Field(min_length=1, max_length=50)] | None = None
    plan: Annotated[list[PlannedQuery], Field(min_length=1, max_length=20)] | None = None
    filters: Filters = {}
    #: False: every hit is within the filters, also those of ``plan``. True: a retry may drop them, and says so.
    relax_filters: bool = False
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    answer: bool = True
    reflection: bool = True
    max_reflections: Annotated[int, Field(ge=0, le=2)] = 2
    profile: Annotated[dict[Name, Annotated[str, Field(max_length=8000)]], Field(max_length=50)] = {}

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.question.strip():
            raise ValueError("the question is empty")
        return self


class Citation(Answer):
    table: str
    id: str


class FacetScore(Answer):
    key: str
    score: float


class Hit(Answer):
    id: str
    name: str
    score: float
    label: Literal["exact", "relaxed", "rewritten", "pivoted"]
    facets: list[FacetScore]
    fields: dict[str, JsonValue]
    similarity: float | None = None  #: the dense cosine; null where only keywords were searched
    weak: bool = False  #: below what answers of this table usually reach
    attempt: int = 1  #: which attempt found it


class ExecutedQuery(Answer):
    table: str
    search_mode: str
    query_text: str
    limit: int
    score_threshold: float | None
    filters: Filters
    hits: int
    error: str | None
    ms: float


class Attempt(Answer):
    number: int
    strategy: Literal["initial", "relax", "rewrite", "pivot", "mechanical"]
    reasoning: str
    user_message: str
    queries: list[ExecutedQuery]


class PastAttempt(Attempt):
    """An attempt of a search that has ended."""

    id: str
    job_id: str
    gain: int  #: records that no earlier attempt of the search had found
    created_at: Time


class Thinking(Answer):
    message: str
    strategy: str
    retry_count: int
    ts: Time


class WhyEmpty(Answer):
    table: str
    constraint: str
    hits_without: int


class Evaluation(Answer):
    quality: float | None  #: the share of what the answer cites that was found and is strong; null without an answer
    confidence: float | None  #: of the best hit: 0 like an unrelated record, 1 like an answer; null by keywords only
    answerable: float | None = None  #: 0..1, how likely the best hit answers the question; null without an answer


class SearchResult(Answer):
    verdict: Literal["found", "weak", "not_found"]
    answer: str | None
    citations: list[Citation]
    hits: dict[str, list[Hit]]
    zero_result_tables: list[str]
    attempts: list[Attempt]
    original_plan: list[PlannedQuery]
    thinking: list[Thinking]
    why_empty: list[WhyEmpty]
    evaluation: Evaluation | None = None
