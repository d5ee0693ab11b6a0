"""An edit by a message: a model proposes tool calls, gets the failures back, and all of it becomes one change set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from services.flows.compact import compacted
from services.flows.messages import request_message, retry_message, unreadable_message
from services.flows.settings import EditSettings
from shared.contracts.flow import FlowInput, FlowResult, ToolCall
from shared.errors import JobCancelled, ProvidersFailed
from shared.flows.calls import Call, CallOutcome
from shared.flows.document import Json
from shared.flows.lint import lint
from shared.flows.operations import to_contract
from shared.flows.session import EditSession, FlowEditor
from shared.flows.store import Author, Flow
from shared.flows.tools.table import OFFERED
from shared.jobs.job import Context
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Finish, RenderedPrompt, Tool
from shared.llm.tagged import Tagged, parse_tagged
from shared.llm.tool_calls.items import normalized
from shared.llm.tool_calls.known import KnownTools
from shared.loop import Again, BudgetSpent, Done, Turn, run_loop

MAX_CALLS = 1_000

_UNREADABLE = "Failed to parse tool calls: "
_NO_CALLS = "No tool calls generated"
#: What of a result is different when the edit is written on a newer version of the flow.
_DEPENDS_ON_VERSION = {"success", "execution", "flow", "version", "errors"}
_TOOLS = tuple(Tool(tool.name, tool.description, tool.parameters) for tool in OFFERED)
_KNOWN = KnownTools(_TOOLS)


@dataclass(frozen=True)
class Mutate:
    """``Capability`` of the kind ``flow``."""

    editor: FlowEditor
    settings: EditSettings = field(default_factory=EditSettings)

    def __call__(self, context: Context, request: FlowInput) -> FlowResult:
        """Edit the flow. Raises: NotFound for the flow; ProvidersFailed, JobCancelled, BudgetSpent before the first
        answer.
        """
        author = Author(context.job.actor, "llm.tool", context.job.id)
        session = self.editor.begin(context.job.tenant_id, request.flow_id, author, request.atomic)
        return _EditLoop(self.settings, context, request, session).run()


@dataclass
class _EditLoop:
    """One message: what was said so far, and how the last answer went."""

    settings: EditSettings
    context: Context
    request: FlowInput
    session: EditSession
    prompt: RenderedPrompt = field(init=False)
    messages: list[ChatMessage] = field(init=False)  #: the earlier exchanges, as the conversation keeps them
    iterations: int = 0
    answer: Tagged = field(default_factory=lambda: Tagged(""))
    response: str = ""  #: the last answer as it came
    repaired: bool = False
    truncated: bool = False
    executed: list[CallOutcome] | None = None  #: of the last calls that were run
    stopped: str | None = None  #: why no further turn could be requested

    def __post_init__(self) -> None:
        self.prompt = self.context.prompts.render("flows.edit")
        self.messages = [ChatMessage("system", self.prompt.text), *self.context.history]

    def run(self) -> FlowResult:
        """Run the loop; successful calls stay when the budget ends first."""
        try:
            return run_loop(self._propose, self._execute, self.context.budget, self._on_turn)
        except BudgetSpent as spent:
            if not spent.turns:
                raise
            self.context.report.warn(f"The model was not called again: {spent}.{spent.why}")
            return self._end()
        except ProvidersFailed as failed:
            if self.executed is None:
                raise
            self.stopped = f"The model could not be called again ({failed.code}): what was done before it stays."
            self.context.report.warn(self.stopped)
            return self._end()

    def _propose(self, turns: Sequence[Turn[Tagged, FlowResult]]) -> Tagged:
        """Call the model with the current flow; earlier exchanges stay, without the flow of their time."""
        last = turns[-1].outcome if turns else None
        question = last.feedback if isinstance(last, Again) else self.request.message
        if turns:
            self.session.catch_up()
        reply = self._ask(question, len(turns) + 1)
        self.iterations = len(turns) + 1
        self.answer = self._read(reply)
        self.messages += [ChatMessage("user", question), ChatMessage("assistant", reply.text)]
        self.context.report.remember(question, reply.text, _calls_json(self.answer))
        return self.answer

    def _ask(self, question: str, number: int) -> ChatReply:
        """Call the model. Raises: JobCancelled, ProvidersFailed."""
        request = request_message(
            self.context.prompts, self.session.draft, question, self.request.message, self.settings.state_tokens
        )
        messages = (*self.messages, ChatMessage("user", request))
        reply = self.context.llm.complete(
            ChatRequest(
                "flows.edit",
                messages,
                tools=_TOOLS if self.settings.native_tools else (),
                max_tokens=self.settings.answer_tokens,
                prompt=self.prompt.version,
                turn=number,
                compact=lambda tokens: compacted(
                    self.context.prompts, self.session.draft, question, self.request.message, messages, tokens
                ),
            )
        )
        if self.context.cancelled.is_set():
            raise JobCancelled("The job was cancelled.")
        return reply

    def _read(self, reply: ChatReply) -> Tagged:
        """Read the calls of the answer: native ones, else those between the tags."""
        answer = _native(reply) if reply.tool_calls else _tagged(reply)
        if len(answer.calls) > MAX_CALLS:
            error = f"{len(answer.calls)} calls in one answer; at most {MAX_CALLS} are taken"
            answer = Tagged(answer.thinking, error=error)
        self.response = reply.text
        self.repaired |= answer.repaired
        self.truncated |= answer.truncated or reply.finish is Finish.LENGTH
        if answer.thinking:
            self.context.report.thinking(answer.thinking)
        return answer

    def _execute(self, answer: Tagged) -> Done[FlowResult] | Again:
        """Run the calls on the draft, and report the failures."""
        if answer.error is not None:
            if not self.request.retry_parse_errors:
                return Done(self._end())
            return self._again(unreadable_message(self.context.prompts, answer.error))
        if not answer.calls:
            return Done(self._without_calls())
        outcomes = self.session.attempt([Call(use.name, dict(use.params), use.id) for use in answer.calls])
        self.executed = outcomes
        if all(outcome.success for outcome in outcomes):
            return Done(self._end())
        return self._again(retry_message(self.context.prompts, self.session.draft, outcomes, self.request.atomic))

    def _again(self, feedback: str) -> Done[FlowResult] | Again:
        """Request another turn, unless this was the last one that the request allows."""
        return Done(self._end()) if self.iterations >= self.request.max_iterations else Again(feedback)

    def _on_turn(self, turn: Turn[Tagged, FlowResult]) -> None:
        if turn.proposal.calls and self.executed is not None:
            executed: list[JsonValue] = [outcome.contract().model_dump() for outcome in self.executed]
            self.context.report.turn(turn.number, [*_calls_json(turn.proposal)], executed)

    def _without_calls(self) -> FlowResult:
        """Handle an answer without calls: valid at first; after failures the model gives up, and successful calls
        stay.
        """
        if self.executed is not None:
            return self._end()
        self.answer = replace(self.answer, thinking=self.answer.thinking or self.response.strip())
        self.response = _NO_CALLS
        return self._result(self.session.flow)

    def _end(self) -> FlowResult:
        """Write the edit, or keep it as a proposal; what worked stays when the last attempt failed too."""
        if self.executed is None:
            return self._result(self.session.flow)
        self.session.catch_up()
        if self.request.mode == "propose":
            return self._proposed()

        def moved() -> Mapping[str, JsonValue]:
            return self._result(self.session.result()).model_dump(mode="json", include=_DEPENDS_ON_VERSION)

        self.context.report.effect(self.session.commit(self.request.message, moved))
        return self._result(self.session.result())

    def _proposed(self) -> FlowResult:
        """Return the flow as it would become, at its current version."""
        preview = replace(self.session.flow, document=self.session.draft)
        result = self._result(preview)
        operations = self.session.operations()
        if not operations:
            return result
        result.proposal_id, effect = self.session.propose(self.request.message)
        result.operations, result.lint = to_contract(operations), lint(preview.document)
        self.context.report.effect(effect)
        return result

    def _result(self, flow: Flow) -> FlowResult:
        outcomes = self.session.effective()
        unreadable = None if self.answer.error is None else _UNREADABLE + self.answer.error
        reasons = (*(outcome.error for outcome in outcomes), unreadable, self.stopped)
        errors = [error for error in reasons if error is not None]
        return FlowResult(
            success=not errors,
            thinking=self.answer.thinking,
            response=self.response,
            tool_calls=[
                ToolCall(id=outcome.call.id, name=outcome.call.name, params=outcome.call.params) for outcome in outcomes
            ],
            execution=[outcome.contract() for outcome in outcomes],
            flow=flow.view(),
            version=flow.version,
            iterations=self.iterations,
            errors=errors,
            parse_error=unreadable,
            repaired=self.repaired,
            truncated=self.truncated,
        )


def _native(reply: ChatReply) -> Tagged:
    """Return the native calls, with the names and parameters of our tools."""
    calls = tuple(normalized(use, _KNOWN) for use in reply.tool_calls)
    return Tagged(reply.text.strip(), calls, repaired=calls != reply.tool_calls)


def _tagged(reply: ChatReply) -> Tagged:
    """Return the answer between its tags; prose, half an answer and a refusal do not count as an answer without
    calls.
    """
    answer = parse_tagged(reply.text, _TOOLS, cut=reply.finish is Finish.LENGTH)
    if reply.finish is Finish.REFUSAL and not answer.calls:
        return replace(answer, error="the model refused to answer")
    if answer.answered or answer.calls or answer.error:
        return answer
    if reply.finish is Finish.LENGTH:
        return replace(answer, truncated=True, error="the answer was cut before its <response>")
    return answer if answer.thinking else replace(answer, error="the answer has no <response>")


def _calls_json(answer: Tagged) -> list[Json]:
    return [{"id": use.id, "name": use.name, "params": dict(use.params)} for use in answer.calls]
