"""One call of one vendor: its SDK and wire, within the limits of a watch, with its faults as ours."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import replace

from shared.llm.call_clock import Watch, watching
from shared.llm.catalog import sees_images
from shared.llm.chat import ChatReply, ChatRequest, Finish, TokenUsage
from shared.llm.faults import (
    PARAMETERS,
    CapTooLarge,
    EffortUnsupported,
    EmptyAnswer,
    ImagesUnsupported,
    InvalidKey,
    OnlyThought,
    Part,
    PromptTooLong,
    ProviderFault,
    RequestRefused,
    SamplingUnsupported,
    SchemaUnsupported,
    ServerError,
    ToolUseFailed,
)
from shared.llm.json_text import AnswerUnreadable
from shared.llm.learned import Learned
from shared.llm.reasoning import split_thoughts
from shared.llm.token_counter import TokenCounter
from shared.llm.tool_calls.known import KnownTools
from shared.llm.tool_calls.texts import calls_in_text
from shared.llm.vendors.spec import VendorSpec
from shared.llm.wires.endpoint import SCRIPTED_HEADER, Endpoint
from shared.llm.wires.failures import fault_of
from shared.llm.wires.sdk import LazySdk

_SALVAGED = "It refused the model's tool call as malformed (tool_use_failed); the call was read from the refusal."
_MIN_CAP = 256  #: tokens, when a refusal of the cap names no number and half of it is tried
_LIST_SECONDS = 5.0


class Adapter:
    """Calls its endpoint once and translates the answer; every decision is the failover's."""

    def __init__(self, vendor: VendorSpec, endpoint: Endpoint, learned: Learned | None = None) -> None:
        self.endpoint = endpoint
        self._vendor = vendor
        self._sdk = LazySdk(lambda: vendor.sdk(endpoint))
        self._counter = TokenCounter(endpoint)
        self._learned = Learned() if learned is None else learned

    def connect(self) -> None:
        """Load the vendor's SDK now, which takes most of a second, instead of with the first request."""
        self._sdk.get()

    def close(self) -> None:
        self._sdk.close()
        self._counter.close()

    def window_of(self, model: str) -> int | None:
        """Return the tokens of prompt and answer together; None while unknown."""
        return self.endpoint.window_of(model) or self._learned.count(model, "window")

    def listed(self) -> frozenset[str]:
        """Return the names of the models that the provider lists; none when it has no list, or does not answer."""
        try:
            answer = self._sdk.get().client.get(
                self._vendor.model_list, cast_to=object, options={"timeout": _LIST_SECONDS}
            )
        except Exception:  # of whatever SDK: the names are not known then
            return frozenset()
        items = answer.get("data") if isinstance(answer, Mapping) else None
        names = [each.get("id") for each in items or () if isinstance(each, Mapping)]
        return frozenset(name for name in names if isinstance(name, str))

    def prompt_tokens(self, request: ChatRequest, model: str, window: int) -> int:
        """Return the prompt's tokens, by the server's own tokenizer if it has one and they may be too many."""
        return self._counter.prompt(request, model, window)

    def ask(self, request: ChatRequest, watch: Watch, without: Collection[Part] = ()) -> ChatReply:
        """Call the model once, without the named parts of the request, which are remembered when it answers.

        Raises: ProviderFault; JobCancelled when the watch is cancelled.
        """
        model = request.model or ""
        _check_key(self.endpoint)
        request, unseen = self._with_seen_images(request, without)
        request, ignored = self._with_taken_parameters(request, without)
        if (cap := self._learned.count(model, "cap")) is not None:
            request = replace(request, max_tokens=min(request.max_tokens, cap))
        parts: tuple[Part, ...] = ("schema", "cap", "usage")
        left_out = {part for part in parts if part in without or self._refuses(model, part)}
        with watching(watch):
            try:
                self._sdk.get()
                watch.start()
                reply = _without_thoughts(self._answer(request, watch, left_out))
            except Exception as error:
                schema = request.schema is not None and "schema" not in left_out
                fault = _within(request, schema, fault_of(error, watch))
                self._learn(fault, request, model)
                if not isinstance(fault, ToolUseFailed):
                    raise fault from error
                reply = salvaged(fault, request, self.endpoint.name)
                reply = replace(reply, usage=fault.usage or reply.usage, http_status=fault.http_status, note=_SALVAGED)
        _check_content(reply)
        for part in without:
            self._learned.refused(model, part)
        scripted = SCRIPTED_HEADER in watch.headers
        seconds = time.monotonic() - watch.began
        return replace(
            reply, source="scripted" if scripted else "live", seconds=seconds, unseen=unseen, ignored=ignored
        )

    def _with_seen_images(self, request: ChatRequest, without: Collection[Part]) -> tuple[ChatRequest, int]:
        """Return the request without images that the model does not accept, and their number."""
        images, model = sum(len(message.images) for message in request.messages), request.model or ""
        if not images or (sees_images(model) and "images" not in without and not self._refuses(model, "images")):
            return request, 0
        return replace(request, messages=tuple(replace(one, images=()) for one in request.messages)), images

    def _with_taken_parameters(
        self, request: ChatRequest, without: Collection[Part]
    ) -> tuple[ChatRequest, tuple[str, ...]]:
        """Return the request without the parameters that the vendor or model does not accept, and their names."""
        given, model = request.parameters or {}, request.model or ""
        refused = {
            name
            for name in given
            if (part := PARAMETERS.get(name)) is not None and (part in without or self._refuses(model, part))
        }
        ignored = refused | self._vendor.wire.foreign(given)
        taken = {name: value for name, value in given.items() if name not in ignored}
        return replace(request, parameters=taken), tuple(sorted(ignored))

    def _learn(self, fault: ProviderFault, request: ChatRequest, model: str) -> None:
        match fault:
            case PromptTooLong():
                if fault.window:
                    self._learned.counted(model, "window", fault.window)
                if fault.prompt:
                    self._counter.refused(request, model, fault.prompt)
            case CapTooLarge():
                fault.cap = fault.cap or max(_MIN_CAP, request.max_tokens // 2)
                self._learned.counted(model, "cap", fault.cap)

    def _refuses(self, model: str, part: Part) -> bool:
        probed = part in self.endpoint.refuses and model == self.endpoint.model
        return probed or self._learned.refuses(model, part)

    def _answer(self, request: ChatRequest, watch: Watch, left_out: Collection[Part]) -> ChatReply:
        """Call the SDK. Raises: what the SDK raises; ProviderFault, with what the provider had counted until then."""
        wire, endpoint = self._vendor.wire, self.endpoint
        body, headers, answer = wire.body(request, endpoint, left_out), endpoint.headers(request), wire.answer()
        if endpoint.stream:
            body["stream"] = True
        try:
            with self._sdk.get().answer(self._vendor.path, body, headers, watch) as arriving:
                if isinstance(arriving, Mapping):
                    answer.take_whole(arriving)
                else:
                    answer.take_events(arriving, watch)
            return answer.reply(endpoint.name, request)
        except Exception as error:
            fault = fault_of(error, watch)
            usage = (fault.usage or TokenUsage()).over(answer.usage)
            fault.usage = usage if usage.total else None
            raise fault from error


def _check_key(endpoint: Endpoint) -> None:
    """Raise InvalidKey for a key that no HTTP header can hold."""
    key = endpoint.api_key or ""
    if not key.isascii() or not key.isprintable():
        raise InvalidKey("The API key holds characters that an HTTP header cannot carry: set it again.")


def _without_thoughts(reply: ChatReply) -> ChatReply:
    thought, text = split_thoughts(reply.text)
    return replace(reply, text=text, reasoning=reply.reasoning or thought) if thought or text != reply.text else reply


def _check_content(reply: ChatReply) -> None:
    """Raise EmptyAnswer if the reply has no content; a refusal may be empty."""
    if reply.text.strip() or reply.tool_calls or reply.finish is Finish.REFUSAL:
        return
    cut = reply.finish is Finish.LENGTH
    if reply.reasoning:
        ending = "was cut before it answered: allow it more tokens" if cut else "then said nothing"
        raise OnlyThought(f"The model thought, and {ending}.", reply.usage, reply.finish)
    words = "Its answer was cut before its first word." if cut else "It answered without any content."
    raise EmptyAnswer(words, reply.usage, reply.finish)


#: Statuses by which servers refuse parts of a request, with texts that cannot be listed.
_ASKED_AGAIN = (400, 422)


def _within(request: ChatRequest, with_schema: bool, fault: ProviderFault) -> ProviderFault:
    """Return the fault by the request's parts: servers refuse schemas with texts that cannot be listed."""
    refused = isinstance(fault, RequestRefused) and fault.http_status in _ASKED_AGAIN
    refused = refused or (isinstance(fault, SchemaUnsupported) and not with_schema)
    images = any(message.images for message in request.messages)
    if isinstance(fault, ImagesUnsupported) and not images:
        refused = True
    if not refused:
        return fault
    if (named := _named_part(request, fault.detail)) is not None:
        return named(fault.detail, fault.http_status)
    if with_schema:
        return SchemaUnsupported(fault.detail, fault.http_status)
    failed = ServerError if (fault.http_status or 400) >= 500 else RequestRefused
    return failed(fault.detail, fault.http_status)


_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _named_part(request: ChatRequest, words: str) -> type[SamplingUnsupported | EffortUnsupported] | None:
    """Return the part of the request that a refusal names."""
    said = _HUMP.sub(" ", words).replace("_", " ")  # ``top_p``, ``top p`` and ``topP``, ``effort`` anywhere
    parts = {
        part
        for name, part in PARAMETERS.items()
        if name in (request.parameters or {})
        and re.search(rf"\b{name.removeprefix('reasoning_').replace('_', ' ')}\b", said) is not None
    }
    if "sampling" in parts:
        return SamplingUnsupported
    return EffortUnsupported if parts else None


def salvaged(fault: ToolUseFailed, request: ChatRequest, provider: str) -> ChatReply:
    """Return the intended answer from a failed generation. Raises: the fault, when it is unusable."""
    text = fault.generation.strip()
    if not text:
        raise fault
    model = request.model or ""
    if not request.tools:  # the request was for text, so this is text
        return ChatReply(text, provider, model)
    known = KnownTools(request.tools)
    try:
        read = calls_in_text(text, known)
    except AnswerUnreadable:
        read = None
    if read is None or read.truncated or any(use.name not in known for use in read.uses):
        raise fault
    return ChatReply("", provider, model, Finish.TOOL_CALLS, read.uses)
