"""Arguments of each tool; unknown arguments are refused, and the schema states every bound."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from shared.contracts.jobs import JobState
from shared.faults import VARIABLE
from shared.kinds import KindName
from shared.languages import DEFAULT_LANGUAGE, LanguageName, TransformLanguage

#: How long a tool may hold its answer: hosts commonly give up after 60 s.
MAX_WAIT_SECONDS = 50
MAX_PAGE = 50
_MAX_TEXT = 900_000

WaitSeconds = Annotated[
    float,
    Field(
        ge=0,
        le=MAX_WAIT_SECONDS,
        description="How long to wait for the end; a job that takes longer continues, and get_job returns it later",
    ),
]
JobId = Annotated[str, Field(min_length=1, max_length=64, description="The job_id of an earlier answer")]
FileId = Annotated[str, Field(min_length=1, max_length=64, description="The file_id of an uploaded or made file")]
Conversation = Annotated[
    str, Field(max_length=64, description="The conversation_id of an earlier answer, to follow up on it")
]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    local: ClassVar[frozenset[str]] = frozenset()  #: arguments that are offered only where a folder is open


class SandboxFile(Arguments):
    """A file for the code: an uploaded one, or a short text."""

    path: Annotated[str, Field(min_length=1, max_length=255, description="Where the code finds it, such as data.csv")]
    file_id: FileId | None = None
    text: Annotated[str, Field(max_length=_MAX_TEXT, description="Its content, instead of file_id")] | None = None


class RunCode(Arguments):
    language: LanguageName = DEFAULT_LANGUAGE
    code: Annotated[
        str,
        Field(
            min_length=1,
            max_length=_MAX_TEXT,
            description="The value of the last expression is returned; figures and new files are kept",
        ),
    ]
    session: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=64,
                description="new keeps variables and files; the next call gives the job_id of the one before it",
            ),
        ]
        | None
    ) = None
    files: Annotated[list[SandboxFile], Field(max_length=20)] = []
    stdin: Annotated[str, Field(max_length=_MAX_TEXT, description="Not in a session")] = ""
    limit_seconds: Annotated[float, Field(gt=0, le=300, description="The program is ended after so long")] = 10
    memory_mb: Annotated[int, Field(gt=0, le=4096)] = 512
    wait_seconds: WaitSeconds = 30


class DataSet(Arguments):
    """A table: exactly one of file_id, csv and rows."""

    name: Annotated[str, Field(pattern=VARIABLE, description="The name that the code uses for it")] = "data"
    file_id: FileId | None = None
    csv: Annotated[str, Field(max_length=_MAX_TEXT)] | None = None
    rows: Annotated[list[dict[str, JsonValue]], Field(max_length=10_000)] | None = None


class TransformData(Arguments):
    task: Annotated[str, Field(min_length=1, max_length=50_000, description="What is to be made of the data, in words")]
    data: Annotated[list[DataSet], Field(min_length=1, max_length=20)]
    language: TransformLanguage = DEFAULT_LANGUAGE
    output: Literal["table", "plot"] = "table"
    assertions: Annotated[
        list[str],
        Field(max_length=50, description="What must hold, such as: rows == 12, columns contain a, b, sum(x) unchanged"),
    ] = []
    mask: Annotated[list[str], Field(max_length=1000, description="Columns whose values no model may see")] = []
    conversation_id: Conversation | None = None
    wait_seconds: WaitSeconds = 45


class RunDocument(Arguments):
    """Exactly one of markdown and file_id."""

    markdown: Annotated[str, Field(max_length=_MAX_TEXT)] | None = None
    file_id: FileId | None = None
    flavour: Literal["stencila", "quarto", "myst"] | None = None
    parameters: dict[str, JsonValue] = {}
    files: Annotated[list[SandboxFile], Field(max_length=20)] = []
    execute: Literal["stale", "all", "none"] = "stale"
    previous_job_id: JobId | None = None
    wait_seconds: WaitSeconds = 45


class SearchCollection(Arguments):
    collection: Annotated[str, Field(min_length=1, max_length=64)]
    question: Annotated[str, Field(min_length=1, max_length=8000)]
    tables: Annotated[list[str], Field(min_length=1, max_length=50)] | None = None
    filters: Annotated[
        dict[str, JsonValue],
        Field(
            description='By field: a value, a list of values, null (no value), {"gte": .., "lt": ..}, {"not": ..}, '
            '{"prefix": ..} or {"within_km": 5, "of": [latitude, longitude]}; all must hold; {"or": [{..}, {..}]}'
        ),
    ] = {}
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    answer: Annotated[bool, Field(description="Whether a model writes an answer with citations")] = True
    wait_seconds: WaitSeconds = 45


class EditFlow(Arguments):
    message: Annotated[str, Field(min_length=1, max_length=50_000, description="What is to change, in words")]
    flow_id: Annotated[str, Field(max_length=64, description="Without it a new flow is begun")] | None = None
    mode: Annotated[
        Literal["apply", "propose"], Field(description="propose changes nothing and returns a proposal_id")
    ] = "apply"
    conversation_id: Conversation | None = None
    wait_seconds: WaitSeconds = 45


class DetectStack(Arguments):
    """Exactly one of git and file_id."""

    git: Annotated[str, Field(max_length=2048, description="A public https:// repository")] | None = None
    ref: Annotated[str, Field(max_length=255, description="A branch, tag or commit of it")] | None = None
    file_id: Annotated[str, Field(max_length=64, description="An uploaded archive: tar or zip")] | None = None
    mode: Annotated[
        Literal["full", "static", "llm_only"], Field(description="static calls no model, full only for what is left")
    ] = "full"
    root: Annotated[str, Field(max_length=4096, description="Only this folder")] = ""
    wait_seconds: WaitSeconds = 45

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.git is None) == (self.file_id is None):
            raise ValueError("give exactly one of git and file_id; upload_file makes a file_id of an archive")
        return self


class GetJob(Arguments):
    job_id: JobId
    wait_seconds: WaitSeconds = 0


class ListJobs(Arguments):
    kind: KindName | None = None
    state: JobState | None = None
    mine: Annotated[bool, Field(description="Only jobs that were begun through these tools")] = False
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 20
    cursor: Annotated[str, Field(max_length=1000, description="next_cursor of the page before")] | None = None


class CancelJob(Arguments):
    job_id: JobId


class UploadFile(Arguments):
    """Exactly one of text, base64 and (where a folder is open) path."""

    local: ClassVar[frozenset[str]] = frozenset({"path"})

    name: Annotated[str, Field(min_length=1, max_length=255, description="With its ending, such as sales.csv")]
    text: Annotated[str, Field(max_length=_MAX_TEXT)] | None = None
    base64: Annotated[str, Field(max_length=_MAX_TEXT, description="Bytes that are not text")] | None = None
    path: (
        Annotated[
            str, Field(max_length=4096, description="A file below a folder that the user has opened with --folder")
        ]
        | None
    ) = None
