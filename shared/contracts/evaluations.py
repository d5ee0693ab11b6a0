"""Evaluations: a suite of cases, run with several models and prompts, and the outcomes."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Request, Time
from shared.contracts.jobs import BudgetInput
from shared.declarations.assertions import parse_assertion
from shared.faults import PROMPT_VERSION

MAX_CASES, MAX_VARIANTS, MAX_REPETITIONS, MAX_RUNS = 500, 50, 100, 10_000
#: Maximum rows of an expected table; a larger one is described by assertions.
MAX_ROWS = 1_000

#: The label of a job that is a run; its value is the evaluation's id.
RUN_LABEL = "evaluation"
#: ``finished``: every run has ended. ``budget_spent``: no further run was begun.
EvaluationState = TypeAliasType(
    "EvaluationState",
    Annotated[Literal["running", "finished", "cancelled", "budget_spent"], Field(description="State of an evaluation")],
)


def _printable(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("give a name of printable characters")
    return text


Label = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(_printable)]
Phrase = Annotated[str, Field(min_length=1, max_length=10_000)]
Phrases = Annotated[list[Phrase], Field(max_length=200)]
Names = Annotated[list[Annotated[str, Field(min_length=1, max_length=256)]], Field(max_length=500)]
Count = Annotated[int, Field(ge=0, le=10**12)]
Amount = Annotated[float, Field(ge=0, le=1e12)]


def _parses(text: str) -> str:
    parse_assertion(text)
    return text


RowOrder = TypeAliasType(
    "RowOrder", Annotated[Literal["any", "given"], Field(description="Whether the order of rows matters")]
)
ColumnMatching = TypeAliasType(
    "ColumnMatching", Annotated[Literal["named", "positional"], Field(description="How columns are matched")]
)
RunState = TypeAliasType(
    "RunState", Annotated[Literal["pending", "running", "finished"], Field(description="State of a run")]
)


class Tolerance(Request):
    """When two numbers are equal: they differ by at most `absolute`, or by `relative` times the expected one."""

    absolute: Amount = 0.0
    """Allowed difference"""
    relative: Amount = 0.0
    """Allowed difference as a share of the expected number"""


class ExpectedTable(Request):
    """Table that the result must equal: CSV text with a header, or rows as objects."""

    csv: Annotated[str, Field(min_length=1, max_length=500_000)] | None = None
    """Expected table as CSV text; give this or `rows`"""
    rows: Annotated[list[dict[str, JsonValue]], Field(max_length=MAX_ROWS)] | None = None
    """Expected rows as objects, at most 1,000; give this or `csv`"""
    order: RowOrder = "any"
    """Whether the order of rows matters: `given` requires the same order"""
    columns: ColumnMatching = "named"
    """How columns are matched: `named` by name, `positional` by position"""
    tolerance: Amount | Tolerance = Field(default_factory=lambda: Tolerance(relative=1e-9))
    """Allowed difference of numbers; a number is an absolute tolerance"""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.csv is None) == (self.rows is None):
            raise ValueError("give csv or rows, one of them")
        return self


class ExpectedBudget(Request):
    """What a run may use at most to count as a success."""

    turns: Count | None = None
    """Maximum number of turns"""
    tokens: Count | None = None
    """Maximum input and output tokens together"""
    cost_usd: Amount | None = None
    """Maximum cost in US dollars"""
    seconds: Amount | None = None
    """Maximum duration in seconds"""


class Expectation(Request):
    """What must hold for a run to succeed; all given conditions must. Without any, the job must succeed (code: verdict
    `ok`)."""

    table: ExpectedTable | None = None
    """Table that the result must equal"""
    assertions: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_parses)]], Field(max_length=50)
    ] = []
    """Assertions that the result table must meet; the model does not see them"""
    flow: dict[str, JsonValue] | None = None
    """Flow that must result; nodes are matched by label and type, edges by what they connect"""
    labels: Names | dict[str, dict[str, str] | Names] | None = None
    """Technologies that `detect` must find: ids, or primary technologies by folder"""
    relevant: Names | dict[str, Names] | None = None
    """Ids of records that `search` must find, or by table"""
    recall: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of `relevant` that must be among the hits"""
    required: Phrases = []
    """Texts that the document, answer or output must contain"""
    forbidden: Phrases = []
    """Texts that the document, answer or output must not contain"""
    verdict: Annotated[str, Field(max_length=64)] | None = None
    """Verdict that the result must have"""
    stdout: Annotated[str, Field(max_length=200_000)] | None = None
    """Expected standard output; trailing whitespace is ignored"""
    status: Annotated[str, Field(max_length=64)] | None = None
    """Status that the result must have"""
    error: Annotated[str, Field(max_length=64)] | None = None
    """Error code that the job must fail with"""
    budget: ExpectedBudget | None = None
    """What the run may use at most"""


