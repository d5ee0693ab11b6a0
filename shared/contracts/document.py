"""``document``: Markdown whose code runs first and whose prompts then speak of the values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from shared.contracts.common import Answer, FileId, Reference, Request
from shared.contracts.execute import Display, InputFile, Text, apart
from shared.declarations.documents import parameter_faults


class DocumentInput(Request):
    markdown: Annotated[Text, Field(max_length=4_000_000)] | None = None
    file_id: FileId | None = None
    #: Recognised by the document's blocks when it is left out.
    flavour: Literal["stencila", "quarto", "myst"] | None = None
    parameters: dict[str, JsonValue] = {}
    files: Annotated[list[InputFile], Field(max_length=100)] = []
    execute: Literal["stale", "all", "none"] = "stale"
    previous_job_id: Annotated[str, Reference("job")] | None = None
    dry_run: bool = False
    model: Annotated[str, Field(max_length=200)] | None = None
    #: An instruction whose values are missing is asked as it stands, left out, or an error.
    on_missing: Literal["send", "skip", "fail"] = "send"

    @property
    def notation(self) -> Literal["stencila", "quarto", "myst"]:
        """The flavour in which it is read."""
        return self.flavour or "stencila"

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.markdown is None) == (self.file_id is None):
            raise ValueError("give exactly one of markdown and file_id")
        return self

    @field_validator("parameters")
    @classmethod
    def _parameters_fit(cls, given: dict[str, JsonValue], info: ValidationInfo) -> dict[str, JsonValue]:
        """What a document in a file declares is checked when the job reads it."""
        markdown = info.data.get("markdown")
        if markdown is not None:
            _refuse(parameter_faults(markdown, given))
        return given

    @field_validator("files")
    @classmethod
    def _files_apart(cls, files: list[InputFile]) -> list[InputFile]:
        return apart(files)


def _refuse(faults: Mapping[str, str]) -> None:
    """Raises: ValidationError that names each parameter."""
    lines = [
        InitErrorDetails(type=PydanticCustomError("value_error", "{fault}", {"fault": fault}), loc=(name,), input=None)
        for name, fault in faults.items()
    ]
    if lines:
        raise ValidationError.from_exception_data("parameters", lines)


BlockKind = Literal[
    "chunk", "expression", "instruction", "suggestion", "prompt", "parameter", "if", "for", "include", "call"
]


class BlockMessage(Answer):
    level: Literal["info", "warning", "error"]
    code: str
    text: str


class BlockVariable(Answer):
    name: str
    kernel: str
    type: str
    bytes: int
    truncated: bool
    sha256: str
    block: str | None = None  #: that set it


class Block(Answer):
    """One executable block; ``lines`` are [from, to], from 1 and inclusive, in the input."""

    id: str
    kind: BlockKind
    lines: tuple[int, int]
    #: ``stale``: nothing was to run, and since the earlier job this block would have to.
    status: Literal["ok", "error", "skipped", "fresh", "stale"]
    language: str | None = None
    instruction_type: str | None = None
    message_original: str | None = None
    message_rendered: str | None = None
    message_spans: list[tuple[int, int, str]] = []  #: [from, to) of the rendered one, and whose value
    variables: list[BlockVariable] = []
    answers: list[str] = []  #: of the model to an instruction, as they came
    outputs: list[Display] = []
    #: Its ``block``: a chunk itself, or who set the only name that is read.
    value: BlockVariable | None = None  #: what the last output shows, where that is a value
    model: str | None = None
    messages: list[BlockMessage] = []
    seconds: float = 0
    digest: str | None = None  #: of what went in; a later job leaves a block alone whose digest is the same


class Estimate(Answer):
    """What a dry run would have asked of models; a token is taken to be four characters."""

    calls: int
    input_tokens: int
    output_tokens: int = 0  #: 500 for each answer
    cost_usd: float | None  #: null when a model has no known price


class DocumentFile(Answer):
    """An included file with the answers to its own instructions."""

    path: str
    file_id: str


class DocumentResult(Answer):
    markdown: str
    file_id: str | None
    html_file_id: str | None
    #: [from, to) in the text of the page's ``main``, and whose value stands there; what was not found is missing
    page_spans: list[tuple[int, int, str]] = []
    blocks: list[Block]
    variables: dict[str, JsonValue]
    warnings: list[str]
    files: list[DocumentFile] = []  #: those of the request that have gained answers, as they are now
    estimate: Estimate | None = None
    parameters_schema: dict[str, JsonValue] = {}  #: a JSON Schema of what `parameters` may hold
    state_file_id: str | None = None  #: what a later job needs to run only what changed
