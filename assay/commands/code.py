"""`assay execute` and `assay transform`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from assay import submits
from assay.commands import show
from assay.commands.run import Sending, given, pair, readable, run, text_of
from assay.commands.session import CommandLine, UsageError, current
from shared.languages import LANGUAGES, language_of_file

if TYPE_CHECKING:  # a Literal made from a table is more than a type checker can follow
    _Language: TypeAlias = str
    _TransformLanguage: TypeAlias = str
else:
    _Language = Literal[tuple(LANGUAGES)]
    _TransformLanguage = Literal[tuple(name for name, row in LANGUAGES.items() if row.transforms)]
_PLAIN = Sending()
Repeated = Parameter(negative="")


def execute(
    file: Annotated[str, Parameter(help="The program; - reads it from standard input", allow_leading_hyphen=True)],
    /,
    *,
    language: _Language | None = None,
    attach: Annotated[
        Sequence[str], Parameter(name=["--file", "--attach"], help="FILE or FILE=PATH-IN-SANDBOX", negative="")
    ] = (),
    stdin: Annotated[Path | None, Parameter(help="What the program reads from standard input")] = None,
    wall_seconds: float | None = None,
    cpu_seconds: float | None = None,
    memory_mb: int | None = None,
    processes: int | None = None,
    seed: int | None = None,
    save: Annotated[Path | None, Parameter(help="A folder for the files that the program made")] = None,
    check: Annotated[bool, Parameter(help="Exit with 1 unless the verdict is ok", negative="")] = False,
    sending: Sending = _PLAIN,
) -> int:
    """Run a program in the sandbox and print what it printed.

    A program that fails is a job that succeeded, with a verdict: exit status 0, unless --check is given.
    """
    code = sys.stdin.read() if file == "-" else text_of(Path(file))
    files = {target: readable(Path(path)) for path, target in map(_attachment, attach)}
    limits = given(wall_seconds=wall_seconds, cpu_seconds=cpu_seconds, memory_mb=memory_mb, processes=processes)
    fields = given(
        language=language or (known.name if (known := language_of_file(file)) else "python"),
        stdin=text_of(stdin) if stdin else None,
        limits=limits or None,
        seed=seed,
    )
    client = current().client
    input = client.drive(submits.execute_input(client.options, code, files, fields))
    bad = False

    def tell(session: CommandLine, job: dict[str, Any]) -> None:
        nonlocal bad
        bad = job["result"]["verdict"] != "ok"
        _tell_execution(session, job["result"])
        if save is not None:
            _save_artifacts(session, job["result"], save)

    status = run("execute", input, sending, tell)
    return status or int(check and bad)


def transform(
    file: Annotated[Path, Parameter(help="The data: CSV, JSON, Parquet, Excel and so on")],
    task: Annotated[str, Parameter(help="What shall become of it")],
    *,
    data: Annotated[Sequence[str], Parameter(help="NAME=FILE: another data set", negative="")] = (),
    name: Annotated[str, Parameter(help="The name of the first data set in the code")] = "data",
    language: _TransformLanguage | None = None,
    dataframe: Literal["pandas", "polars"] | None = None,
    output: Annotated[Literal["table", "plot"] | None, Parameter(help="What is wanted")] = None,
    strategy: Literal["deterministic", "tools"] | None = None,
    check: Annotated[Sequence[str], Parameter(name="--assert", help='For example "rows == 12"', negative="")] = (),
    max_iterations: int | None = None,
    confirm: Literal["auto", "always", "never"] | None = None,
    mask: Annotated[Sequence[str], Parameter(help="A column whose values no model may see", negative="")] = (),
    rows: Annotated[int | None, Parameter(help="Rows of the preview that the model sees")] = None,
    code: Annotated[Path | None, Parameter(help="Your own code instead of a model's")] = None,
    out: Annotated[Path | None, Parameter(name=["-o", "--out"], help="Save the whole table (or plot) here")] = None,
    code_out: Annotated[Path | None, Parameter(help="Save the code that made it here; --code runs it again")] = None,
    sending: Sending = _PLAIN,
) -> int:
    """Have code written for a task on your data, run and checked; print the resulting table."""
    sets: dict[str, object] = {name: readable(file)}
    for other, path in map(pair, data):
        if other in sets:
            raise UsageError(f"two data sets are named {other!r}")
        sets[other] = readable(Path(path))
    fields = given(
        language=language, dataframe=dataframe, output=output, strategy=strategy, assertions=tuple(check),
        max_iterations=max_iterations, confirm=confirm, preview=given(mask=tuple(mask), rows=rows) or None,
        code=text_of(code) if code else None,
    )  # fmt: skip
    client = current().client
    input = client.drive(submits.transform_input(client.options, task, sets, fields))

    def tell(session: CommandLine, job: dict[str, Any]) -> None:
        _tell_table(session, job["result"], out)
        if code_out is not None and job["result"]["code"]:
            code_out.write_text(job["result"]["code"].rstrip("\n") + "\n", "utf-8")
            session.say(f"saved {code_out}")

    return run("transform", input, sending, tell)


def _attachment(text: str) -> tuple[str, str]:
    path, equals, target = text.partition("=")
    return (path, target) if equals else (path, Path(path).name)


def _tell_execution(session: CommandLine, result: dict[str, Any]) -> None:
    if result["stdout"]:
        session.out(result["stdout"])
    if result["stderr"]:
        session.warn(result["stderr"].rstrip("\n"))
    for display in result["displays"]:
        if display.get("file_id"):
            session.say(f"display {display['media_type']}: assay files get {display['file_id']}")
        elif display.get("text"):
            session.out(display["text"])
    if result["value"] is not None:
        session.out(str(result["value"]["text"]))
    if result["error"] is not None:
        _tell_error(session, result["error"], result["stderr"])
    if result["verdict"] != "ok":
        session.warn(f"verdict: {result['verdict']}")
    for artifact in result["artifacts"]:
        session.say(f"made {artifact['path']} ({artifact['size']} bytes): assay files get {artifact['file_id']}")


def _tell_error(session: CommandLine, error: dict[str, Any], stderr: str) -> None:
    said = (error.get("traceback") or f"{error['type']}: {error['message']}").rstrip("\n")
    if said not in stderr:  # most languages have written it there themselves
        session.warn(said)


def _save_artifacts(session: CommandLine, result: dict[str, Any], folder: Path) -> None:
    root = folder.resolve()
    for artifact in result["artifacts"]:
        target = (root / artifact["path"]).resolve()
        if not target.is_relative_to(root):
            continue  # the path is the program's word
        target.parent.mkdir(parents=True, exist_ok=True)
        session.client.files.save(artifact["file_id"], target)


def _tell_table(session: CommandLine, result: dict[str, Any], out: Path | None) -> None:
    if result["explanation"]:
        session.say(result["explanation"])
    if result["status"] == "question":
        session.out(result["question"] or "")
        return
    if result["status"] == "best_so_far":
        session.warn("the budget was spent: this is the best result so far")
    table = result["table"]
    file_id = table["file_id"] if table is not None else result["plot_file_id"]
    if out is not None and file_id is not None:
        session.client.files.save(file_id, out)
        session.say(f"saved {out}")
        if table is not None and out.suffix.lower() in (".csv", ".tsv", ".json", ".xlsx"):
            session.warn(f"{out} is a Parquet file, whatever its name says")
    if table is None:
        if out is None:
            session.out(str(file_id))
        return
    session.out(show.data_table([column["name"] for column in table["columns"]], table["rows"]))
    if table["row_count"] > len(table["rows"]):
        session.say(f"{len(table['rows'])} of {table['row_count']} rows; -o FILE.parquet saves all")
