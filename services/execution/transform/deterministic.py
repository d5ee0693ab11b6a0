"""The default strategy: the model writes code, the system runs it and shows what happened, until DONE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from services.execution.transform.bench import Attempt, Bench
from services.execution.transform.done import is_done
from services.execution.transform.extract import Code, fenced_blocks, find_code
from services.execution.transform.progress import Entry, IterationOutcome, Progress
from services.execution.transform.telling import Telling
from shared.contracts.transform import Iteration, Probe
from shared.jobs.job import Context
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Finish, PromptVersion
from shared.loop import Again, Done, Turn, run_loop

_NOTHING_RUN = "You said DONE, but no code has given a result yet."
_CUT = "Your reply was cut off before the code ended. Send shorter code."
_NO_CODE = "There is no code in your reply."
_NO_LOOKS = "No looks are left."
_MOST_EXPLANATION = 2000


@dataclass(frozen=True)
class Ending:
    """How the loop ended; the rest is in the progress."""

    status: Literal["done", "question"]
    question: str | None = None


Step = Done[Ending] | Again


@dataclass
class Deterministic:
    """One conversation with the model about one task."""

    context: Context
    bench: Bench
    telling: Telling
    progress: Progress
    system: str
    prompt: PromptVersion
    messages: list[ChatMessage]  #: the earlier exchanges and the first message of this one
    entry: Entry | None = field(default=None, init=False)

    def run(self) -> Ending:
        """Raises: BudgetSpent, ProvidersFailed, JobCancelled, SandboxUnavailable."""
        return run_loop(self.propose, self.execute, self.context.budget, self.on_turn)

    def propose(self, turns: Sequence[Turn[ChatReply, Ending]]) -> ChatReply:
        if turns and isinstance(turns[-1].outcome, Again):
            self.messages.append(ChatMessage("user", turns[-1].outcome.feedback))
        self.telling.turn = len(turns) + 1
        reply = self.context.llm.complete(
            ChatRequest(
                role="execution.transform",
                messages=(ChatMessage("system", self.system), *self.messages),
                deadline=self.context.budget.deadline,
                prompt=self.prompt,
                turn=len(turns) + 1,
            )
        )
        self.messages.append(ChatMessage("assistant", reply.text or "(empty)"))
        return reply

    def execute(self, reply: ChatReply) -> Step:
        self.entry = None
        code = find_code(reply.text, self.bench.wanted.language)
        if code is not None and not code.closed and reply.finish is Finish.LENGTH:
            return self._again("no_code", code.text, _CUT)
        if code is None:
            return self._said_done() if is_done(reply.text) else self._said_nothing(reply)
        if code.look:
            return self._look(code)
        if self.progress.repeats_best(code.text):
            best = self.progress.best
            assert best is not None
            self.entry = Entry(code.text, "no_op" if best.outcome == "no_op" else "result", "the same code again")
            return Done(Ending("done"))
        return self._attempt(code, reply)

    def on_turn(self, turn: Turn[ChatReply, Ending]) -> None:
        """Write the turn into the iterations and tell the world."""
        proposal = turn.proposal
        outcome = "done" if isinstance(turn.outcome, Done) else turn.outcome.outcome
        message = ""
        code = ""
        if self.entry is not None:
            outcome, message, code = self.entry.outcome, self.entry.message, self.entry.code
            self.progress.iterations.append(
                Iteration(
                    number=turn.number,
                    code=code,
                    outcome=self.entry.outcome,
                    message=message,
                    seconds=round(turn.seconds, 4),
                )
            )
        self.context.report.turn(
            turn.number,
            {"text": proposal.text[:6000], "code": code[:6000]},
            {"outcome": outcome, "message": message[:2000], "seconds": round(turn.seconds, 4)},
        )

    def _attempt(self, code: Code, reply: ChatReply) -> Step:
        attempt = self.bench.attempt(code.text)
        self.progress.tried(attempt, prose(reply.text))
        self.entry = Entry(code.text, attempt.outcome, attempt.message)
        match attempt.outcome:
            case "error":
                return Again(self.telling.error(attempt.message), "error")
            case "not_a_table":
                return Again(self.telling.not_a_table(attempt.message), "not_a_table")
            case "assertion_failed":
                return Again(self.telling.assertions(attempt), "assertion_failed")
            case "no_op":
                return self._nudge()
            case "result":
                return Again(self.telling.result(attempt), "result") if self._asks(attempt) else Done(Ending("done"))

    def _asks(self, attempt: Attempt) -> bool:
        """Whether the model is shown a good result; with assertions that all hold there is nothing left to decide."""
        wanted = self.bench.wanted
        return wanted.confirm == "always" or (wanted.confirm == "auto" and not attempt.checks)

    def _nudge(self) -> Step:
        if self.progress.nudges > self.bench.limits.nudges:
            return Done(Ending("done"))
        return Again(self.telling.no_op(), "no_op")

    def _said_done(self) -> Step:
        """DONE counts only when there is a good result, and it does something."""
        best, latest = self.progress.best, self.progress.latest
        if best is None and latest is not None and latest.outcome == "assertion_failed":
            self.entry = Entry("", "assertion_failed", latest.message)
            return Again(self.telling.assertions(latest), "assertion_failed")
        if best is None:
            return self._again("no_code", "", _NOTHING_RUN)
        if best.outcome == "no_op":
            self.progress.nudges += 1
            self.entry = None if self.progress.nudges > self.bench.limits.nudges else Entry("", "no_op", best.message)
            return self._nudge()
        return Done(Ending("done"))

    def _said_nothing(self, reply: ChatReply) -> Step:
        self.progress.prose += 1
        text = reply.text.strip()
        if self.progress.prose >= 2 and text:
            self.entry = Entry("", "no_code", text[:2000])
            return Done(Ending("question", text))
        problem = _CUT if reply.finish is Finish.LENGTH else _NO_CODE
        self.entry = Entry("", "no_code", text[:2000])
        return Again(self.telling.no_code(problem), "no_code")

    def _look(self, code: Code) -> Step:
        self.progress.prose = 0
        if len(self.progress.probes) >= self.bench.limits.probes:
            return Again(self.telling.no_code(_NO_LOOKS), "look")
        ok, output = self.bench.look(code.text)
        self.progress.probes.append(Probe(number=len(self.progress.probes) + 1, code=code.text, output=output[:4000]))
        return Again(self.telling.looked(ok, output), "look")

    def _again(self, outcome: IterationOutcome, code: str, problem: str) -> Again:
        self.entry = Entry(code, outcome, problem)
        return Again(self.telling.no_code(problem), outcome)


def prose(reply: str) -> str:
    """What a reply says outside its code."""
    blocks = fenced_blocks(reply)
    kept = reply.replace("\r\n", "\n")
    for block in blocks:
        kept = kept.replace(block.text, "")
    lines = (line for line in kept.split("\n") if not line.strip().startswith(("```", "~~~")))
    return "\n".join(line for line in lines if line.strip())[:_MOST_EXPLANATION]
