"""What models answer to an instruction: several at once, each checked, each with a chance to repair it."""

from __future__ import annotations

import contextvars
import re
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from pydantic import JsonValue

from services.execution.documents.llm import generated
from services.execution.documents.llm.schemas import AnswerSchema
from services.execution.documents.parse.changes import ModelAnswer
from services.execution.documents.parse.nodes import Instruction
from services.execution.documents.run.chunks import Chunks
from shared.contracts.document import Block
from shared.errors import AssayError, JobCancelled
from shared.llm.catalog import sees_images, shown_model
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Finish
from shared.llm.json_text import AnswerUnreadable
from shared.loop import BudgetSpent

_MARK = re.compile(r"^[ \t]*</?data-[0-9a-f]{8,64}>[ \t]*\n?|</?data-[0-9a-f]{8,64}>", re.M)
_CUT = "The answer was cut after {} tokens and is left out: allow it more (budget=), or request less."
_SCHEMA_TURNS = 2  #: an answer, and one more with what was wrong


@dataclass(frozen=True)
class Fault:
    """What is wrong with an answer."""

    code: str
    text: str
    turns: int  #: number of answers that may have this fault before it is an error
    advice: str = ""  #: more, for the model only
    keeps: bool = False  #: the last answer is kept in the document despite it


