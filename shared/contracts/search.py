"""``search`` and ``ingest``: collections of tables, found by plan, checked, and replanned when empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, JsonValue, WrapValidator, model_validator
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, FileId, Reference, Request, Time, in_parts
from shared.contracts.tables import TableReading
from shared.faults import form

_NAME = form(
    r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
    "must begin with a-z, A-Z or 0-9, and have at most 64 letters, digits, - and _",
)
_PLACE = form(r"^[0-9a-f-]{36}$", "must be the `next` of the page before")
Name = Annotated[str, Field(pattern=_NAME)]
FieldType = TypeAliasType(
    "FieldType",
    Annotated[
        Literal["keyword", "text", "integer", "float", "bool", "datetime", "geo"],
        Field(description="Type of a field that records can be filtered by; `geo` is a point: `[latitude, longitude]`"),
    ],
)
Filters = dict[str, JsonValue]
EmbeddingFamily = Literal["auto", "minilm", "multilingual", "openai", "fastembed", "none"]
#: In effect where neither a collection nor the installation names another.
DEFAULT_EMBEDDING = "auto"
_ALIASES = {
    "all-minilm-l6-v2": "minilm",
    "minilm-l6-v2": "minilm",
    "sentence-transformers/all-minilm-l6-v2": "minilm",
    "multilingual-e5-small": "multilingual",
    "intfloat/multilingual-e5-small": "multilingual",
}


IngestFormat = TypeAliasType(
    "IngestFormat",
    Annotated[
        Literal[
            "auto",
            "jsonl",
            "csv",
            "excel",
            "parquet",
            "arrow",
            "pentabarf",
            "pretalx",
            "markdown",
            "html",
            "pdf",
            "docx",
            "text",
            "archive",
        ],
        Field(description="Format of a file of records, of a document, or of an archive of them"),
    ],
)
SearchMode = TypeAliasType(
    "SearchMode",
    Annotated[Literal["faceted", "master"], Field(description="How to search: each facet, or whole records")],
)
HitLabel = TypeAliasType(
    "HitLabel",
    Annotated[
        Literal["exact", "relaxed", "rewritten", "pivoted"],
        Field(description="How strict the query was that found a record"),
    ],
)
SearchStrategy = TypeAliasType(
    "SearchStrategy",
    Annotated[
        Literal["initial", "relax", "rewrite", "pivot", "mechanical"],
        Field(description="How an attempt of a search was planned"),
    ],
)
SearchVerdict = TypeAliasType(
    "SearchVerdict",
    Annotated[
        Literal["found", "weak", "not_found"], Field(description="Whether a record was found that answers the question")
    ],
)


@dataclass(frozen=True)
class EmbeddingName:
    """One of ``auto``, ``minilm[:int8]``, ``multilingual``, ``openai:MODEL``, ``fastembed:MODEL`` and ``none``."""

    family: EmbeddingFamily
    model: str = ""

    @classmethod
    def parse(cls, text: str) -> EmbeddingName:
        """Parse an embedding's name. Raises: ValueError."""
        family, _, model = _ALIASES.get(text.lower(), text).partition(":")
        if family not in get_args(EmbeddingFamily):
            raise ValueError("use auto, minilm, minilm:int8, multilingual, openai:MODEL, fastembed:MODEL or none")
        if family in ("openai", "fastembed") and not model:
            raise ValueError(f"name the model: {family}:MODEL")
        if family == "minilm" and model not in ("", "int8"):
            raise ValueError("minilm comes as minilm or minilm:int8")
        if family in ("auto", "multilingual", "none") and model:
            raise ValueError(f"{family} takes no model")
        return cls(family, model)  # type: ignore[arg-type]  # checked above


def _known_embedding(text: str) -> str:
    EmbeddingName.parse(text)
    return text


class PassageSettings(Request):
    """How the long texts of a table are split into passages."""

    size: Annotated[int, Field(ge=32, le=2000)] = 256
    """Maximum number of tokens of a passage, the record's name included; at most what the embedding model reads"""
    overlap: Annotated[int, Field(ge=0, le=500)] = 32
    """Maximum number of tokens of whole sentences that a passage repeats from the one before; at most half of `size`"""


