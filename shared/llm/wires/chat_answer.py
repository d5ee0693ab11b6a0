"""An answer in the chat-completions format while it arrives, in every form that servers with that API send."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from shared.llm.call_clock import Watch
from shared.llm.catalog import is_path
from shared.llm.chat import ChatReply, ChatRequest, Finish, TokenUsage
from shared.llm.faults import ProviderFault, StreamCut, UnreadableAnswer
from shared.llm.wires.failures import of_event
from shared.llm.wires.finish import finish_of, lasting
from shared.llm.wires.native_calls import ToolCalls
from shared.llm.wires.shapes import Json, clean, index_of, list_of, member, name_of, object_of, text_of, usage_of

#: Where servers put what the model thought: DeepSeek, llama.cpp and vLLM; Groq, Ollama and newer vLLM.
_REASONING = ("reasoning_content", "reasoning", "thinking")
#: Types of parts that are thoughts (Mistral, gateways in front of Anthropic), and that are a refusal.
_THOUGHTS, _REFUSALS = ("thinking", "reasoning"), ("refusal",)


@dataclass
class ChatAnswer:
    """See ``wire.ReceivedAnswer``."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: ToolCalls = field(default_factory=ToolCalls)
    finish: object = None
    refusal: bool = False
    model: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)

    def take_events(self, events: Iterable[Json], watch: Watch) -> None:
        """Read a stream to its end. Raises: StreamCut when it says neither why it ends nor that it ends."""
        first: list[Any] | None = []  #: of a server that does not number from 0: the parts of its first answer
        for chunk in events:
            self.model = name_of(chunk, "model") or self.model
            self._count(member(chunk, "usage"))
            self._count(member(member(chunk, "x_groq"), "usage"))
            _check_groq(chunk)
            for choice in list_of(chunk, "choices"):
                if not isinstance(choice, dict):
                    continue
                watch.token()
                if index_of(choice) in (0, None):
                    first = None
                    self._take_choice(choice)
                elif first is not None and (not first or index_of(first[0]) == index_of(choice)):
                    first.append(choice)
        for choice in first or ():
            self._take_choice(choice)
        if not self.finish and not watch.done:
            raise StreamCut("The answer stopped before its end.")

    def _take_choice(self, choice: Any) -> None:
        """Take a part of a streamed answer. Raises: ProviderFault for an error in its place."""
        _check_choice(choice)
        said = object_of(choice, "delta")
        if not said and not self.text:  # a whole message in the place of a delta
            said = object_of(choice, "message")
        self._count(member(choice, "usage"))
        self._take(said or _completion(choice) or {}, whole=False)
        self.finish = lasting(self.finish, member(choice, "finish_reason"), member(choice, "native_finish_reason"))

    def take_whole(self, answer: Json) -> None:
        """Read an answer that came in one piece. Raises: UnreadableAnswer."""
        self.model = name_of(answer, "model")
        self._count(member(answer, "usage"))
        choices = [choice for choice in list_of(answer, "choices") if isinstance(choice, dict)]
        choice = next((choice for choice in choices if index_of(choice) in (0, None)), next(iter(choices), None))
        _check_choice(choice)
        message = member(choice, "message") or _completion(choice)
        if not isinstance(message, dict):
            raise UnreadableAnswer("The answer holds no choices: it is not a model's.")
        self._take(message, whole=True)
        self.finish = lasting(None, member(choice, "finish_reason"), member(choice, "native_finish_reason"))

    def _take(self, said: Json, *, whole: bool) -> None:
        thought = next((thought for name in _REASONING if (thought := text_of(said, name))), "")
        if thought:
            self.reasoning.append(thought)
        self._take_content(said.get("content"))
        if refusal := text_of(said, "refusal"):
            self.refusal = True
            self.text.append(refusal)
        calls = said.get("tool_calls")
        self.calls.take([calls] if isinstance(calls, dict) else list_of(said, "tool_calls"), whole=whole)
        if legacy := object_of(said, "function_call"):
            self.calls.take([{"index": 0, "function": legacy}], whole=whole)

    def _take_content(self, content: Any) -> None:
        """Take a text, or the parts that some servers divide it into. Raises: UnreadableAnswer."""
        if content is None:
            return
        if isinstance(content, str):
            self.text.append(content)
            return
        if not isinstance(content, list | dict):
            raise UnreadableAnswer("The content of its answer is neither a text nor a list of parts.")
        for part in content if isinstance(content, list) else [content]:
            kind = text_of(part, "type")
            said = part if isinstance(part, str) else _said(part, kind)
            if kind in _THOUGHTS:
                self.reasoning.append(said)
            else:
                self.refusal = self.refusal or kind in _REFUSALS
                self.text.append(said)

    def _count(self, usage: object) -> None:
        if (counted := usage_of(usage)) is not None:
            self.usage = counted.over(self.usage)

    def reply(self, provider: str, request: ChatRequest) -> ChatReply:
        """Return the reply.

        Raises: ProviderFault for an unknown or bad finish reason, and for a tool call that is not a JSON object.
        """
        finish = finish_of(self.finish, Finish.TOOL_CALLS if self.calls else Finish.STOP)
        if self.refusal:
            finish = Finish.REFUSAL
        calls = self.calls.complete(cut=finish is Finish.LENGTH)
        asked = request.model or ""
        model = self.model if self.model and not is_path(self.model) else asked
        thought = clean("".join(self.reasoning))
        return ChatReply(clean("".join(self.text)), provider, model, finish, calls, self.usage, reasoning=thought)


def _check_choice(choice: object) -> None:
    """Raise ProviderFault for an error in the place of an answer."""
    if isinstance(choice, dict) and choice.get("error"):
        raise of_event(choice)


def _completion(choice: object) -> Json | None:
    """Return the text of a choice as a message, where a server answers as the older API of completions."""
    text = text_of(choice, "text")
    return {"content": text} if text else None


def _check_groq(chunk: Json) -> None:
    """Raise ProviderFault for a stream that Groq reports as stopped early."""
    error = member(member(chunk, "x_groq"), "error")
    if error:
        raise _stopped(error)


def _stopped(error: object) -> ProviderFault:
    if isinstance(error, dict):
        return of_event({"error": error})
    return of_event({"error": {"message": str(error), "type": str(error)}})


def _said(part: object, kind: str) -> str:
    """Return the words of one part of a content."""
    inner = member(part, "text") or member(part, kind)
    if isinstance(inner, list):
        return "".join(each if isinstance(each, str) else _said(each, text_of(each, "type")) for each in inner)
    return inner if isinstance(inner, str) else ""
