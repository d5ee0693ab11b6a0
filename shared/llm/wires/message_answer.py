"""An answer in Anthropic's messages format while it arrives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from shared.llm.call_clock import Watch
from shared.llm.chat import ChatReply, ChatRequest, Finish, TokenUsage, ToolUse
from shared.llm.faults import StreamCut, ToolUseFailed, UnreadableAnswer
from shared.llm.wires.finish import finish_of
from shared.llm.wires.native_calls import arguments
from shared.llm.wires.shapes import Json, clean, cleaned, index_of, member, name_of, object_of, text_of

#: The text of each kind of delta and block.
_TEXTS = ("text", "partial_json", "thinking")


@dataclass
class _Block:
    kind: str
    id: str = ""
    name: str = ""
    text: list[str] = field(default_factory=list)
    input: object = None


@dataclass
class MessageAnswer:
    """See ``wire.ReceivedAnswer``."""

    blocks: dict[int, _Block] = field(default_factory=dict)
    stop: object = None
    model: str = ""
    counted: TokenUsage = field(default_factory=TokenUsage)  #: input without what the cache took part in

    @property
    def usage(self) -> TokenUsage:
        """Cached input is counted apart by this vendor, within the input by the others."""
        counted = self.counted
        if counted.input is None:
            return counted
        return TokenUsage.reported(
            counted.input + (counted.cached or 0) + (counted.written or 0),
            counted.output, counted.cached, counted.written,
        )  # fmt: skip

    def take_events(self, events: Iterable[Json], watch: Watch) -> None:
        """Read a stream to its end. Raises: StreamCut when it stops without a stop reason."""
        ended = False
        for event in events:
            kind = text_of(event, "type")
            index = index_of(event) or 0
            if kind != "ping":
                watch.token()
            match kind:
                case "message_start":
                    message = object_of(event, "message")
                    self.model = name_of(message, "model")
                    self._count(object_of(message, "usage"))
                case "content_block_start":
                    self.blocks[index] = _block(object_of(event, "content_block"))
                case "content_block_delta":
                    delta = object_of(event, "delta")
                    block = self.blocks.setdefault(index, _Block("text"))
                    block.text.append(next((text for name in _TEXTS if (text := text_of(delta, name))), ""))
                case "message_delta":
                    self.stop = member(object_of(event, "delta"), "stop_reason") or self.stop
                    self._count(object_of(event, "usage"))
                case "message_stop":
                    ended = True
        if not self.stop or not (ended or watch.done):
            raise StreamCut("The answer stopped before its end.")

    def take_whole(self, answer: Json) -> None:
        """Read an answer that came in one piece. Raises: UnreadableAnswer."""
        self.model = name_of(answer, "model")
        self._count(object_of(answer, "usage"))
        content = answer.get("content")
        if isinstance(content, str):
            content = [content]
        if not isinstance(content, list):
            raise UnreadableAnswer("The answer holds no content: it is not a model's.")
        blocks = ({"type": "text", "text": block} if isinstance(block, str) else block for block in content)
        self.blocks = {number: _block(block) for number, block in enumerate(blocks) if isinstance(block, dict)}
        self.stop = answer.get("stop_reason")

    def _count(self, usage: Json) -> None:
        read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
        usage_now = TokenUsage.reported(usage.get("input_tokens"), usage.get("output_tokens"), read, written)
        self.counted = usage_now.over(self.counted)

    def reply(self, provider: str, request: ChatRequest) -> ChatReply:
        """Return the reply.

        Raises: ProviderFault for an unknown or bad stop reason, and for a tool call whose input is not a JSON object.
        """
        finish = finish_of(self.stop, Finish.STOP)
        blocks = [block for _, block in sorted(self.blocks.items())]
        text = "".join("".join(block.text) for block in blocks if block.kind == "text")
        thought = "".join("".join(block.text) for block in blocks if block.kind == "thinking")
        calls = []
        for number, block in enumerate(block for block in blocks if block.kind == "tool_use"):
            written = "".join(block.text)
            params = arguments(written) if written else _input(block.input)
            if isinstance(params, dict) and block.name:
                calls.append(ToolUse(block.id or f"toolu_{number}", block.name, params))
            elif finish is not Finish.LENGTH:  # cut in the middle: only complete calls count
                raise ToolUseFailed("A tool call has no name, or its input is not a JSON object.", "")
        model = self.model or request.model or ""
        return ChatReply(clean(text), provider, model, finish, tuple(calls), self.usage, reasoning=clean(thought))


def _input(given: object) -> object:
    """Return a call's input; gateways send it as a text, and none at all for a tool without parameters."""
    return arguments(given) if isinstance(given, str) else cleaned({} if given is None else given)


def _block(block: Json) -> _Block:
    kind = text_of(block, "type")
    text = text_of(block, kind) if kind in ("text", "thinking") else ""
    return _Block(kind, name_of(block, "id"), name_of(block, "name"), [text], block.get("input"))