class Case(Request):
    """One case of a suite: a job and what its result must be."""

    name: Label
    """Name of the case, unique within the suite"""
    kind: Annotated[str, Field(min_length=1, max_length=64)]
    """Job kind of the case"""
    input: dict[str, JsonValue]
    """Input of the case's job"""
    expect: Expectation = Expectation()
    """What must hold of the result"""
    budget: BudgetInput | None = None
    """What the job may use; null is the installation's default"""


class Suite(Request):
    """Cases that are evaluated together."""

    name: Label
    """Name of the suite"""
    description: Annotated[str, Field(max_length=10_000)] | None = None
    """What the suite tests"""
    cases: Annotated[list[Case], Field(min_length=1, max_length=MAX_CASES)]
    """Cases of the suite"""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        seen: set[str] = set()
        for case in self.cases:
            if case.name in seen:
                raise ValueError(f"two cases are called {case.name!r}")
            seen.add(case.name)
        return self


class VariantInput(Request):
    """What the cases are run with; null uses what the installation uses."""

    name: Label | None = None
    """Name of the variant; null derives one"""
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Model to run the cases with: `PROVIDER/MODEL` or a part of a model's id"""
    prompt: Annotated[str, Field(pattern=PROMPT_VERSION)] | None = None
    """Prompt to run the cases with, as `KEY@VERSION`"""


class EvaluationBudget(Request):
    """Limits after which no further run starts; null disables a limit."""

    tokens: Count | None = None
    """Maximum input and output tokens of all runs together"""
    cost_usd: Amount | None = None
    """Maximum cost of all runs together, in US dollars"""


class EvaluationInput(Request):
    """An evaluation to start."""

    suite: Suite
    """Suite to run"""
    variants: Annotated[list[VariantInput], Field(min_length=1, max_length=MAX_VARIANTS)] = [VariantInput()]
    """Models and prompts to compare"""
    repeat: Annotated[int, Field(ge=1, le=MAX_REPETITIONS)] = 1
    """Number of runs of each case with each variant"""
    budget: EvaluationBudget = EvaluationBudget()
    """Limits after which no further run starts"""
    concurrency: Annotated[int, Field(ge=1, le=64)] = 8
    """Maximum number of runs at once"""
    priority: Annotated[int, Field(ge=0, le=9)] = 3
    """Priority of the runs among the tenant's jobs; 9 runs first"""
    dry_run: bool = False
    """Only check the evaluation and estimate its cost; run nothing"""

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        runs = len(self.suite.cases) * len(self.variants) * self.repeat
        if runs > MAX_RUNS:
            raise ValueError(f"that makes {runs:,} runs; an evaluation has {MAX_RUNS:,} at most")
        return self


class ResumeInput(Request):
    """How to resume an evaluation."""

    budget: EvaluationBudget | None = None
    """New limits, in which the earlier runs count too; null keeps the old ones"""


class EvaluationEstimate(Answer):
    """Estimated cost of an evaluation, from similar jobs of the last 30 days."""

    runs: int
    """Number of runs"""
    asking: int
    """Number of runs of kinds that call models"""
    tokens: int | None
    """Estimated input and output tokens; null without similar jobs"""
    cost_usd: float | None
    """Estimated cost in US dollars; null without similar jobs"""
    from_jobs: int
    """Number of earlier jobs behind the estimate"""


class Variant(Answer):
    """A model and prompt that were evaluated."""

    name: str
    """Name of the variant"""
    model: str | None
    """Model of the variant; null is the installation's"""
    prompt: str | None
    """Prompt of the variant, as `KEY@VERSION`; null is the installation's"""


