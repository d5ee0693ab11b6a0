"""Prompts, models and providers: what asks which model with what words."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from shared.contracts.common import Answer, Request, Time


class Link(Request):
    """One link of a chain: a provider, one of its models, and the parameters of the call."""

    provider: Annotated[str, Field(min_length=1, max_length=64)]
    model: Annotated[str, Field(min_length=1, max_length=200)]
    parameters: dict[str, JsonValue] = {}


class ChainInput(Request):
    """``evaluation`` of the caller's tenant has to have passed with the chain's first model; the audit log names it."""

    chain: Annotated[list[Link], Field(min_length=1, max_length=10)]
    evaluation: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    require: Annotated[float, Field(ge=0, le=1)] = 1.0


class ModelTestInput(Request):
    """Another link than the role's first: one that is not saved yet."""

    link: Link | None = None  #: the provider and the model to ask


class LongPromptPrice(Answer):
    """What a model costs when the prompt is longer than so many tokens."""

    tokens: int  #: of a prompt, beyond which these prices hold
    input: float  #: of a million tokens of such prompts
    output: float  #: of a million tokens of their answers


class ModelPrice(Answer):
    """What a model costs for a million tokens; null is unknown, and never nothing."""

    provider: str
    model: str
    currency: Literal["USD"] = "USD"  #: of all its prices
    input: float | None = None  #: of a million tokens of prompts
    output: float | None = None  #: of a million tokens of answers
    cached: float | None = None  #: input that is read from the provider's cache; null: as other input
    written: float | None = None  #: input that is put into it; null: as other input
    above: LongPromptPrice | None = None  #: of longer prompts, where they cost something else
    as_of: str | None = None  #: the day on which this was last looked at
    source: str | None = None  #: where the vendor, or who quotes it, says so


class Models(Answer):
    available: list[dict[str, JsonValue]]
    roles: dict[str, list[Link]]
    prices: list[ModelPrice] = []  #: of each available model


class AllowedModelsInput(Request):
    models: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\w.:*?@+/-]+$")]], Field(max_length=100)
    ]


class AllowedModels(Answer):
    """Which models a tenant may use: patterns of ``provider/model``, with ``*`` for any text."""

    tenant: str
    models: list[str]
    own: bool  #: the tenant has a list of its own; else the installation's holds


#: Variables that may hold the key of a named endpoint: no other variable can be sent anywhere by naming it.
KEY_PREFIX = "MODEL_KEY_"
EndpointName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]


class EndpointInput(Request):
    """A server of models with the API of OpenAI: Ollama, llama.cpp, vLLM, LM Studio, or a vendor of that API.

    Of a vendor (`groq`, `cerebras`, `openai`, `anthropic`) its model and limits: address and key are its own.
    """

    url: Annotated[str, Field(min_length=8, max_length=500, pattern=r"^https?://[^\s@]+$")] | None = None
    key_env: Annotated[str, Field(pattern=rf"^{KEY_PREFIX}[A-Z0-9_]{{1,64}}$")] | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None  #: asked by default; else the only one
    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = None  #: calls at once, of all workers
    window: Annotated[int, Field(ge=256, le=100_000_000)] | None = None  #: tokens; else as the server says
    first_token: Annotated[float, Field(gt=0, le=3600)] | None = None  #: seconds
    idle: Annotated[float, Field(gt=0, le=3600)] | None = None
    total: Annotated[float, Field(gt=0, le=7200)] | None = None


class EndpointModel(Answer):
    id: str
    window: int | None = None  #: tokens


class EndpointFacts(Answer):
    """What a server was found to be."""

    server: str | None = None  #: llama.cpp, ollama, vllm, lm-studio
    version: str | None = None
    models: list[EndpointModel] = []
    slots: int | None = None  #: calls that it answers at once
    tokenizer: bool = False  #: it counts the tokens of a text itself
    probed: dict[str, bool] = {}  #: of the chosen model: schema, tools, images, system, stream_usage
    tested_at: Time | None = None


class Endpoint(Answer):
    name: str
    url: str
    key_env: str | None
    has_key: bool  #: the variable is set where the gateway runs
    model: str | None  #: asked by default: the named one, or the only one of the server
    concurrency: int | None
    window: int | None
    first_token: float | None
    idle: float | None
    total: float | None
    source: Literal["built_in", "environment", "file", "api"]  #: the first two are vendors
    facts: EndpointFacts | None = None
    settings: dict[str, JsonValue] = {}  #: what was set by API or file; of the rest the defaults hold


class EndpointTest(Answer):
    ok: bool
    facts: EndpointFacts | None = None
    seconds: float
    error: str | None = None  #: what is wrong, and what to do


class ModelTest(Answer):
    ok: bool
    provider: str | None
    model: str | None
    seconds: float
    error: str | None = None


