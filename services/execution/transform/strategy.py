"""The loop of a transform: one model call a turn, checks before the end; the default strategy runs code until DONE."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from pydantic import JsonValue

from services.execution.transform.compact import compacted
from services.execution.transform.feedback import Feedback
from services.execution.transform.repairs import SERIES, repaired, series_as_table
from services.execution.transform.replies import Code, find_code, is_done, said_beside
from services.execution.transform.results import CodeRun, Entry, RunHistory, RunOutcome
from services.execution.transform.retries import MAX_REPEATS, MAX_SHORT_FAILURES, Plan, Retry
from services.execution.transform.runner import CodeRunner
from services.execution.transform.verification import Verification
from shared.contracts.transform import Iteration, Probe, UnverifiedReason
from shared.errors import JobCancelled
from shared.jobs.job import Context
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Compacted, Finish, RenderedPrompt, Tool
from shared.loop import Again, BudgetSpent, Done, Turn, run_loop


@dataclass(frozen=True)
class Ending:
    """How the loop ended; the rest is in the progress."""

    status: Literal["done", "question"]
    question: str | None = None


Step = Done[Ending] | Again
DONE = Done(Ending("done"))
ROLE = "execution.transform"
_REPEATED = "The same code as before, which was not run again:"
_MAX_TOLD = 8_000  #: characters of an attempt's result in an event
_NOTHING_RUN = "You said DONE, but no code has given a result yet."
_CUT = "Your reply was cut off before the code ended. Send shorter code."
_REFUSED = "You refused to answer. The task is about the data above: answer with code for it."
_NO_CODE = "There is no code in your reply."
_NO_LOOKS = "No looks are left."


@dataclass
class Strategy(ABC):
    """One conversation with the model about one task."""

    context: Context
    runner: CodeRunner
    feedback: Feedback
    progress: RunHistory
    verification: Verification
    system: RenderedPrompt
    messages: list[ChatMessage]  #: the earlier exchanges and the first message of this one
    opening: Callable[[int], str]  #: the first message again, with a preview of that many tokens
    plan: Plan  #: what to send after a repeated answer
    brief: Callable[
        [], tuple[RenderedPrompt, Sequence[ChatMessage]]
    ]  #: begins again with the short prompt: system and messages
    begins: int = field(init=False)  #: where in the messages this exchange does
    entries: list[Entry] = field(default_factory=list, init=False)
    base: Sequence[ChatMessage] = field(init=False)  #: the messages before the model's first answer
    taken_out: tuple[str, ...] = field(default=(), init=False)  #: checks within the latest code
    series: dict[str, str] = field(default_factory=dict, init=False)  #: code that gave a series, with its table
    sent: Counter[str] = field(default_factory=Counter, init=False)  #: the questions without an exchange
    repeats: int = field(default=0, init=False)  #: answers in a row that failed before
    tools: ClassVar[tuple[Tool, ...]] = ()

    def __post_init__(self) -> None:
        self.begins = len(self.messages) - 1
        self.base = tuple(self.messages)

    def run(self) -> Ending:
        """Run the loop. Raises: BudgetSpent, ProvidersFailed, JobCancelled, SandboxUnavailable."""
        return run_loop(self.propose, self.execute, self.context.budget, self.on_turn)

    def propose(self, turns: Sequence[Turn[ChatReply, Ending]]) -> ChatReply:
        if turns and isinstance(turns[-1].outcome, Again) and turns[-1].outcome.feedback:
            self._follow(turns[-1].outcome.feedback)
        if self.context.cancelled.is_set():
            raise JobCancelled("the job was cancelled between two turns")
        self.feedback.turn = len(turns) + 1
        request = ChatRequest(
            role=ROLE,
            messages=(ChatMessage("system", self.system.text), *self.messages),
            tools=self.tools,
            deadline=self.context.budget.deadline,
            prompt=self.system.version,
            turn=len(turns) + 1,
            grows=True,
            compact=self._compacted,
        )
        tries = max(self.repeats, self._times_sent()) if self.plan.short else self.repeats
        asked = self.plan.applied(request, tries) if tries else request
        reply = self.understood(self.context.llm.complete(asked))
        self.entries.clear()
        self.messages.append(ChatMessage("assistant", reply.text or _empty(reply), tool_calls=reply.tool_calls))
        return reply

    def _times_sent(self) -> int:
        """Count the question, and return how often it was sent before: it had the same answer then."""
        question = self.messages[-1].content
        self.sent[question] += 1
        return self.sent[question] - 1

    def understood(self, reply: ChatReply) -> ChatReply:
        """Return the reply with what its text says in another dialect."""
        return reply

    def _follow(self, feedback: str) -> None:
        """Continue the exchange, or begin it again after an answer that was given before."""
        if self.tools or not (
            self.repeats or self.feedback.short
        ):  # the answers of tools have to stay with their calls
            self.messages.append(ChatMessage("user", feedback))
            return
        if not self.repeats:  # of earlier answers and examples together a small model makes one long program
            self._begin_again(feedback)
            return
        kind = self.plan.kind(self.repeats)
        if kind is Retry.OTHER_PROMPT:
            self.system, self.base = self.brief()
            self.verification.wants_proof = False  # a short prompt does not ask for checks
        self._begin_again(feedback if kind is Retry.ALONE else self.base[-1].content)

    def _begin_again(self, question: str) -> None:
        """Send the question without the exchange after the first message."""
        self.messages = [*self.base[:-1], replace(self.base[-1], content=question)]
        self.begins = len(self.base) - 1

    def _compacted(self, tokens: int) -> Compacted | None:
        history, (first, *turns) = self.messages[: self.begins], self.messages[self.begins :]
        return compacted(ChatMessage("system", self.system.text), history, first, turns, self.opening, tokens)

    @abstractmethod
    def execute(self, reply: ChatReply) -> Step:
        """Run what the reply requests, and judge it."""

    def on_turn(self, turn: Turn[ChatReply, Ending]) -> None:
        """Add the turn to the iterations and report it."""
        seconds = round(turn.seconds, 4)
        self.progress.iterations += [entry.iteration(turn.number, seconds) for entry in self.entries]
        last = self.entries[-1] if self.entries else None
        outcome = turn.outcome.outcome if isinstance(turn.outcome, Again) else "done"
        self.context.report.turn(
            turn.number,
            {"text": turn.proposal.text[:6000], "code": last.code[:6000] if last is not None else ""},
            {
                "outcome": last.outcome if last is not None else outcome,
                "message": last.message[:2000] if last is not None else "",
                "seconds": seconds,
                **_came_of(self.progress.iterations[-1] if last is not None else None),
            },
        )

    def run_code(self, code: str, explanation: str) -> CodeRun:
        """Run the code; of code that ran before, the result is used."""
        code, notes = self.repair(code)
        best = self.progress.best
        if best is not None and self.progress.repeats_best(code):
            outcome: RunOutcome = "no_op" if best.outcome == "no_op" else "result"
            self.entries.append(Entry(code, outcome, "the same code again", best, notes))
            return best
        if (known := self.progress.earlier(code)) is not None:
            self.repeats = 0 if known.good else self.repeats + 1
            self.progress.add(known, explanation)
            self.entries.append(Entry(code, known.outcome, f"{_REPEATED} {known.message}", known, notes))
            return known
        self.repeats = 0
        run = self.runner.run(code)
        if run.result_class == "Series" and (table := series_as_table(code, self.runner.request.reader.name)):
            as_table = self.runner.run(table)
            if as_table.outcome != "error":
                self.series[code] = table
                code, notes, run = table, (*notes, SERIES), as_table
        self.progress.add(run, explanation)
        self.entries.append(Entry(code, run.outcome, run.message, run, notes))
        return run

    def repair(self, code: str) -> tuple[str, tuple[str, ...]]:
        """Return the code as it can run, and what was corrected in it."""
        request = self.runner.request
        names = [data.name for data in self.runner.data]
        fixed = repaired(code, request.language, names, table=request.output == "table")
        self.taken_out = fixed.checks
        if (table := self.series.get(fixed.code)) is not None:
            return table, (*fixed.notes, SERIES)
        return fixed.code, fixed.notes

    def confirms(self, run: CodeRun) -> bool:
        """Return whether the model confirms a good result; with assertions that all hold there is nothing left to
        decide.

        A small model says DONE to any result, so it is not called.
        """
        confirm = self.runner.request.confirm
        if confirm == "auto" and self.feedback.short:
            return False
        return confirm == "always" or (confirm == "auto" and not run.checks)

    def doubts(self, run: CodeRun) -> list[UnverifiedReason]:
        """Return what speaks against the result of the latest entry, for the model to read once."""
        if self.entries:  # what is only not checked yet says nothing against the attempt
            against = [each for each in self.verification.reasons(run) if each.code != "not_checked"]
            self.entries[-1] = replace(self.entries[-1], reasons=against)
        return self.verification.unreported(run)

    def unfinished(self, nothing_run: str) -> Entry | None:
        """Return what prevents the best result from being the answer; it is then in the iterations."""
        best, latest = self.progress.best, self.progress.latest
        entry = None
        if best is None and latest is not None and latest.outcome == "assertion_failed":
            entry = Entry("", "assertion_failed", latest.message)
        elif best is None:
            entry = Entry("", "no_code", nothing_run)
        elif best.outcome == "no_op":
            self.progress.nudges += 1
            entry = None if self.nudged_enough() else Entry("", "no_op", best.message)
        if entry is not None:
            self.entries.append(entry)
        return entry

    def prose(self, reply: ChatReply) -> Done[Ending] | None:
        """Count a reply without code; the second one in a row is a question to the caller.

        A reply that was cut does not count, and neither does a refusal.
        """
        text = reply.text.strip()
        if (problem := problem_of(reply)) is not None:
            self.entries.append(Entry("", "no_code", f"{problem} {text}"[:2000]))
            return None
        self.progress.prose += 1
        self.entries.append(Entry("", "no_code", text[:2000]))
        return Done(Ending("question", text)) if self.progress.prose >= 2 and text else None

    def nudged_enough(self) -> bool:
        return self.progress.nudges > self.runner.limits.nudges

    def look(self, code: str) -> str | None:
        """Return the output of a probe; ``None`` when none are left."""
        self.progress.prose = 0
        if len(self.progress.probes) >= self.runner.limits.probes:
            return None
        ok, output = self.runner.look(code)
        self.progress.probes.append(Probe(number=len(self.progress.probes) + 1, code=code, output=output[:4000]))
        return output if ok else f"the look failed: {output}"


def _came_of(iteration: Iteration | None) -> dict[str, JsonValue]:
    """Return what an event shows of an attempt that gave a table."""
    if iteration is None or iteration.effect is None:
        return {}
    fields: dict[str, JsonValue] = iteration.model_dump(
        mode="json", include={"effect", "table", "assertions", "unverified_because"}
    )
    return fields if len(json.dumps(fields)) <= _MAX_TOLD else {"effect": {"summary": iteration.effect.summary[:2000]}}


def problem_of(reply: ChatReply) -> str | None:
    """Return what keeps a reply without code from being prose."""
    return {Finish.LENGTH: _CUT, Finish.REFUSAL: _REFUSED}.get(reply.finish)


def _empty(reply: ChatReply) -> str:
    return "" if reply.tool_calls else "(empty)"


@dataclass
class Deterministic(Strategy):
    """No tools: the system drives, and code is the only thing to propose."""

    def execute(self, reply: ChatReply) -> Step:
        code = find_code(reply.text, self.runner.request.language)
        if code is None:
            has_checks = self.progress.best is not None and self.verification.read(reply.text, same_code=True)
            return self._accept() if has_checks or is_done(reply.text) else self._prose(reply)
        if not code.closed and reply.finish is Finish.LENGTH:
            return self._no_code(code.text, _CUT)
        if code.look:
            return self._look(code)
        return self._run(code, reply)

    def _run(self, code: Code, reply: ChatReply) -> Step:
        repeated = self.progress.repeats_best(self.repair(code.text)[0])
        run = self.run_code(code.text, said_beside(reply.text))
        self.verification.read(reply.text, same_code=repeated, in_code=self.taken_out)
        if repeated:
            return self._accept_best()
        if self.plan.short and not self.plan.others and self.progress.failures >= MAX_SHORT_FAILURES:
            raise BudgetSpent("failed answers")
        return self._repeated(run) if self.repeats else self._came_to(run, reply)

    def _repeated(self, run: CodeRun) -> Step:
        """Send a different question after code that failed before. Raises: BudgetSpent when none is left."""
        if self.repeats > MAX_REPEATS:
            raise BudgetSpent("different answers")
        return Again(self.feedback.again_alone(run), run.outcome)

    def _came_to(self, run: CodeRun, reply: ChatReply) -> Step:
        match run.outcome:
            case "error":
                return Again(self.feedback.error(run), "error")
            case "not_a_table":
                return Again(self.feedback.not_a_table(run), "not_a_table")
            case "assertion_failed":
                return Again(self.feedback.assertions(run), "assertion_failed")
            case "no_op":
                return self._nudge()
            case "result":
                return self._judged(run)

    def _judged(self, run: CodeRun) -> Step:
        """Done when nothing speaks against the result and the checks say enough; else the model is shown it."""
        judgement, reasons = self.verification.judge(run), self.doubts(run)
        enough = not self.confirms(run) or (self.verification.wants_proof and judgement.sufficient)
        doubtful = self.feedback.short and self.feedback.looks_wrong(run)
        return DONE if enough and not reasons and not doubtful else Again(self.feedback.result(run, reasons), "result")

    def _nudge(self) -> Step:
        return self._accept_best() if self.nudged_enough() else Again(self.feedback.no_op(), "no_op")

    def _accept(self) -> Step:
        """DONE counts only after a good result that changes something."""
        self.progress.prose = 0
        best = self.progress.best
        proven = best is not None and self.verification.judge(best).proven  # that nothing changes, too
        entry = None if proven else self.unfinished(_NOTHING_RUN)
        if entry is None:
            return self._accept_best()
        if entry.outcome == "assertion_failed" and self.progress.latest is not None:
            return Again(self.feedback.assertions(self.progress.latest), "assertion_failed")
        return self._nudge() if entry.outcome == "no_op" else Again(self.feedback.no_code(entry.message), "no_code")

    def _accept_best(self) -> Step:
        best = self.progress.best
        reasons = self.verification.unreported(best) if best is not None else []
        return Again(self.feedback.result(best, reasons), "result") if best is not None and reasons else DONE

    def _prose(self, reply: ChatReply) -> Step:
        problem = problem_of(reply) or _NO_CODE
        return self.prose(reply) or Again(self.feedback.no_code(problem), "no_code")

    def _look(self, code: Code) -> Step:
        output = self.look(code.text)
        if output is None:
            return self._no_code(code.text, _NO_LOOKS)
        return Again(self.feedback.looked(output), "look")

    def _no_code(self, code: str, problem: str) -> Again:
        self.entries.append(Entry(code, "no_code", problem))
        return Again(self.feedback.no_code(problem), "no_code")
