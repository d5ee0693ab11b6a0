"""The table of job kinds: what the gateway, the workers, the client and the command know of a kind is its row.

A new kind is a row here (or in a plugin's ``register()``) and a folder with the capability that its service serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar, Union

from pydantic import BaseModel, Field, JsonValue, create_model

from shared.cases import (
    DETECT_CASES,
    EXECUTE_CASES,
    FLOW_CASES,
    NO_CASES,
    SEARCH_CASES,
    TRANSFORM_CASES,
    CaseRules,
    name_of,
)
from shared.contracts.detect import DetectInput, DetectResult
from shared.contracts.document import DocumentInput, DocumentResult
from shared.contracts.execute import ExecuteInput, ExecuteResult
from shared.contracts.flow import FlowInput, FlowResult
from shared.contracts.jobs import JobRequest
from shared.contracts.search import IngestInput, IngestResult, RecordsInput, RecordsResult, SearchInput, SearchResult
from shared.contracts.transform import TransformInput, TransformResult
from shared.languages import DEFAULT_LANGUAGE
from shared.specs import NameIn, SpecTable

Input = TypeVar("Input", bound=BaseModel)


@dataclass(frozen=True)
class ModelRole(Generic[Input]):
    """A role for which a kind calls models; the operator configures the role's models."""

    name: str  #: the same in configuration, registry, prompt key and call
    effort: Literal["quick", "thorough"] = "quick"  #: which default chain of models plays it
    required: bool = False  #: without a model the kind can do nothing; else it only does less
    needed_by: Callable[[Input], bool] | None = None  #: which jobs need it, where that depends on their input

    def is_needed_by(self, input: Input) -> bool:
        return self.required if self.needed_by is None else self.needed_by(input)


@dataclass(frozen=True)
class Example:
    """A request that the API documentation shows; it works unchanged."""

    summary: str
    input: Mapping[str, JsonValue]


@dataclass(frozen=True)
class KindSpec(Generic[Input]):
    """One kind of job.

    What a job may refer to (files, flows, collections ...) is marked on the fields of ``input`` with ``Reference``.
    """

    name: str
    input: type[Input]
    result: type[BaseModel]
    service: str  #: the worker service, as it advertises itself
    command: str  #: the words after ``assay`` that submit one
    example: Example
    title: tuple[str, ...] = ()  #: where the input says what it is about: dotted paths, the first that is there
    title_form: Literal["text", "code", "markdown"] = "text"  #: of that text
    roles: tuple[ModelRole[Input], ...] = ()
    language: Callable[[Input], str] | None = None  #: the language that the job's own code is written in
    cases: CaseRules = NO_CASES
    shadowed: bool = False  #: its jobs change nothing but their own answer, and take nothing from an earlier job
    large_body: bool = False  #: a submit may be as large as ``ASSAY_LARGE_BODY_BYTES``
    prompts: Path | None = None  #: a plugin's folder of prompts: ``<purpose>.md`` is the prompt ``<service>.<purpose>``

    @cached_property
    def request(self) -> type[JobRequest]:
        """The body of a submit: ``JobRequest`` with this kind's name and input."""
        fields: dict[str, Any] = {"kind": (Literal[self.name], ...), "input": (self.input, ...)}
        text = f"A job of kind `{self.name}` to submit."
        return create_model(f"{self.name.title()}Job", __base__=JobRequest, __doc__=text, **fields)

    def needed_roles(self, input: Input) -> Iterator[str]:
        """Yield the roles that a job with this input cannot do without."""
        return (role.name for role in self.roles if role.is_needed_by(input))


def _asks_for_code(input: TransformInput) -> bool:
    return input.code is None


def _asks_only_the_model(input: DetectInput) -> bool:
    return input.mode == "llm_only"


def _language(input: ExecuteInput | TransformInput) -> str:
    return input.language


