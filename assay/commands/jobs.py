"""`assay jobs`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from assay.calls import jobs
from assay.commands import show, tables
from assay.commands.describe import describe, first_line
from assay.commands.ids import JobId
from assay.commands.program_output import Printed
from assay.commands.run import POSITIVE, end, follow, pair
from assay.commands.session import CommandLine, UsageError, answer, current
from assay.events import JobEvent

if TYPE_CHECKING:
    from assay.calls.call import ApiCall
    from shared.contracts.jobs import BulkOutcomes

app = App(name="jobs", help="Show jobs, wait for them, cancel them, run them again.")


@app.command(name="ls")
def list_jobs(
    *,
    kind: Annotated[str | None, Parameter(help="Only jobs of this kind")] = None,
    state: Annotated[str | None, Parameter(help="Only jobs in this state")] = None,
    label: Annotated[Sequence[str], Parameter(help="KEY=VALUE", negative="")] = (),
    limit: Annotated[int, Parameter(help="1 to 200")] = 20,
    cursor: Annotated[str | None, Parameter(help="next_cursor of the page before")] = None,
) -> None:
    """List jobs, newest first."""
    labels = dict(pair(each) for each in label)
    answer(jobs.page(kind, state, labels, limit, cursor), _rows)


@app.command
def count(
    *,
    kind: Annotated[str | None, Parameter(help="Only jobs of this kind")] = None,
    label: Annotated[Sequence[str], Parameter(help="KEY=VALUE", negative="")] = (),
) -> None:
    """Count jobs by state; a + after a number means more."""
    answer(jobs.counts(kind, dict(pair(each) for each in label)), _counts)


def _counts(counted: Mapping[str, Any]) -> str:
    rows = [(each["state"], f"{each['jobs']:,}{'+' if each['more'] else ''}") for each in counted["items"]]
    return show.table(["STATE", "JOBS"], rows)


@app.command
def tail(
    *,
    after: Annotated[int | None, Parameter(help="The `next_after` of a page of /v1/events")] = None,
    count: Annotated[int | None, Parameter(help="Stop after this many lines")] = None,
) -> None:
    """Print every job as it is submitted, begun and ended, until Ctrl-C."""
    session = current()
    titles: dict[str, str] = {}
    printed = 0
    while count is None or printed < count:
        page = session.client.fetch(jobs.changes(after))
        for job in page["items"]:
            if titles.get(job["id"]) != job["state"] and (count is None or printed < count):
                titles[job["id"]] = job["state"]
                session.out(json.dumps(job, ensure_ascii=False) if session.json else _line(job))
                printed += 1
        if page["next_after"] == after:
            time.sleep(1)
        after = page["next_after"]


def _line(job: Mapping[str, Any]) -> str:
    return "  ".join([job["id"], f"{job['state']:9}", f"{job['kind']:9}", show.cell(job["title"])]).rstrip()


@app.command
def get(id: JobId) -> None:
    """Show a job with its input and its result."""
    answer(jobs.get(id), lambda job: json.dumps(job, indent=2, ensure_ascii=False))


@app.command
def watch(id: JobId, *, after: Annotated[int, Parameter(help="The number of the last event already seen")] = 0) -> int:
    """Print a job's events as they happen, until it ends."""
    session = current()
    last, printed = "", Printed()
    for event in session.client.events(id, after):
        last = event.type
        if session.json:
            session.out(json.dumps(event.data, ensure_ascii=False))
        elif not printed.take(event) and (line := describe(event)) is not None:
            printed.end_line()
            session.out(line)
    return int(last in ("job_failed", "job_dead", "job_cancelled"))


@app.command
def events(
    id: JobId,
    *,
    type: Annotated[Sequence[str], Parameter(help="Only events of this type; may be repeated", negative="")] = (),
    after: Annotated[int, Parameter(help="The number of the last event already seen")] = 0,
    limit: Annotated[int | None, Parameter(help="1 to 1000; by default 100")] = None,
) -> None:
    """List what has happened to a job so far; for what happens now see watch."""
    answer(jobs.events_page(id, after, type, limit), _events)


def _events(page: Any) -> str:
    rows = [[each["seq"], show.clock(each["at"]), each["type"], _event_line(each)] for each in page["items"]]
    listed = show.table(["seq", "at", "type", "what"], rows)
    return listed if page["next_after"] is None else f"{listed}\nmore: --after {page['next_after']}"


