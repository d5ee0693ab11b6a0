"""The turn: a person says what should change, a model calls tools and hears what failed; it is one change set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from services.flows.settings import TurnSettings
from services.flows.words import request_message, retry_message, unreadable_message
from shared.contracts.flow import FlowInput, FlowResult, ToolCall
from shared.errors import JobCancelled
from shared.flows.calls import Call, Outcome
from shared.flows.document import Json
from shared.flows.lint import lint
from shared.flows.operations import to_contract
from shared.flows.store import Author, Flow
from shared.flows.tools.table import OFFERED
from shared.flows.turns import Flows, FlowTurn
from shared.jobs.job import Context
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Finish, RenderedPrompt, Tool
from shared.llm.tagged import Tagged, parse_tagged
from shared.loop import BudgetSpent

MOST_CALLS = 1_000

_UNREADABLE = "Failed to parse tool calls: "
_NO_CALLS = "No tool calls generated"
#: What of a result is another when the turn lands on a newer flow.
_FOLLOWS_THE_FLOW = {"success", "execution", "flow", "version", "errors"}
_TOOLS = tuple(Tool(tool.name, tool.description, tool.parameters) for tool in OFFERED)


@dataclass(frozen=True)
class Mutate:
    """``Capability`` of the kind ``flow``."""

    flows: Flows
    settings: TurnSettings = field(default_factory=TurnSettings)

    def __call__(self, context: Context, request: FlowInput) -> FlowResult:
        """Raises: NotFound for the flow, ProvidersFailed, BudgetSpent before the first answer."""
        author = Author(context.job.actor, "llm.tool")
        turn = self.flows.begin(context.job.tenant_id, request.flow_id, author, request.atomic)
        return _Turn(self.settings, context, request, turn).run()


@dataclass
class _Turn:
    """One message: what was said so far, and how the last answer went."""

    settings: TurnSettings
    context: Context
    request: FlowInput
    turn: FlowTurn
    said: list[ChatMessage] = field(default_factory=list)
    iterations: int = 0
    thinking: str = ""
    response: str = ""
    repaired: bool = False
    truncated: bool = False
    tried: bool = False  #: calls have been run
    prompt: RenderedPrompt = field(init=False)

    def run(self) -> FlowResult:
        """Ask, run, tell what failed, at most so many times; the order of the seed."""
        question = self.request.message
        self.prompt = self.context.prompts.render("flows.edit")
        self.said = [ChatMessage("system", self.prompt.text), *self.context.history, self._question()]
        while True:
            reply = self._ask()
            answer = self._read(reply)
            self.context.report.remember(question, reply.text, _calls_json(answer))
            if answer.error is not None:
                if not self.request.retry_parse_errors or self._spent():
                    return self._unreadable(answer.error)
                question = unreadable_message(self.context.prompts, answer.error)
            elif not answer.calls:
                return self._nothing_to_do()
            else:
                outcomes = self._run(answer)
                if all(outcome.success for outcome in outcomes) or self._spent():
                    return self._done()
                draft = self.turn.draft
                question = retry_message(self.context.prompts, draft, outcomes, self.request.atomic)
            self.said += [ChatMessage("assistant", reply.text), ChatMessage("user", question)]

    def _question(self) -> ChatMessage:
        document, tokens = self.turn.flow.document, self.settings.state_tokens
        return ChatMessage("user", request_message(self.context.prompts, document, self.request.message, tokens))

    def _ask(self) -> ChatReply:
        """Raises: BudgetSpent, JobCancelled."""
        self.context.budget.spend_turn()
        self.iterations += 1
        reply = self.context.llm.complete(
            ChatRequest(
                "flows.edit",
                tuple(self.said),
                tools=_TOOLS if self.settings.native_tools else (),
                max_tokens=self.settings.answer_tokens,
                prompt=self.prompt.version,
                turn=self.iterations,
            )
        )
        if self.context.cancelled.is_set():
            raise JobCancelled("The job was cancelled.")
        return reply

    def _spent(self) -> bool:
        """Whether this was the last attempt that may be made."""
        budget = self.context.budget
        if self.iterations >= self.request.max_iterations:
            return True
        if budget.turns is not None and budget.turns_spent >= budget.turns:
            return True
        try:
            budget.check()
        except BudgetSpent:
            return True
        return False

    def _read(self, reply: ChatReply) -> Tagged:
        """The calls of the answer: native ones, else those between the tags."""
        native = Tagged(reply.text.strip(), reply.tool_calls) if reply.tool_calls else None
        answer = native or parse_tagged(reply.text)
        if len(answer.calls) > MOST_CALLS:
            error = f"{len(answer.calls)} calls in one answer; at most {MOST_CALLS} are taken"
            answer = Tagged(answer.thinking, error=error)
        self.thinking, self.response = answer.thinking, reply.text
        self.repaired |= answer.repaired
        self.truncated |= answer.truncated or reply.finish is Finish.LENGTH
        if answer.thinking:
            self.context.report.thinking(answer.thinking)
        return answer

    def _run(self, answer: Tagged) -> list[Outcome]:
        calls = [Call(use.name, dict(use.params), use.id) for use in answer.calls]
        outcomes = self.turn.attempt(calls)
        self.tried = True
        executed: list[JsonValue] = [outcome.contract().model_dump() for outcome in outcomes]
        self.context.report.turn(self.iterations, [*_calls_json(answer)], executed)
        return outcomes

    def _done(self, unreadable: str | None = None) -> FlowResult:
        """Write the turn, or keep it as a proposal; what worked stays when the last attempt failed too."""
        self.turn.catch_up()
        if self.request.mode == "propose":
            return self._proposed(unreadable)

        def answer() -> FlowResult:
            return self._ended(self.turn.result(), unreadable)

        def moved() -> Mapping[str, JsonValue]:
            return answer().model_dump(mode="json", include=_FOLLOWS_THE_FLOW)

        self.context.report.effect(self.turn.commit(self.request.message, moved))
        return answer()

    def _proposed(self, unreadable: str | None) -> FlowResult:
        """The flow as it would be, at the version that it is."""
        preview = replace(self.turn.flow, document=self.turn.draft)
        result = self._ended(preview, unreadable)
        operations = self.turn.operations()
        if not operations:
            return result
        result.proposal_id, effect = self.turn.propose(self.request.message)
        result.operations, result.lint = to_contract(operations), lint(preview.document)
        self.context.report.effect(effect)
        return result

    def _nothing_to_do(self) -> FlowResult:
        """No calls: fine at first; after failures it means that the model gives up, and what worked stays."""
        if self.tried:
            return self._done()
        self.thinking = self.thinking or self.response.strip()
        self.response = _NO_CALLS
        return self._result(self.turn.flow, [], success=True)

    def _unreadable(self, error: str) -> FlowResult:
        """An answer that cannot be read is returned, not tried again; what earlier attempts did stays."""
        told = _UNREADABLE + error
        return self._done(told) if self.tried else self._ended(self.turn.flow, told)

    def _ended(self, flow: Flow, unreadable: str | None) -> FlowResult:
        """The result, with this flow; ``unreadable`` is what was wrong with the last answer."""
        outcomes = self.turn.effective()
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        errors += [unreadable] if unreadable else []
        result = self._result(flow, outcomes, success=not errors, errors=errors)
        return result.model_copy(update={"parse_error": unreadable})

    def _result(
        self, flow: Flow, outcomes: list[Outcome], *, success: bool, errors: list[str] | None = None
    ) -> FlowResult:
        return FlowResult(
            success=success,
            thinking=self.thinking,
            response=self.response,
            tool_calls=[
                ToolCall(id=outcome.call.id, name=outcome.call.name, params=outcome.call.params) for outcome in outcomes
            ],
            execution=[outcome.contract() for outcome in outcomes],
            flow=flow.view(),
            version=flow.version,
            iterations=self.iterations,
            errors=errors or [],
            repaired=self.repaired,
            truncated=self.truncated,
        )


def _calls_json(answer: Tagged) -> list[Json]:
    return [{"id": use.id, "name": use.name, "params": dict(use.params)} for use in answer.calls]
