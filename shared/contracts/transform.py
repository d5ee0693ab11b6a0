"""``transform``: data-frame code for a task, written by a model, run and checked until it is done."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, FileId, Request
from shared.contracts.tables import TableReading
from shared.declarations.assertions import parse_assertion
from shared.faults import VARIABLE
from shared.languages import DEFAULT_LANGUAGE, LANGUAGES, TableReader, TransformLanguage

DataName = Annotated[str, Field(pattern=VARIABLE)]
ColumnType = TypeAliasType(
    "ColumnType",
    Annotated[
        Literal["int", "float", "decimal", "bool", "string", "date", "datetime", "duration", "list", "struct"],
        Field(description="Data type of a column"),
    ],
)
ColumnName = Annotated[str, Field(min_length=1, max_length=500)]


def _parses(text: str) -> str:
    parse_assertion(text)
    return text


#: Something that must hold of the result; its grammar is in ``shared.declarations.assertions``.
AssertionText = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_parses)]


DataframeLibrary = TypeAliasType(
    "DataframeLibrary", Annotated[Literal["pandas", "polars"], Field(description="Python data-frame library")]
)
TransformOutput = TypeAliasType(
    "TransformOutput", Annotated[Literal["table", "plot"], Field(description="What a transform makes")]
)
TransformStrategy = TypeAliasType(
    "TransformStrategy",
    Annotated[
        Literal["deterministic", "tools"],
        Field(description="How a transform works: with or without probes of the data"),
    ],
)
Confirmation = TypeAliasType(
    "Confirmation",
    Annotated[Literal["auto", "always", "never"], Field(description="When the model must confirm its result")],
)
TransformBase = TypeAliasType(
    "TransformBase", Annotated[Literal["previous", "original"], Field(description="Data that a follow-up starts from")]
)
DriftAction = TypeAliasType(
    "DriftAction",
    Annotated[
        Literal["report", "fail"], Field(description="What to do about columns that differ from what was expected")
    ],
)
IterationOutcome = TypeAliasType(
    "IterationOutcome",
    Annotated[
        Literal["result", "error", "no_code", "not_a_table", "assertion_failed", "no_op"],
        Field(description="How an attempt of a transform ended"),
    ],
)
CheckAuthor = TypeAliasType(
    "CheckAuthor", Annotated[Literal["caller", "model", "assay"], Field(description="Who stated a check")]
)
DriftKind = TypeAliasType(
    "DriftKind",
    Annotated[Literal["missing", "new", "type"], Field(description="How a column differs from what was expected")],
)
TransformStatus = TypeAliasType(
    "TransformStatus",
    Annotated[Literal["done", "unverified", "best_so_far", "question"], Field(description="How a transform ended")],
)
UnverifiedCode = TypeAliasType(
    "UnverifiedCode",
    Annotated[
        Literal[
            "own_check_failed",
            "own_checks_empty",
            "input_not_read",
            "input_overwritten",
            "invented_values",
            "origin_unknown",
            "not_checked",
        ],
        Field(description="Why a result is not proven"),
    ],
)
ColumnSources = TypeAliasType(
    "ColumnSources",
    Annotated[
        list[str] | Literal["literal"],
        Field(
            description="Where a column's values come from: `DATA.COLUMN` of each input column, `DATA` where only the "
            "number of rows counts, or `literal`"
        ),
    ],
)


class DataSet(TableReading):
    """One named data set: an uploaded file (or several with the same columns), rows as objects, or CSV text.

    Exactly one of them; the other options state how the file is written, and what is left out is detected.
    """

    name: DataName = "data"
    """Name of the data set in the code"""
    file_id: FileId | None = None
    """Id of the uploaded file; give this, `file_ids`, `rows` or `csv`"""
    file_ids: Annotated[list[FileId], Field(min_length=1, max_length=200)] | None = None
    """Ids of uploaded files with the same columns, read as one table"""
    rows: list[dict[str, JsonValue]] | None = None
    """Rows as objects"""
    csv: str | None = None
    """The data as CSV text with a header"""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in ("file_id", "file_ids", "rows", "csv") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of file_id, file_ids, rows and csv")
        if self.rows is not None and (stated := self.reading()):
            raise ValueError(f"{', '.join(stated)}: only a file is read in a certain way, and rows are given")
        return self


class Preview(Request):
    """What the model may see of the data."""

    rows: Annotated[int, Field(ge=0, le=100)] = 5
    """Number of rows of each data set; 0 shows the schema only"""
    mask: Annotated[list[ColumnName], Field(max_length=1000)] = []
    """Columns whose values are hidden from the model"""
    tokens: Annotated[int, Field(ge=200, le=50_000)] = 6000
    """Approximate share of the prompt for the preview, in tokens"""


class Branch(Request):
    """An iteration of an earlier transform to continue from, instead of the conversation's latest result."""

    job_id: Annotated[str, Field(min_length=1, max_length=64)]
    """Id of the earlier `transform` job"""
    iteration: Annotated[int, Field(ge=1)] | None = None
    """Number of the iteration, from 1; null is the job's accepted code"""


