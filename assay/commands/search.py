"""`assay search`, `ingest`, and `assay collection`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from assay.calls import files, rest
from assay.commands import new_collection, show
from assay.commands.file_kinds import TABLE_ENDINGS
from assay.commands.reading import Reading
from assay.commands.run import Asking, Sending, given, pair, readable, run, text_of
from assay.commands.session import CommandLine, UsageError, answer, current
from assay.packing import pack

collection = App(name="collection", help="Collections that `ingest` fills and `search` searches.")
_PLAIN, _ASKING, _READING = Sending(), Asking(), Reading()


_Collection = Annotated[str | None, Parameter(name=["-c", "--collection"], help="The collection")]


def search(
    question: Annotated[str, Parameter(help="The question; without -c, the collection and then the question")],
    second: Annotated[str | None, Parameter(show=False)] = None,
    /,
    *,
    collection: _Collection = None,
    table: Annotated[Sequence[str], Parameter(name=["-t", "--table"], help="Only these tables", negative="")] = (),
    filter: Annotated[
        Sequence[str],
        Parameter(
            help='FIELD=VALUE; VALUE may be JSON: null, ["a", "b"], {"gte": 1}, {"not": "a"}; all of them must hold',
            negative="",
        ),
    ] = (),
    relax_filters: Annotated[
        bool, Parameter(help="A retry may drop filters when nothing is within them", negative="")
    ] = False,
    limit: Annotated[int | None, Parameter(help="Maximum number of hits per table")] = None,
    answer: Annotated[bool, Parameter(help="--no-answer only lists what was found")] = True,
    reflection: Annotated[bool, Parameter(help="--no-reflection calls no model for another plan")] = True,
    explain: Annotated[bool, Parameter(help="Show every query that was tried", negative="")] = False,
    sending: Asking = _ASKING,
) -> int:
    """Search a collection for the answer to a question."""
    if collection is None:
        if second is None:
            raise UsageError("name the collection: -c NAME")
        collection, question = question, second
    elif second is not None:
        raise UsageError("put the question in quotes")
    input = given(
        collection=collection, question=question, tables=tuple(table),
        filters=_filters(filter), limit=limit,
        relax_filters=relax_filters or None, answer=None if answer else False, reflection=None if reflection else False,
    )  # fmt: skip

    def tell(session: CommandLine, job: dict[str, Any]) -> None:
        _tell_search(session, job["result"], explain=explain)

    return run("search", input, sending, tell)


def ingest(
    file: Annotated[
        str, Parameter(help="A file, folder or archive; without -c, the collection, the table and then the file")
    ],
    second: Annotated[str | None, Parameter(show=False)] = None,
    third: Annotated[str | None, Parameter(show=False)] = None,
    /,
    *,
    collection: _Collection = None,
    table: Annotated[str | None, Parameter(name=["-t", "--table"], help="Needed when there are several")] = None,
    format: Annotated[
        Literal[
            "auto",
            "jsonl",
            "csv",
            "excel",
            "parquet",
            "arrow",
            "pentabarf",
            "pretalx",
            "markdown",
            "html",
            "pdf",
            "docx",
            "text",
            "archive",
        ]
        | None,
        Parameter(help="File format; auto detects it"),
    ] = None,
    id: Annotated[str | None, Parameter(help="The column that identifies a record")] = None,
    name: Annotated[str | None, Parameter(help="The column that names it")] = None,
    text: Annotated[Sequence[str], Parameter(help="A column of its text; may be repeated", negative="")] = (),
    map: Annotated[
        Sequence[str], Parameter(help="id=COLUMN,name=COLUMN,FIELD=COLUMN: columns with other names", negative="")
    ] = (),
    reading: Reading = _READING,
    auto_ids: Annotated[bool, Parameter(help="Make the ids from the rows themselves", negative="")] = False,
    create: Annotated[bool, Parameter(help="Make the collection from what the file holds", negative="")] = False,
    dry_run: Annotated[bool, Parameter(help="Show what the columns would become; write nothing", negative="")] = False,
    sending: Sending = _PLAIN,
) -> int:
    """Fill a table of a collection from a file; 1 when a record was refused, the others are taken.

    A file is a table, JSON lines, a document (Markdown, HTML, PDF, Word, text), or a folder or archive of them:
    assay ingest ./handbook -c docs. --create makes the collection from the file's columns, --dry-run shows what they
    would become.
    """
    if collection is None:
        words = [word for word in (file, second, third) if word is not None]
        if len(words) != (2 if table else 3):
            raise UsageError("name the collection: -c NAME")
        collection, file = words[0], words[-1]
        table = table or words[1]
    elif second is not None:
        raise UsageError("one file at a time")
    columns = new_collection.mapped(new_collection.Columns(id, name, tuple(text), auto_ids), map)
    filling = _Filling(readable(Path(file)), collection, table, columns, reading.options())
    if dry_run:
        filling.show()
        return 0
    given_file = filling.created() if create else filling.uploaded()
    input = given(collection=collection, format=format, **given_file)

    def tell(session: CommandLine, job: dict[str, Any]) -> None:
        result = job["result"]
        counts = [f"{result[name]} {name}" for name in ("ingested", "updated", "unchanged", "deleted")]
        session.out(", ".join(counts))
        for note in result.get("notes", ()):
            session.say(note)
        for error in result["errors"]:
            named = f" ({error['id']})" if error["id"] else ""
            session.warn(f"record {error['index']}{named}: {error['message']}")

    refused = False

    def keep(_session: CommandLine, job: dict[str, Any]) -> None:
        nonlocal refused
        refused = bool(job["result"]["errors"])

    return run("ingest", input, sending, tell, keep=keep) or int(refused)


@collection.command
def create(
    name: Annotated[str, Parameter(help="Collection name")],
    tables: Annotated[str, Parameter(help="FILE or JSON: table -> facets, fields, pair")],
) -> None:
    """Create a collection."""
    is_text = tables.lstrip().startswith("{")
    if not is_text and Path(tables).suffix.lower() in TABLE_ENDINGS and Path(tables).suffix.lower() != ".json":
        raise UsageError(
            f"{readable(Path(tables))} holds records; a collection is created from them by "
            f"`assay ingest {tables} -c {name} --create`"
        )
    try:
        spec = json.loads(tables if is_text else text_of(Path(tables)))
    except ValueError as error:
        raise UsageError(f"{'the text' if is_text else tables} is not JSON: {error}") from error
    answer(rest.create_collection(name, spec), lambda made: str(made["name"]))


@collection.command(name="attempts")
def search_attempts(
    name: Annotated[str, Parameter(help="Collection name")], *, limit: Annotated[int, Parameter(help="1 to 200")] = 20
) -> None:
    """List what searches of a collection have tried, and what each attempt found."""
    columns = ["job", "attempt", "strategy", "queries", "hits", "new"]
    answer(
        rest.search_attempts(name, limit),
        show.listing(
            columns,
            lambda each: [
                each["job_id"],
                each["number"],
                each["strategy"],
                len(each["queries"]),
                sum(query["hits"] for query in each["queries"]),
                each["gain"],
            ],
        ),
    )


@collection.command(name="records")
def list_records(
    name: Annotated[str, Parameter(help="Collection name")],
    table: Annotated[str, Parameter(help="Table name")],
    *,
    after: Annotated[str | None, Parameter(help="`next` of the page before")] = None,
    limit: Annotated[int, Parameter(help="1 to 200")] = 50,
    sending: Sending = _PLAIN,
) -> int:
    """List what a table of a collection holds."""

    def tell(session: CommandLine, job: dict[str, Any]) -> None:
        result = job["result"]
        rows = [
            [each["id"], each["name"], _line(each["text"]), json.dumps(each["fields"])] for each in result["records"]
        ]
        session.out(show.table(["id", "name", "text", "fields"], rows))
        if result["next"] is not None:
            session.warn(f"{len(rows)} of {result['total']:,} records; more: --after {result['next']}")

    return run("records", given(collection=name, table=table, after=after, limit=limit), sending, tell)


def _line(text: str) -> str:
    return " ".join(text.split())[:80]


@collection.command(name="ls")
def list_collections() -> None:
    """List collections."""
    answer(
        rest.collections(limit=200),
        lambda page: show.table(
            ["name", "tables", "created"],
            [[each["name"], ",".join(each["tables"]), show.clock(each["created_at"])] for each in show.items(page)],
        ),
    )


@collection.command
def get(name: Annotated[str, Parameter(help="Collection name")]) -> None:
    """Show a collection's tables."""
    answer(rest.collection(name), lambda answer: json.dumps(answer, indent=2))


