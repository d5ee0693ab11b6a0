"""Evaluations: a suite of cases, run with several models and prompts, and what came of it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from shared.contracts.common import Answer, Request, Time
from shared.contracts.jobs import BudgetInput
from shared.declarations.assertions import parse_assertion

MOST_CASES, MOST_VARIANTS, MOST_REPETITIONS, MOST_RUNS = 500, 50, 100, 10_000
#: An expected table may have so many rows; a larger one is described by assertions.
MOST_ROWS = 1_000

#: The label of a job that is a run; its value is the evaluation's id.
RUN_LABEL = "evaluation"
#: ``finished``: every run has ended. ``budget_spent``: no further run was begun.
EvaluationState = Literal["running", "finished", "cancelled", "budget_spent"]


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


class Tolerance(Request):
    """Two numbers are equal when they differ by ``absolute`` at most, or by this share of the expected one."""

    absolute: Amount = 0.0
    relative: Amount = 0.0


class ExpectedTable(Request):
    """The table that has to come out: CSV text with a head, or rows as objects."""

    csv: Annotated[str, Field(min_length=1, max_length=500_000)] | None = None
    rows: Annotated[list[dict[str, JsonValue]], Field(max_length=MOST_ROWS)] | None = None
    order: Literal["any", "given"] = "any"
    columns: Literal["named", "positional"] = "named"  #: positional: whatever they are called
    #: A number is an absolute one.
    tolerance: Amount | Tolerance = Field(default_factory=lambda: Tolerance(relative=1e-9))

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.csv is None) == (self.rows is None):
            raise ValueError("give csv or rows, one of them")
        return self


class ExpectedBudget(Request):
    """What a run may use at most to count as a success."""

    turns: Count | None = None
    tokens: Count | None = None
    cost_usd: Amount | None = None
    seconds: Amount | None = None


class Expectation(Request):
    """What must hold of a run; all that is given has to. Without any, the job has to succeed (code: verdict ``ok``)."""

    table: ExpectedTable | None = None
    #: In the language of ``transform``; checked of the result, and never told to the model.
    assertions: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_parses)]], Field(max_length=50)
    ] = []
    #: Nodes by label and type, edges by what they connect: ids, positions and settings do not count.
    flow: dict[str, JsonValue] | None = None
    #: Ids that ``detect`` has to find, or by folder what is primary: ``{"": {"language": "python"}}``.
    labels: Names | dict[str, dict[str, str] | Names] | None = None
    #: Ids of records that ``search`` has to find, or by table.
    relevant: Names | dict[str, Names] | None = None
    recall: Annotated[float, Field(gt=0, le=1)] = 1.0  #: the share of ``relevant`` that has to be among the hits
    required: Phrases = []  #: texts that the document (or answer, or output) has to hold
    forbidden: Phrases = []
    verdict: Annotated[str, Field(max_length=64)] | None = None
    stdout: Annotated[str, Field(max_length=200_000)] | None = None  #: blanks at the end do not count
    status: Annotated[str, Field(max_length=64)] | None = None
    error: Annotated[str, Field(max_length=64)] | None = None  #: the job has to fail with this code
    budget: ExpectedBudget | None = None


class Case(Request):
    name: Label
    kind: Annotated[str, Field(min_length=1, max_length=64)]
    input: dict[str, JsonValue]
    expect: Expectation = Expectation()
    budget: BudgetInput | None = None  #: of the job


class Suite(Request):
    name: Label
    description: Annotated[str, Field(max_length=10_000)] | None = None
    cases: Annotated[list[Case], Field(min_length=1, max_length=MOST_CASES)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        seen: set[str] = set()
        for case in self.cases:
            if case.name in seen:
                raise ValueError(f"two cases are called {case.name!r}")
            seen.add(case.name)
        return self


class VariantInput(Request):
    """What the cases are run with; what is not named is what the installation uses."""

    name: Label | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    prompt: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,100}@[0-9]{1,9}$")] | None = None


class EvaluationBudget(Request):
    """No further run is begun once the runs that have ended took this much."""

    tokens: Count | None = None
    cost_usd: Amount | None = None


class EvaluationInput(Request):
    suite: Suite
    variants: Annotated[list[VariantInput], Field(min_length=1, max_length=MOST_VARIANTS)] = [VariantInput()]
    repeat: Annotated[int, Field(ge=1, le=MOST_REPETITIONS)] = 1
    budget: EvaluationBudget = EvaluationBudget()
    concurrency: Annotated[int, Field(ge=1, le=64)] = 8
    priority: Annotated[int, Field(ge=0, le=9)] = 3
    dry_run: bool = False  #: check everything, and tell what it may take, without running it

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        runs = len(self.suite.cases) * len(self.variants) * self.repeat
        if runs > MOST_RUNS:
            raise ValueError(f"that makes {runs:,} runs; an evaluation has {MOST_RUNS:,} at most")
        return self


class ResumeInput(Request):
    """The budget from now on; what the runs before have taken counts too."""

    budget: EvaluationBudget | None = None


class EvaluationEstimate(Answer):
    """What an evaluation may take, from jobs like these of the last 30 days; null where there were none."""

    runs: int
    asking: int  #: runs of kinds that ask models
    tokens: int | None
    cost_usd: float | None
    from_jobs: int


class Variant(Answer):
    name: str
    model: str | None
    prompt: str | None


class Cell(Answer):
    """All runs of one case with one variant: means of turns and seconds, sums of tokens and cost."""

    case: str
    variant: str
    runs: int
    successes: int
    interval: tuple[float, float]  #: Wilson's, 95 %
    turns: float | None
    tokens: int
    cost_usd: float | None
    seconds: float | None
    failures: dict[str, int]
    jobs: list[str]


class Total(Answer):
    variant: str
    runs: int
    successes: int
    interval: tuple[float, float]
    turns: float | None = None
    tokens: int = 0
    cost_usd: float | None = None
    seconds: float | None = None
    failures: dict[str, int] = {}


class Comparison(Answer):
    """``difference``: the success of ``a`` less that of ``b``, over the runs that both have."""

    a: str
    b: str
    difference: float
    p: float
    interval: tuple[float, float] | None = None  #: of the difference, by bootstrap over cases, 95 %
    cases: int = 0


class Progress(Answer):
    runs: int
    pending: int
    running: int
    finished: int


class EvaluationSummary(Answer):
    id: str
    name: str
    state: EvaluationState
    created_at: Time
    finished_at: Time | None = None
    actor: str
    variants: list[Variant]
    repeat: int
    progress: Progress
    totals: list[Total]


class EvaluationView(EvaluationSummary):
    cases: list[str]
    cells: list[Cell]
    comparisons: list[Comparison]
    baseline: list[Comparison] = []  #: each variant (``a``) against the same one of the baseline (``b``)
    unstable: list[str] = []  #: ``case / variant`` whose repetitions differ
    budget: EvaluationBudget
    suite: Suite | None = None  #: when it was asked for


class Run(Answer):
    case: str
    variant: str
    repetition: int
    state: Literal["pending", "running", "finished"]
    job_id: str | None
    success: bool | None
    cause: str | None
    detail: str | None
    turns: int | None
    tokens: int | None
    cost_usd: float | None
    seconds: float | None
