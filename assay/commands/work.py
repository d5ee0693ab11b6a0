"""`assay detect`, `search`, `ingest`, `doc`, and `assay collection`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from assay import submits
from assay.calls import files, jobs, rest
from assay.commands import show
from assay.commands.run import Sending, given, pair, readable, run
from assay.commands.session import Session, UsageError, current

collection = App(name="collection", help="Collections that `ingest` fills and `search` searches.")
_PLAIN = Sending()


def detect(
    source: Annotated[str, Parameter(help="A folder, an archive, or the https URL of a repository")],
    *,
    mode: Annotated[str | None, Parameter(help="full, static (no model) or llm_only")] = None,
    ref: Annotated[str | None, Parameter(help="Branch, tag or commit of a repository")] = None,
    root: Annotated[str | None, Parameter(help="Only this folder of it")] = None,
    format: Annotated[str | None, Parameter(help="universalbuild, cyclonedx or dockerfile")] = None,
    sending: Sending = _PLAIN,
) -> int:
    """Find every technology of a source tree, with evidence."""
    if "://" not in source:
        readable(Path(source))
    client = current().client
    input = client.drive(submits.detect_input(client.options, source, given(mode=mode, ref=ref, root=root)))

    def tell(session: Session, job: dict[str, Any]) -> None:
        if format is not None:
            session.out(session.client.send(jobs.result_form(job["id"], format)).decode("utf-8", "replace"))
        else:
            session.out(
                show.table(["path", "name", "kind", "what", "version", "sure", "evidence"], _found(job["result"]))
            )

    return run("detect", input, sending, tell)


def search(
    collection: str,
    question: str,
    *,
    table: Annotated[Sequence[str], Parameter(help="Only these tables", negative="")] = (),
    filter: Annotated[Sequence[str], Parameter(help="FIELD=VALUE", negative="")] = (),
    limit: int | None = None,
    answer: Annotated[bool, Parameter(help="--no-answer only lists what was found")] = True,
    reflection: Annotated[bool, Parameter(help="--no-reflection asks no model for another plan")] = True,
    explain: Annotated[bool, Parameter(help="Show every query that was tried", negative="")] = False,
    sending: Sending = _PLAIN,
) -> int:
    """Search a collection for the answer to a question."""
    input = given(
        collection=collection, question=question, tables=tuple(table),
        filters={key: _value(value) for key, value in map(pair, filter)} or None, limit=limit,
        answer=None if answer else False, reflection=None if reflection else False,
    )  # fmt: skip

    def tell(session: Session, job: dict[str, Any]) -> None:
        _tell_search(session, job["result"], explain=explain)

    return run("search", input, sending, tell)


def ingest(
    collection: str,
    table: str,
    file: Path,
    *,
    format: Literal["auto", "jsonl", "csv", "parquet", "pentabarf", "pretalx"] | None = None,
    sending: Sending = _PLAIN,
) -> int:
    """Fill a table of a collection from a file."""
    info = current().client.send(files.put(readable(file)))
    input = given(collection=collection, table=table, file_id=info.id, format=format)

    def tell(session: Session, job: dict[str, Any]) -> None:
        result = job["result"]
        counts = [f"{result[name]} {name}" for name in ("ingested", "updated", "unchanged", "deleted")]
        session.out(", ".join(counts))
        for error in result["errors"]:
            session.warn(f"record {error['index']}: {error['message']}")

    return run("ingest", input, sending, tell)


def doc(
    file: Path,
    *,
    out: Annotated[Path | None, Parameter(name=["-o", "--out"], help="Write the Markdown here")] = None,
    html: Annotated[Path | None, Parameter(help="Write the HTML here")] = None,
    set: Annotated[Sequence[str], Parameter(help="PARAMETER=VALUE", negative="")] = (),
    flavour: Literal["stencila", "quarto", "myst"] | None = None,
    execute: Literal["stale", "all", "none"] | None = None,
    model: str | None = None,
    dry_run: Annotated[bool, Parameter(help="Only say what would run and what it would cost", negative="")] = False,
    sending: Sending = _PLAIN,
) -> int:
    """Run a document's code, then its instructions, and print the Markdown."""
    input = given(
        markdown=readable(file).read_text("utf-8"), flavour=flavour, execute=execute, model=model,
        parameters={key: _value(value) for key, value in map(pair, set)} or None, dry_run=dry_run or None,
    )  # fmt: skip

    def tell(session: Session, job: dict[str, Any]) -> None:
        result = job["result"]
        for block in result["blocks"]:
            for message in block["messages"]:
                session.say(f"line {block['lines'][0]}: {message['level']}: {message['text']}")
        if html is not None and result.get("html_file_id"):
            session.client.files.save(result["html_file_id"], html)
        if dry_run and result.get("estimate"):
            session.out(json.dumps(result["estimate"]))
        elif out is not None:
            out.write_text(result["markdown"], "utf-8")
        else:
            session.out(result["markdown"])

    return run("document", input, sending, tell)


@collection.command
def create(name: str, tables: Annotated[Path, Parameter(help="JSON: table -> facets, fields, pair")]) -> int:
    """Create a collection."""
    try:
        spec = json.loads(readable(tables).read_text("utf-8"))
    except ValueError as error:
        raise UsageError(f"{tables} is not JSON: {error}") from error
    current().show(current().client.fetch(rest.create_collection(name, spec)), lambda made: str(made["name"]))
    return 0


@collection.command(name="ls")
def list_collections() -> int:
    """List collections."""
    current().show(
        current().client.fetch(rest.collections(limit=200)),
        lambda page: show.table(
            ["name", "tables", "created"],
            [[each["name"], ",".join(each["tables"]), show.clock(each["created_at"])] for each in show.items(page)],
        ),
    )
    return 0


@collection.command
def get(name: str) -> int:
    """Show a collection's tables."""
    current().show(current().client.fetch(rest.collection(name)), lambda answer: json.dumps(answer, indent=2))
    return 0


@collection.command
def rm(name: str) -> int:
    """Delete a collection with all that is in it."""
    current().client.collections.delete(name)
    return 0


def _value(text: str) -> object:
    """A number, a truth value, a list or a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _found(result: dict[str, Any]) -> list[list[object]]:
    return [
        [
            service["path"] or ".", service["name"], each["kind"], each["id"], each["version"],
            f"{each['confidence']:.2f}", _place(each["evidence"]),
        ]
        for service in result["services"]
        for each in service["candidates"]
    ]  # fmt: skip


def _place(evidence: list[dict[str, Any]]) -> str | None:
    if not evidence:
        return None
    first = evidence[0]
    return f"{first['file']}:{first['line']}" if first["line"] is not None else str(first["file"])


def _tell_search(session: Session, result: dict[str, Any], *, explain: bool) -> None:
    if explain:
        for attempt in result["attempts"]:
            session.say(f"attempt {attempt['number']} ({attempt['strategy']}): {attempt['reasoning']}")
            for query in attempt["queries"]:
                session.say(f"  {query['table']}: {query['query_text']!r} -> {query['error'] or query['hits']}")
    if result["answer"]:
        session.out(result["answer"])
    rows = [
        [table, hit["id"], hit["name"], f"{hit['score']:.3f}", hit["label"]]
        for table, hits in result["hits"].items()
        for hit in hits
    ]
    if rows:
        session.out(show.table(["table", "id", "name", "score", "label"], rows))
    if result["verdict"] != "found":
        session.say(f"verdict: {result['verdict']}")
