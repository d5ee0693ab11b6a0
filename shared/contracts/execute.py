"""``execute``: the caller's own code in a sandbox, with limits and a verdict."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, FileId, Isolation, Reference, Request
from shared.languages import LanguageName


def _text(value: str) -> str:
    """Text that a file and a pipe can carry. Raises: ValueError."""
    if "\x00" in value:
        raise ValueError("it holds a NUL; send binary data as a file")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("it is not UTF-8 text; send binary data as a file") from None
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def _inner_path(path: str) -> str:
    """Return a path that stays within the work folder. Raises: ValueError."""
    _text(path)
    if path.startswith("/"):
        raise ValueError("a path is relative to the work folder")
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError("a path has no empty, '.' or '..' parts")
    if any(len(part.encode()) > 255 for part in parts):
        raise ValueError("a name has at most 255 bytes")
    if not path.isprintable():
        raise ValueError("a path has printable characters only")
    return path


Text = Annotated[str, AfterValidator(_text)]
InnerPath = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_inner_path)]


class Verdict(StrEnum):
    """How a run ended; everything but ``ok`` is the code's doing, never Assay's."""

    OK = "ok"
    USER_ERROR = "user_error"
    TIMEOUT_WALL = "timeout_wall"
    TIMEOUT_CPU = "timeout_cpu"
    MEMORY = "memory"
    OUTPUT = "output"
    DISK = "disk"
    PROCESSES = "processes"
    SIGNAL = "signal"
    CANCELLED = "cancelled"
    REJECTED = "rejected"


class Limits(Request):
    """Limits of a run."""

    wall_seconds: Annotated[float, Field(gt=0, le=300)] = 10
    """Elapsed time limit in seconds"""
    cpu_seconds: Annotated[float, Field(gt=0, le=120)] = 10
    """Processor time limit in seconds"""
    memory_mb: Annotated[int, Field(gt=0, le=4096)] = 512
    """Memory limit in megabytes"""
    processes: Annotated[int, Field(gt=0, le=256)] = 64
    """Limit on processes at the same time"""
    output_bytes: Annotated[int, Field(gt=0, le=16_000_000)] = 1_000_000
    """Limit on what the program prints, in bytes"""
    disk_mb: Annotated[int, Field(gt=0, le=2048)] = 256
    """Disk space limit in megabytes"""


class InputFile(Request):
    """An uploaded file, and where the code finds it."""

    id: FileId
    """Id of the uploaded file"""
    path: InnerPath
    """Path for the code to open, relative to the working directory"""


def apart(files: list[InputFile]) -> list[InputFile]:
    """Refuse two files at one path, or a file where another needs a folder. Raises: ValueError."""
    for one, next_one in pairwise(sorted(file.path + "/" for file in files)):
        if next_one.startswith(one):
            raise ValueError(f"two files want the path {one[:-1]!r}")
    return files


class ExecuteInput(Request):
    """Input of an `execute` job."""

    language: LanguageName
    """Language of the code"""
    code: Annotated[Text, AfterValidator(_not_blank), Field(max_length=900_000, json_schema_extra={"minLength": 1})]
    """Program to run"""
    files: Annotated[list[InputFile], Field(max_length=100)] = []
    """Uploaded files that the program can open"""
    stdin: Text = ""
    """Text that the program reads from standard input"""
    limits: Limits = Field(default_factory=Limits)
    """Limits of the run"""
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    """Seed of the random number generators; null leaves them unseeded"""
    session: bool = False
    """Keep the interpreter for a job that continues this one"""
    continues: Annotated[str, Reference("job"), Field(min_length=1, max_length=64)] | None = None
    """Id of an earlier session job in the same language, whose variables and files this code finds"""

    @model_validator(mode="after")
    def _session_fits(self) -> Self:
        if self.continues is not None and not self.session:
            raise ValueError("continues belongs to a session: set session to true")
        if self.session and (self.stdin or self.seed is not None):
            raise ValueError("the code of a session has no stdin and no seed")
        return self

    @field_validator("files")
    @classmethod
    def _files_apart(cls, files: list[InputFile]) -> list[InputFile]:
        return apart(files)


class CodeError(Answer):
    """Exception that the code raised."""

    type: str
    """Class of the exception"""
    message: str
    """Message of the exception"""
    traceback: str = ""
    """Traceback of the exception; empty if there is none"""
    exit_code: int | None = None
    """Exit code of the process; null when a signal ended the process"""


class ValueView(Answer):
    """A preview of a value."""

    type: str
    """Type of the value in its language"""
    shape: list[int] | None = None
    """Size in each dimension, such as rows and columns; null if the value has none"""
    text: str
    """The value as text, shortened if long"""


OutputSource = TypeAliasType(
    "OutputSource",
    Annotated[
        Literal["stdout", "stderr", "display", "value"],
        Field(description="Where an output comes from; `value`: the last expression of the code"),
    ],
)


class Display(Answer):
    """A rich output: a small text is in `text`, everything else in a file."""

    source: OutputSource = "display"
    """Where the output comes from"""

    media_type: str
    """Media type of the output, such as `image/png`"""
    text: str | None = None
    """The output as text; null if it is in a file"""
    file_id: str | None = None
    """Id of the produced file that holds the output; null if it is in `text`"""
    plain: str | None = None
    """The output as plain text, for a value in another form; null if there is none"""
    hidden: bool = False
    """Whether the document's author hid the output; always false outside of documents"""


class Artifact(Answer):
    """A file that the code wrote."""

    path: str
    """Path of the file, relative to the working directory"""
    file_id: str
    """Id of the file that the job produced"""
    size: int
    """Size of the file in bytes"""


class RunUsage(Answer):
    """Resources that the run used."""

    wall_ms: float
    """Elapsed time in milliseconds"""
    cpu_ms: float
    """Processor time in milliseconds"""
    peak_memory_mb: float
    """Peak memory in megabytes"""


class SessionState(Answer):
    """State of a session after one of its jobs."""

    calls: int
    """Number of the session's jobs so far, this one included"""
    repeated: int = 0
    """Number of earlier jobs whose code ran again, because their interpreter was gone"""
    alive: bool = True
    """Whether the interpreter still runs; if not, the next job starts from the state before this one"""


class ExecuteResult(Answer):
    """Result of an `execute` job."""

    verdict: Verdict
    """How the run ended"""
    stdout: str
    """What the program wrote to standard output"""
    stderr: str
    """What the program wrote to standard error"""
    truncated: bool
    """Whether the output was cut at its limit"""
    error: CodeError | None
    """Exception that ended the program; null if none did"""
    value: ValueView | None
    """Value of the program's last expression; null if there is none"""
    displays: list[Display]
    """Plots, tables and other rich outputs"""
    artifacts: list[Artifact]
    """Files that the program wrote"""
    usage: RunUsage
    """Resources that the run used"""
    isolation: Isolation
    """Isolation of the run's sandbox"""
    session: SessionState | None = None
    """State of the session after this job; null without a session"""
