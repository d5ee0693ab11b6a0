"""Self-checked answers on the graded tasks, with scripted models: ``python -m benchmarks.transform_checks [all]``.

``all`` runs every task; without it every sixth one is run. A right model sends right code; a subtly wrong one the same
code with one slip (an order reversed, a filter gone, another aggregate), each that changes the answer; both state what
a careful model can state without having seen the result. A lazy model sends the wrong code with checks that say
nothing. Each is asked with ``confirm: "always"`` (the result is always shown) and ``"auto"``. When the wrong models are
shown their result, a blind one says DONE, an attentive one sends the right code: against that one, nothing that the
loop would have mended may be accepted.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.table import Line, at_most, show
from benchmarks.transform_tasks import TASKS
from benchmarks.transform_tasks.stated import STATED
from benchmarks.transform_tasks.task import Task, content, same
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.settings import SandboxSettings
from services.execution.transform.transform import Transform
from services.execution.wiring import open_sandbox
from shared.contracts.transform import TransformInput, TransformResult
from shared.errors import AssayError
from shared.llm.chat import ChatReply, ChatRequest
from tests.support.context import MemoryContext

#: What goes wrong unnoticed: a pattern of the code, and what stands there instead.
_SLIPS = (
    (r"ascending=\[False, True\]", "ascending=[True, True]"),
    (r"ascending=False", "ascending=True"),
    (r"\.sort_values\([^\n]*?\)(?=\[|\n|$|\.)", ""),
    (r"\.head\((\d+)\)", r".head(\1 - 1)"),
    (r"\.mean\(", ".median("),
    (r"\.sum\(", ".mean("),
    (r"\.size\(", ".ngroup("),
    (r"'max'", "'min'"),
    (r" >= ", " > "),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" == '(\w+)'", r" != '\1'"),
    (r"\.dropna\([^\n]*?\)", ""),
    (r" & \(.*?\)", ""),
    (r"how='left'", "how='inner'"),
    (r"\.idxmax\(", ".idxmin("),
    (r"\.cumsum\(\)}", "}"),
    (r"rolling\(3\)", "rolling(2)"),
    (r"\.diff\(\)", ".pct_change()"),
    (r"\.drop_duplicates\(\)", ""),
)
_LAZY = ("rows >= 1", "rows < 1000000")


@dataclass
class Replies:
    """Gives one reply after the other, the last one again and again."""

    replies: Sequence[str]
    asked: int = 0
    name: str = "replies"

    def complete(self, request: ChatRequest) -> ChatReply:
        self.asked += 1
        return ChatReply(self.replies[min(self.asked, len(self.replies)) - 1], "benchmark", "none")


@dataclass
class Count:
    answers: int = 0
    right: int = 0
    wrong: int = 0  #: wrong answers that the job ended with as done
    at_once: int = 0  #: ended after one call
    calls: int = 0
    accepted_wrong: list[str] = field(default_factory=list)


def ask(sandbox: Sandbox, task: Task, replies: Sequence[str], confirm: str) -> tuple[TransformResult | None, int]:
    held = MemoryContext()
    data = [{"name": name, "file_id": held.files.add(*content(name))} for name in task.data]
    further = [{"name": name, "rows": list(rows)} for name, rows in task.rows.items()]
    script = Replies(replies)
    body = {"task": task.text, "data": [*data, *further], "confirm": confirm}
    try:
        result = Transform(sandbox)(replace(held.context("transform"), llm=script), TransformInput.model_validate(body))
    except AssayError:
        return None, script.asked
    return result, script.asked


def is_right(task: Task, result: TransformResult) -> bool:
    answer = [list(row) for row in task.answer()[:50]]
    return result.table is not None and same(result.table.rows, answer, task.ordered)


def fenced(code: str, checks: Sequence[str]) -> str:
    return f"```python\n{code}\n```\n" + ("```checks\n" + "\n".join(checks) + "\n```\n" if checks else "")


def slips(sandbox: Sandbox, task: Task) -> Iterator[str]:
    """The code with each slip that makes it run and answer wrongly."""
    for pattern, instead in _SLIPS:
        code = re.sub(pattern, instead, task.pandas, count=1)
        if code != task.pandas:
            result, _ = ask(sandbox, task, [fenced(code, ())], "never")
            if result is not None and result.status == "done" and not is_right(task, result):
                yield code


def counted(count: Count, sandbox: Sandbox, task: Task, replies: Sequence[str], confirm: str) -> None:
    result, calls = ask(sandbox, task, replies, confirm)
    count.answers += 1
    count.calls += calls
    count.at_once += calls == 1
    if result is not None and result.status == "done":
        right = is_right(task, result)
        count.right += right
        count.wrong += not right
        if not right:
            count.accepted_wrong.append(task.name)


def measure(sandbox: Sandbox, tasks: Sequence[Task]) -> dict[tuple[str, str], Count]:
    counts: dict[tuple[str, str], Count] = {}
    for task in tasks:
        stated = STATED.get(task.name, ())
        wrong = list(slips(sandbox, task))
        mended = fenced(task.pandas, stated)
        scripts = [("right", [mended, "DONE"])]
        for code in wrong:
            scripts += [
                ("subtly wrong, blind", [fenced(code, stated), "DONE"]),
                ("subtly wrong, attentive", [fenced(code, stated), mended, "DONE"]),
                ("lazy, blind", [fenced(code, _LAZY), "DONE"]),
                ("lazy, attentive", [fenced(code, _LAZY), mended, "DONE"]),
            ]
        for who, replies in scripts:
            for confirm in ("always", "auto"):
                counted(counts.setdefault((who, confirm), Count()), sandbox, task, replies, confirm)
    return counts


def main() -> None:
    with open_sandbox(SandboxSettings(slots=2)) as opened:
        opened.wait_ready()
        counts = measure(opened, TASKS if "all" in sys.argv else TASKS[::6])
    print(f"{'model':<26}{'confirm':<9}{'answers':>8}{'right':>7}{'wrong':>7}{'one call':>9}{'calls':>7}")
    for (who, confirm), one in counts.items():
        print(
            f"{who:<26}{confirm:<9}{one.answers:>8}{one.right:>7}{one.wrong:>7}{one.at_once:>9}"
            f"{one.calls / one.answers:>7.2f}"
        )
        if confirm == "auto" and one.accepted_wrong and "attentive" in who:
            print("   accepted:", dict(Counter(one.accepted_wrong)))
    show("wrong answers accepted, auto beside always", list(_lines(counts)))


def _lines(counts: dict[tuple[str, str], Count]) -> Iterator[Line]:
    for who in dict.fromkeys(who for who, _ in counts):
        always, auto = counts[who, "always"], counts[who, "auto"]
        # One more on both sides: the loop's own count may be none.
        yield at_most(f"{who} (+1)", auto.wrong + 1, always.wrong + 1, "answers", 1.0)


if __name__ == "__main__":
    main()
