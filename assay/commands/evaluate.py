"""`assay eval`: suites run with several models and prompts, and whether the result will do."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from assay.calls import evaluations, files, flows, jobs
from assay.commands import evaluation_page, evaluation_pair, shadow, show
from assay.commands import evaluation_table as table
from assay.commands.evaluation_verdict import failed_runs, reported, unmet
from assay.commands.ids import JobId
from assay.commands.session import CommandLine, UsageError, answer, current
from assay.suites.files import CaseFiles
from assay.suites.from_job import CaseMaker, append, names_in
from assay.suites.read import SuiteError, SuiteFile, in_suite, read_suite
from shared.amounts import amount
from shared.kinds import case_name

app = App(name="eval", help="Evaluations: which model, which prompt, is it still right?")
app.command(shadow.app)

_MET, _NOT_MET, _UNREADABLE, _RUNS_FAILED = 0, 1, 2, 8
_LOOK_FIRST, _LOOK_SLOWEST = 0.2, 2.0
_Require = Annotated[float | None, Parameter(help="Exit 1 when a variant succeeds less often than this share")]
_Baseline = Annotated[str | None, Parameter(help="Exit 1 when worse than this earlier evaluation")]
_Alpha = Annotated[float | None, Parameter(help="Worse than the baseline counts below this p only")]
_Html = Annotated[Path | None, Parameter(help="Write a report there")]


@app.command(name="run")
def run_suite(
    suite: Annotated[Path, Parameter(help="YAML, or JSON lines with a case each")],
    *,
    model: Annotated[Sequence[str], Parameter(help="provider/model; may be repeated", negative="")] = (),
    prompt: Annotated[Sequence[str], Parameter(help="key@version; may be repeated", negative="")] = (),
    repeat: Annotated[int, Parameter(help="How often each case is run")] = 1,
    require: _Require = None,
    baseline: _Baseline = None,
    alpha: _Alpha = None,
    max_tokens: Annotated[int | None, Parameter(help="Start no further run after this many tokens")] = None,
    max_cost: Annotated[float | None, Parameter(help="The same in US dollars")] = None,
    concurrency: Annotated[int | None, Parameter(help="Runs at once")] = None,
    html: _Html = None,
    yes: Annotated[bool, Parameter(name=["-y", "--yes"], help="Skip the confirmation", negative="")] = False,
    wait: Annotated[bool, Parameter(help="--no-wait prints the evaluation's id at once")] = True,
) -> int:
    """Run every case with every model and prompt.

    Exit 0: met; 1: not; 2: the suite cannot be read; 8: runs failed, and neither --require nor --baseline says whether
    that will do.
    """
    session = current()
    _check_share(require, "--require")
    _check_share(alpha, "--alpha")
    made: list[str] = []
    try:
        evaluation = _begin(session, suite, variants_of(model, prompt), repeat, _budget(max_tokens, max_cost),
                            concurrency, made, yes=yes)  # fmt: skip
    except SuiteError as error:
        session.warn(f"assay: {error}")
        return _UNREADABLE
    if evaluation is None:
        return _NOT_MET
    if not wait:
        session.show(evaluation, lambda view: str(view["id"]))
        return _MET
    view = _waited(session, evaluation["id"], baseline)
    _delete_flows(session, view, made)
    return _tell_end(session, view, require, baseline, alpha, html)


@app.command(name=["ls", "list"])
def list_evaluations(*, suite: Annotated[str | None, Parameter(help="Only those of this suite")] = None) -> None:
    """List evaluations, newest first."""
    columns = ["id", "suite", "state", "variants", "runs", "success", "created"]
    answer(evaluations.page(suite, limit=200), show.listing(columns, _row))


@app.command(name=["show", "get"])
def show_evaluation(
    id: Annotated[str, Parameter(help="Evaluation id")],
    *,
    require: _Require = None,
    baseline: _Baseline = None,
    alpha: _Alpha = None,
    html: _Html = None,
) -> int:
    """Show an evaluation's current state; with --require or --baseline, the exit status is the verdict."""
    session = current()
    view = session.client.fetch(evaluations.get(id, baseline))
    return _tell(session, view, require, baseline, alpha, html)


@app.command(name="compare")
def compare_evaluations(
    first: Annotated[str, Parameter(help="Id of the earlier evaluation")],
    second: Annotated[str, Parameter(help="Id of the later evaluation")],
    /,
) -> int:
    """Show which cases got better and which got worse from one evaluation to another; 1 when the second is worse."""
    session = current()
    views = [session.client.fetch(evaluations.get(id, None)) for id in (first, second)]
    compared = evaluation_pair.compare(*views)
    session.show(compared.as_json(), lambda _: compared.as_text())
    for pair in compared.worse:
        session.warn(f"{pair}: fewer runs succeed than before")
    return _NOT_MET if compared.worse else _MET