class Cell(Answer):
    """All runs of one case with one variant."""

    case: str
    """Name of the case"""
    variant: str
    """Name of the variant"""
    runs: int
    """Number of runs that ended"""
    successes: int
    """Number of successful runs"""
    interval: tuple[float, float]
    """95 % confidence interval of the success rate (Wilson)"""
    turns: float | None
    """Mean number of turns; null if unknown"""
    tokens: int
    """Input and output tokens of all runs together"""
    cost_usd: float | None
    """Cost of all runs together, in US dollars; null if a part is unknown"""
    seconds: float | None
    """Mean duration of a run in seconds; null if unknown"""
    failures: dict[str, int]
    """Number of failed runs, by cause"""
    jobs: list[str]
    """Ids of the jobs"""


class Total(Answer):
    """All runs with one variant."""

    variant: str
    """Name of the variant"""
    runs: int
    """Number of runs that ended"""
    successes: int
    """Number of successful runs"""
    interval: tuple[float, float]
    """95 % confidence interval of the success rate (Wilson)"""
    turns: float | None = None
    """Mean number of turns; null if unknown"""
    tokens: int = 0
    """Input and output tokens of all runs together"""
    cost_usd: float | None = None
    """Cost of all runs together, in US dollars; null if a part is unknown"""
    seconds: float | None = None
    """Mean duration of a run in seconds; null if unknown"""
    failures: dict[str, int] = {}
    """Number of runs that failed or were not started, by cause"""


class Comparison(Answer):
    """Two variants compared over the runs that both have."""

    a: str
    """Name of the first variant"""
    b: str
    """Name of the second variant"""
    difference: float
    """Success rate of `a` minus that of `b`"""
    p: float
    """Probability of such a difference by chance (McNemar, or a sign-flip test with repetitions)"""
    interval: tuple[float, float] | None = None
    """95 % confidence interval of the difference, by bootstrap over cases; null with many variants"""
    cases: int = 0
    """Number of cases compared"""


class Progress(Answer):
    """Number of runs by state."""

    runs: int
    """Number of all runs"""
    pending: int
    """Number of runs that have not started"""
    running: int
    """Number of runs in progress"""
    finished: int
    """Number of runs that ended"""


class EvaluationSummary(Answer):
    """An evaluation without its single results."""

    id: str
    """Evaluation id"""
    name: str
    """Name of the suite"""
    state: EvaluationState
    """State of the evaluation; `finished`: every run has ended, `budget_spent`: no further run was started"""
    created_at: Time
    """Time at which the evaluation was started"""
    finished_at: Time | None = None
    """Time at which the evaluation ended; null before"""
    actor: str
    """Id of the API key that started the evaluation"""
    variants: list[Variant]
    """Models and prompts that are compared"""
    repeat: int
    """Number of runs of each case with each variant"""
    progress: Progress
    """Counts of the runs by state"""
    totals: list[Total]
    """Results of each variant"""


class EvaluationView(EvaluationSummary):
    """An evaluation with its results."""

    cases: list[str]
    """Names of the cases"""
    cells: list[Cell]
    """Results of each case with each variant"""
    comparisons: list[Comparison]
    """Each two variants compared"""
    baseline: list[Comparison] = []
    """Each variant (`a`) compared with the same variant of the baseline evaluation (`b`)"""
    unstable: list[str] = []
    """Cases whose repetitions differ, as `CASE / VARIANT`"""
    budget: EvaluationBudget
    """Limits after which no further run starts"""
    suite: Suite | None = None
    """The suite; null unless requested"""


class Run(Answer):
    """One run of a case with a variant."""

    case: str
    """Name of the case"""
    variant: str
    """Name of the variant"""
    repetition: int
    """Number of the repetition, from 1"""
    state: RunState
    """State of the run"""
    job_id: str | None
    """Id of the job; null before it starts"""
    success: bool | None
    """Whether the result met the expectation; null before it ends"""
    cause: str | None
    """Cause of the failure, in one word; null on success"""
    detail: str | None
    """Why the run failed, in words; null on success"""
    turns: int | None
    """Number of turns; null before it ends"""
    tokens: int | None
    """Input and output tokens; null before it ends"""
    cost_usd: float | None
    """Cost in US dollars; null if unknown"""
    seconds: float | None
    """Duration in seconds; null before it ends"""