class ExpectedColumn(Request):
    """A column that the code needs."""

    name: ColumnName
    """Column name"""
    type: ColumnType | None = None
    """Data type of the column; null accepts any"""


def _says_something(text: str) -> str:
    if not text.strip():
        raise ValueError("say what is to be done")
    return text


class TransformInput(Request):
    """Input of a `transform` job."""

    task: Annotated[str, Field(min_length=1, max_length=50_000), AfterValidator(_says_something)]
    """What to do with the data, in words"""
    data: Annotated[list[DataSet], Field(min_length=1, max_length=20)]
    """Data sets to transform"""
    language: TransformLanguage = DEFAULT_LANGUAGE
    """Language that the code is written in"""
    dataframe: DataframeLibrary = "pandas"
    """Python data-frame library: `pandas` or `polars`"""
    output: TransformOutput = "table"
    """Whether the result is a table or a plot"""
    strategy: TransformStrategy = "deterministic"
    """`deterministic`: write code, run it, correct it; `tools`: also let the model probe the data"""
    assertions: Annotated[list[AssertionText], Field(max_length=50)] = []
    """Conditions that the result must meet"""
    preview: Preview = Preview()
    """What the model may see of the data"""
    max_iterations: Annotated[int, Field(ge=1, le=20)] = 5
    """Maximum number of attempts by the model"""
    confirm: Confirmation = "auto"
    """When the model must confirm its result"""
    code: Annotated[str, Field(min_length=1, max_length=500_000)] | None = None
    """Code to run instead of the model's; null lets the model write it"""
    base: TransformBase | None = None
    """Data to start from in a follow-up: the previous result or the original data; null is the previous result,
    or the original data with `code`"""
    branch: Branch | None = None
    """Earlier iteration to continue from; null continues from the conversation's latest result"""
    expects: dict[DataName, Annotated[list[ExpectedColumn], Field(max_length=2000)]] = {}
    """Columns that the saved code was made for, by data set; differences are reported as drift"""
    on_drift: DriftAction = "report"
    """What to do about missing or retyped columns: `report` them, or `fail` before any code runs"""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of the random number generators"""
    observe: Annotated[list[AssertionText], Field(max_length=50)] = []
    """Conditions that are only reported: the model does not see them, and they cause no retry"""
    result_rows: Annotated[int, Field(ge=1, le=1000)] = 50
    """Number of rows of the table to include in the result"""

    @property
    def reader(self) -> TableReader:
        """How the code takes its tables."""
        return LANGUAGES[self.language].reader(self.dataframe)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        names = [data.name for data in self.data]
        if len(set(names)) != len(names):
            raise ValueError("data sets need distinct names")
        language = LANGUAGES[self.language]
        folded = [name.casefold() for name in names]
        if language.folds_case and len(set(folded)) != len(names):
            twice = ", ".join(name for name in names if folded.count(name.casefold()) > 1)
            raise ValueError(f"{language.title} does not distinguish {twice}: give the data sets other names")
        if "result" in names and language.result == "variable":
            raise ValueError("a data set cannot be named result: that is where the code puts its own")
        if reserved := [name for name in names if language.is_reserved(name)]:
            raise ValueError(f"a data set cannot be named {reserved[0]}: {language.title} reserves it")
        if (self.assertions or self.observe) and self.output == "plot":
            raise ValueError("assertions speak of a table: leave them out when output is plot")
        if self.output == "plot" and not language.plots:
            able = " or ".join(row.name for row in LANGUAGES.values() if row.transforms and row.plots)
            raise ValueError(f"{language.title} draws no plots: choose {able}")
        if unknown := sorted(set(self.expects) - set(names)):
            raise ValueError(f"expects names no data set of this job: {unknown[0]}")
        return self


class Column(Answer):
    """A column of a table."""

    name: str
    """Column name"""
    type: ColumnType
    """Data type of the column"""


class Table(Answer):
    """The first rows of a result table; the file has all of them."""

    columns: list[Column]
    """Columns of the table, in order"""
    rows: list[list[JsonValue]]
    """First rows, 50 unless `result_rows` sets another number, as lists in column order"""
    row_count: int
    """Number of rows of the whole table"""
    file_id: str | None
    """Id of the produced file with all rows; null if none was kept"""


class Effect(Answer):
    """What the code changed between the first data set and the result."""

    summary: str
    """The effect in one line"""
    rows: dict[str, JsonValue]
    """Number of rows `before` and `after`"""
    columns: dict[str, JsonValue]
    """Columns `before` and `after`, and those added, removed, renamed, retyped, changed and reordered"""
    no_op: bool
    """Whether the result is identical to an input"""
    rows_reordered: bool = False
    """Whether the same rows are in another order, judged by the columns of both tables"""
    nulls: dict[str, JsonValue] = {}
    """Missing values as [before, after], by column, where the number changed"""
    sums: dict[str, JsonValue] = {}
    """Sum as [before, after], by column, where it changed"""
    duplicates: dict[str, JsonValue] = {}
    """Number of duplicate rows `before` and `after`"""
    keys: dict[str, JsonValue] = {}
    """Columns that identify a row: `kept`, `lost` and `gained`"""
    lineage: str = ""
    """The result's `lineage` in one line; empty where it is not known"""


