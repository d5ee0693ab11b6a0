"""Prompts, models and providers: which model is called with which prompt."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Request, Time
from shared.faults import DOTTED_NAME, form

EndpointSource = TypeAliasType(
    "EndpointSource",
    Annotated[Literal["built_in", "environment", "file", "api"], Field(description="Where an endpoint is configured")],
)
CircuitState = TypeAliasType(
    "CircuitState",
    Annotated[
        Literal["closed", "open", "half_open", "parked", "refusing", "unconfigured"],
        Field(description="State of a provider's circuit breaker"),
    ],
)
CallRole = TypeAliasType(
    "CallRole",
    Annotated[Literal["system", "user", "assistant", "tool"], Field(description="Author of a message in a model call")],
)
CallReason = TypeAliasType(
    "CallReason",
    Annotated[Literal["primary", "failover", "retry", "hedge"], Field(description="Why an attempt was made")],
)
CallSource = TypeAliasType(
    "CallSource",
    Annotated[
        Literal["live", "replay", "scripted"],
        Field(description="Where an answer came from: a provider, a recording or a script"),
    ],
)
Prompting = TypeAliasType(
    "Prompting",
    Annotated[Literal["examples", "plain"], Field(description="How a model is prompted")],
)
KeptTexts = TypeAliasType(
    "KeptTexts", Annotated[Literal["off", "failed", "all"], Field(description="Which calls keep their text")]
)


class Link(Request):
    """One link of a chain: a model and the parameters of its calls."""

    provider: Annotated[str, Field(min_length=1, max_length=64)]
    """Provider that serves the model"""
    model: Annotated[str, Field(min_length=1, max_length=200)]
    """Model name, as the provider spells it"""
    parameters: dict[str, JsonValue] = {}
    """Parameters of the calls, such as `temperature`"""
    prompting: Annotated[Prompting | None, Field(exclude_if=lambda value: value is None)] = None
    """How transforms prompt the model: `examples` (short, with solved examples) or `plain`; null: by its size"""


class ChainInput(Request):
    """A new chain for a role."""

    chain: Annotated[list[Link], Field(min_length=1, max_length=10)]
    """Models in the order in which they are called; each next one is called when the previous fails"""
    evaluation: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """Id of the evaluation that the chain's first model must have passed; null requires none"""
    require: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the evaluation's runs that must have succeeded, 0 to 1"""


class ModelTestInput(Request):
    """Which model to test."""

    link: Link | None = None
    """Model to test instead of the chain's first one; it need not be saved"""


class LongPromptPrice(Answer):
    """Prices of a model for long prompts."""

    tokens: int
    """Prompt length in tokens above which these prices apply"""
    input: float
    """US dollars for a million prompt tokens"""
    output: float
    """US dollars for a million answer tokens"""


class ModelPrice(Answer):
    """Prices of a model for a million tokens; null is unknown, never free."""

    provider: str
    """Provider that serves the model"""
    model: str
    """Model name, as the provider spells it"""
    currency: Literal["USD"] = "USD"
    """Currency of all prices"""
    input: float | None = None
    """Price of a million prompt tokens; null if unknown"""
    output: float | None = None
    """Price of a million answer tokens; null if unknown"""
    cached: float | None = None
    """Price of a million prompt tokens read from the provider's cache; null if they cost as other input"""
    written: float | None = None
    """Price of a million prompt tokens written to the provider's cache; null if they cost as other input"""
    above: LongPromptPrice | None = None
    """Prices of longer prompts; null if they are the same"""
    as_of: str | None = None
    """Day on which the prices were last checked, as an ISO 8601 date"""
    source: str | None = None
    """Where the prices come from"""


class Models(Answer):
    """Models and the roles that they have."""

    available: list[dict[str, JsonValue]]
    """Models of the configured providers, with what is known of each"""
    roles: dict[str, list[Link]]
    """Chain of models for each role, in the order in which they are called"""
    prices: list[ModelPrice] = []
    """Prices of the available models"""


class RoleChain(Answer):
    """The chain that was saved for a role."""

    role: str
    """Role that the chain belongs to, such as `execution.transform`"""
    chain: list[Link]
    """Models in the order in which they are called"""
    warnings: list[str]
    """Problems of the chain that do not prevent saving it"""


_MODELS = form(r"^[\w.:*?@+/-]+$", "must be PROVIDER/MODEL, in which * matches any text, such as groq/*")


class AllowedModelsInput(Request):
    """The models that a tenant may use."""

    models: Annotated[list[Annotated[str, Field(min_length=1, max_length=200, pattern=_MODELS)]], Field(max_length=100)]
    """Patterns of `PROVIDER/MODEL`, in which `*` matches any text"""


