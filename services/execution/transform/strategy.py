"""What both strategies share: one model call a turn, checks before the end, and a record of every turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from services.execution.transform.feedback import Feedback
from services.execution.transform.progress import CodeRun, Entry, Progress
from services.execution.transform.runner import CodeRunner
from shared.contracts.transform import Iteration, Probe
from shared.errors import JobCancelled
from shared.jobs.job import Context
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, PromptVersion, Tool
from shared.loop import Again, Done, Turn, run_loop


@dataclass(frozen=True)
class Ending:
    """How the loop ended; the rest is in the progress."""

    status: Literal["done", "question"]
    question: str | None = None


Step = Done[Ending] | Again
DONE = Done(Ending("done"))


@dataclass
class Strategy(ABC):
    """One conversation with the model about one task."""

    context: Context
    runner: CodeRunner
    feedback: Feedback
    progress: Progress
    system: str
    prompt: PromptVersion
    messages: list[ChatMessage]  #: the earlier exchanges and the first message of this one
    entries: list[Entry] = field(default_factory=list, init=False)
    tools: ClassVar[tuple[Tool, ...]] = ()

    def run(self) -> Ending:
        """Raises: BudgetSpent, ProvidersFailed, JobCancelled, SandboxUnavailable."""
        return run_loop(self.propose, self.execute, self.context.budget, self.on_turn)

    def propose(self, turns: Sequence[Turn[ChatReply, Ending]]) -> ChatReply:
        if turns and isinstance(turns[-1].outcome, Again) and turns[-1].outcome.feedback:
            self.messages.append(ChatMessage("user", turns[-1].outcome.feedback))
        if self.context.cancelled.is_set():
            raise JobCancelled("the job was cancelled between two turns")
        self.feedback.turn = len(turns) + 1
        reply = self.context.llm.complete(
            ChatRequest(
                role="execution.transform",
                messages=(ChatMessage("system", self.system), *self.messages),
                tools=self.tools,
                deadline=self.context.budget.deadline,
                prompt=self.prompt,
                turn=len(turns) + 1,
            )
        )
        self.entries.clear()
        self.messages.append(ChatMessage("assistant", reply.text or _empty(reply), tool_calls=reply.tool_calls))
        return reply

    @abstractmethod
    def execute(self, reply: ChatReply) -> Step:
        """Run what the reply asks for, and judge it."""

    def on_turn(self, turn: Turn[ChatReply, Ending]) -> None:
        """Add the turn to the iterations and report it."""
        seconds = round(turn.seconds, 4)
        self.progress.iterations += [
            Iteration(
                number=turn.number, code=entry.code, outcome=entry.outcome, message=entry.message, seconds=seconds
            )
            for entry in self.entries
        ]
        last = self.entries[-1] if self.entries else None
        outcome = turn.outcome.outcome if isinstance(turn.outcome, Again) else "done"
        self.context.report.turn(
            turn.number,
            {"text": turn.proposal.text[:6000], "code": last.code[:6000] if last is not None else ""},
            {
                "outcome": last.outcome if last is not None else outcome,
                "message": last.message[:2000] if last is not None else "",
                "seconds": seconds,
            },
        )

    def run_code(self, code: str, explanation: str) -> CodeRun:
        """Run the code; when it is the best code again, its result is used."""
        best = self.progress.best
        if best is not None and self.progress.repeats_best(code):
            self.entries.append(Entry(code, "no_op" if best.outcome == "no_op" else "result", "the same code again"))
            return best
        run = self.runner.run(code)
        self.progress.add(run, explanation)
        self.entries.append(Entry(code, run.outcome, run.message))
        return run

    def confirms(self, run: CodeRun) -> bool:
        """Whether the model is shown a good result; with assertions that all hold there is nothing left to decide."""
        confirm = self.runner.request.confirm
        return confirm == "always" or (confirm == "auto" and not run.checks)

    def nudged_enough(self) -> bool:
        return self.progress.nudges > self.runner.limits.nudges

    def look(self, code: str) -> str | None:
        """The answer to a look; ``None`` when there are none left."""
        self.progress.prose = 0
        if len(self.progress.probes) >= self.runner.limits.probes:
            return None
        ok, output = self.runner.look(code)
        self.progress.probes.append(Probe(number=len(self.progress.probes) + 1, code=code, output=output[:4000]))
        return output if ok else f"the look failed: {output}"


def _empty(reply: ChatReply) -> str:
    return "" if reply.tool_calls else "(empty)"
