"""``document``: Markdown whose code runs first and whose prompts then speak of the values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, FileId, Reference, Request
from shared.contracts.execute import Display, InputFile, Text, apart
from shared.declarations.documents import parameter_faults

MarkdownFlavour = TypeAliasType(
    "MarkdownFlavour",
    Annotated[Literal["stencila", "quarto", "myst"], Field(description="Markdown flavour with executable blocks")],
)
BlockSelection = TypeAliasType(
    "BlockSelection", Annotated[Literal["stale", "all", "none"], Field(description="Which blocks of a document to run")]
)
MissingValues = TypeAliasType(
    "MissingValues",
    Annotated[
        Literal["send", "skip", "fail"], Field(description="What to do with an instruction whose values are missing")
    ],
)
MessageLevel = TypeAliasType(
    "MessageLevel", Annotated[Literal["info", "warning", "error"], Field(description="Severity of a message")]
)
BlockStatus = TypeAliasType(
    "BlockStatus",
    Annotated[Literal["ok", "error", "skipped", "fresh", "stale"], Field(description="How a block ended")],
)


class DocumentInput(Request):
    """Input of a `document` job."""

    markdown: Annotated[Text, Field(max_length=4_000_000)] | None = None
    """Text of the document, Markdown or a Jupyter notebook; give this or `file_id`"""
    file_id: FileId | None = None
    """Id of the uploaded document; give this or `markdown`"""
    flavour: MarkdownFlavour | None = None
    """Markdown flavour of the document; null detects it from the document's blocks"""
    parameters: dict[str, JsonValue] = {}
    """Values for the document's parameters, by name"""
    files: Annotated[list[InputFile], Field(max_length=100)] = []
    """Uploaded files that the document's code can open"""
    execute: BlockSelection = "stale"
    """Which blocks to run: the `stale` ones, `all` or `none`"""
    previous_job_id: Annotated[str, Reference("job")] | None = None
    """Id of the earlier job on this document whose outputs are reused"""
    dry_run: bool = False
    """Only render prompts and estimate the cost; call no model"""
    notebook: bool = False
    """Also write the document as a Jupyter notebook with its outputs"""
    model: Annotated[str, Field(max_length=200)] | None = None
    """Model for every instruction, instead of the document's or the role's"""
    on_missing: MissingValues = "send"
    """What to do with an instruction whose values are missing: `send` it as written, `skip` it, or `fail`"""

    @property
    def notation(self) -> MarkdownFlavour:
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
        """Check the parameters; those that a document in a file declares are checked when the job reads it."""
        markdown = info.data.get("markdown")
        if markdown is not None:
            _refuse(parameter_faults(markdown, given))
        return given

    @field_validator("files")
    @classmethod
    def _files_apart(cls, files: list[InputFile]) -> list[InputFile]:
        return apart(files)


def _refuse(faults: Mapping[str, str]) -> None:
    """Raise a ValidationError that names each parameter, if there are faults."""
    lines = [
        InitErrorDetails(type=PydanticCustomError("value_error", "{fault}", {"fault": fault}), loc=(name,), input=None)
        for name, fault in faults.items()
    ]
    if lines:
        raise ValidationError.from_exception_data("parameters", lines)


BlockKind = TypeAliasType(
    "BlockKind",
    Annotated[
        Literal[
            "chunk", "expression", "instruction", "suggestion", "prompt", "parameter", "if", "for", "include", "call"
        ],
        Field(description="Kind of block in a document"),
    ],
)


class BlockMessage(Answer):
    """A message about a block."""

    level: MessageLevel
    """Severity of the message"""
    code: str
    """Stable identifier of the message"""
    text: str
    """The message, for a person"""


class BlockVariable(Answer):
    """A value that a block used or produced."""

    name: str
    """Variable name"""
    kernel: str
    """Language whose kernel holds the value"""
    type: str
    """Type of the value in its language"""
    bytes: int
    """Size of the value as text, in bytes"""
    truncated: bool
    """Whether the text of the value was shortened"""
    sha256: str
    """SHA-256 of the value, in hexadecimal digits"""
    block: str | None = None
    """Id of the block that set the value; null if unknown"""


class Block(Answer):
    """One executable block of the document."""

    id: str
    """Block id, unique within the document"""
    kind: BlockKind
    """Kind of block"""
    lines: tuple[int, int]
    """First and last line of the block in the input, from 1, both included"""
    status: BlockStatus
    """How the block ended; `stale`: the block was not run, although its inputs changed since the earlier job"""
    language: str | None = None
    """Language of the block's code; null if it has none"""
    instruction_type: str | None = None
    """What the instruction wants: `new`, `edit` or `fix` content; null for other blocks"""
    message_original: str | None = None
    """Instruction as written in the document; null for other blocks"""
    message_rendered: str | None = None
    """Instruction with its values filled in; null for other blocks"""
    message_spans: list[tuple[int, int, str]] = []
    """Values in the rendered instruction: start, end (exclusive, in characters) and variable name"""
    variables: list[BlockVariable] = []
    """Values that the block used"""
    answers: list[str] = []
    """Answers of the model to the instruction, as received"""
    outputs: list[Display] = []
    """What the block printed or displayed"""
    code_hidden: bool = False
    """Whether the document's author hid the block's code in pages"""
    value: BlockVariable | None = None
    """Value that the last output shows, with the block that set it; null if the output shows no single value"""
    model: str | None = None
    """Model that answered the instruction; null if none did"""
    messages: list[BlockMessage] = []
    """Errors, warnings and notes about the block"""
    seconds: float = 0
    """Run time of the block in seconds"""
    digest: str | None = None
    """Digest of the block's inputs; a later job skips a block whose digest is the same"""


class Estimate(Answer):
    """What the job would need of models, at four characters a token."""

    calls: int
    """Number of model calls"""
    input_tokens: int
    """Estimated tokens of all prompts"""
    output_tokens: int = 0
    """Estimated tokens of all answers, 500 for each"""
    cost_usd: float | None
    """Estimated cost in US dollars; null if a model has no known price"""


class DocumentFile(Answer):
    """An included file with the answers to its own instructions."""

    path: str
    """Path of the included file"""
    file_id: str
    """Id of the file with the answers"""


class DocumentResult(Answer):
    """Result of a `document` job."""

    markdown: str
    """The document with its outputs and answers"""
    file_id: str | None
    """Id of the file that holds the document; null if none was made"""
    html_file_id: str | None
    """Id of the file that holds the document as an HTML page; null if none was made"""
    notebook_file_id: str | None = None
    """Id of the file that holds the document as a Jupyter notebook; null unless `notebook` was set"""
    page_spans: list[tuple[int, int, str]] = []
    """Values in the text of the page's `main`: start, end (exclusive) and block id; values not found are omitted"""
    blocks: list[Block]
    """Blocks of the document and how each ended"""
    variables: dict[str, JsonValue]
    """Values of the document's variables at its end, by name"""
    warnings: list[str]
    """Problems that did not stop the job"""
    files: list[DocumentFile] = []
    """Files of the request that gained answers, with their new content"""
    estimate: Estimate | None = None
    """Estimated use of models; null unless the job was a dry run"""
    parameters_schema: dict[str, JsonValue] = {}
    """JSON Schema of the document's parameters"""
    state_file_id: str | None = None
    """Id of the file with which a later job runs only what changed; null if none was kept"""