class AssertionCheck(Answer):
    """Outcome of one assertion."""

    text: str
    """The assertion"""
    holds: bool
    """Whether the result meets the assertion"""
    detail: str
    """What was compared"""


class UnverifiedReason(Answer):
    """A reason why a result is not proven."""

    code: UnverifiedCode
    """Kind of reason"""
    message: str
    """The reason in words"""


class Iteration(Answer):
    """One attempt of the model."""

    number: int
    """Number of the attempt, from 1"""
    code: str
    """Code that this attempt ran"""
    outcome: IterationOutcome
    """How the attempt ended"""
    message: str
    """The outcome in words"""
    seconds: float
    """Run time of the code in seconds"""
    effect: Effect | None = None
    """What the attempt changed; null if it made no table"""
    table: Table | None = None
    """First rows of the attempt's table; null if there is none or it is large"""
    assertions: list[AssertionCheck] = []
    """Outcome of each assertion for this attempt"""
    repaired: list[str] = []
    """What Assay corrected in the code before it ran"""
    unverified_because: list[UnverifiedReason] = []
    """What speaks against the attempt's result"""


class Probe(Answer):
    """A read-only query of the data by the model."""

    number: int
    """Number of the probe, from 1"""
    code: str
    """Code that the probe ran"""
    output: str
    """What the code printed"""