class TableSpec(Request):
    """Schema of a table: weighted facets, typed fields, and which facet answers which."""

    facets: Annotated[dict[Name, Annotated[float, Field(gt=0, le=100)]], Field(max_length=50)] = {}
    """Weight of each facet in the score, by facet name"""
    fields: Annotated[dict[Name, FieldType], Field(max_length=100)] = {}
    """Type of each field that can be filtered by, by field name"""
    pair: dict[Name, Name] = {}
    """Facet that answers each facet of a profile, by facet name"""
    passages: PassageSettings | None = None
    """How long texts are split into passages; null splits at 256 tokens with an overlap of 32"""

    @model_validator(mode="after")
    def _pairs_exist(self) -> Self:
        for mine, theirs in self.pair.items():
            for facet in (mine, theirs):
                if facet not in self.facets:
                    raise ValueError(f"pair names the facet {facet!r}, which the table does not have")
        return self


class CollectionInput(Request):
    """A collection to create."""

    name: Name
    """Collection name, unique within the tenant"""
    tables: Annotated[dict[Name, TableSpec], Field(min_length=1, max_length=50)]
    """Tables of the collection, by name"""
    embedding: Annotated[str, Field(max_length=200), AfterValidator(_known_embedding)] | None = None
    """`auto`, `minilm`, `multilingual`, `openai:MODEL`, `fastembed:MODEL` or `none`; null uses the installation's"""


class Collection(Answer):
    """A collection of tables."""

    name: str
    """Collection name"""
    tables: dict[str, TableSpec]
    """Tables of the collection, by name"""
    embedding: str | None
    """Embedding model of the collection; null is the installation's"""
    created_at: Time
    """Time at which the collection was created"""


class CollectionView(Collection):
    """A collection with what was measured of its tables."""

    records: dict[str, int] = {}
    """Number of records, by table"""
    thresholds: dict[str, dict[str, float]] = {}
    """Calibrated similarity thresholds, by table and facet"""


class Record(Request):
    """A record of a table."""

    id: Annotated[str, Field(min_length=1, max_length=256)]
    """Record id, unique within the table"""
    name: Annotated[str, Field(max_length=1000)] = ""
    """Display name of the record"""
    text: Annotated[str, Field(max_length=1_000_000)] = ""
    """Main text of the record"""
    facets: Annotated[dict[Name, Annotated[str, Field(max_length=100_000)]], Field(max_length=100)] = {}
    """Texts that the record is found by, by facet name"""
    fields: Annotated[dict[str, JsonValue], Field(max_length=200)] = {}
    """Values that the record can be filtered by, by field name"""


_ColumnName = Annotated[str, Field(min_length=1, max_length=500)]


class RecordMapping(Request):
    """Which columns of a file hold a record's parts; the other columns are facets and fields."""

    id: _ColumnName | None = None
    """Column that holds the record id; null derives the id from the row's content"""
    name: _ColumnName | None = None
    """Column that holds the display name; null if none does"""
    text: Annotated[list[_ColumnName], Field(max_length=20)] = []
    """Columns that form the main text, joined by blank lines"""
    fields: Annotated[dict[str, _ColumnName], Field(max_length=100)] = {}
    """Column of each field or facet whose column has another name, by field or facet name"""


class IngestInput(TableReading):
    """Input of an `ingest` job."""

    collection: Annotated[Name, Reference("collection")]
    """Name of the collection"""
    table: Name
    """Table that the records belong to"""
    records: Annotated[list[dict[str, JsonValue]], WrapValidator(in_parts)] | None = None
    """Records to add or replace; give this or `file_id`"""
    file_id: FileId | None = None
    """Id of the uploaded file with the records; give this or `records`"""
    format: IngestFormat = "auto"
    """Format of the file; `auto` detects it"""
    mapping: RecordMapping | None = None
    """Columns of the file that hold a record's parts; null uses columns such as `id`, `name` and `text`"""
    delete: Annotated[list[Annotated[str, Field(min_length=1, max_length=256)]], Field(max_length=100_000)] = []
    """Ids of records to delete"""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.records is not None and self.file_id is not None:
            raise ValueError("give records or file_id, not both")
        if self.file_id is None and (stated := self.reading()):
            raise ValueError(f"{', '.join(stated)}: only a file is read in a certain way")
        if self.mapping is not None and self.file_id is None:
            raise ValueError("mapping speaks of the columns of a file")
        if self.records is None and self.file_id is None and not self.delete:
            raise ValueError("give records, file_id or delete")
        return self


class RecordError(Answer):
    """A record that was not ingested."""

    index: int
    """Position of the record in the input, from 0"""
    id: str | None
    """Id of the record; null if it has none"""
    code: str
    """Stable error code"""
    message: str
    """What is wrong with the record"""


