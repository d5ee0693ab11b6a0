"""`assay flow`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from assay.calls import flows
from assay.commands import show
from assay.commands.file_kinds import check_kind
from assay.commands.run import Asking, given, readable, run, text_of
from assay.commands.session import CommandLine, UsageError, answer, current

app = App(name="flow", help="React Flow documents, edited in plain words.")
_PLAIN = Asking()


@app.command(name="ls")
def list_flows() -> None:
    """List flows."""
    columns = ["id", "name", "version"]
    answer(
        flows.page(limit=200),
        lambda page: show.table(
            columns, [[flow["id"], flow.get("name"), flow.get("version")] for flow in show.items(page)]
        ),
    )


@app.command
def create(file: Annotated[Path, Parameter(help="JSON, or Mermaid (.mmd)")]) -> None:
    """Keep a flow and print its id."""
    current().show(_create(readable(file)), lambda flow: str(flow["id"]))


@app.command
def new(name: Annotated[str, Parameter(help="Flow name")] = "flow") -> None:
    """Begin an empty flow and print its id."""
    flow = current().client.fetch(flows.create({"name": name, "nodes": [], "edges": []}))
    current().show(flow, lambda flow: str(flow["id"]))


@app.command(name="import")
def import_file(file: Annotated[Path, Parameter(help="JSON, or Mermaid (.mmd)")]) -> None:
    """Read a flow out of a file and print its id; lines that could not be read are named."""
    check_kind(file, "diagram")
    text = text_of(file)
    form: Literal["mermaid", "json"] = "json" if file.suffix == ".json" else "mermaid"
    session = current()
    flow = session.client.fetch(flows.import_text(form, text, file.stem))
    for warning in flow.get("warnings", []):
        session.say(f"line {warning['line']}: {warning['text']}")
    session.show(flow, lambda flow: str(flow["id"]))


@app.command
def edit(
    flow: Annotated[str, Parameter(help="A flow's id, or a file that becomes a new flow")],
    message: Annotated[str, Parameter(help="What to change")],
    *,
    propose: Annotated[bool, Parameter(help="Only propose the change", negative="")] = False,
    atomic: Annotated[bool, Parameter(help="All of it, or nothing", negative="")] = False,
    out: Annotated[Path | None, Parameter(name=["-o", "--out"], help="Write the flow here")] = None,
    sending: Asking = _PLAIN,
) -> int:
    """Change a flow in plain words."""
    session = current()
    id = flow
    if Path(flow).suffix in (".json", ".mmd"):
        id = str(_create(readable(Path(flow)))["id"])
        session.say(f"flow {id}")
    input = given(flow_id=id, message=message, mode="propose" if propose else None, atomic=atomic or None)

    def tell(session: CommandLine, job: dict[str, Any]) -> None:
        result = job["result"]
        for call, done in zip(result["tool_calls"], result["execution"], strict=False):
            mark = "done" if done["success"] else f"failed: {done.get('error')}"
            session.say(f"  {call['name']} {json.dumps(call['params'], ensure_ascii=False)}: {mark}")
        if result.get("proposal_id"):
            session.say(f"proposal {result['proposal_id']}: assay flow apply {id} {result['proposal_id']}")
        if out is not None:
            out.write_text(json.dumps(result["flow"], indent=2, ensure_ascii=False), "utf-8")
        if not result["success"] and not result["tool_calls"]:
            session.warn(f"nothing was changed: {result['thinking'] or '; '.join(result['errors'])}")
            return
        changed = result["tool_calls"] and not propose
        session.out(session.client.send(flows.export(id, "mermaid")) if changed else result["response"])

    return run("flow", input, sending, tell)


@app.command
def apply(
    id: Annotated[str, Parameter(help="Flow id")],
    proposal: Annotated[str, Parameter(help="Proposal id, as flow edit --propose prints it")],
) -> None:
    """Apply a proposal."""
    answer(flows.apply(id, proposal), lambda flow: "applied")


@app.command
def proposals(id: Annotated[str, Parameter(help="Flow id")]) -> None:
    """List the changes that were proposed, newest first."""
    columns = ["id", "state", "base_version", "time", "summary"]
    answer(flows.proposals(id), _table_of(columns))


@app.command
def proposal(
    id: Annotated[str, Parameter(help="Flow id")], proposal: Annotated[str, Parameter(help="Proposal id")]
) -> None:
    """Print a proposal as JSON."""
    answer(flows.proposal(id, proposal), lambda view: json.dumps(view, indent=2, ensure_ascii=False))


@app.command
def versions(id: Annotated[str, Parameter(help="Flow id")]) -> None:
    """List the versions of a flow, newest first."""
    answer(flows.versions(id), _table_of(["version", "kind", "time", "actor_name", "name"]))


@app.command
def branch(
    id: Annotated[str, Parameter(help="Flow id")],
    version: Annotated[int, Parameter(help="Version, as flow versions lists it")],
    *,
    name: Annotated[str | None, Parameter(help="Name of the new flow")] = None,
) -> None:
    """Begin a new flow from a version, and print its id."""
    answer(flows.branch(id, version, name), lambda flow: str(flow["id"]))


@app.command
def replace(
    id: Annotated[str, Parameter(help="Flow id")],
    file: Annotated[Path, Parameter(help="JSON, as flow show prints it")],
) -> None:
    """Replace a flow's document by that of a file; flow undo takes it back."""
    try:
        document = json.loads(text_of(file))
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}") from error
    answer(flows.replace(id, document), lambda flow: f"version {flow['version']}")