@dataclass
class InstructionReplies:
    """The answers to one instruction: call, check, feed back the fault, call again."""

    chunks: Chunks
    block: Block
    node: Instruction
    schema: AnswerSchema | None
    spent_before: int = 0

    def ask(self, request: ChatRequest) -> list[ModelAnswer]:
        """Return the answers to keep. Raises: JobCancelled."""
        self.spent_before = self.chunks.document.context.budget.tokens_spent
        answers: list[ModelAnswer] = []
        for received in self._ask_all(request):
            reply = _without_marks(received)
            self.block.model = named(reply)
            self._warn_of_unseen_images(request, reply)
            answer = self._repaired(request, reply)
            if answer is not None:
                answers.append(answer)
        return answers

    def _warn_of_unseen_images(self, request: ChatRequest, reply: ChatReply) -> None:
        sent = any(message.images for message in request.messages)
        if reply.unseen or (sent and not sees_images(reply.model)):
            text = f"{named(reply)} does not see images: it got only the names of the figures."
            if text not in [message.text for message in self.block.messages]:
                self.chunks.document.note(self.block, "warning", "image_not_seen", text)

    def _ask_all(self, request: ChatRequest) -> list[ChatReply]:
        """Return the replicates' first answers in order; the calls run at the same time."""
        document = self.chunks.document
        count = 0
        try:
            for _ in range(self.node.replicates):
                document.check()
                document.context.budget.spend_turn()
                count += 1
        except BudgetSpent as spent:
            self._budget_spent(spent, nothing=count == 0)
        if count <= 1:
            outcomes = [self._complete(request)] if count else []
        else:
            with ThreadPoolExecutor(count, "replicate") as pool:
                asked: list[Future[ChatReply | Exception]] = [
                    pool.submit(contextvars.copy_context().run, self._complete, request) for _ in range(count)
                ]
            outcomes = [future.result() for future in asked]
        replies = [outcome for outcome in outcomes if isinstance(outcome, ChatReply)]
        for error in outcomes:
            if isinstance(error, Exception):
                self._failed(error, nothing=not replies)
        return replies

    def _complete(self, request: ChatRequest) -> ChatReply | Exception:
        try:
            return self.chunks.document.context.llm.complete(request)
        except JobCancelled:
            raise
        except (BudgetSpent, AssayError) as error:
            return error

    def _failed(self, error: Exception, *, nothing: bool) -> None:
        if isinstance(error, BudgetSpent):
            self._budget_spent(error, nothing=nothing)
        elif isinstance(error, AssayError) and error.detail not in [message.text for message in self.block.messages]:
            self.chunks.document.note(self.block, "error" if nothing else "warning", error.code, error.detail)

    def _budget_spent(self, spent: BudgetSpent, *, nothing: bool) -> None:
        document = self.chunks.document
        document.spent = spent.what
        left = "this block was not sent." if nothing else "not every answer was requested."
        if spent.failed is not None:
            left = "no model had answered this block." if nothing else "not every answer came."
        text = f"The budget of {spent.what} was spent: {left}{spent.why}"
        (document.skip if nothing else document.note)(self.block, "warning", "budget_spent", text)

    def _repaired(self, request: ChatRequest, reply: ChatReply) -> ModelAnswer | None:
        """Return the answer once it passes its checks; after a fault the model sees it and answers again."""
        turn = 1
        while True:
            checked = self._checked(reply)
            if not isinstance(checked, Fault):
                return ModelAnswer(reply.text, named(reply), checked)
            again = None
            if turn < checked.turns:
                feedback = (
                    ChatMessage("assistant", reply.text),
                    ChatMessage("user", f"{checked.text} {checked.advice}".strip()),
                )
                request = replace(request, messages=(*request.messages, *feedback), turn=turn + 1)
                again = self._ask_again(request, checked)
                if again is None and self.block.status == "skipped":
                    return None
            if again is None:
                if turn >= checked.turns:
                    self.chunks.document.note(self.block, "error", checked.code, checked.text)
                return ModelAnswer(reply.text, named(reply)) if checked.keeps else None
            reply, turn = _without_marks(again), turn + 1
            self.block.model = named(reply)

    def _ask_again(self, request: ChatRequest, fault: Fault) -> ChatReply | None:
        document = self.chunks.document
        most = self.node.options.get("budget", "")
        try:
            if most.isdecimal() and document.context.budget.tokens_spent - self.spent_before >= int(most):
                text = f"The block's budget of {most} tokens was spent before its answer was repaired: {fault.text}"
                document.note(self.block, "error", fault.code, text)
                return None
            document.check()
            document.context.budget.spend_turn()
            return document.context.llm.complete(request)
        except BudgetSpent as spent:
            document.spent = spent.what
            text = f"The budget of {spent.what} was spent before this answer was repaired: {fault.text}"
            document.note(self.block, "error", fault.code, text)
        except JobCancelled:
            raise
        except AssayError as error:
            document.note(self.block, "error", error.code, error.detail)
            document.note(self.block, "error", fault.code, fault.text)
        return None

    def _checked(self, reply: ChatReply) -> JsonValue | Fault:
        """Return the answer's value, or its fault."""
        if reply.finish is Finish.REFUSAL:
            return Fault("answer_refused", f"The model refused to answer. {reply.text.strip()[:300]}".strip(), 1)
        if reply.finish is Finish.LENGTH:
            return Fault("answer_cut", _CUT.format(reply.usage.output or "all its"), 1)
        if not reply.text.strip():
            return Fault("empty_answer", "The model answered with nothing.", 1)
        value: JsonValue = reply.text
        if self.schema is not None:
            try:
                value = self.schema.value(reply.text)
            except AnswerUnreadable as error:
                text, advice = (
                    f"This answer cannot be used: {error}.",
                    "Answer with JSON that fits it, and nothing else.",
                )
                return Fault("answer_invalid", text, _SCHEMA_TURNS, advice)
        pieces = generated.pieces_of(reply.text)
        wrong = generated.unparsed(pieces)
        if executes(self.node):
            error_text = wrong or generated.run(self.chunks, self.block, pieces)
            if error_text is not None:
                text = f"The generated code fails: {error_text}"
                return Fault("generated_code_failed", text, generated.MAX_TURNS, keeps=True)
        elif wrong is not None:
            self.chunks.document.note(self.block, "warning", "generated_code_unparsable", wrong)
        return value


def executes(node: Instruction) -> bool:
    return node.options.get("execute") == "true"


def named(reply: ChatReply) -> str:
    return f"{reply.provider}/{shown_model(reply.model)}"


def _without_marks(reply: ChatReply) -> ChatReply:
    """Remove the marks around data that some models repeat."""
    return replace(reply, text=_MARK.sub("", reply.text))


def pieces(answers: Sequence[ModelAnswer]) -> list[generated.Piece]:
    return [piece for answer in answers for piece in generated.pieces_of(answer.text)]