class Check(Answer):
    """A check of the result."""

    text: str
    """What was checked"""
    held: bool
    """Whether the check held"""
    from_: CheckAuthor = Field(alias="from")
    """Who stated the check"""
    noticed: list[str] = []
    """Of the model's checks: corrupted copies of the result that the check refused"""
    missed: list[str] = []
    """Of the model's checks: corrupted copies of the result that the check accepted"""

    model_config = ConfigDict(extra="ignore", populate_by_name=True, serialize_by_alias=True)


class InputSeen(Answer):
    """A data set as it was read, to compare later runs with."""

    name: str
    """Name of the data set"""
    columns: list[Column]
    """Columns of the data set"""
    row_count: int
    """Number of rows"""
    sha256: str
    """SHA-256 of the data, in hexadecimal digits"""
    file_id: str | None = None
    """Id of the file that was read; null for inline data"""
    notes: list[str] = []
    """How the file was read where it is not plain: encoding, lines above the header, columns that were kept as text"""
    read: bool | None = None
    """Whether the accepted code needed the data set; null if that is not known"""
    overwritten: bool = False
    """Whether the code gave the name another value without reading the data set"""


class Drift(Answer):
    """A difference between the data and what the code was made for."""

    data: str
    """Name of the data set that drifted"""
    column: str
    """Column name"""
    change: DriftKind
    """How the column differs"""
    expected: str | None = None
    """Data type that the code was made for; null for a new column"""
    found: str | None = None
    """Data type that was found; null for a missing column"""
    renamed_to: str | None = None
    """Of a missing column: the new column that it probably became; null if there is none"""


class CellsSent(Answer):
    """Which cells a message to the model contained."""

    turn: int
    """Turn of the job"""
    table: str
    """Name of the data set, or `result`"""
    rows: int
    """Number of rows sent, counted from the first"""
    columns: list[str]
    """Columns whose values were sent"""
    values: dict[str, int] = {}
    """Number of distinct values listed in addition, by column"""
    masked: list[str] = []
    """Columns whose values were hidden"""
    stand_ins: bool = False
    """Whether the cells came from a run over pseudonyms of masked values"""


class TransformResult(Answer):
    """Result of a `transform` job."""

    status: TransformStatus
    """`done`: all checks hold and the values come from the data; `unverified`: the model insisted on a result that one
    of `unverified_because` speaks against; `best_so_far`: the job had to stop before; `question`: the model needs an
    answer"""
    code: str
    """Code that made the result"""
    table: Table | None
    """Result table; null for a plot or a question"""
    plot_file_id: str | None
    """Id of the produced file with the plot; null for a table"""
    effect: Effect | None
    """What the code changed; null if there is no table"""
    explanation: str
    """What the code does, in the model's words"""
    iterations: list[Iteration]
    """Attempts of the model, in order"""
    question: str | None
    """Question of the model to the user; null unless the status is `question`"""
    probes: list[Probe] = []
    """Read-only queries of the data by the model"""
    assertions: list[AssertionCheck] = []
    """Outcome of each assertion for the result"""
    observed: list[AssertionCheck] = []
    """Outcome of each observed condition"""
    checks: list[Check] = []
    """Checks of the result by the caller, the model and Assay"""
    inputs: list[InputSeen] = []
    """Data sets as they were read"""
    drift: list[Drift] = []
    """Differences between the data and `expects`"""
    audit: list[CellsSent] = []
    """Cells that the model saw, by message"""
    masked_columns: list[str] = []
    """Columns of the result that are also masked in a follow-up"""
    continues: str | None = None
    """Id of the job whose result this one started from; null if none"""
    skills: list[str] = []
    """Names of the skills that entered the prompt"""
    unverified_because: list[UnverifiedReason] = []
    """Why the result is not proven; empty unless the status is `unverified`"""
    lineage: dict[str, ColumnSources] = {}
    """For each column of the result, the input columns that its values come from; empty if that is not known"""
    explained: float | None = None
    """Share of the result's values that depend on the data, from 0 to 1; null if that is not known"""