class AllowedModels(Answer):
    """The models that a tenant may use."""

    tenant: str
    """Tenant name"""
    models: list[str]
    """Patterns of `PROVIDER/MODEL`, in which `*` matches any text"""
    own: bool
    """Whether the tenant has its own list; otherwise the installation's applies"""
    warnings: list[str] = []
    """Warnings, such as that no API key belongs to a tenant of this name"""


#: Variables that may hold the key of a named endpoint: no other variable can be sent anywhere by naming it.
KEY_PREFIX = "MODEL_KEY_"
_KEY_ENV = form(
    rf"^{KEY_PREFIX}[A-Z0-9_]{{1,64}}$",
    f"must be a variable that begins with {KEY_PREFIX}, such as {KEY_PREFIX}VLLM",
)
_URL = form(r"^https?://[^\s@]+$", "must begin with http:// or https://, without blanks, user and password")
_ENDPOINT = form(r"^[a-z][a-z0-9-]{0,31}$", "must begin with a-z, and have at most 32 lowercase letters, digits and -")
EndpointName = Annotated[str, Field(pattern=_ENDPOINT)]


class EndpointInput(Request):
    """A server of models with the API of OpenAI: Ollama, llama.cpp, vLLM, LM Studio, or a vendor of that API.

    Of a vendor (`groq`, `cerebras`, `openai`, `anthropic`) its model and limits: address and key are its own.
    """

    url: Annotated[str, Field(min_length=8, max_length=500, pattern=_URL)] | None = None
    """Base URL of the server; null for a vendor"""
    key_env: Annotated[str, Field(pattern=_KEY_ENV)] | None = None
    """Server-side environment variable that holds the API key; null for none"""
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Model to call by default; null if the server has only one"""
    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Maximum number of calls at once, of all workers together; null uses the slots that the server reports"""
    window: Annotated[int, Field(ge=256, le=100_000_000)] | None = None
    """Context window in tokens; null uses what the server reports"""
    first_token: Annotated[float, Field(gt=0, le=3600)] | None = None
    """Timeout for the first token of an answer, in seconds; null uses the default"""
    idle: Annotated[float, Field(gt=0, le=3600)] | None = None
    """Timeout between tokens of an answer, in seconds; null uses the default"""
    total: Annotated[float, Field(gt=0, le=7200)] | None = None
    """Timeout for a whole answer, in seconds; null uses the default"""


class EndpointModel(Answer):
    """A model that the server offers."""

    id: str
    """Model name, as the server spells it"""
    window: int | None = None
    """Context window in tokens; null if unknown"""


class EndpointFacts(Answer):
    """What a test found out about a server."""

    server: str | None = None
    """Server software: `llama.cpp`, `ollama`, `vllm` or `lm-studio`; null if unknown"""
    version: str | None = None
    """Version of the server software; null if unknown"""
    models: list[EndpointModel] = []
    """Models that the server offers"""
    slots: int | None = None
    """Number of calls that the server answers at once; null if unknown"""
    tokenizer: bool = False
    """Whether the server counts the tokens of a text itself"""
    probed: dict[str, bool] = {}
    """Whether the chosen model supports each feature: `schema`, `tools`, `images`, `system`, `stream_usage`"""
    tested_at: Time | None = None
    """Time of the test"""


class LearnedFact(Answer):
    """Something that one refusal of a model taught, which is used until it ends."""

    model: str
    """Name of the model"""
    what: str
    """`window`, `cap_tokens` (the most tokens of an answer), or the part of requests that the model does not take"""
    tokens: int | None = None
    """The number of tokens of a window or a cap; null for a part"""
    until: Time
    """Time at which it expires"""


class Endpoint(Answer):
    """A server of models."""

    name: str
    """Name of the endpoint or vendor"""
    url: str
    """Base URL of the server"""
    key_env: str | None
    """Server-side environment variable that holds the API key; null for none"""
    has_key: bool
    """Whether that variable is set where the gateway runs"""
    model: str | None
    """Model that is called by default; null if none was named or found"""
    concurrency: int | None
    """Maximum number of calls at once, of all workers together; null is as many as the server reports slots"""
    window: int | None
    """Context window in tokens; null is what the server reports"""
    first_token: float | None
    """Timeout for the first token of an answer, in seconds; null is the default"""
    idle: float | None
    """Timeout between tokens of an answer, in seconds; null is the default"""
    total: float | None
    """Timeout for a whole answer, in seconds; null is the default"""
    source: EndpointSource
    """Where the endpoint is configured; `built_in` and `environment` are vendors"""
    facts: EndpointFacts | None = None
    """What the latest test found; null if there was none"""
    settings: dict[str, JsonValue] = {}
    """Settings made by API or file; defaults apply to the rest"""
    learned: list[LearnedFact] = []
    """What its models' refusals taught, from any process; each entry has an end"""