KINDS: SpecTable[KindSpec[Any]] = SpecTable(
    "job kind",
    [
        KindSpec(
            name="execute",
            input=ExecuteInput,
            result=ExecuteResult,
            service="execution",
            command="execute",
            title=("code",),
            title_form="code",
            cases=EXECUTE_CASES,
            example=Example("Run Python in the sandbox", {"language": DEFAULT_LANGUAGE, "code": "print(1 + 1)"}),
            language=_language,
        ),
        KindSpec(
            name="transform",
            input=TransformInput,
            result=TransformResult,
            service="execution",
            command="transform",
            title=("task",),
            cases=TRANSFORM_CASES,
            shadowed=True,
            example=Example(
                "Let a model write and check data-frame code",
                {
                    "task": "Total amount by region, largest first",
                    "data": [{"name": "data", "csv": "region,amount\nnorth,2\nsouth,3\nnorth,4\n"}],
                    "assertions": ["rows == 2"],
                },
            ),
            roles=(ModelRole("execution.transform", required=True, needed_by=_asks_for_code),),
            language=_language,
        ),
        KindSpec(
            name="document",
            input=DocumentInput,
            result=DocumentResult,
            service="execution",
            command="doc run",
            title=("markdown",),
            title_form="markdown",
            shadowed=True,
            example=Example("Run the code of a document", {"markdown": "```python exec\nprint(6 * 7)\n```\n"}),
            roles=(ModelRole("documents.instruction"),),
        ),
        KindSpec(
            name="search",
            input=SearchInput,
            result=SearchResult,
            service="search",
            command="search",
            title=("question",),
            cases=SEARCH_CASES,
            shadowed=True,
            example=Example(
                "Search a collection", {"collection": "conference", "question": "Talks about queues on Friday"}
            ),
            roles=(
                ModelRole("search.plan", "thorough"),
                ModelRole("search.reflect", "thorough"),
                ModelRole("search.answer", "thorough"),
            ),
        ),
        KindSpec(
            name="ingest",
            input=IngestInput,
            result=IngestResult,
            service="search",
            command="ingest",
            title=("table", "collection"),
            example=Example(
                "Fill a table of a collection",
                {
                    "collection": "conference",
                    "table": "sessions",
                    "records": [{"id": "1", "text": "Queues in Postgres"}],
                },
            ),
            large_body=True,
        ),
        KindSpec(
            name="records",
            input=RecordsInput,
            result=RecordsResult,
            service="search",
            command="collection records",
            title=("table", "collection"),
            example=Example("Read what a table holds", {"collection": "conference", "table": "sessions"}),
        ),
        KindSpec(
            name="flow",
            input=FlowInput,
            result=FlowResult,
            service="flows",
            command="flow edit",
            title=("message",),
            cases=FLOW_CASES,
            example=Example(
                "Edit a flow by a message", {"flow_id": "FLOW", "message": "Add a review step after Draft"}
            ),
            roles=(ModelRole("flows.edit", required=True),),
        ),
        KindSpec(
            name="detect",
            input=DetectInput,
            result=DetectResult,
            service="stacks",
            command="detect",
            title=("source.git", "source.path", "source.name"),
            cases=DETECT_CASES,
            example=Example(
                "Every technology of an uploaded source tree",
                {"source": {"git": "https://github.com/org/repo"}, "mode": "static"},
            ),
            roles=(ModelRole("stacks.identify", needed_by=_asks_only_the_model),),
        ),
    ],
)


KindName: TypeAlias = Annotated[str, NameIn(KINDS, "Kind of a job")]


def case_rules(kind: str) -> CaseRules:
    """Return the kind's rules for cases; a kind that has no row here expects nothing."""
    return KINDS[kind].cases if kind in KINDS else NO_CASES


def case_name(job: Mapping[str, Any], taken: set[str]) -> str:
    """Return a name for the case of a job that no other case has."""
    return name_of(job, KINDS[job["kind"]].title if job["kind"] in KINDS else (), taken)


def request_type(kinds: Iterable[KindSpec[Any]]) -> object:
    """Return the type of a submit of one of these kinds: ``kind`` decides which input it must have."""
    return Annotated[Union[tuple(kind.request for kind in kinds)], Field(discriminator="kind")]  # noqa: UP007