def _event_line(event: Mapping[str, Any]) -> str:
    line = describe(JobEvent(event["type"], event["job_id"], event["seq"], event["at"], event))
    return first_line((line or "").strip()) or ""


@app.command
def wait(id: JobId, *, timeout: Annotated[float | None, Parameter(help="Seconds", validator=POSITIVE)] = None) -> int:
    """Wait until a job has ended and print its result."""
    session = current()
    return end(session, follow(session, session.client.fetch(jobs.get(id)), timeout), _tell_result)


@app.command
def result(
    id: JobId,
    *,
    out: Annotated[
        Path | None, Parameter(name=["-o", "--out"], help="Save every row here, in the form that the ending says")
    ] = None,
    format: Annotated[str | None, Parameter(help="csv, tsv, jsonl, arrow, md ... for a table; cyclonedx ...")] = None,
) -> None:
    """Print a finished job's result as JSON, or in another form; -o saves its table."""
    session = current()
    if out is not None:
        tables.check_target(out, None)
        tables.save(session, id, session.client.fetch(jobs.result(id)), out)
    elif format is not None:
        session.client.download(jobs.result_path(id, format), sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        session.out(json.dumps(session.client.fetch(jobs.result(id)), indent=None if session.json else 2))


@app.command
def cancel(id: JobId) -> None:
    """Cancel a job."""
    answer(jobs.cancel(id), lambda job: f"{job['id']} {job['state']}")


@app.command
def replay(
    id: JobId,
    *,
    model: Annotated[str | None, Parameter(help="PROVIDER/MODEL instead of the role's models")] = None,
    input: Annotated[str | None, Parameter(help="JSON that is merged into the old input")] = None,
) -> None:
    """Run a job's input again as a new job, and print its id."""
    changes: Any = None
    if input is not None:
        try:
            changes = json.loads(input)
        except ValueError as error:
            raise UsageError(f"--input is not JSON: {error}") from error
    answer(jobs.replay(id, changes, model), lambda job: str(job["id"]))


_Kinds = Annotated[Sequence[str], Parameter(help="Of any of these kinds", negative="")]
_States = Annotated[Sequence[str], Parameter(help="In any of these states", negative="")]
_Labels = Annotated[Sequence[str], Parameter(help="KEY=VALUE", negative="")]


@app.command(name="cancel-all")
def cancel_all(
    *,
    kind: _Kinds = (),
    state: _States = (),
    label: _Labels = (),
    error_code: Annotated[str | None, Parameter(help="Only jobs that failed with this code")] = None,
    q: Annotated[str | None, Parameter(help="Only jobs whose title has these words")] = None,
) -> int:
    """Cancel all queued and running jobs that fit: `assay jobs cancel-all --label run=7`."""
    chosen = _filter(kind, state, label, error_code, q)
    session, items, more = current(), list[dict[str, Any]](), True
    while more:  # the server takes 1,000 at once
        done = session.client.fetch(jobs.cancel_many(filter=chosen))
        items += show.items(done)
        more = bool(done.get("more")) and any(each["ok"] for each in show.items(done))
    return _outcomes({"items": items, "more": False})


@app.command(name="replay-all")
def replay_all(
    *,
    kind: _Kinds = (),
    state: _States = (),
    label: _Labels = (),
    error_code: Annotated[str | None, Parameter(help="Only jobs that failed with this code")] = None,
    q: Annotated[str | None, Parameter(help="Only jobs whose title has these words")] = None,
    model: Annotated[str | None, Parameter(help="PROVIDER/MODEL instead of the roles' models")] = None,
) -> int:
    """Rerun the inputs of the matching jobs, at most 1,000, and print the outcome of each."""
    change = None if model is None else {"model": model}
    return _of_each(jobs.replay_many(filter=_filter(kind, state, label, error_code, q), change=change))


def _filter(
    kinds: Sequence[str], states: Sequence[str], labels: Sequence[str], error_code: str | None, words: str | None
) -> dict[str, Any]:
    """Return the filter that the options give. Raises: UsageError for an empty one."""
    lists = {"kind": list(kinds), "state": list(states), "label": list(labels)}
    filters: dict[str, Any] = {name: values for name, values in lists.items() if values}
    filters |= {name: value for name, value in (("error_code", error_code), ("q", words)) if value is not None}
    if not filters:
        raise UsageError("say which jobs: --kind, --state, --label, --error-code or --q")
    return filters


def _of_each(call: ApiCall[BulkOutcomes]) -> int:
    return _outcomes(current().client.fetch(call))


def _outcomes(done: Any) -> int:
    session = current()
    rows = [[each["id"], each.get("job_id") or each.get("state"), each.get("detail")] for each in show.items(done)]
    session.show(done, lambda _: show.table(["id", "now", "why not"], rows))
    if done.get("more"):
        session.say("further jobs fit: run it again")
    return 0 if all(each["ok"] for each in show.items(done)) else 1


@app.command(name="llm-calls")
def llm_calls(id: JobId) -> None:
    """List every attempt to call a model: the model called, the model that answered, and the cost."""
    answer(jobs.llm_calls(id), _calls)


@app.command
def source(
    id: JobId, path: Annotated[str | None, Parameter(help="File of the source, such as src/main.py")] = None
) -> None:
    """List the files that a detection has read, or print one that a claim rests on."""
    answer(jobs.source(id, path), _source)


def _source(source: Any) -> str:
    if source["text"] is None:
        return "\n".join(source["files"])
    return "\n".join(
        f"{number:5} {line}" for number, line in enumerate(source["text"]["lines"], source["text"]["first"])
    )


@app.command(name="llm-call")
def llm_call(id: JobId, call: Annotated[int, Parameter(help="Its id, as llm-calls --json has it")]) -> None:
    """Show the messages and the answer of one call, if they are kept (`ASSAY_LLM_TEXTS`)."""
    answer(jobs.llm_call(id, call), _words)


def _words(call: Any) -> str:
    if call["messages"] is None:
        return f"its words are not kept: ASSAY_LLM_TEXTS is {call['keeps']}"
    said = [(each["role"], each["content"]) for each in call["messages"]]
    return "\n\n".join(f"--- {role}\n{text}" for role, text in [*said, ("answer", call["answer"] or "")])


@app.command(name="rm")
def delete(*id: JobId) -> None:
    """Delete jobs that have ended, with their events and files."""
    for each in id:
        current().client.fetch(jobs.delete(each))


@app.command
def deliveries(id: JobId) -> None:
    """List every attempt to deliver a job's webhook, and its outcome."""
    answer(jobs.deliveries(id), _deliveries)


@app.command
def redeliver(id: JobId, delivery: Annotated[str | None, Parameter(help="By default the latest")] = None) -> None:
    """Deliver a job's webhook again, now."""
    if delivery is None:
        attempts = current().client.fetch(jobs.deliveries(id))["items"]
        if not attempts:
            raise UsageError(f"the webhook of job {id} has not been tried yet, or it has none")
        delivery = str(attempts[0]["id"])
    answer(jobs.redeliver(id, delivery), lambda made: f"job {id} is delivered again to {made['url']}")


def _deliveries(log: Any) -> str:
    columns = ["id", "attempt", "outcome", "status", "seconds", "at", "why"]
    rows = [
        [each["id"], each["attempt"], each["outcome"], each["http_status"], each["seconds"], show.clock(each["at"]),
         each["detail"]]
        for each in log["items"]
    ]  # fmt: skip
    following = f"next attempt {show.clock(log['next_at'])}" if log["pending"] else "no further attempt"
    return f"{show.table(columns, rows)}\n{log['url'] or 'no webhook'}: {following}"


def _tell_result(session: CommandLine, job: dict[str, Any]) -> None:
    session.out(json.dumps(job["result"], indent=2, ensure_ascii=False))


def _rows(page: Any) -> str:
    return show.table(
        ["id", "kind", "state", "attempt", "created", "why"],
        [
            [job["id"], job["kind"], job["state"], job["attempt"], show.clock(job["created_at"]), _why(job)]
            for job in show.items(page)
        ],
    )


def _why(job: dict[str, Any]) -> str:
    if job.get("waiting"):
        return str(job["waiting"]["reason"])
    return first_line(str((job.get("error") or {}).get("detail") or ""), 60)


def _calls(answer: Any) -> str:
    return show.table(
        ["turn", "role", "requested", "served", "reason", "outcome", "in", "out", "cost_usd", "seconds"],
        [
            [
                call["turn"], call["role"], _model(call["requested"]), _model(call["served"]), call["reason"],
                call["outcome"], call["input_tokens"], call["output_tokens"], _dollars(call["cost_usd"]),
                f"{call['seconds']:.2f}",
            ]
            for call in show.items(answer)
        ],
    )  # fmt: skip


def _model(name: dict[str, Any] | None) -> str | None:
    return f"{name['provider']}/{name['model']}" if name else None


def _dollars(cost: float | None) -> str | None:
    return None if cost is None else f"{cost:.6g}"
