"""Whether a real model does better with Assay than without: ``make real-model``.

    python -m benchmarks.real_model.lab [--models 0.5b,1.5b] [--ways assay,single] [--tasks short,full] [--calls N]
    python -m benchmarks.real_model.lab --suites flows,search,detect [--models 0.5b,1.5b] [--cases N]

``--tasks short`` are 20 of the 96 graded transforms, ``dev`` the 19 that prompts are chosen on, ``held`` 19 others, and
``full`` all of them. Every answer of a model is recorded in ``answers`` below ``--home``, so that equal messages are
not sent again, also in later runs; the seconds of a recorded answer are those that it took then.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.real_model.figures import interval
from benchmarks.real_model.qwen import MODELS, served
from benchmarks.real_model.suites import HEAD, SUITES, evaluated
from benchmarks.real_model.ways import MAX_CALLS, WAYS, Lab, Outcome
from benchmarks.tasks import SHOP, TRANSFORM, Task
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox

SHORT = 20
_HOME = Path(sys.prefix) / "real-model" / "lab"


_ALL = (*TRANSFORM, *SHOP)
SAMPLES: Mapping[str, Sequence[Task]] = {
    "short": [_ALL[number * len(_ALL) // SHORT] for number in range(SHORT)],
    "dev": [*TRANSFORM[2::5], *SHOP[2::5]],
    "held": [*TRANSFORM[4::5], *SHOP[4::5]],
    "full": _ALL,
}
#: Kinds of tasks by what the pandas code that solves them calls; the first that fits.
_KINDS = {
    "wide and long": r"pivot|crosstab|melt|unstack",
    "order": r"shift|diff\(|rolling|cum\w+\(|rank\(|ffill|iloc",
    "groups": r"groupby|value_counts|transform",
    "rows and columns": "",
}


def kind_of(task: Task) -> str:
    """Return the kind of a task, for the comparison of ways by kinds."""
    if len(task.data) + len(task.rows) > 1:
        return "two tables"
    return next(kind for kind, calls in _KINDS.items() if re.search(calls, task.pandas))


def line(model: str, way: str, outcomes: Sequence[Outcome]) -> str:
    """Return a row of the table."""
    right = [each for each in outcomes if each.right]
    low, high = interval(len(right), len(outcomes))
    wrong = sum(each.accepted_wrong for each in outcomes)
    honest = sum(not each.right and each.status != "done" for each in outcomes)
    calls = f"{median(each.calls for each in right):g}" if right else "-"
    tokens = [round(sum(getattr(each, name) for each in outcomes) / len(outcomes)) for name in _TOKENS]
    seconds = sum(each.seconds for each in outcomes) / len(outcomes)
    return (
        f"| {model} | {way} | {len(right)}/{len(outcomes)} | {low:.0%} to {high:.0%} | {wrong} | {honest} | {calls} "
        f"| {sum(each.calls for each in outcomes) / len(outcomes):.2f} | {tokens[0]} | {tokens[1]} | {seconds:.1f} |"
    )


_TOKENS = ("input_tokens", "output_tokens")
_HEAD = (
    "| model | way | right | 95 % | wrong but done | honest failures | calls for a right one (median) | calls "
    "| tokens in | out | s |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def paired(one: Sequence[Outcome], other: Sequence[Outcome]) -> str:
    """Return in how many cases only one of two ways was right."""
    rights = {each.case: each.right for each in other}
    gained = sum(each.right and not rights[each.case] for each in one)
    lost = sum(not each.right and rights[each.case] for each in one)
    return f"right only by {one[0].way}: {gained}, only by {other[0].way}: {lost}"


def by_kind(tasks: Sequence[Task], ways: Mapping[str, Sequence[Outcome]]) -> list[str]:
    """Return for each kind of task how many each way had right."""
    lines = []
    for kind in ("two tables", *_KINDS):
        names = {task.name for task in tasks if kind_of(task) == kind}
        if names:
            rights = [f"{way} {sum(o.right for o in done if o.case in names)}" for way, done in ways.items()]
            lines.append(f"{kind} ({len(names)}): {', '.join(rights)}")
    return lines


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.real_model.lab")
    options.add_argument("--models", default="0.5b")
    options.add_argument("--ways", default=",".join(WAYS))
    options.add_argument("--tasks", default="short", help=f"of {', '.join(SAMPLES)}")
    options.add_argument("--suites", default="", help=f"instead of transforms, of {', '.join(SUITES)}")
    options.add_argument("--cases", type=int, help="at most, of each of these suites")
    options.add_argument("--calls", type=int, default=MAX_CALLS, help="at most, for one task")
    options.add_argument("--home", type=Path, default=_HOME)
    options.add_argument("--out", type=Path, help="takes each outcome with its messages, one a line")
    given = options.parse_args()
    tasks = list({task.name: task for sample in given.tasks.split(",") for task in SAMPLES[sample]}.values())
    if given.suites:
        _print_suites(given)
        return
    lines, pairs = [_HEAD], []
    with open_sandbox(SandboxSettings(slots=1)) as sandbox:
        sandbox.wait_ready()
        for size in given.models.split(","):
            model = MODELS[size]
            done: dict[str, list[Outcome]] = {}
            with served(model, given.home / "answers" / f"{model.name}.jsonl") as url:
                lab = Lab(sandbox, url, model.name, given.calls)
                llm = lab.layer()
                try:
                    for way in given.ways.split(","):
                        done[way] = [_shown(WAYS[way](lab, llm, task), given.out) for task in tasks]
                        lines.append(line(model.name, way, done[way]))
                finally:
                    llm.close()
            pairs += [f"{model.name}: {kind}" for kind in by_kind(tasks, done)]
            if {"assay", "single"} <= set(done):
                pairs.append(f"{model.name}: {paired(done['assay'], done['single'])}")
    print("\n".join([*lines, "", *pairs]))


def _print_suites(given: argparse.Namespace) -> None:
    lines = [HEAD]
    for size in given.models.split(","):
        model = MODELS[size]
        with served(model, given.home / "answers" / f"{model.name}.jsonl") as url:
            lines += evaluated(url, model.name, given.suites.split(","), given.cases)
    print("\n".join(lines))


def _shown(outcome: Outcome, out: Path | None) -> Outcome:
    if out is not None:
        with out.open("a") as rows:
            rows.write(f"{json.dumps(outcome.row())}\n")
    mark = "right" if outcome.right else outcome.status
    print(f"{outcome.way:<8}{outcome.case:<32}{mark:<18}{outcome.calls} calls {outcome.seconds:6.1f} s", flush=True)
    return outcome


if __name__ == "__main__":
    main()