class EndpointTest(Answer):
    """Outcome of an endpoint test."""

    ok: bool
    """Whether the server works"""
    facts: EndpointFacts | None = None
    """What the test found; null if the server did not answer"""
    seconds: float
    """Duration of the test in seconds"""
    error: str | None = None
    """What is wrong and what to do; null if the server works"""


class ModelTest(Answer):
    """Outcome of a model test."""

    ok: bool
    """Whether the model answered"""
    provider: str | None
    """Provider that was called; null if none was"""
    model: str | None
    """Model that was called; null if none was"""
    seconds: float
    """Duration of the call in seconds"""
    error: str | None = None
    """Why the model did not answer; null if it did"""
    prompting: Prompting | None = None
    """How transforms prompt the model; null if none was called"""


class ProviderState(Answer):
    """Health of a provider."""

    name: str
    """Name of the provider"""
    configured: bool
    """Whether the provider has an API key or an address"""
    state: CircuitState
    """State of the circuit breaker; `parked`: not called until a known time; `refusing`: called, but its latest
    answers were all refusals"""
    until: Time | None = None
    """Time until which the provider is not called; null if it is"""
    last_error: str | None = None
    """Code of the latest fault; null if there was none"""
    reachable: bool | None = None
    """Whether your own server answered the first probe; null if it was not probed"""


class Providers(Answer):
    """Providers and their health."""

    items: list[ProviderState]
    """One entry for each provider"""


class PromptVariables(Answer):
    """Variables of a prompt."""

    required: list[str]
    """Variables that the prompt must use"""
    optional: list[str]
    """Variables that the prompt may use"""


class Gate(Answer):
    """The evaluation that a version passed before it was published."""

    evaluation_id: str
    """Id of the evaluation"""
    runs: int
    """Number of its runs"""
    successes: int
    """Number of successful runs"""
    required: float
    """Share of the runs that had to succeed, 0 to 1"""


class Prompt(Answer):
    """A prompt at one version."""

    key: str
    """Name of the prompt, such as `execution.transform`"""
    text: str
    """Template of the prompt"""
    version: int
    """Version number"""
    is_default: bool
    """Whether the text is the built-in one"""
    variables: PromptVariables
    """Variables that the template may use"""
    updated_at: Time | None
    """Time at which the version was saved; null for the built-in text"""
    gate: Gate | None = None
    """In the list of versions: the evaluation that the version passed; null if none was required"""
    actor: str | None = None
    """Id of the API key that saved the version; null for the built-in text"""
    note: str | None = None
    """Why the version was saved; null if no note was given"""
    labels: list[str] = []
    """In the list of versions: labels that point to the version"""


class PromptInput(Request):
    """A new version of a prompt."""

    text: Annotated[str, Field(min_length=1, max_length=200_000)]
    """Template of the prompt"""
    use: bool = True
    """Whether to publish the version at once; otherwise it is only stored"""
    note: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """Why the version is saved; shown in the list of versions"""


class LabelInput(Request):
    """A label for a version of a prompt."""

    label: Annotated[str, Field(pattern=DOTTED_NAME)]
    """Label name"""
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    """Version that the label points to; null removes the label"""


class ModelName(Answer):
    """A model of a provider."""

    provider: str
    """Provider that serves the model"""
    model: str
    """Model name, as the provider spells it"""


class PromptTestInput(Request):
    """A prompt to try on a model, with the values of a job's call or with your own."""

    text: Annotated[str, Field(min_length=1, max_length=200_000)] | None = None
    """Template to try; null uses the published one"""
    job_id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """Job whose latest call with the prompt supplies variables and messages; null uses none"""
    variables: dict[str, JsonValue] = {}
    """Values for the template, by name; they take precedence over the job's"""
    message: Annotated[str, Field(min_length=1, max_length=200_000)] | None = None
    """User message; null uses the job's"""
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Model to call; null uses the role's chain"""


class CallMessage(Answer):
    """One message of a model call."""

    role: CallRole
    """Who wrote the message"""
    content: str
    """Text of the message"""
    images: int = 0
    """Number of images, which are not kept"""
    tool_calls: list[dict[str, JsonValue]] = []
    """Tool calls that the message made"""
    tool_call_id: str | None = None
    """Of a tool's message: the call that it answers; null otherwise"""


