"""What ends as ``done``, on graded tasks: ``python -m benchmarks.transform_grades [all] [PART/PARTS]``.

The models are scripted. A right one sends right code and the checks that the prompt wants: what must hold, and the
result computed a second time in SQL. A subtly wrong one does the same with one slip in its code (20 kinds, each that
changes the answer). Others put right values into the wrong rows (6 kinds), or right rows into another order (3 kinds).
A lazy one sends wrong code with checks that always hold, an inventing one rows of its own. None corrects itself: each
says DONE when it is shown its result. ``all`` adds models that state less, and some that compute their result a second
time when that is requested. The exit status is 1 when a limit is missed.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

from benchmarks.tasks import SHOP, TRANSFORM, Task, content, same
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.settings import SandboxSettings
from services.execution.transform.order import wants_order
from services.execution.transform.transform import Transform
from services.execution.wiring import open_sandbox
from shared.contracts.transform import TransformInput, TransformResult
from shared.errors import AssayError
from shared.llm.chat import ChatReply, ChatRequest
from tests.support.context import MemoryContext

#: What goes wrong unnoticed: a pattern of the code, and what replaces it.
SLIPS = (
    (r"ascending=\[False, True\]", "ascending=[True, True]"),
    (r"ascending=False", "ascending=True"),
    (r"\.sort_values\([^\n]*?\)(?=\[|\n|$|\.)", ""),
    (r"\.head\((\d+)\)", r".head(\1 - 1)"),
    (r"nlargest\(", "nsmallest("),
    (r"(\.|')mean(\(|')", r"\1median\2"),
    (r"(\.|')sum(\(|')", r"\1mean\2"),
    (r"(\.|')max(\(|')", r"\1min\2"),
    (r"\.size\(", ".ngroup("),
    (r"\.nunique\(", ".count("),
    (r" >= ", " > "),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" == ('\w+'|True)", r" != \1"),
    (r"\.(?:dropna|drop_duplicates)\([^\n()]*\)", ""),
    (r" & \([^()]*\)", ""),
    (r"how='left'", "how='inner'"),
    (r"\.idxmax\(", ".idxmin("),
    (r"\.(?:cumsum|diff)\(\)", ".abs()"),
    (r" \* ", " + "),
)
#: Right values in the wrong rows: what follows the right code.
MISPLACED = (
    "result = result.copy(); result[result.columns[-1]] = np.roll(result.iloc[:, -1].to_numpy(), 1)",
    "result = result.copy(); result[result.columns[0]] = np.roll(result.iloc[:, 0].to_numpy(), 1)",
    "result = result.copy(); result[result.columns[-1]] = result.iloc[::-1, -1].to_numpy()",
    "result = result.copy(); result[result.columns[-1]] = result.iloc[:, -1].sort_values().to_numpy()",
    "result = result.copy(); result[result.columns[0]] = result.iloc[:, 0].sort_values(ascending=False).to_numpy()",
    "result = result.copy(); result.iloc[[0, -1], -1] = result.iloc[[-1, 0], -1].to_numpy()",
)
#: Right rows in the wrong order, of tasks that want one.
DISORDERED = (
    "result = result.iloc[::-1]",
    "result = pd.concat([result.iloc[1:], result.iloc[:1]])",
    "result = result.sample(frac=1, random_state=7)",
)
_SORT = re.compile(r"\s*\border by\b[^()]*\Z", re.IGNORECASE)  #: at the end of a query
#: Right models that do not do what is requested of them: their results are right, and nothing shows it.
SILENT = ("right, states forms only", "right, states nothing", "right, second computation without an order")
LAZY = ("rows >= 1", "rows < 1000000")
MAX_WRONG_DONE, MAX_RIGHT_UNVERIFIED = 0.01, 0.03


@dataclass
class Replies:
    """A model that sends one reply after the other, the last one again and again."""

    replies: Sequence[str]
    calls: int = 0
    name: str = "replies"

    def complete(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        return ChatReply(self.replies[min(self.calls, len(self.replies)) - 1], "benchmark", "none")


@dataclass
class Count:
    """The answers of one kind of model."""

    right: bool  #: whether they are
    statuses: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    missed: list[str] = field(default_factory=list)  #: tasks whose answer ended otherwise than it should

    @property
    def answers(self) -> int:
        return self.statuses.total()

    @property
    def share(self) -> float:
        """Of right answers those that are not done, of wrong ones those that are."""
        done = self.statuses["done"] / max(self.answers, 1)
        return 1 - done if self.right else done

    @property
    def met(self) -> bool:
        return self.share <= (MAX_RIGHT_UNVERIFIED if self.right else MAX_WRONG_DONE)


@dataclass
class Grader:
    sandbox: Sandbox
    everything: bool

    def answers(self, task: Task) -> list[tuple[str, bool, str, int]]:
        """Of each kind of model: whether its answer is right, how the job ended, and after how many calls."""
        graded: list[tuple[str, bool, str, int]] = []
        for model, right, *replies in self._replies(task):
            result, calls = self.run(task, [*replies, "DONE"], "auto")
            is_right = result is not None and _is_right(task, result)
            if result is None and not right:
                continue  # code with such a slip does not run: there is no answer
            if is_right == right:
                graded.append((model, right, "failed" if result is None else result.status, calls))
            elif right:
                graded.append((model, right, "wrong", calls))
        return graded

    def _replies(self, task: Task) -> Iterator[tuple[str, bool, *tuple[str, ...]]]:
        second = task.sql
        confirmed = f"DONE\n```sql check\n{second}\n```\n"
        yield "right", True, _reply(task.pandas, task.stated, second)
        for code in dict.fromkeys(self._slips(task)):
            yield "subtly wrong", False, _reply(code, task.stated, second)
            yield "lazy", False, _reply(code, LAZY)
            if self.everything:
                yield "subtly wrong, states forms only", False, _reply(code, task.stated)
                yield "subtly wrong, states nothing", False, _reply(code)
                yield "subtly wrong, second computation on request", False, _reply(code), confirmed
        for code in _followed(task, MISPLACED, 2):
            yield "values in the wrong rows", False, _reply(code, task.stated, second)
            yield (
                "values in the wrong rows, states forms only",
                False,
                _reply(code, task.stated or [f"rows == {len(task.answer)}"]),
            )
        for code in _followed(task, DISORDERED, 1) if wants_order(task.text) else ():
            yield "another order", False, _reply(code, task.stated, second)
            yield "another order, second computation without one", False, _reply(code, (), _SORT.sub("", second))
        for code in inventions(task):
            yield "inventing", False, _reply(code, [f"rows == {len(task.answer)}"])
        if self.everything:
            yield "right, states forms only", True, _reply(task.pandas, task.stated)
            yield "right, states nothing", True, _reply(task.pandas)
            yield "right, second computation without an order", True, _reply(task.pandas, (), _SORT.sub("", second))
            yield "right, second computation on request", True, _reply(task.pandas), confirmed

    def _slips(self, task: Task) -> Iterator[str]:
        """Yield the code with each slip that makes it run and answer wrongly."""
        for pattern, instead in SLIPS:
            code = re.sub(pattern, instead, task.pandas, count=1)
            if code != task.pandas:
                yield code

    def run(self, task: Task, replies: Sequence[str], confirm: str) -> tuple[TransformResult | None, int]:
        held = MemoryContext()
        data: list[dict[str, Any]] = [{"name": name, "file_id": held.files.add(*content(name))} for name in task.data]
        data += [{"name": name, "rows": list(rows)} for name, rows in task.rows.items()]
        model = Replies(replies)
        body = {"task": task.text, "data": data, "confirm": confirm}
        context = replace(held.context("transform"), llm=model)
        try:
            return Transform(self.sandbox)(context, TransformInput.model_validate(body)), model.calls
        except AssayError:
            return None, model.calls


def _is_right(task: Task, result: TransformResult) -> bool:
    if result.table is None or result.table.row_count != len(task.answer):
        return False
    return same(result.table.rows, [list(row) for row in task.answer[:50]], task.ordered)


def _reply(code: str, checks: Sequence[str] = (), second: str | None = None) -> str:
    reply = f"```python\n{code}\n```\n"
    if checks:
        reply += "```checks\n" + "\n".join(checks) + "\n```\n"
    return reply + (f"```sql check\n{second}\n```\n" if second else "")


def _followed(task: Task, lines: Sequence[str], many: int) -> Iterator[str]:
    """Yield the right code followed by what spoils its result: of each task a few of the ways."""
    start = len(task.text)
    for at in range(start, start + many) if len(task.answer) > 1 else ():
        yield f"import numpy as np\nimport pandas as pd\n{task.pandas}\n{lines[at % len(lines)]}"


def inventions(task: Task) -> Iterator[str]:
    """Code that answers with values of its own: rows in the data's place, or the answer itself, in four ways."""
    tables = [*task.data, *task.rows]
    own = "".join(f"{name} = pd.DataFrame({_invented(_first_rows(task, name))!r})\n" for name in tables)
    yield f"import pandas as pd\n{own}{task.pandas}"
    rows = [dict(zip("abcdefghij", row, strict=False)) for row in task.answer[:20]]
    answer = f"result = pd.DataFrame({_invented(rows)!r})"
    yield f"import pandas as pd\n{answer}"
    yield f"import pandas as pd\nprint({tables[0]}.head())\n{answer}"
    yield f"import pandas as pd\n{answer}\nresult['rows'] = {' + '.join(f'len({name})' for name in tables)}"


