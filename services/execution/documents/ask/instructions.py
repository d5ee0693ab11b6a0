"""An instruction: its message with the values of the kernels, the model's answer after it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from services.execution.documents.ask import generated
from services.execution.documents.ask.replies import Replies, executes, pieces
from services.execution.documents.ask.schemas import BadSchema, Form, form
from services.execution.documents.parse.nodes import Instruction, Tree
from services.execution.documents.resolve import messages, prompting
from services.execution.documents.resolve.messages import Message
from services.execution.documents.run.chunks import Chunks
from services.execution.documents.run.running import Work
from services.execution.documents.run.state import Kept, KeptAnswer
from services.execution.documents.splice import Given, Splice, answers, passing, spliced, without
from shared.contracts.document import Block
from shared.errors import AssayError
from shared.llm.chat import ChatMessage, ChatRequest, Estimates, TokenUsage

ROLE = "documents.instruction"
_MOST_CONTENT = 200_000
_MOST_TOKENS = 8192
_ASSUMED = 500  #: tokens of an answer, for an estimate


@dataclass
class Turns:
    """What one instruction was answered, in a loop more than once."""

    node: Instruction
    given: list[Given] = field(default_factory=list)
    changed: bool = False


@dataclass
class Asking:
    work: Work
    chunks: Chunks
    tree: Tree
    turns: dict[str, Turns] = field(default_factory=dict)

    @property
    def lines(self) -> Sequence[str]:
        return self.tree.lines

    @cached_property
    def _passing(self) -> Sequence[tuple[int, int]]:
        return passing(self.tree)

    def written(self) -> str:
        """The document with every answer after its instruction; what has not changed stays as it stands."""
        found: list[Splice] = []
        for one in self.turns.values():
            if one.changed:
                newline = "\r\n" if self.lines[one.node.start].endswith("\r\n") else "\n"
                found += answers(one.node, one.given, newline)
        return spliced(self.lines, found)

    def run(self, node: Instruction) -> None:
        work = self.work
        block, began = work.begin(node), time.monotonic()
        block.instruction_type, block.message_original = node.type, node.message
        try:
            if node.broken:
                block.status = "error"
            elif node.options.get("mode") == "lock":
                work.skip(block, "info", "locked", "This instruction is locked.")
            else:
                self._run(block, node)
        finally:
            if block.status in ("error", "skipped"):
                self._unbind(block, node)
            work.end(block, began)

    def _run(self, block: Block, node: Instruction) -> None:
        work = self.work
        content = self._content(node)
        if not node.message and not content.strip():
            work.say(block, "error", "empty_message", "The instruction has no message.")
            return
        try:
            wanted = self._form(node)
        except BadSchema as error:
            work.say(block, "error", "bad_schema", f"The schema of this instruction cannot be used: {error}.")
            return
        models = node.models or ((work.request.model,) if work.request.model else ())
        voice = prompting.voice(self.chunks, block, node.options.get("prompt"))
        options = {key: value for key, value in node.options.items() if key not in ("mode", "id")}
        schema = wanted.text if wanted else ""
        talk = work.talk if node.type == "discuss" else []
        key = work.digest_of(
            "instruction", messages.uses(node.message), node.type, node.message, content, models, options, voice,
            schema, talk,
        )  # fmt: skip
        key = work.nth(key)
        block.digest = key
        kept = None if work.request.dry_run else work.fresh(key)
        if kept is not None:
            self._rest(block, node, key, kept, wanted)
            return
        if work.spent:
            text = f"The budget of {work.spent} was spent: this block was not asked."
            work.skip(block, "warning", "budget_spent", text)
            return
        message = messages.rendered(self.chunks, block, node.message)
        request = self._request(node, message, content, models, voice, schema)
        if work.request.dry_run:
            self._estimate(block, node, request)
            return
        given = Replies(self.chunks, block, node, key, wanted).given(request)
        if not given:
            return
        self._answered(node, given, changed=True)
        if node.type == "discuss":
            work.context.report.remember(request.messages[-1].content, given[0].text)
            work.talk.append((request.messages[-1].content, given[0].text))
        if len(given) == node.replicates and block.status == "ok":
            work.after.blocks[key] = Kept(
                answers=[KeptAnswer(text=one.text, by=one.by) for one in given],
                rendered=block.message_rendered,
                variables=block.variables,
                messages=block.messages,
                outputs=block.outputs,
                model=block.model,
            )

    def _form(self, node: Instruction) -> Form | None:
        named = node.options.get("schema")
        return form(named, self.lines, self.work.kernels.files) if named else None

    def _content(self, node: Instruction) -> str:
        """What the message is about, without what models have answered in it."""
        if node.inner is None:
            return ""
        return without(self.lines, self._passing, *node.inner)[:_MOST_CONTENT].rstrip("\r\n")

    def _rest(self, block: Block, node: Instruction, key: str, kept: Kept, wanted: Form | None) -> None:
        """Nothing changed: the answers as they were."""
        block.status, block.model = "fresh", kept.model
        block.message_rendered, block.variables = kept.rendered, list(kept.variables)
        block.messages = list(kept.messages)
        self.work.after.blocks[key] = kept
        given = [Given(one.text, one.by, wanted.value(one.text) if wanted else one.text) for one in kept.answers]
        stands = {one.by for one in node.suggestions} & {one.by for one in given}
        self._answered(node, given, changed=not stands)
        if node.type == "discuss" and given:
            self.work.talk.append((kept.rendered or node.message, given[0].text))
        if executes(node):
            generated.rest(self.chunks, key, pieces(given))
            block.outputs = list(kept.outputs)

    def _answered(self, node: Instruction, given: Sequence[Given], *, changed: bool) -> None:
        name = node.options.get("as")
        if name and given:
            self.work.hold(name, given[0].value)
        turns = self.turns.setdefault(node.id, Turns(node))
        turns.given += given
        turns.changed = turns.changed or changed

    def _unbind(self, block: Block, node: Instruction) -> None:
        """Whoever uses the answer that there is not is told why."""
        if name := node.options.get("as"):
            self.work.lose(name, block.id)

    def _request(
        self, node: Instruction, message: Message, content: str, models: Sequence[str], voice: str, schema: str
    ) -> ChatRequest:
        work = self.work
        prompt = work.context.prompts.render(ROLE, type=node.type, prompt=voice, schema=schema)
        body = "\n\n".join(part for part in (message.text, content, self._errors(node)) if part)
        user = ChatMessage("user", body, message.images)
        said = (ChatMessage("system", prompt.text), *self._history(node), user)
        temperature = node.options.get("t", "")
        most = node.options.get("budget", "")
        return ChatRequest(
            role=ROLE,
            messages=said,
            max_tokens=max(1, min(_MOST_TOKENS, int(most))) if most.isdecimal() else _MOST_TOKENS,
            parameters={"temperature": int(temperature) / 100} if temperature.isdecimal() else None,
            deadline=work.context.budget.deadline,
            prompt=prompt.version,
            selector=tuple(models),
        )

    def _history(self, node: Instruction) -> list[ChatMessage]:
        """A discussion goes on from the conversation's jobs, and from the document's own discussions above."""
        if node.type != "discuss":
            return []
        history = list(self.work.context.history)
        known = {message.content for message in history if message.role == "user"}
        for user, assistant in self.work.talk:
            if user not in known:
                history += [ChatMessage("user", user), ChatMessage("assistant", assistant)]
        return history

    def _estimate(self, block: Block, node: Instruction, request: ChatRequest) -> None:
        """What asking would take; the characters of a token are a guess."""
        work = self.work
        tokens = sum(len(one.content) for one in request.messages) // 4
        answer = min(_ASSUMED, request.max_tokens)
        work.calls += node.replicates
        work.input_tokens += node.replicates * tokens
        work.output_tokens += node.replicates * answer
        models = work.context.llm
        try:
            cost = models.estimate(request, TokenUsage(tokens, answer)) if isinstance(models, Estimates) else None
        except AssayError as error:
            work.say(block, "error", error.code, error.detail)
            cost = None
        work.cost = None if cost is None or work.cost is None else work.cost + node.replicates * cost

    def _errors(self, node: Instruction) -> str:
        """What went wrong in the code that is to be fixed."""
        if node.type != "fix" or node.inner is None:
            return ""
        first, last = node.inner[0] + 1, node.inner[1]
        found = [
            message.text
            for block in self.work.blocks.values()
            if block.kind == "chunk" and first <= block.lines[0] <= last
            for message in block.messages
            if message.level == "error"
        ]
        return "\n".join(found)