class IngestResult(Answer):
    """Result of an `ingest` job."""

    ingested: int
    """Number of new records"""
    updated: int
    """Number of records that were replaced"""
    unchanged: int
    """Number of records that already existed with the same content"""
    deleted: int
    """Number of records that were deleted"""
    errors: list[RecordError]
    """Records that were not ingested"""
    thresholds: dict[str, float]
    """Similarity thresholds measured after the ingest, by facet"""
    notes: list[str] = []
    """What was detected of the file, and names and values that were read otherwise than they are written"""


class RecordsInput(Request):
    """Input of a `records` job: a page of a table, in the order of the store."""

    collection: Annotated[Name, Reference("collection")]
    """Name of the collection"""
    table: Name
    """Table to read"""
    after: Annotated[str, Field(pattern=_PLACE)] | None = None
    """Value of `next` in the previous page; null for the first page"""
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    """Number of records on a page"""


class StoredRecord(Answer):
    """A record as it is stored."""

    id: str
    """Record id"""
    name: str
    """Display name of the record"""
    text: str
    """Main text of the record"""
    facets: dict[str, str]
    """Texts that the record is found by, by facet name"""
    fields: dict[str, JsonValue]
    """Values that the record can be filtered by, by field name"""
    cut: bool
    """Whether text or facets were shortened"""


class RecordsResult(Answer):
    """Result of a `records` job."""

    records: list[StoredRecord]
    """Records of this page"""
    total: int
    """Number of records in the table"""
    next: str | None
    """Value of `after` for the next page; null on the last page"""


class PlannedQuery(Request):
    """A query of the search plan."""

    table: Name
    """Table to search"""
    search_mode: SearchMode = "faceted"
    """`faceted` searches each facet; `master` searches whole records"""
    query_text: Annotated[str, Field(min_length=1, max_length=8000)]
    """Text to search for"""
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    """Maximum number of hits"""
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    """Minimum similarity, 0 to 1; null uses the calibrated threshold"""
    filters: Filters = {}
    """Conditions on fields, all of which must hold, by field name: a value, a list of values (any of them), null (no
    value), or an object of `gte`, `lte`, `gt`, `lt`, `not`, `prefix`, `within_km` with `of`; `or` and `and` take a list
    of filters, `not` takes one"""


class SearchInput(Request):
    """Input of a `search` job."""

    collection: Annotated[Name, Reference("collection")]
    """Name of the collection"""
    question: Annotated[str, Field(min_length=1, max_length=8000)]
    """Question to answer"""
    tables: Annotated[list[Name], Field(min_length=1, max_length=50)] | None = None
    """Tables to search, in every attempt unless `relax_filters` is true; null searches all"""
    plan: Annotated[list[PlannedQuery], Field(min_length=1, max_length=20)] | None = None
    """Queries to run instead of a plan by the model; null lets the model plan"""
    filters: Filters = {}
    """Conditions on fields that every hit must meet, by field name: a value, a list of values (any of them), null (no
    value), or an object of `gte`, `lte`, `gt`, `lt`, `not`, `prefix`, `within_km` with `of: [latitude, longitude]`;
    `or` and `and` take a list of filters, `not` takes one. A day, month or year of a `datetime` means all of it"""
    relax_filters: bool = False
    """Whether a retry may drop filters when nothing is found; the hits report it"""
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    """Maximum number of hits of each query that the plan does not limit itself"""
    answer: bool = True
    """Whether the model writes an answer from the hits"""
    reflection: bool = True
    """Whether the model may replan when nothing is found, or only weak hits"""
    max_reflections: Annotated[int, Field(ge=0, le=2)] = 2
    """Maximum number of new plans"""
    profile: Annotated[dict[Name, Annotated[str, Field(max_length=8000)]], Field(max_length=50)] = {}
    """Texts about the searching person, by facet name"""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.question.strip():
            raise ValueError("the question is empty")
        return self


class Citation(Answer):
    """A passage that the answer rests on."""

    table: str
    """Table of the record"""
    id: str
    """Record id"""
    facet: str | None = None
    """Facet that the passage is part of; null for the record's main text"""
    start: int | None = None
    """Offset of the passage's first character in that text; null if the record has no text"""
    end: int | None = None
    """Offset after the passage's last character"""


class FacetScore(Answer):
    """Score of one facet."""

    key: str
    """Facet name"""
    score: float
    """Score of the facet for the query"""


class Highlight(Answer):
    """A word of the question within a passage."""

    start: int
    """Offset of its first character in the passage's `text`"""
    end: int
    """Offset after its last character"""


