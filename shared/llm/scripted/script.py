"""The script: which request gets which reply, and which fault. See docs/scripted-llm.md."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from shared.llm.scripted.server_errors import SEEN

FaultKind = Literal[
    "status",  # any status, with headers and message
    "rate_limit",  # 429
    "server_error",  # 500
    "overloaded",  # 529
    "disconnect",  # the connection is closed without an answer
    "hang",  # no answer at all
    "stall",  # it begins, and then sends nothing more
    "slow",  # one token after the other, `token_ms` apart
    "cut",  # the answer ends in the middle
    "malformed",  # a chunk that is not JSON
    "error_event",  # an error inside the stream; 500 when it is not streamed
    "html",  # a proxy's page, status 200
    "empty",  # an answer without content
    "half_json",  # the reply's text ends in the middle
    "fenced_json",  # the reply's text in a code fence
    "refusal",
    "length",  # the reply is truncated, and the provider reports it
    "tool_use_failed",  # 400 with the reply's text as `failed_generation`
    "seen",  # an error in a real server's own words, by `name` of the table in `server_errors.py`
    "done_only",  # a stream that ends with [DONE], without a finish reason
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScriptedFault(_Part):
    kind: FaultKind
    status: Annotated[int, Field(ge=400, le=599)] | None = None
    name: str | None = None
    headers: dict[str, str] = {}
    message: str = "scripted fault"
    code: str | None = None
    after: Annotated[int, Field(ge=0)] = 2  #: pieces of the answer before it is cut or stalls
    token_ms: float | None = None

    @model_validator(mode="after")
    def _is_known(self) -> ScriptedFault:
        if self.kind == "seen" and self.name not in SEEN:
            raise ValueError(f"there is no error {self.name!r}: there are {', '.join(SEEN)}")
        return self


class ScriptedCall(_Part):
    name: str
    params: dict[str, JsonValue] = {}
    id: str | None = None


class ScriptedReply(_Part):
    """What the model says; ``json`` is a text that is that JSON."""

    text: str = ""
    data: JsonValue = Field(None, alias="json")
    tool_calls: tuple[ScriptedCall, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    usage: bool | dict[str, JsonValue] = True  #: false: it does not say how many tokens it took; else what it says
    reasoning: str = ""  #: the model's reasoning, in a separate member

    @property
    def content(self) -> str:
        return self.text if self.data is None else json.dumps(self.data, ensure_ascii=False)


class When(_Part):
    """All that is given has to hold; texts are regular expressions, found anywhere, dots matching newlines."""

    provider: str | None = None
    model: str | None = None
    role: str | None = None
    turn: int | None = None
    last: str | None = None  #: the last user message
    any: str | None = None  #: any message
    stream: bool | None = None

    @field_validator("model", "role", "last", "any")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"no regular expression: {error}") from None
        return pattern


class Rule(_Part):
    when: When = When()
    times: Annotated[int, Field(ge=1)] | None = None  #: the rule applies to this many requests
    reply: ScriptedReply | None = None
    replies: tuple[ScriptedReply, ...] = ()  #: one after the other; the last one stays
    fault: ScriptedFault | None = None
    latency_ms: Annotated[float, Field(ge=0)] | None = None
    token_ms: Annotated[float, Field(ge=0)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _plain_texts(cls, value: object) -> object:
        """Expand ``reply: text`` and ``replies: [text]`` to ``{text: ...}``, and ``fault: kind`` to ``{kind: ...}``."""
        if not isinstance(value, dict):
            return value
        value = dict(value)
        if isinstance(value.get("reply"), str):
            value["reply"] = {"text": value["reply"]}
        if isinstance(value.get("replies"), list):
            value["replies"] = [{"text": each} if isinstance(each, str) else each for each in value["replies"]]
        if isinstance(value.get("fault"), str):
            value["fault"] = {"kind": value["fault"]}
        return value

    def nth(self, number: int) -> ScriptedReply:
        if self.replies:
            return self.replies[min(number, len(self.replies) - 1)]
        return self.reply or ScriptedReply()


class ServedModels(_Part):
    """Which server the lists describe, and how many calls it answers at once."""

    kind: Literal["llama.cpp", "vllm", "ollama", "lm-studio"] = "llama.cpp"
    version: str = "1"
    models: tuple[str, ...] = ()
    window: int | None = None  #: tokens; a longer prompt is refused in the server's words
    tokenizes: bool = False  #: ``POST /tokenize`` counts a text, as many as the served usage counts
    slots: Annotated[int, Field(ge=1)] | None = None  #: those that come while all are taken wait in silence


class Script(_Part):
    rules: tuple[Rule, ...] = ()
    demo: bool = False  #: requests that no rule fits are answered by the rules of the demo model
    server: ServedModels | None = None
    caches: Annotated[int, Field(ge=1)] | None = None  #: least tokens of a prompt that is cached, as vendors do it
    latency_ms: Annotated[float, Field(ge=0)] = 0
    token_ms: Annotated[float, Field(ge=0)] = 0


@dataclass(frozen=True)
class ScriptedRequest:
    """A request as the script sees it."""

    provider: str
    model: str
    role: str | None
    turn: int
    stream: bool
    messages: tuple[str, ...]  #: every text, in order
    last_user: str
    tools: tuple[str, ...] = ()
    cached: int = 0  #: tokens of the prompt that were kept of an earlier one
    written: int = 0  #: tokens of it that are cached because of its mark


@dataclass(frozen=True)
class PlannedReply:
    """What to do with a request."""

    reply: ScriptedReply
    fault: ScriptedFault | None
    latency_ms: float
    token_ms: float


@dataclass
class ScriptPlayer:
    """Follows a script; counts how often each rule was used."""

    script: Script
    used: dict[int, int] = field(default_factory=dict)

    def next_reply(self, question: ScriptedRequest) -> PlannedReply | None:
        """Return the reply of the first matching rule that is not used up; None without one."""
        for number, rule in enumerate(self.script.rules):
            used = self.used.get(number, 0)
            if (rule.times is not None and used >= rule.times) or not fits(rule.when, question):
                continue
            self.used[number] = used + 1
            script = self.script
            latency = script.latency_ms if rule.latency_ms is None else rule.latency_ms
            token = script.token_ms if rule.token_ms is None else rule.token_ms
            return PlannedReply(rule.nth(used), rule.fault, latency, token)
        return None


def fits(when: When, question: ScriptedRequest) -> bool:
    exact = ((when.provider, question.provider), (when.turn, question.turn), (when.stream, question.stream))
    if any(wanted is not None and wanted != given for wanted, given in exact):
        return False
    patterns = ((when.model, question.model), (when.last, question.last_user))
    if any(pattern is not None and not re.search(pattern, text, re.DOTALL) for pattern, text in patterns):
        return False
    if when.role is not None and (question.role is None or not re.fullmatch(when.role, question.role)):
        return False
    return when.any is None or any(re.search(when.any, text, re.DOTALL) for text in question.messages)


def parse(text: str) -> Script:
    """Parse a script from YAML, of which JSON is a part. Raises: ValueError."""
    import yaml  # noqa: PLC0415

    try:
        return Script.model_validate(yaml.safe_load(text) or {})
    except yaml.YAMLError as error:
        raise ValueError(f"the script is not YAML: {error}") from None
