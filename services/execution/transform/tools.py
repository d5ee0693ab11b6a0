"""The strategy ``tools``: native tool calling with the same runner, checks and budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from services.execution.transform.replies import is_done
from services.execution.transform.strategy import DONE, Step, Strategy, problem_of
from shared.faults import field_fault, worded
from shared.llm.chat import ChatMessage, ChatReply, Tool, ToolUse
from shared.llm.json_text import AnswerUnreadable
from shared.llm.tool_calls.items import normalized
from shared.llm.tool_calls.known import KnownTools
from shared.llm.tool_calls.texts import calls_in_text
from shared.loop import Again, BudgetSpent

#: Consecutive failed runs after which the loop ends.
_MAX_FAILURES = 5
_NOTHING_RUN = "no code has given a result yet"
_SECOND = (
    "SQL code (Python code, if yours is SQL) over the same data sets that computes the same columns and rows again, "
    "from the task and in another way"
)
_CODE: dict[str, JsonValue] = {"type": "string", "description": "complete code"}


class _RunCode(BaseModel):
    model_config = ConfigDict(extra="forbid")

    code: str


class _LookArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    code: str | None = None
    data: str | None = None


class _Finish(BaseModel):
    explanation: str = ""
    second: str = ""  #: code that computes the result again


def _tool(name: str, description: str, properties: dict[str, JsonValue], required: list[JsonValue]) -> Tool:
    return Tool(
        name,
        description,
        {"type": "object", "properties": properties, "required": required, "additionalProperties": False},
    )


_TOOLS = (
    _tool("run_code", "Run complete code on the data and see its effect.", {"code": _CODE}, ["code"]),
    _tool(
        "look",
        "Inspect the data: run code that only prints, or show a data set again.",
        {"code": _CODE, "data": {"type": "string", "description": "name of a data set"}},
        [],
    ),
    _tool(
        "finish",
        "The last result is what the task requires.",
        {"explanation": {"type": "string"}, "second": {"type": "string", "description": _SECOND}},
        [],
    ),
)
_KNOWN = KnownTools(_TOOLS)


@dataclass
class ToolCalling(Strategy):
    """The model decides what to call; the system decides when it is done."""

    tools: ClassVar[tuple[Tool, ...]] = _TOOLS

    def understood(self, reply: ChatReply) -> ChatReply:
        """Return the reply with native calls, which many models write as text instead."""
        if reply.tool_calls:
            return reply
        try:
            read = calls_in_text(reply.text, _KNOWN)
        except AnswerUnreadable:
            return reply
        whole = read is not None and not read.truncated and all(use.name in _KNOWN for use in read.uses)
        return replace(reply, tool_calls=read.uses) if read is not None and whole else reply

    def execute(self, reply: ChatReply) -> Step:
        calls = [normalized(use, _KNOWN) for use in reply.tool_calls]
        if not calls:
            return self._no_tools(reply)
        self.progress.prose = 0
        ended: Step | None = None
        for use in calls:
            answer, done = ("the work is done", True) if ended is not None else self._use(use)
            self.messages.append(ChatMessage("tool", answer, tool_call_id=use.id))
            if done and ended is None:
                ended = DONE
        if ended is None and self.progress.failures >= _MAX_FAILURES:
            raise BudgetSpent("failed runs")
        return ended or Again("", "tools")

    def _use(self, use: ToolUse) -> tuple[str, bool]:
        """Return the tool's answer, and whether the work is done."""
        params = use.params
        try:
            match use.name:
                case "run_code":
                    return self._run(_RunCode.model_validate(params).code)
                case "look":
                    return self._looked(_LookArguments.model_validate(params)), False
                case "finish":
                    return self._finish(_Finish.model_validate(params))
                case _:
                    return self.feedback.refused(f"there is no tool {use.name[:100]!r}"), False
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            return self.feedback.refused(f"{use.name}: {field_fault(place, worded(first))}"), False

    def _run(self, code: str) -> tuple[str, bool]:
        repeated = self.progress.repeats_best(self.repair(code)[0])
        run = self.run_code(code, "")
        done = repeated or (run.outcome == "result" and not self.confirms(run))
        done = done or (run.outcome == "no_op" and self.nudged_enough())
        reasons = self.doubts(run) if run.outcome == "result" else []
        return self.feedback.ran(run, reasons), done and not reasons

    def _looked(self, params: _LookArguments) -> str:
        if params.code is None:
            return self.feedback.data_set(params.data)
        output = self.look(params.code)
        return self.feedback.refused("no looks are left") if output is None else self.feedback.looked_by_tool(output)

    def _finish(self, finish: _Finish) -> tuple[str, bool]:
        """Finishing passes the same checks as DONE."""
        entry = self.unfinished(_NOTHING_RUN)
        if entry is not None:
            why = entry.message
            if entry.outcome == "no_op":
                why = "the result is identical to the data that the code started from"
            elif entry.outcome == "assertion_failed" and self.progress.latest is not None:
                why = self.feedback.failing(self.progress.latest)
            return self.feedback.refused(why), False
        best = self.progress.best
        self.verification.compute_again(finish.second)
        if best is not None and (reasons := self.verification.unreported(best)):
            return self.feedback.refused(self.feedback.tool_unverified(reasons)), False
        self.progress.explanation = finish.explanation[:2000] or self.progress.explanation
        return "finished", True

    def _no_tools(self, reply: ChatReply) -> Step:
        if is_done(reply.text.strip()):
            answer, done = self._finish(_Finish())
            return DONE if done else Again(answer, "refused")
        problem = problem_of(reply)
        feedback = self.feedback.use_tools() if problem is None else self.feedback.refused(problem)
        return self.prose(reply) or Again(feedback, "no_code")
