"""An instruction: its message with the values of the kernels, the model's answer after it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from services.execution.documents.llm import generated, messages
from services.execution.documents.llm.compact import body_of, compacted
from services.execution.documents.llm.messages import FilledMessage
from services.execution.documents.llm.replies import InstructionReplies, executes, pieces
from services.execution.documents.llm.schemas import AnswerSchema, BadSchema, answer_schema
from services.execution.documents.parse.changes import ModelAnswer, Splice, answer_splices, spliced, superseded, without
from services.execution.documents.parse.nodes import DocumentTree, Instruction
from services.execution.documents.run.chunks import Chunks
from services.execution.documents.run.running import RunningDocument
from services.execution.documents.run.state import CachedAnswer, CachedBlock
from shared.contracts.document import Block
from shared.errors import AssayError
from shared.llm.chat import ChatMessage, ChatRequest, Estimates, JsonSchema, TokenUsage

ROLE = "documents.instruction"
_MAX_CONTENT = 200_000
_MAX_TOKENS = 8192
_ASSUMED = 500  #: tokens of an answer, for an estimate


@dataclass
class Answered:
    """The answers to one instruction; in a loop a model is called for it more than once."""

    node: Instruction
    answers: list[ModelAnswer] = field(default_factory=list)
    changed: bool = False


@dataclass
class Instructions:
    document: RunningDocument
    chunks: Chunks
    tree: DocumentTree
    answered: dict[str, Answered] = field(default_factory=dict)

    @property
    def lines(self) -> Sequence[str]:
        return self.tree.lines

    @cached_property
    def _superseded(self) -> Sequence[tuple[int, int]]:
        return superseded(self.tree)

    def markdown(self) -> str:
        """Return the document with every answer after its instruction; unchanged answers keep their text."""
        splices: list[Splice] = []
        for answered in self.answered.values():
            if answered.changed:
                newline = "\r\n" if self.lines[answered.node.start].endswith("\r\n") else "\n"
                splices += answer_splices(answered.node, answered.answers, newline)
        return spliced(self.lines, splices)

    def run(self, node: Instruction) -> None:
        document = self.document
        block, began = document.begin(node), time.monotonic()
        block.instruction_type, block.message_original = node.type, node.message
        try:
            if node.broken:
                block.status = "error"
            elif node.options.get("mode") == "lock":
                document.skip(block, "info", "locked", "This instruction is locked.")
            else:
                self._run(block, node)
        except messages.NotSent as missing:
            messages.refuse(self.chunks, block, missing)
        finally:
            if block.status in ("error", "skipped"):
                self._unset(block, node)
            document.end(block, began)

    def _run(self, block: Block, node: Instruction) -> None:
        document = self.document
        content = self._content(node)
        if not node.message and not content.strip():
            document.note(block, "error", "empty_message", "The instruction has no message.")
            return
        try:
            schema = self._schema(node)
        except BadSchema as error:
            document.note(block, "error", "bad_schema", f"The schema of this instruction cannot be used: {error}.")
            return
        models = node.models or ((document.request.model,) if document.request.model else ())
        system = messages.system_prompt(self.chunks, block, node.options.get("prompt"))
        options = {key: value for key, value in node.options.items() if key not in ("mode", "id")}
        schema_text = schema.text if schema else ""
        discussions = document.discussions if node.type == "discuss" else []
        key = document.digest_of(
            "instruction", messages.uses(node.message), node.type, node.message, content, models, options, system,
            schema_text, discussions,
        )  # fmt: skip
        key = document.numbered(key)
        block.digest = key
        cached = self._cached(key)
        if cached is not None:
            self._reuse(block, node, key, cached, schema)
            return
        if not self._may_ask(block, node, key):
            return
        message = messages.rendered(self.chunks, block, node.message)
        request = self._request(node, message, content, models, system, schema)
        if document.request.dry_run:
            self._estimate(block, node, request)
            return
        answers = InstructionReplies(self.chunks, block, node, schema).ask(request)
        if not answers:
            return
        self._add_answers(block, node, answers, changed=True)
        if node.type == "discuss":
            document.context.report.remember(request.messages[-1].content, answers[0].text)
            document.discussions.append((request.messages[-1].content, answers[0].text))
        if len(answers) == node.replicates and block.status == "ok":
            document.after.blocks[key] = CachedBlock(
                answers=[CachedAnswer(text=one.text, by=one.by) for one in answers],
                rendered=block.message_rendered,
                spans=block.message_spans,
                variables=block.variables,
                messages=block.messages,
                outputs=block.outputs,
                model=block.model,
            )

    def _may_ask(self, block: Block, node: Instruction, key: str) -> bool:
        document = self.document
        if document.looks:
            document.leave_stale(block, key, [node.options["as"]] if node.options.get("as") else [])
        elif document.spent:
            text = f"The budget of {document.spent} was spent: this block was not sent."
            document.skip(block, "warning", "budget_spent", text)
        else:
            return True
        return False

    def _cached(self, key: str) -> CachedBlock | None:
        """Return the earlier answer, unless its message went out without values and no longer may."""
        document = self.document
        cached = None if document.request.dry_run else document.cached(key)
        if cached is not None and document.request.on_missing != "send":
            return None if any(message.code == "not_rendered" for message in cached.messages) else cached
        return cached

    def _schema(self, node: Instruction) -> AnswerSchema | None:
        named = node.options.get("schema")
        return answer_schema(named, self.lines, self.document.kernels.files) if named else None

    def _content(self, node: Instruction) -> str:
        """Return the content that the message is about, without the models' answers in it."""
        if node.inner is None:
            return ""
        return without(self.lines, self._superseded, *node.inner)[:_MAX_CONTENT].rstrip("\r\n")

    def _reuse(
        self, block: Block, node: Instruction, key: str, cached: CachedBlock, schema: AnswerSchema | None
    ) -> None:
        """Reuse the earlier answers, because nothing changed."""
        block.status, block.model = "fresh", cached.model
        block.message_rendered, block.message_spans = cached.rendered, list(cached.spans)
        block.variables = self.document.placed(cached.variables)
        block.messages = list(cached.messages)
        self.document.after.blocks[key] = cached
        answers = [
            ModelAnswer(one.text, one.by, schema.value(one.text) if schema else one.text) for one in cached.answers
        ]
        stands = {one.by for one in node.suggestions} & {one.by for one in answers}
        self._add_answers(block, node, answers, changed=not stands)
        if node.type == "discuss" and answers:
            self.document.discussions.append((cached.rendered or node.message, answers[0].text))
        if executes(node):
            generated.reuse(self.chunks, block, pieces(answers))
            block.outputs = list(cached.outputs)

    def _add_answers(self, block: Block, node: Instruction, answers: Sequence[ModelAnswer], *, changed: bool) -> None:
        block.answers = [*block.answers, *(one.text for one in answers)]
        name = node.options.get("as")
        if name and answers:
            self.document.set_value(name, answers[0].value, by=node.id)
        answered = self.answered.setdefault(node.id, Answered(node))
        answered.answers += answers
        answered.changed = answered.changed or changed

    def _unset(self, block: Block, node: Instruction) -> None:
        """Mark the missing answer, so that blocks which use it are skipped with a reason."""
        if name := node.options.get("as"):
            self.document.unset(name, block.id)

    def _request(
        self, node: Instruction, message: FilledMessage, content: str, models: Sequence[str], system: str,
        schema: AnswerSchema | None,
    ) -> ChatRequest:  # fmt: skip
        document = self.document
        schema_text = schema.text if schema else ""
        prompt = document.context.prompts.render(ROLE, type=node.type, prompt=system, schema=schema_text)
        parts = (message.text, content, self._errors(node))
        user = ChatMessage("user", body_of(*parts), message.images)
        sent = (ChatMessage("system", prompt.text), *self._history(node), user)
        temperature = node.options.get("t", "")
        most = node.options.get("budget", "")
        return ChatRequest(
            role=ROLE,
            messages=sent,
            # Vendors accept objects only; any other schema is part of the prompt, and every answer is checked.
            schema=JsonSchema("answer", schema.schema) if schema and "properties" in schema.schema else None,
            max_tokens=max(1, min(_MAX_TOKENS, int(most))) if most.isdecimal() else _MAX_TOKENS,
            parameters={"temperature": int(temperature) / 100} if temperature.isdecimal() else None,
            deadline=document.context.budget.deadline,
            prompt=prompt.version,
            selector=tuple(models),
            compact=lambda tokens: compacted(sent, *parts, tokens),
        )

    def _history(self, node: Instruction) -> list[ChatMessage]:
        """Continue a discussion from the conversation's jobs, and from the document's own discussions above."""
        if node.type != "discuss":
            return []
        history = list(self.document.context.history)
        known = {message.content for message in history if message.role == "user"}
        for user, assistant in self.document.discussions:
            if user not in known:
                history += [ChatMessage("user", user), ChatMessage("assistant", assistant)]
        return history

    def _estimate(self, block: Block, node: Instruction, request: ChatRequest) -> None:
        """Estimate the cost of the call, at four characters per token."""
        document = self.document
        tokens = sum(len(one.content) for one in request.messages) // 4
        answer = min(_ASSUMED, request.max_tokens)
        document.calls += node.replicates
        document.input_tokens += node.replicates * tokens
        document.output_tokens += node.replicates * answer
        models = document.context.llm
        try:
            cost = models.estimate(request, TokenUsage(tokens, answer)) if isinstance(models, Estimates) else None
        except AssayError as error:
            document.note(block, "error", error.code, error.detail)
            cost = None
        document.cost = None if cost is None or document.cost is None else document.cost + node.replicates * cost

    def _errors(self, node: Instruction) -> str:
        """Return the errors of the code that is to be fixed."""
        if node.type != "fix" or node.inner is None:
            return ""
        first, last = node.inner[0] + 1, node.inner[1]
        errors = [
            message.text
            for block in self.document.blocks.values()
            if block.kind == "chunk" and first <= block.lines[0] <= last
            for message in block.messages
            if message.level == "error"
        ]
        return "\n".join(errors)