class HitPassage(Answer):
    """A part of a record that matches the question."""

    facet: str | None
    """Facet that the passage is part of; null for the record's main text"""
    start: int
    """Offset of the passage's first character in that text"""
    end: int
    """Offset after the passage's last character"""
    page: int | None
    """Page that the passage begins on, from 1; null if the text has no page breaks and the record no field `page`"""
    heading: str | None
    """Heading that the passage is under; null if there is none, or if the passage holds it"""
    text: str
    """The passage"""
    score: float
    """Score of the passage, on the scale of the hit's"""
    highlights: list[Highlight]
    """Words of the question in the passage"""


class Hit(Answer):
    """A record that was found."""

    id: str
    """Record id"""
    name: str
    """Display name of the record"""
    score: float
    """Score that hits are sorted by: up to 1 for `master` and up to 10 for `faceted` queries; all up to 1 if both were
    used"""
    label: HitLabel
    """How strict the query was that found the record"""
    facets: list[FacetScore]
    """Score of each facet"""
    fields: dict[str, JsonValue]
    """Values that the record can be filtered by, by field name"""
    similarity: float | None = None
    """Cosine similarity of the vectors, or of the one sentence that answers; null if only keywords were searched"""
    weak: bool = False
    """Whether the similarity is lower than answers of this table usually have"""
    attempt: int = 1
    """Number of the attempt that found the record first"""
    passages: list[HitPassage] = []
    """Passages of the record that match the question, best first"""
    duplicates: int = 0
    """Number of other records that differ in nothing but their id; they are not listed as hits of their own"""
    duplicate_ids: list[str] = []
    """Ids of some of these records"""


class ExecutedQuery(Answer):
    """A query that was run, with its outcome."""

    table: str
    """Table that was searched"""
    search_mode: str
    """`faceted` or `master`"""
    query_text: str
    """Text that was searched for"""
    limit: int
    """Maximum number of hits"""
    score_threshold: float | None
    """Minimum similarity, 0 to 1; null if none applied"""
    filters: Filters
    """Conditions on fields that applied, by field name"""
    hits: int
    """Number of hits"""
    error: str | None
    """Why the query failed; null if it did not"""
    ms: float
    """Duration in milliseconds"""


class Attempt(Answer):
    """One attempt of a search: a plan and the outcome of its queries."""

    number: int
    """Number of the attempt, from 1"""
    strategy: SearchStrategy
    """How the plan was made"""
    reasoning: str
    """Why the plan was chosen"""
    user_message: str
    """The attempt in words for a person"""
    queries: list[ExecutedQuery]
    """Queries that were run"""


class PastAttempt(Attempt):
    """An attempt of a search that has ended."""

    id: str
    """Attempt id"""
    job_id: str
    """Id of the `search` job"""
    gain: int
    """Number of records that no earlier attempt of the search had found"""
    created_at: Time
    """Time of the attempt"""


class Thinking(Answer):
    """What the search is about to do, in words for a person."""

    message: str
    """The message, for a person"""
    strategy: str
    """Strategy of the next attempt"""
    retry_count: int
    """Number of retries, this one included"""
    ts: Time
    """Time of the message"""


class WhyEmpty(Answer):
    """A constraint that kept records out."""

    table: str
    """Table that was searched"""
    constraint: str
    """Name of the filtered field, `or`, `and` or `not` for combined filters, or `score_threshold`"""
    hits_without: int
    """Number of hits without the constraint"""
    suggestions: list[str] = []
    """Values of the field that are written like the one in the filter, which no record has"""


class Evaluation(Answer):
    """How well the hits and the answer fit the question."""

    quality: float | None
    """Share of the answer's citations that are strong hits, 0 to 1; null without an answer"""
    confidence: float | None
    """How close the best hit is: 0 like an unrelated record, 1 like an answer; null if only keywords were searched"""
    answerable: float | None = None
    """Probability that the best hit answers the question, 0 to 1; null without an answer"""


class SearchResult(Answer):
    """Result of a `search` job."""

    verdict: SearchVerdict
    """Whether a record was found that answers the question"""
    answer: str | None
    """Answer to the question; null if none was requested or written"""
    citations: list[Citation]
    """Records that the answer rests on"""
    hits: dict[str, list[Hit]]
    """Records found, best first, by table"""
    zero_result_tables: list[str]
    """Tables without hits"""
    attempts: list[Attempt]
    """Attempts in the order in which they were made"""
    original_plan: list[PlannedQuery]
    """Queries of the first plan"""
    thinking: list[Thinking]
    """Messages about the retries"""
    why_empty: list[WhyEmpty]
    """Constraints that kept records out"""
    evaluation: Evaluation | None = None
    """How well the hits and the answer fit the question"""
