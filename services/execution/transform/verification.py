"""What speaks against a result: checks of the model that do not hold, and values that do not come from the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from services.execution.transform.origin.trace import Trace
from services.execution.transform.results import CodeRun, RunHistory, normalised
from services.execution.transform.runner import CodeRunner
from services.execution.transform.self_checks import Judgement, judge
from shared.contracts.transform import UnverifiedReason


@dataclass
class Verification:
    """The traces and judgements of a job's good results."""

    runner: CodeRunner
    progress: RunHistory
    scratch: Path
    optional: frozenset[str] = frozenset()  #: data sets that the code may leave alone
    reads_checks: bool = False  #: whether checks that the model states are verified
    _traces: dict[int, Trace] = field(default_factory=dict, init=False)
    _reported: set[str] = field(default_factory=set, init=False)

    def trace(self, run: CodeRun) -> Trace:
        """Return where the result came from."""
        if id(run) not in self._traces:  # the history keeps the best run, and with it its id
            self._traces = {id(run): Trace(self.runner, run, self.scratch, self.optional)}
        return self._traces[id(run)]

    def judge(self, run: CodeRun) -> Judgement:
        """Verify the checks that the model stated last."""
        if not self.reads_checks or not self.progress.stated:
            return Judgement([], False)
        named = {data.name: data.frame for data in self.runner.data}
        judgement = judge(self.progress.stated, run, list(named.values()), named)
        self.progress.judged = (run, judgement.checks)
        return judgement

    def reasons(self, run: CodeRun) -> list[UnverifiedReason]:
        """Return all that speaks against the result."""
        return [*self.judge(run).reasons, *self.trace(run).origin.reasons]

    def unreported(self, run: CodeRun) -> list[UnverifiedReason]:
        """Return what speaks against the result, once for each code: a model that insists is not asked again."""
        reasons, code = self.reasons(run), normalised(run.code)
        self.progress.doubted = bool(reasons)
        if code in self._reported:
            return []
        if reasons:
            self._reported.add(code)
        return reasons