@collection.command
def rm(name: Annotated[str, Parameter(help="Collection name")]) -> None:
    """Delete a collection with all that is in it."""
    current().client.collections.delete(name)


@dataclass(frozen=True)
class _Filling:
    """A file, and the table that it is to fill."""

    source: Path
    collection: str
    table: str | None
    columns: new_collection.Columns
    stated: Mapping[str, Any]

    def uploaded(self) -> dict[str, Any]:
        """Upload the file for a table that there is; return these parts of the job's input."""
        table = self.table or _table_to_fill(self.collection)
        return self._input(table, self._upload(), self.columns.said)

    def created(self) -> dict[str, Any]:
        """Upload the file and make its table; return these parts of the job's input."""
        file_id = self._upload()
        if new_collection.has_documents(self.source):
            new_collection.make(self.collection, self._name, new_collection.DOCUMENTS)
            return self._input(self._name, file_id, self.columns.said)
        inferred = new_collection.look(file_id, self.columns, self.stated)
        new_collection.show_mapping(inferred, self.collection, self._name, alone=False)
        new_collection.make(self.collection, self._name, inferred.table)
        return self._input(self._name, file_id, inferred.mapping)

    def show(self) -> None:
        """Show what the columns would become. Raises: UsageError."""
        if new_collection.has_documents(self.source):
            raise UsageError("--dry-run shows what columns become, and documents have none")
        inferred = new_collection.look(self._upload(), self.columns, self.stated)
        new_collection.show_mapping(inferred, self.collection, self._name, alone=True)

    @property
    def _name(self) -> str:
        return self.table or new_collection.table_name(self.source)

    def _input(self, table: str, file_id: str, mapping: Mapping[str, Any] | None) -> dict[str, Any]:
        return {"table": table, "file_id": file_id, "mapping": mapping, **self.stated}

    def _upload(self) -> str:
        """Return the id of the file; a folder goes up as an archive."""
        client = current().client
        if not self.source.is_dir():
            return client.send(files.put(self.source)).id
        if not any(each.is_file() for each in self.source.rglob("*")):
            raise UsageError(f"the folder {self.source} holds no files")
        with tempfile.TemporaryFile() as archive:
            pack(self.source, archive)
            return client.send(files.put(archive, name=f"{self.source.resolve().name or 'documents'}.tar.gz")).id