@app.command
def discard(
    id: Annotated[str, Parameter(help="Flow id")], proposal: Annotated[str, Parameter(help="Proposal id")]
) -> None:
    """Discard a proposal."""
    answer(flows.discard(id, proposal), lambda _: "discarded")


@app.command
def restore(
    id: Annotated[str, Parameter(help="Flow id")],
    version: Annotated[int, Parameter(help="Version, as flow versions lists it")],
) -> None:
    """Make an earlier version the current one."""
    answer(flows.restore(id, version), lambda _: f"version {version} is the current one again")


@app.command
def layout(
    id: Annotated[str, Parameter(help="Flow id")],
    *,
    direction: Annotated[
        Literal["LR", "TB"] | None, Parameter(help="From left to right, or from top to bottom")
    ] = None,
) -> None:
    """Arrange the visible nodes."""
    answer(flows.layout(id, direction), lambda _: "arranged")


@app.command
def lint(id: Annotated[str, Parameter(help="Flow id")]) -> None:
    """List what is legal in a flow and probably not meant."""
    answer(flows.lint(id), lambda view: "\n".join(each["message"] for each in view["findings"]))


@app.command
def rm(id: Annotated[str, Parameter(help="Flow id")]) -> None:
    """Delete a flow with its history."""
    current().client.fetch(flows.delete(id))


@app.command
def undo(
    id: Annotated[str, Parameter(help="Flow id")],
    *,
    scope: Annotated[Literal["all", "mine"] | None, Parameter(help="Whose changes: all, or mine")] = None,
) -> int:
    """Undo the last change."""
    return _step(current().client.fetch(flows.undo(id, scope)), "undone")


@app.command
def redo(
    id: Annotated[str, Parameter(help="Flow id")],
    *,
    scope: Annotated[Literal["all", "mine"] | None, Parameter(help="Whose changes: all, or mine")] = None,
) -> int:
    """Redo what was undone."""
    return _step(current().client.fetch(flows.redo(id, scope)), "redone")


@app.command(name="show")
def show_flow(id: Annotated[str, Parameter(help="Flow id")]) -> None:
    """Print a flow as JSON."""
    answer(flows.get(id), lambda flow: json.dumps(flow, indent=2, ensure_ascii=False))


@app.command
def history(id: Annotated[str, Parameter(help="Flow id")]) -> None:
    """List the changes of a flow."""
    answer(flows.history(id), _table_of(["version", "time", "actor", "origin", "summary", "tokens"]))


@app.command
def diff(
    id: Annotated[str, Parameter(help="Flow id")],
    old: Annotated[int, Parameter(help="Older version")],
    new: Annotated[int | None, Parameter(help="Newer version; the latest otherwise")] = None,
) -> None:
    """Print what changed between two versions of a flow, or since one."""
    answer(flows.diff(id, old, new), lambda diff: json.dumps(diff, indent=2, ensure_ascii=False))


@app.command
def export(
    id: Annotated[str, Parameter(help="Flow id")],
    *,
    format: Annotated[flows.Format, Parameter(help="Output format")] = "mermaid",
    direction: Annotated[flows.Direction | None, Parameter(help="Of a chart; else as the flow is drawn")] = None,
) -> None:
    """Print a flow as Mermaid, DOT, JSON or SVG."""
    session = current()
    session.out(session.client.send(flows.export(id, format, direction)))


def _table_of(columns: Sequence[str]) -> Callable[[Any], str]:
    """Return a printer of a page: a table of these fields."""
    return show.listing(columns, lambda each: [each.get(name) for name in columns])


def _create(file: Path) -> Any:
    text = file.read_text("utf-8")
    if file.suffix == ".mmd":
        answer = current().client.fetch(flows.import_text("mermaid", text))
        return answer.get("flow", answer)
    try:
        flow = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}") from error
    if "viewport" in flow:
        current().say("The viewport was left out: every page has its own.")
    return current().client.fetch(flows.create({"name": file.stem, **flow}))


def _step(answer: Any, done: str) -> int:
    current().show(
        answer, lambda answer: done if answer.get("success") else str(answer.get("message", "nothing to do"))
    )
    return 0 if answer.get("success") else 1