class ProviderState(Answer):
    name: str
    configured: bool
    state: Literal["closed", "open", "half_open", "parked", "unconfigured"]
    until: Time | None = None
    last_error: str | None = None
    reachable: bool | None = None  #: whether a server of one's own answered the first look; null: no look was taken


class Providers(Answer):
    items: list[ProviderState]


class PromptVariables(Answer):
    required: list[str]
    optional: list[str]


class Gate(Answer):
    """An evaluation that had to be passed: successes of its runs, and the share that was required."""

    evaluation_id: str
    runs: int
    successes: int
    required: float


class Prompt(Answer):
    key: str
    text: str
    version: int
    is_default: bool
    variables: PromptVariables
    updated_at: Time | None
    gate: Gate | None = None  #: in the list of versions: what it passed before it was used
    actor: str | None = None  #: the id of the API key that made the version
    note: str | None = None  #: why it was made
    labels: list[str] = []  #: in the list of versions: names that mean it


class PromptInput(Request):
    text: Annotated[str, Field(min_length=1, max_length=200_000)]
    use: bool = True  #: False keeps it as a version that nobody uses until it is published
    note: Annotated[str, Field(min_length=1, max_length=500)] | None = None  #: why it was made


class LabelInput(Request):
    """A name for a version; without a version the name is taken away."""

    label: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


class ModelName(Answer):
    provider: str
    model: str


class PromptTestInput(Request):
    """A text tried on a model: with the variables and messages of a job's call, or with variables of one's own."""

    text: Annotated[str, Field(min_length=1, max_length=200_000)] | None = None  #: the one in use by default
    job_id: Annotated[str, Field(min_length=1, max_length=64)] | None = None  #: whose latest call with the prompt
    variables: dict[str, JsonValue] = {}  #: beside and before the job's
    message: Annotated[str, Field(min_length=1, max_length=200_000)] | None = None  #: of the user; else the job's
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None  #: else those of the role


class CallMessage(Answer):
    role: Literal["system", "user", "assistant", "tool"]
    content: str
    images: int = 0  #: how many it had; they are not kept
    tool_calls: list[dict[str, JsonValue]] = []
    tool_call_id: str | None = None  #: of a tool's answer: the call that it answers


class PromptTest(Answer):
    """What a model was asked, and what it answered; ``before`` is the answer of the job's own call."""

    ok: bool
    messages: list[CallMessage]
    answer: str | None = None
    tool_calls: list[dict[str, JsonValue]] = []
    served: ModelName | None = None
    seconds: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    error: str | None = None
    before: str | None = None  #: what the job's own call was answered
    before_version: int | None = None  #: of the prompt, in the job's own call


class PublishInput(Request):
    """The version that is to be used, and the evaluation of the caller's tenant that it has to have passed."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)]
    evaluation: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    require: Annotated[float, Field(ge=0, le=1)] = 1.0


class RollbackInput(Request):
    version: Annotated[int, Field(ge=1, le=2**31 - 1)]


class PromptUsed(Answer):
    key: str
    version: int


class LlmCall(Answer):
    """One attempt at a provider; unknown tokens and prices are null, never 0."""

    turn: int
    attempt: int
    role: str
    requested: ModelName
    served: ModelName | None
    reason: Literal["primary", "failover", "retry", "hedge"]
    outcome: str
    http_status: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    prompt: PromptUsed | None
    seconds: float
    source: Literal["live", "replay", "scripted"]
    id: int | None = None
    at: Time | None = None
    job_attempt: int | None = None  #: which run of the job
    cause: str | None = None  #: the fault of the attempt before, or why this one was skipped
    detail: str | None = None  #: the fault in words
    finish: str | None = None  #: why the answer ended
    cached_tokens: int | None = None
    first_token_seconds: float | None = None
    parameters: dict[str, JsonValue] = {}  #: of the call, as far as the model took them: temperature, seed and so on
    queue_seconds: float | None = None  #: for which it waited for a slot of its endpoint, before it was sent
    request: str | None = None  #: the same for all attempts of one request; null for calls of older versions


class LlmCallText(LlmCall):
    """A call with its words; null where they are not kept."""

    keeps: Literal["off", "failed", "all"]  #: of which calls the installation keeps the words
    messages: list[CallMessage] | None = None
    tools: list[dict[str, JsonValue]] = []  #: that the model could call
    answer: str | None = None
    reasoning: str | None = None  #: what the model thought, where it says so
    tool_calls: list[dict[str, JsonValue]] = []
    variables: dict[str, JsonValue] = {}  #: with which the prompt was filled in
    cut: bool = False  #: the messages were longer than what is kept


class LlmCalls(Answer):
    items: list[LlmCall]
