"""The default strategy: the model writes code, the system runs it and shows what happened, until DONE."""

from __future__ import annotations

from dataclasses import dataclass

from services.execution.transform.progress import Entry
from services.execution.transform.replies import Code, find_code, is_done, prose
from services.execution.transform.strategy import DONE, Ending, Step, Strategy
from shared.llm.chat import ChatReply, Finish
from shared.loop import Again, Done

_NOTHING_RUN = "You said DONE, but no code has given a result yet."
_CUT = "Your reply was cut off before the code ended. Send shorter code."
_NO_CODE = "There is no code in your reply."
_NO_LOOKS = "No looks are left."


@dataclass
class Deterministic(Strategy):
    """No tools: the system drives, and code is the only thing to propose."""

    def execute(self, reply: ChatReply) -> Step:
        code = find_code(reply.text, self.runner.request.language)
        if code is None:
            return self._accept() if is_done(reply.text) else self._prose(reply)
        if not code.closed and reply.finish is Finish.LENGTH:
            return self._no_code(code.text, _CUT)
        if code.look:
            return self._look(code)
        return self._run(code, reply)

    def _run(self, code: Code, reply: ChatReply) -> Step:
        repeated = self.progress.repeats_best(code.text)
        run = self.run_code(code.text, prose(reply.text))
        if repeated:
            return DONE
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
                return Again(self.feedback.result(run), "result") if self.confirms(run) else DONE

    def _nudge(self) -> Step:
        return DONE if self.nudged_enough() else Again(self.feedback.no_op(), "no_op")

    def _accept(self) -> Step:
        """DONE counts only after a good result that changes something."""
        self.progress.prose = 0
        best, latest = self.progress.best, self.progress.latest
        if best is None and latest is not None and latest.outcome == "assertion_failed":
            self.entries.append(Entry("", "assertion_failed", latest.message))
            return Again(self.feedback.assertions(latest), "assertion_failed")
        if best is None:
            return self._no_code("", _NOTHING_RUN)
        if best.outcome == "no_op":
            self.progress.nudges += 1
            if not self.nudged_enough():
                self.entries.append(Entry("", "no_op", best.message))
            return self._nudge()
        return DONE

    def _prose(self, reply: ChatReply) -> Step:
        self.progress.prose += 1
        text = reply.text.strip()
        self.entries.append(Entry("", "no_code", text[:2000]))
        if self.progress.prose >= 2 and text:
            return Done(Ending("question", text))
        return Again(self.feedback.no_code(_CUT if reply.finish is Finish.LENGTH else _NO_CODE), "no_code")

    def _look(self, code: Code) -> Step:
        output = self.look(code.text)
        if output is None:
            return self._no_code(code.text, _NO_LOOKS)
        return Again(self.feedback.looked(output), "look")

    def _no_code(self, code: str, problem: str) -> Again:
        self.entries.append(Entry(code, "no_code", problem))
        return Again(self.feedback.no_code(problem), "no_code")
