"""The default strategy: the model writes code, the system runs it and shows what happened, until DONE."""

from __future__ import annotations

from dataclasses import dataclass

from services.execution.transform.attempts import Entry
from services.execution.transform.done import is_done
from services.execution.transform.replies import Code, fenced_blocks, find_code
from services.execution.transform.strategy import DONE, Ending, Step, Strategy
from shared.llm.chat import ChatReply, Finish
from shared.loop import Again, Done

_NOTHING_RUN = "You said DONE, but no code has given a result yet."
_CUT = "Your reply was cut off before the code ended. Send shorter code."
_NO_CODE = "There is no code in your reply."
_NO_LOOKS = "No looks are left."
_MOST_EXPLANATION = 2000


@dataclass
class Deterministic(Strategy):
    """No tools: the system drives, and code is the only thing to propose."""

    def execute(self, reply: ChatReply) -> Step:
        code = find_code(reply.text, self.bench.wanted.language)
        if code is None:
            return self._said_done() if is_done(reply.text) else self._said_nothing(reply)
        if not code.closed and reply.finish is Finish.LENGTH:
            return self._without_code(code.text, _CUT)
        if code.look:
            return self._look(code)
        return self._attempt(code, reply)

    def _attempt(self, code: Code, reply: ChatReply) -> Step:
        again = self.progress.repeats_best(code.text)
        attempt = self.attempt(code.text, prose(reply.text))
        if again:
            return DONE
        match attempt.outcome:
            case "error":
                return Again(self.telling.error(attempt), "error")
            case "not_a_table":
                return Again(self.telling.not_a_table(attempt), "not_a_table")
            case "assertion_failed":
                return Again(self.telling.assertions(attempt), "assertion_failed")
            case "no_op":
                return self._nudge()
            case "result":
                return Again(self.telling.result(attempt), "result") if self.confirms(attempt) else DONE

    def _nudge(self) -> Step:
        return DONE if self.nudged_enough() else Again(self.telling.no_op(), "no_op")

    def _said_done(self) -> Step:
        """DONE counts only when there is a good result, and it does something."""
        self.progress.prose = 0
        best, latest = self.progress.best, self.progress.latest
        if best is None and latest is not None and latest.outcome == "assertion_failed":
            self.entries.append(Entry("", "assertion_failed", latest.message))
            return Again(self.telling.assertions(latest), "assertion_failed")
        if best is None:
            return self._without_code("", _NOTHING_RUN)
        if best.outcome == "no_op":
            self.progress.nudges += 1
            if not self.nudged_enough():
                self.entries.append(Entry("", "no_op", best.message))
            return self._nudge()
        return DONE

    def _said_nothing(self, reply: ChatReply) -> Step:
        self.progress.prose += 1
        text = reply.text.strip()
        self.entries.append(Entry("", "no_code", text[:2000]))
        if self.progress.prose >= 2 and text:
            return Done(Ending("question", text))
        return Again(self.telling.no_code(_CUT if reply.finish is Finish.LENGTH else _NO_CODE), "no_code")

    def _look(self, code: Code) -> Step:
        output = self.look(code.text)
        if output is None:
            return self._without_code(code.text, _NO_LOOKS)
        return Again(self.telling.looked(output), "look")

    def _without_code(self, code: str, problem: str) -> Again:
        self.entries.append(Entry(code, "no_code", problem))
        return Again(self.telling.no_code(problem), "no_code")


def prose(reply: str) -> str:
    """What a reply says outside its code."""
    kept = reply.replace("\r\n", "\n")
    for block in fenced_blocks(reply):
        kept = kept.replace(block.text, "")
    lines = (line for line in kept.split("\n") if not line.strip().startswith(("```", "~~~")))
    return "\n".join(line for line in lines if line.strip() and not is_done(line))[:_MOST_EXPLANATION]