def _table_to_fill(collection: str) -> str:
    from assay.errors import NotFound  # noqa: PLC0415

    try:
        return _only_table(collection)
    except NotFound as error:
        error.add_note("--create makes the collection from what the file holds, --dry-run shows how")
        raise


def _only_table(collection: str) -> str:
    """Return the collection's table, if there is only one."""
    names = sorted(current().client.fetch(rest.collection(collection))["tables"])
    if len(names) != 1:
        raise UsageError(f"the collection has several tables, choose one with -t: {', '.join(names)}")
    return str(names[0])


def _filters(texts: Sequence[str]) -> dict[str, object] | None:
    """Return the filters of an input; several on one field must all hold."""
    each = [(key, _value(value)) for key, value in map(pair, texts)]
    joined = dict(each)
    return joined or None if len(joined) == len(each) else {"and": [{key: value} for key, value in each]}


def _value(text: str) -> object:
    """Parse JSON, such as a number, a boolean or a list; anything else is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


_BEFORE_MARK = 20  #: characters before the first marked word


def _excerpt(passages: Sequence[Mapping[str, Any]]) -> str:
    """Return what is around the first word of the question in the best passage."""
    if not passages:
        return ""
    text, marks = passages[0]["text"], passages[0]["highlights"]
    start = max(marks[0]["start"] - _BEFORE_MARK, 0) if marks else 0
    page = f"p. {passages[0]['page']}: " if passages[0]["page"] else ""
    return f"{page}{'...' if start else ''}{_line(text[start:])}"


def _tell_search(session: CommandLine, result: dict[str, Any], *, explain: bool) -> None:
    if explain:
        for attempt in result["attempts"]:
            session.say(f"attempt {attempt['number']} ({attempt['strategy']}): {attempt['reasoning']}")
            for query in attempt["queries"]:
                session.say(f"  {query['table']}: {query['query_text']!r} -> {query['error'] or query['hits']}")
    if result["answer"]:
        session.out(result["answer"])
    rows = [
        [table, hit["id"], hit["name"], f"{hit['score']:.3f}", hit["label"], _excerpt(hit.get("passages", []))]
        for table, hits in result["hits"].items()
        for hit in hits
    ]
    if rows:
        session.out(show.table(["table", "id", "name", "score", "label", "passage"], rows))
    for cause in result["why_empty"]:
        if cause["hits_without"] and not rows:
            session.say(f"{cause['table']}: {cause['hits_without']} without {cause['constraint']}{_hint(cause)}")
        if cause.get("suggestions"):
            similar = ", ".join(cause["suggestions"])
            session.say(f"{cause['table']}: no record has that {cause['constraint']}; similar values: {similar}")
    if result["verdict"] != "found":
        session.warn(f"verdict: {result['verdict']}")


def _hint(cause: dict[str, Any]) -> str:
    return "" if cause["constraint"] == "score_threshold" else " (--relax-filters searches without it)"
