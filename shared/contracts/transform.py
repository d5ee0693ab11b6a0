"""``transform``: data-frame code for a task, written by a model, run and checked until it is done."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator

from shared.contracts.common import Answer, FileId, Request
from shared.declarations.assertions import parse_assertion
from shared.languages import DEFAULT_LANGUAGE, LANGUAGES, TableReader, TransformLanguage

DataName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]
ColumnType = Literal["int", "float", "decimal", "bool", "string", "date", "datetime", "duration", "list", "struct"]
ColumnName = Annotated[str, Field(min_length=1, max_length=500)]


def _parses(text: str) -> str:
    parse_assertion(text)
    return text


#: Something that must hold of the result; its grammar is in ``shared.declarations.assertions``.
AssertionText = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_parses)]


class DataSet(Request):
    """One named data set: an uploaded file (or several with the same columns), rows as objects, or CSV text.

    Exactly one of them; ``sheet``, ``delimiter`` and ``encoding`` say of a file what else is found out.
    """

    name: DataName = "data"
    file_id: FileId | None = None
    file_ids: Annotated[list[FileId], Field(min_length=1, max_length=200)] | None = None
    rows: list[dict[str, JsonValue]] | None = None
    csv: str | None = None
    sheet: Annotated[str, Field(min_length=1, max_length=100)] | None = None  #: of a workbook: its name
    delimiter: Annotated[str, Field(pattern=r"^[^\r\n\"]$")] | None = None
    encoding: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,40}$")] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in ("file_id", "file_ids", "rows", "csv") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of file_id, file_ids, rows and csv")
        if self.rows is not None and (self.sheet or self.delimiter or self.encoding):
            raise ValueError("sheet, delimiter and encoding speak of files")
        return self


class Preview(Request):
    """What of the data the model may see; ``rows: 0`` shows the schema only."""

    rows: Annotated[int, Field(ge=0, le=100)] = 5
    mask: Annotated[list[ColumnName], Field(max_length=1000)] = []
    tokens: Annotated[int, Field(ge=200, le=50_000)] = 6000  #: about how much of a prompt the preview may take


class Branch(Request):
    """An iteration of an earlier transform to continue from, instead of the conversation's last result."""

    job_id: Annotated[str, Field(min_length=1, max_length=64)]
    iteration: Annotated[int, Field(ge=1)] | None = None  #: None: the job's accepted code


class ExpectedColumn(Request):
    name: ColumnName
    type: ColumnType | None = None


def _says_something(text: str) -> str:
    if not text.strip():
        raise ValueError("say what is to be done")
    return text


class TransformInput(Request):
    task: Annotated[str, Field(min_length=1, max_length=50_000), AfterValidator(_says_something)]
    data: Annotated[list[DataSet], Field(min_length=1, max_length=20)]
    language: TransformLanguage = DEFAULT_LANGUAGE
    dataframe: Literal["pandas", "polars"] = "pandas"
    output: Literal["table", "plot"] = "table"
    strategy: Literal["deterministic", "tools"] = "deterministic"
    assertions: Annotated[list[AssertionText], Field(max_length=50)] = []
    preview: Preview = Preview()
    max_iterations: Annotated[int, Field(ge=1, le=20)] = 5
    confirm: Literal["auto", "always", "never"] = "auto"
    code: Annotated[str, Field(min_length=1, max_length=500_000)] | None = None
    #: What the first data set's name holds in a follow-up; by default the previous result, with ``code`` the input.
    base: Literal["previous", "original"] | None = None
    branch: Branch | None = None
    #: The columns that saved ``code`` was made for, by data set; what differs is reported as drift.
    expects: dict[DataName, Annotated[list[ExpectedColumn], Field(max_length=2000)]] = {}
    #: ``fail``: columns of ``expects`` that are missing or of another type end the job before any code runs.
    on_drift: Literal["report", "fail"] = "report"
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    #: Assertions that are only reported: the model is not told, and nothing is tried again because of them.
    observe: Annotated[list[AssertionText], Field(max_length=50)] = []
    result_rows: Annotated[int, Field(ge=1, le=1000)] = 50  #: how many rows of the table stand in the result

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
    name: str
    type: ColumnType


class Table(Answer):
    """The result: ``rows`` are the first (50, or ``result_rows``) as lists in column order; the file is the whole."""

    columns: list[Column]
    rows: list[list[JsonValue]]
    row_count: int
    file_id: str | None


class Effect(Answer):
    """What the code changed between the first data set and the result."""

    summary: str
    rows: dict[str, JsonValue]
    columns: dict[str, JsonValue]
    no_op: bool
    rows_reordered: bool = False  #: the same rows, as far as the columns in both tables go, in another order
    nulls: dict[str, JsonValue] = {}  #: column: [before, after], where it changed
    sums: dict[str, JsonValue] = {}  #: column: [before, after], where it changed
    duplicates: dict[str, JsonValue] = {}
    keys: dict[str, JsonValue] = {}  #: columns that identify a row: kept, lost, gained


class AssertionCheck(Answer):
    text: str
    holds: bool
    detail: str


class Iteration(Answer):
    number: int
    code: str
    outcome: Literal["result", "error", "no_code", "not_a_table", "assertion_failed", "no_op"]
    message: str
    seconds: float
    effect: Effect | None = None  #: what this attempt did to the data, where it came to a table
    table: Table | None = None  #: its first rows; null where they would be long
    assertions: list[AssertionCheck] = []  #: how the caller's held of it


class Probe(Answer):
    """A read-only look that the model took at the data."""

    number: int
    code: str
    output: str


class Check(Answer):
    """What was checked of the result: an assertion of the caller's or the model's, or one of Assay's own."""

    text: str
    held: bool
    from_: Literal["caller", "model", "assay"] = Field(alias="from")
    noticed: list[str] = []  #: of the model's: the spoilt copies of the result of which it did not hold
    missed: list[str] = []  #: and those of which it held as well

    model_config = ConfigDict(extra="ignore", populate_by_name=True, serialize_by_alias=True)


class InputSeen(Answer):
    """A data set as it was read: what a later run of the same code is compared with."""

    name: str
    columns: list[Column]
    row_count: int
    sha256: str
    file_id: str | None = None  #: the file that was read, a previous result included


class Drift(Answer):
    """How the data differs from what the code was made for."""

    data: str
    column: str
    change: Literal["missing", "new", "type"]
    expected: str | None = None
    found: str | None = None
    renamed_to: str | None = None  #: of a missing column: the new one that it has probably become


class CellsSent(Answer):
    """Which cells of which table a message to the model held."""

    turn: int
    table: str
    rows: int  #: of the head, counted from the first
    columns: list[str]  #: whose values stood in the message
    values: dict[str, int] = {}  #: column: distinct values listed beside the head
    masked: list[str] = []
    stand_ins: bool = False  #: the cells came from a run over pseudonyms of masked values


class TransformResult(Answer):
    status: Literal["done", "best_so_far", "question"]
    code: str
    table: Table | None
    plot_file_id: str | None
    effect: Effect | None
    explanation: str
    iterations: list[Iteration]
    question: str | None
    probes: list[Probe] = []
    assertions: list[AssertionCheck] = []
    observed: list[AssertionCheck] = []
    checks: list[Check] = []
    inputs: list[InputSeen] = []
    drift: list[Drift] = []
    audit: list[CellsSent] = []
    masked_columns: list[str] = []  #: of the result: masked in a follow-up too
    continues: str | None = None  #: the job whose result this one started from
    skills: list[str] = []
