"""What models answer to an instruction: several at once, each checked, each with a chance to repair it."""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from pydantic import JsonValue

from services.execution.documents.ask import generated
from services.execution.documents.ask.schemas import Form
from services.execution.documents.parse.nodes import Instruction
from services.execution.documents.run.chunks import Chunks
from services.execution.documents.splice import Given
from shared.contracts.document import Block
from shared.errors import AssayError, JobCancelled
from shared.llm.catalog import sees_images
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest
from shared.llm.json_text import AnswerUnreadable
from shared.loop import BudgetSpent

_SCHEMA_TURNS = 2  #: an answer, and one more with what was wrong


@dataclass(frozen=True)
class Fault:
    """What is wrong with an answer."""

    code: str
    text: str
    turns: int  #: so many answers may have this fault before it stands
    advice: str = ""  #: more, for the model only
    keeps: bool = False  #: the last answer stands in the document all the same


@dataclass
class Replies:
    """One instruction's."""

    chunks: Chunks
    block: Block
    node: Instruction
    key: str
    form: Form | None
    spent_before: int = 0

    def given(self, request: ChatRequest) -> list[Given]:
        """The answers that stand. Raises: JobCancelled."""
        self.spent_before = self.chunks.work.context.budget.tokens_spent
        found: list[Given] = []
        for reply in self._first(request):
            self.block.model = named(reply)
            self._sight(request, reply)
            settled = self._settled(request, reply)
            if settled is not None:
                found.append(settled)
        return found

    def _sight(self, request: ChatRequest, reply: ChatReply) -> None:
        if any(message.images for message in request.messages) and not sees_images(reply.model):
            text = f"{named(reply)} does not see: of the figures it was told their names only."
            if text not in [one.text for one in self.block.messages]:
                self.chunks.work.say(self.block, "warning", "image_not_seen", text)

    def _first(self, request: ChatRequest) -> list[ChatReply]:
        """The replicates' first answers, asked for at the same time, in their order."""
        work = self.chunks.work
        count = 0
        try:
            for _ in range(self.node.replicates):
                work.check()
                work.context.budget.spend_turn()
                count += 1
        except BudgetSpent as spent:
            self._over(spent.what, nothing=count == 0)
        if count <= 1:
            outcomes = [self._outcome(request)] if count else []
        else:
            with ThreadPoolExecutor(count, "replicate") as pool:
                asked: list[Future[ChatReply | Exception]] = [
                    pool.submit(contextvars.copy_context().run, self._outcome, request) for _ in range(count)
                ]
            outcomes = [one.result() for one in asked]
        replies = [one for one in outcomes if isinstance(one, ChatReply)]
        for error in outcomes:
            if isinstance(error, Exception):
                self._failed(error, nothing=not replies)
        return replies

    def _outcome(self, request: ChatRequest) -> ChatReply | Exception:
        try:
            return self.chunks.work.context.llm.complete(request)
        except JobCancelled:
            raise
        except (BudgetSpent, AssayError) as error:
            return error

    def _failed(self, error: Exception, *, nothing: bool) -> None:
        if isinstance(error, BudgetSpent):
            self._over(error.what, nothing=nothing)
        elif isinstance(error, AssayError) and error.detail not in [one.text for one in self.block.messages]:
            self.chunks.work.say(self.block, "error" if nothing else "warning", error.code, error.detail)

    def _over(self, what: str, *, nothing: bool) -> None:
        work = self.chunks.work
        work.spent = what
        text = f"The budget of {what} was spent: " + (
            "this block was not asked." if nothing else "not every answer was asked for."
        )
        (work.skip if nothing else work.say)(self.block, "warning", "budget_spent", text)

    def _settled(self, request: ChatRequest, reply: ChatReply) -> Given | None:
        """The answer once it is as it should be; a model sees what was wrong with the one before."""
        turn = 1
        while True:
            checked = self._checked(reply)
            if not isinstance(checked, Fault):
                return Given(reply.text, named(reply), checked)
            again = None
            if turn < checked.turns:
                feedback = (
                    ChatMessage("assistant", reply.text),
                    ChatMessage("user", f"{checked.text} {checked.advice}".strip()),
                )
                request = replace(request, messages=(*request.messages, *feedback), turn=turn + 1)
                again = self._again(request, checked)
                if again is None and self.block.status == "skipped":
                    return None
            if again is None:
                if turn >= checked.turns:
                    self.chunks.work.say(self.block, "error", checked.code, checked.text)
                return Given(reply.text, named(reply)) if checked.keeps else None
            reply, turn = again, turn + 1
            self.block.model = named(reply)

    def _again(self, request: ChatRequest, fault: Fault) -> ChatReply | None:
        work = self.chunks.work
        most = self.node.options.get("budget", "")
        try:
            if most.isdecimal() and work.context.budget.tokens_spent - self.spent_before >= int(most):
                text = f"The block's budget of {most} tokens was spent before its answer was repaired: {fault.text}"
                work.say(self.block, "error", fault.code, text)
                return None
            work.check()
            work.context.budget.spend_turn()
            return work.context.llm.complete(request)
        except BudgetSpent as spent:
            work.spent = spent.what
            text = f"The budget of {spent.what} was spent before this answer was repaired: {fault.text}"
            work.say(self.block, "error", fault.code, text)
        except JobCancelled:
            raise
        except AssayError as error:
            work.say(self.block, "error", error.code, error.detail)
            work.say(self.block, "error", fault.code, fault.text)
        return None

    def _checked(self, reply: ChatReply) -> JsonValue | Fault:
        """The answer's value, or what is wrong with it."""
        if not reply.text.strip():
            return Fault("empty_answer", "The model answered with nothing.", 1)
        value: JsonValue = reply.text
        if self.form is not None:
            try:
                value = self.form.value(reply.text)
            except AnswerUnreadable as error:
                text, advice = (
                    f"This answer cannot be used: {error}.",
                    "Answer with JSON that fits it, and nothing else.",
                )
                return Fault("answer_invalid", text, _SCHEMA_TURNS, advice)
        pieces = generated.pieces_of(reply.text)
        wrong = generated.unparsed(pieces)
        if executes(self.node):
            error_text = wrong or generated.run(self.chunks, self.block, self.key, pieces)
            if error_text is not None:
                text = f"The generated code fails: {error_text}"
                return Fault("generated_code_failed", text, generated.MOST_TURNS, keeps=True)
        elif wrong is not None:
            self.chunks.work.say(self.block, "warning", "generated_code_unparsable", wrong)
        return value


def executes(node: Instruction) -> bool:
    return node.options.get("execute") == "true"


def named(reply: ChatReply) -> str:
    return f"{reply.provider}/{reply.model}"


def pieces(given: Sequence[Given]) -> list[generated.Piece]:
    return [piece for one in given for piece in generated.pieces_of(one.text)]
