"""An instruction: its message with the values of the kernels, the model's answer after it."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from services.execution.documents import generated, values
from services.execution.documents.chunks import Chunks
from services.execution.documents.nodes import Instruction
from services.execution.documents.splice import Given, answers
from services.execution.documents.state import Kept, KeptAnswer
from services.execution.documents.template import NotRendered, Seen, asks, render
from services.execution.documents.work import Work
from services.execution.sandbox.run import KernelError
from shared.contracts.document import Block, BlockVariable
from shared.errors import AssayError, JobCancelled
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest
from shared.loop import BudgetSpent

ROLE = "documents.instruction"
_WORD = re.compile(r"[A-Za-z_]\w*")
_MOST_CONTENT = 200_000


@dataclass
class Asking:
    work: Work
    chunks: Chunks
    lines: Sequence[str]

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
            work.end(block, began)

    def _run(self, block: Block, node: Instruction) -> None:
        work = self.work
        content = self._content(node)
        if not node.message and not content.strip():
            work.say(block, "error", "empty_message", "The instruction has no message.")
            return
        uses = set(_WORD.findall(node.message)) if asks(node.message) else set()
        models = node.models or ((work.request.model,) if work.request.model else ())
        options = {key: value for key, value in node.options.items() if key != "mode"}
        key = work.digest_of("instruction", uses, node.type, node.message, content, models, options)
        block.digest = key
        kept = None if work.request.dry_run else work.fresh(key)
        if kept is not None:
            self._rest(block, node, key, kept)
            return
        if work.spent:
            work.skip(
                block, "warning", "budget_spent", f"The budget of {work.spent} was spent: this block was not asked."
            )
            return
        message = self._rendered(block, node)
        requests = self._request(node, message, content, models)
        if work.request.dry_run:
            work.calls += node.replicates
            work.input_tokens += node.replicates * sum(len(one.content) for one in requests.messages) // 4
            return
        given = self._asked(block, node, requests, key)
        if given:
            self._splice(node, given)
            if len(given) == node.replicates and block.status == "ok":
                work.after.blocks[key] = Kept(
                    answers=[KeptAnswer(text=one.text, by=one.by) for one in given],
                    rendered=block.message_rendered,
                    variables=block.variables,
                    messages=block.messages,
                    outputs=block.outputs,
                    model=block.model,
                )

    def _content(self, node: Instruction) -> str:
        if node.inner is None:
            return ""
        return "".join(self.lines[node.inner[0] : node.inner[1]])[:_MOST_CONTENT]

    def _rest(self, block: Block, node: Instruction, key: str, kept: Kept) -> None:
        block.status, block.model = "fresh", kept.model
        block.message_rendered, block.variables = kept.rendered, list(kept.variables)
        block.messages = list(kept.messages)
        self.work.after.blocks[key] = kept
        given = [Given(one.text, one.by) for one in kept.answers]
        if not node.suggestions:
            self._splice(node, given)
        self._bind(node, given)
        if _executes(node):
            generated.rest(self.chunks, key, [piece for one in given for piece in generated.pieces_of(one.text)])
            block.outputs = list(kept.outputs)

    def _splice(self, node: Instruction, given: Sequence[Given]) -> None:
        self._bind(node, given)
        if self.work.line is not None:
            return  # an included file is not ours to change
        newline = "\r\n" if self.lines[node.start].endswith("\r\n") else "\n"
        self.work.splices += answers(node, given, newline)

    def _bind(self, node: Instruction, given: Sequence[Given]) -> None:
        name = node.options.get("as")
        if name and name.isidentifier() and given:
            self.work.hold(name, given[0].text)

    def _rendered(self, block: Block, node: Instruction) -> str:
        """The message to send; the original when anything is wrong."""
        if not asks(node.message):
            return node.message
        told: list[BlockVariable] = []

        def fetch(names: list[str]) -> Mapping[str, Seen]:
            work = self.work
            self.chunks.need(names)
            seen: dict[str, Seen] = {}
            for name, (kernel, value) in work.kernels.find(n for n in names if n not in work.broken).items():
                seen[name] = values.seen(value, kernel)
                told.append(values.told(name, kernel, value, seen[name]))
            return seen

        try:
            rendered = render(node.message, fetch)
        except (NotRendered, KernelError, AssayError) as error:
            if isinstance(error, JobCancelled):
                raise
            text = f"The message was sent as it stands because it could not be rendered: {error}"
            missing = sorted(set(_WORD.findall(node.message)) & set(self.work.broken))
            if missing:
                text = f"{text} ({missing[0]} is missing because {self.work.broken[missing[0]]} failed or was skipped)"
            self.work.say(block, "warning", "not_rendered", text)
            return node.message
        block.message_rendered, block.variables = rendered, told
        return rendered

    def _request(self, node: Instruction, message: str, content: str, models: Sequence[str]) -> ChatRequest:
        work = self.work
        prompt = work.context.prompts.render(ROLE, type=node.type)
        body = "\n\n".join(part for part in (message, content.rstrip("\n"), self._errors(node)) if part)
        history = tuple(work.context.history) if node.type == "discuss" else ()
        messages = (ChatMessage("system", prompt.text), *history, ChatMessage("user", body))
        parameters = {"temperature": int(node.options["t"]) / 100} if "t" in node.options else None
        return ChatRequest(
            role=ROLE,
            messages=messages,
            parameters=parameters,
            deadline=work.context.budget.deadline,
            prompt=prompt.version,
            selector=tuple(models),
        )

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

    def _reply(self, request: ChatRequest) -> ChatReply:
        self.work.check()
        self.work.context.budget.spend_turn()
        return self.work.context.llm.complete(request)

    def _executed(self, block: Block, request: ChatRequest, reply: ChatReply, key: str) -> ChatReply:
        """Run the code of an answer; a model whose code fails sees the error and answers again."""
        for turn in range(1, generated.MOST_TURNS + 1):
            error = generated.run(self.chunks, block, key, generated.pieces_of(reply.text))
            if error is None:
                break
            if turn == generated.MOST_TURNS:
                self.work.say(block, "error", "generated_code_failed", f"The generated code fails: {error}")
                break
            feedback = (ChatMessage("assistant", reply.text), ChatMessage("user", error))
            request = replace(request, messages=(*request.messages, *feedback), turn=turn + 1)
            try:
                reply = self._reply(request)
            except BudgetSpent as spent:
                self.work.spent = spent.what
                text = f"The budget of {spent.what} was spent before the code of this answer was repaired: {error}"
                self.work.say(block, "error", "generated_code_failed", text)
                break
        return reply

    def _asked(self, block: Block, node: Instruction, request: ChatRequest, key: str) -> list[Given]:
        work = self.work
        given: list[Given] = []
        for _ in range(node.replicates):
            try:
                reply = self._reply(request)
                if _executes(node):
                    reply = self._executed(block, request, reply, key)
            except BudgetSpent as spent:
                work.spent = spent.what
                text = f"The budget of {spent.what} was spent: this block was not asked."
                (work.say if given else work.skip)(block, "warning", "budget_spent", text)
                break
            except JobCancelled:
                raise
            except AssayError as error:
                work.say(block, "error", error.code, error.detail)
                break
            block.model = _named(reply)
            if not reply.text.strip():
                work.say(block, "error", "empty_answer", "The model answered with nothing.")
                break
            given.append(Given(reply.text, _named(reply)))
        if given and node.type == "discuss":
            work.context.report.remember(request.messages[-1].content, given[0].text)
        return given


def _executes(node: Instruction) -> bool:
    return node.options.get("execute") == "true"


def _named(reply: ChatReply) -> str:
    return f"{reply.provider}/{reply.model}"
