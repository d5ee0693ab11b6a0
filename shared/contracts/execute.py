"""``execute``: the caller's own code in a sandbox, with limits and a verdict."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from shared.contracts.common import Answer, FileId, Isolation, Reference, Request
from shared.languages import LanguageName


def _text(value: str) -> str:
    """Text that a file and a pipe can carry. Raises: ValueError."""
    if "\x00" in value:
        raise ValueError("it holds a NUL; send binary data as a file")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("it is no text in UTF-8; send binary data as a file") from None
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("there is no code in it")
    return value


def _inner_path(path: str) -> str:
    """A path that stays within the work folder. Raises: ValueError."""
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
    """What a run may use; beyond the most is a 422."""

    wall_seconds: Annotated[float, Field(gt=0, le=300)] = 10
    cpu_seconds: Annotated[float, Field(gt=0, le=120)] = 10
    memory_mb: Annotated[int, Field(gt=0, le=4096)] = 512
    processes: Annotated[int, Field(gt=0, le=256)] = 64
    output_bytes: Annotated[int, Field(gt=0, le=16_000_000)] = 1_000_000
    disk_mb: Annotated[int, Field(gt=0, le=2048)] = 256


class InputFile(Request):
    """An uploaded file and where the code finds it, relative to the work folder."""

    id: FileId
    path: InnerPath


def apart(files: list[InputFile]) -> list[InputFile]:
    """No two files at one place, and none where another needs a folder. Raises: ValueError."""
    for one, next_one in pairwise(sorted(file.path + "/" for file in files)):
        if next_one.startswith(one):
            raise ValueError(f"two files want the path {one[:-1]!r}")
    return files


class ExecuteInput(Request):
    language: LanguageName
    code: Annotated[Text, AfterValidator(_not_blank), Field(max_length=900_000, json_schema_extra={"minLength": 1})]
    files: Annotated[list[InputFile], Field(max_length=100)] = []
    stdin: Text = ""
    limits: Limits = Field(default_factory=Limits)
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    #: Keep the interpreter for a job that ``continues`` this one.
    session: bool = False
    #: An earlier job with a session, in the same language: what its code defined and wrote is there.
    continues: Annotated[str, Reference("job"), Field(min_length=1, max_length=64)] | None = None

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
    type: str
    message: str
    traceback: str = ""
    exit_code: int | None = None


class ValueView(Answer):
    """A look at a value: its type, its shape (rows, columns, ...) when it has one, and a bounded text."""

    type: str
    shape: list[int] | None = None
    text: str


class Display(Answer):
    """A rich output; small text stands in ``text``, everything else in a file."""

    media_type: str
    text: str | None = None
    file_id: str | None = None


class Artifact(Answer):
    path: str
    file_id: str
    size: int


class RunUsage(Answer):
    wall_ms: float
    cpu_ms: float
    peak_memory_mb: float


class SessionState(Answer):
    """Where a session stands after a job of it."""

    calls: int  #: its jobs so far, this one included
    repeated: int = 0  #: earlier ones whose code ran again, because the interpreter that had run them was gone
    alive: bool = True  #: False: this job's code has ended the interpreter; the next one begins from the calls before


class ExecuteResult(Answer):
    verdict: Verdict
    stdout: str
    stderr: str
    truncated: bool
    error: CodeError | None
    value: ValueView | None
    displays: list[Display]
    artifacts: list[Artifact]
    usage: RunUsage
    isolation: Isolation
    session: SessionState | None = None
