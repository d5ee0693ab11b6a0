"""``transform``: data-frame code for a task, written by a model, run and checked until it is done."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator

from shared.contracts.common import Answer, FileId, Request

DataName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]


class DataSet(Request):
    """One named data set: an uploaded file, rows as objects, or CSV text; exactly one of them."""

    name: DataName = "data"
    file_id: FileId | None = None
    rows: list[dict[str, JsonValue]] | None = None
    csv: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in ("file_id", "rows", "csv") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of file_id, rows and csv")
        return self


class Preview(Request):
    """What of the data the model may see; ``rows: 0`` shows the schema only."""

    rows: Annotated[int, Field(ge=0, le=100)] = 5
    mask: list[str] = []


class TransformInput(Request):
    task: Annotated[str, Field(min_length=1, max_length=50_000)]
    data: Annotated[list[DataSet], Field(min_length=1, max_length=20)]
    language: Literal["python", "r", "sql"] = "python"
    dataframe: Literal["pandas", "polars"] = "pandas"
    output: Literal["table", "plot"] = "table"
    strategy: Literal["deterministic", "tools"] = "deterministic"
    assertions: Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(max_length=50)] = []
    preview: Preview = Preview()
    max_iterations: Annotated[int, Field(ge=1, le=20)] = 5
    confirm: Literal["auto", "always", "never"] = "auto"
    code: Annotated[str, Field(min_length=1, max_length=500_000)] | None = None
    base: Literal["previous", "original"] = "previous"

    @model_validator(mode="after")
    def _distinct_names(self) -> Self:
        names = [data.name for data in self.data]
        if len(set(names)) != len(names):
            raise ValueError("data sets need distinct names")
        return self


class Column(Answer):
    name: str
    type: Literal["int", "float", "decimal", "bool", "string", "date", "datetime", "duration", "list", "struct"]


class Table(Answer):
    """The result: ``rows`` are the first 50 as lists in column order; the whole is the Parquet file."""

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


class Iteration(Answer):
    number: int
    code: str
    outcome: Literal["result", "error", "no_code", "not_a_table", "assertion_failed", "no_op"]
    message: str
    seconds: float


class TransformResult(Answer):
    status: Literal["done", "best_so_far", "question"]
    code: str
    table: Table | None
    plot_file_id: str | None
    effect: Effect | None
    explanation: str
    iterations: list[Iteration]
    question: str | None