@app.command(name="runs")
def list_runs(
    id: Annotated[str, Parameter(help="Evaluation id")],
    *,
    case: Annotated[str | None, Parameter(help="Only runs of this case")] = None,
    variant: Annotated[str | None, Parameter(help="Only runs of this variant")] = None,
) -> None:
    """List each run with its job, and why it failed."""
    columns = ["case", "variant", "repetition", "state", "success", "cause", "detail", "job"]
    answer(evaluations.runs(id, case, variant), show.listing(columns, _run_row))


@app.command(name="cancel")
def cancel_evaluation(id: Annotated[str, Parameter(help="Evaluation id")]) -> None:
    """Begin no further run, and cancel the jobs that run."""
    answer(evaluations.cancel(id), lambda view: f"{view['id']} {view['state']}")


@app.command(name="resume")
def resume_evaluation(
    id: Annotated[str, Parameter(help="Evaluation id")],
    *,
    max_tokens: Annotated[int | None, Parameter(help="The budget from now on, earlier runs included")] = None,
    max_cost: Annotated[float | None, Parameter(help="New limit of the cost, in US dollars")] = None,
    require: _Require = None,
    baseline: _Baseline = None,
    alpha: _Alpha = None,
    html: _Html = None,
) -> int:
    """Continue an evaluation that was cancelled or whose budget was spent, or wait for one that runs."""
    session = current()
    if session.client.fetch(evaluations.get(id))["state"] != "finished":
        session.client.fetch(evaluations.resume(id, _budget(max_tokens, max_cost) or None))
    return _see_through(session, id, require, baseline, alpha, html)


@app.command(name="add")
def add_case(
    job: JobId,
    *,
    suite: Annotated[Path, Parameter(help="The suite; it is created if missing")] = Path("suite.yaml"),
    name: Annotated[str | None, Parameter(help="The case's name; else what the job was about")] = None,
) -> int:
    """Make a case of a finished job: its input, its files next to the suite, its result as the expectation."""
    session = current()
    client = session.client
    if not suite.resolve().parent.is_dir():
        raise UsageError(f"there is no folder {suite.parent}")
    finished = client.fetch(jobs.get(job))
    if finished["state"] in ("queued", "running"):
        raise UsageError(f"the job is {finished['state']}: wait for its end")
    maker = CaseMaker(
        suite.resolve().parent,
        fetch=lambda id: (client.send(files.get(id)).name, client.send(files.content(id))),
        flow=lambda id, version: client.fetch(flows.version(id, version)),
    )
    try:
        taken = names_in(suite)
        if name in taken:
            raise UsageError(f"{suite} has a case {name!r} already")
        case = maker.case(finished, name or case_name(finished, taken))
        append(suite, case)
    except SuiteError as error:
        session.warn(f"assay: {error}")
        return _UNREADABLE
    session.show(case, lambda added: f"{suite}: {added['name']}")
    if "expect" not in case:
        session.say("nothing is expected of it beyond success: write its expect")
    return _MET


def gate(suite: Path, variant: Mapping[str, str | None], require: float) -> str | None:
    """Return the id of an evaluation of this variant that meets the requirement; else print why, and return None."""
    session = current()
    made: list[str] = []
    try:
        evaluation = _begin(session, suite, [variant], 1, {}, None, made, yes=False)
    except SuiteError as error:
        raise UsageError(str(error)) from None
    if evaluation is None:
        return None
    view = _waited(session, evaluation["id"], None)
    _delete_flows(session, view, made)
    session.say(table.as_text(view))
    reasons = unmet(view, require, None, None)
    for reason in reasons:
        session.warn(reason)
    return None if reasons else str(view["id"])


def variants_of(models: Sequence[str], prompts: Sequence[str]) -> list[dict[str, str | None]]:
    """Return every combination of model and prompt."""
    named: Sequence[str | None] = models or [None]
    versions: Sequence[str | None] = prompts or [None]
    return [{"model": model, "prompt": prompt} for model in named for prompt in versions]


def _budget(tokens: int | None, cost: float | None) -> dict[str, float | None]:
    given = {"tokens": tokens, "cost_usd": cost}
    return {name: value for name, value in given.items() if value is not None}


def _check_share(value: float | None, name: str) -> None:
    if value is not None and not 0 <= value <= 1:
        raise UsageError(f"{name} is a share between 0 and 1")


def _begin(
    session: CommandLine,
    path: Path,
    variants: Sequence[Mapping[str, str | None]],
    repeat: int,
    budget: Mapping[str, float | None],
    concurrency: int | None,
    made: list[str],
    *,
    yes: bool,
) -> dict[str, Any] | None:
    """Begin an evaluation and return it; None when the user declines. Raises: SuiteError.

    The flows that its cases begin with are ``made`` for it.
    """
    from assay.errors import Invalid  # noqa: PLC0415

    suite = read_suite(path)
    client = session.client

    def make_flow(flow: Mapping[str, Any]) -> str:
        made.append(str(client.fetch(flows.create(flow))["id"]))
        return made[-1]

    case_files = CaseFiles(
        suite,
        upload=lambda content, name: str(client.send(files.put(content, name=name)).id),
        make_flow=make_flow,
    )
    case_files.check()
    sent = case_files.sent()
    try:
        estimate = client.fetch(evaluations.estimate(sent, variants, repeat=repeat))
        if not _agreed(session, estimate, budget, yes=yes):
            return None
        begin = evaluations.create(
            sent, variants, repeat=repeat, budget=budget, concurrency=concurrency, idempotency_key=str(uuid.uuid4())
        )
        evaluation: dict[str, Any] = client.fetch(begin)
    except Invalid as refusal:
        raise _in_file(suite, refusal) or refusal from None
    return evaluation