class PromptTest(Answer):
    """Outcome of a prompt test."""

    ok: bool
    """Whether the model answered"""
    messages: list[CallMessage]
    """Messages that were sent"""
    answer: str | None = None
    """Text that the model returned; null if it failed"""
    tool_calls: list[dict[str, JsonValue]] = []
    """Tool calls that the model made"""
    served: ModelName | None = None
    """Model that answered; null if none did"""
    seconds: float
    """Duration of the call in seconds"""
    input_tokens: int | None = None
    """Prompt tokens, as the provider counted them; null if unknown"""
    output_tokens: int | None = None
    """Answer tokens, as the provider counted them; null if unknown"""
    cost_usd: float | None = None
    """Cost in US dollars; null if unknown"""
    error: str | None = None
    """Why the model did not answer; null if it did"""
    before: str | None = None
    """Answer of the job's own call; null without a job"""
    before_version: int | None = None
    """Version of the prompt in the job's own call; null without a job"""


class PublishInput(Request):
    """A version to publish."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)]
    """Version to publish"""
    evaluation: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """Id of the evaluation that the version must have passed; null requires none"""
    require: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the evaluation's runs that must have succeeded, 0 to 1"""


class RollbackInput(Request):
    """A version to return to."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)]
    """Version whose content to use again, as a new version"""


class PromptUsed(Answer):
    """The prompt of a call."""

    key: str
    """Name of the prompt"""
    version: int
    """Version of the prompt"""


class LlmCall(Answer):
    """One attempt at a provider; unknown tokens and prices are null, never 0."""

    turn: int
    """Turn of the job in which the call was made"""
    attempt: int
    """Number of the attempt within its request, from 1"""
    role: str
    """Role that the model was called for, such as `execution.transform`"""
    requested: ModelName
    """Model that was called"""
    served: ModelName | None
    """Model that answered; null if none did"""
    reason: CallReason
    """Why the attempt was made"""
    outcome: str
    """`ok`, `skipped`, or the code of the fault"""
    http_status: int | None
    """HTTP status of the provider's response; null without a response"""
    input_tokens: int | None
    """Prompt tokens, as the provider counted them; null if unknown"""
    output_tokens: int | None
    """Answer tokens, as the provider counted them; null if unknown"""
    cost_usd: float | None
    """Cost in US dollars; null if unknown"""
    prompt: PromptUsed | None
    """Prompt that was used; null if the call used none"""
    seconds: float
    """Seconds from the request to the end of the answer"""
    source: CallSource
    """Where the answer came from: a provider, a recording or a script"""
    id: int | None = None
    """Id of the call; null for a call that is not stored"""
    at: Time | None = None
    """Time of the call"""
    job_attempt: int | None = None
    """Run of the job in which the call was made, from 1"""
    cause: str | None = None
    """Fault of the previous attempt, or why this one was skipped; null if neither applies"""
    detail: str | None = None
    """The fault in words; null on success"""
    finish: str | None = None
    """Why the model stopped; null if unknown"""
    cached_tokens: int | None = None
    """Prompt tokens read from the provider's cache; null if unknown"""
    first_token_seconds: float | None = None
    """Seconds until the first token; null if unknown"""
    parameters: dict[str, JsonValue] = {}
    """Parameters of the call that the model accepted, such as `temperature` and `seed`"""
    queue_seconds: float | None = None
    """Seconds spent waiting for a slot of the endpoint; null if it did not wait"""
    request: str | None = None
    """Id shared by all attempts of one request; null for calls of older versions"""


class LlmCallText(LlmCall):
    """A model call with its messages; null or empty where they are not kept."""

    keeps: KeptTexts
    """Which calls the installation keeps the text of (`ASSAY_LLM_TEXTS`)"""
    messages: list[CallMessage] | None = None
    """Messages that were sent; null if they are not kept"""
    tools: list[dict[str, JsonValue]] = []
    """Tools that the model could call"""
    answer: str | None = None
    """Text that the model returned; null if it is not kept"""
    reasoning: str | None = None
    """Reasoning that the model returned; null if it returned none"""
    tool_calls: list[dict[str, JsonValue]] = []
    """Tool calls that the model made"""
    variables: dict[str, JsonValue] = {}
    """Values that the prompt was rendered with, by name"""
    cut: bool = False
    """Whether the messages were too long to be kept whole"""


class LlmCalls(Answer):
    """Model calls of a job."""

    items: list[LlmCall]
    """Calls in the order in which they were made"""