def _first_rows(task: Task, name: str) -> list[dict[str, Any]]:
    if name in task.rows:
        return [dict(row) for row in task.rows[name][:8]]
    file, body = content(name)
    frame = pl.read_json(body) if file.endswith("json") else pl.read_csv(body)
    return [{key: _literal(cell) for key, cell in row.items()} for row in frame.head(8).to_dicts()]


def _literal(cell: object) -> object:
    return cell if cell is None or isinstance(cell, (int, float)) else str(cell)


def _invented(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with other numbers."""
    return [
        {
            key: round(cell * 3 + 7 + at, 3)
            if isinstance(cell, (int, float)) and not isinstance(cell, bool)
            else _literal(cell)
            for key, cell in row.items()
        }
        for at, row in enumerate(rows)
    ]


def grade(sandbox: Sandbox, tasks: Sequence[Task], everything: bool) -> dict[str, Count]:
    counts: dict[str, Count] = {}
    grader = Grader(sandbox, everything)
    with ThreadPoolExecutor(2) as pool:
        for task, answers in zip(tasks, pool.map(grader.answers, tasks), strict=True):
            for model, right, status, calls in answers:
                count = counts.setdefault(model, Count(right))
                count.statuses[status] += 1
                count.calls += calls
                if (status == "done") != right:
                    count.missed.append(task.name)
    return counts


def show(counts: dict[str, Count], tasks: int) -> None:
    table = Table(title=f"What ends as done: {tasks} tasks, models that insist on their first answer")
    for heading in ("model", "answers", "done", "unverified", "other", "calls", "limit", ""):
        table.add_column(heading)
    for model, count in counts.items():
        limit = f"not done <= {MAX_RIGHT_UNVERIFIED:.0%}" if count.right else f"done <= {MAX_WRONG_DONE:.0%}"
        done, unverified = count.statuses["done"], count.statuses["unverified"]
        judged = (limit, "met" if count.met else "MISSED") if model not in SILENT else ("", "")
        table.add_row(
            model, str(count.answers), str(done), str(unverified), str(count.answers - done - unverified),
            f"{count.calls / count.answers:.2f}", *judged,
        )  # fmt: skip
    Console(width=120).print(table)
    for model, count in counts.items():
        if count.missed and (count.right or len(count.missed) < 20):
            print(f"{model}: {dict(Counter(count.missed))}")


def main() -> None:
    part, parts = next((map(int, word.split("/")) for word in sys.argv if "/" in word and word[0].isdigit()), (1, 1))
    tasks = [*TRANSFORM, *SHOP][part - 1 :: parts]
    with open_sandbox(SandboxSettings(slots=2)) as opened:
        opened.wait_ready()
        counts = grade(opened, tasks, "all" in sys.argv)
    show(counts, len(tasks))
    sys.exit(0 if all(count.met for model, count in counts.items() if model not in SILENT) else 1)


if __name__ == "__main__":
    main()