def _delete_flows(session: CommandLine, view: Mapping[str, Any], made: Sequence[str]) -> None:
    """Delete the flows made for the cases, unless the evaluation can still continue and needs them."""
    if view["state"] == "finished":
        for id in made:
            session.client.send(flows.delete(id))


def _in_file(suite: SuiteFile, refusal: Any) -> SuiteError | None:
    """Map the server's refusal to its line in the suite file; None when it concerns something else."""
    for error in refusal.errors:
        loc = tuple(error.get("loc") or ())
        if loc[:2] == ("body", "suite"):
            return suite.fault(in_suite(loc[2:], suite.content), str(error.get("msg")))
    return None


def _agreed(session: CommandLine, estimate: Mapping[str, Any], budget: Mapping[str, Any], *, yes: bool) -> bool:
    """Print the estimate, and ask for confirmation where a person can answer."""
    session.say(_estimate_line(estimate, budget))
    if yes or not estimate["asking"] or session.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    sys.stderr.write("begin? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _estimate_line(estimate: Mapping[str, Any], budget: Mapping[str, Any]) -> str:
    parts = [amount(estimate["runs"], "run")]
    if estimate["asking"]:
        if estimate["tokens"] is None:
            parts.append("tokens unknown: no job of these kinds was run lately")
        else:
            parts.append(
                f"about {estimate['tokens']:,} tokens, estimated from {amount(estimate['from_jobs'], 'earlier job')}"
            )
            cost = estimate["cost_usd"]
            parts.append("cost unknown: no price is known" if cost is None else f"about {cost:.2f} $")
        caps = [f"{value:,} {name}" for name, value in budget.items()]
        parts.append(f"budget: {', '.join(caps)}" if caps else "no budget (--max-tokens, --max-cost)")
    return "; ".join(parts)


def _see_through(
    session: CommandLine, id: str, require: float | None, baseline: str | None, alpha: float | None, html: Path | None
) -> int:
    return _tell_end(session, _waited(session, id, baseline), require, baseline, alpha, html)


def _waited(session: CommandLine, id: str, baseline: str | None) -> dict[str, Any]:
    """Wait for the evaluation's end and return it; an interrupted command does not stop it."""
    pause, before = _LOOK_FIRST, -1
    session.say(f"evaluation {id}; it continues without this command: assay eval show {id}")
    while True:
        view: dict[str, Any] = session.client.fetch(evaluations.get(id, baseline))
        progress = view["progress"]
        if view["state"] != "running" and not progress["running"] and not progress["pending"]:
            return view
        if progress["finished"] != before and session.lively:
            session.say(f"{progress['finished']} of {progress['runs']} runs")
        pause = _LOOK_FIRST if progress["finished"] != before else min(pause * 1.5, _LOOK_SLOWEST)
        before = progress["finished"]
        time.sleep(pause)


def _tell_end(
    session: CommandLine,
    view: dict[str, Any],
    require: float | None,
    baseline: str | None,
    alpha: float | None,
    target: Path | None,
) -> int:
    """Report an evaluation that has ended; failed runs have a separate exit status when nothing was required."""
    status = _tell(session, view, require, baseline, alpha, target)
    if status != _MET or require is not None or baseline is not None:
        return status
    failed = failed_runs(view)
    for reason in failed:
        session.warn(reason)
    return _RUNS_FAILED if failed else status


def _tell(
    session: CommandLine,
    view: dict[str, Any],
    require: float | None,
    baseline: str | None,
    alpha: float | None,
    target: Path | None,
) -> int:
    session.show(reported(view) if session.json else view, table.as_text)
    if target is not None:
        target.write_text(evaluation_page.page(view), "utf-8")
        session.say(f"report: {target}")
    reasons = unmet(view, require, baseline, alpha)
    for reason in reasons:
        session.warn(reason)
    return _NOT_MET if reasons else _MET


def _row(evaluation: dict[str, Any]) -> list[object]:
    totals = evaluation["totals"]
    share = ", ".join(f"{total['successes']}/{total['runs']}" for total in totals)
    progress = evaluation["progress"]
    return [
        evaluation["id"], evaluation["name"], evaluation["state"], len(evaluation["variants"]),
        f"{progress['finished']}/{progress['runs']}", share, show.clock(evaluation["created_at"]),
    ]  # fmt: skip


def _run_row(run: dict[str, Any]) -> list[object]:
    return [run[name] for name in ("case", "variant", "repetition", "state", "success", "cause", "detail", "job_id")]
