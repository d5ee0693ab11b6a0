"""`assay execute`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from assay import submits
from assay.commands.file_kinds import check_kind
from assay.commands.ids import job_id_of
from assay.commands.program_output import Printed
from assay.commands.run import Sending, given, no_network, readable, run, text_of, unsent_file
from assay.commands.session import CommandLine, UsageError, current
from shared.languages import DEFAULT_LANGUAGE, LANGUAGES, language_of_file

if TYPE_CHECKING:  # a Literal made from a table is more than a type checker can follow
    _Language: TypeAlias = str
else:
    _Language = Literal[tuple(LANGUAGES)]
_PLAIN = Sending()


def execute(
    file: Annotated[
        str | None, Parameter(help="The program; - reads it from standard input", allow_leading_hyphen=True)
    ] = None,
    /,
    *,
    code: Annotated[
        str | None, Parameter(name=["-c", "--code"], help="The program itself", allow_leading_hyphen=True)
    ] = None,
    language: Annotated[_Language | None, Parameter(help="Language of the code")] = None,
    attach: Annotated[
        Sequence[str], Parameter(name=["--file", "--attach"], help="FILE or FILE=PATH-IN-SANDBOX", negative="")
    ] = (),
    stdin: Annotated[Path | None, Parameter(help="What the program reads from standard input")] = None,
    wall_seconds: Annotated[float | None, Parameter(help="Limit of the run time, in seconds")] = None,
    cpu_seconds: Annotated[float | None, Parameter(help="Limit of the processor time, in seconds")] = None,
    memory_mb: Annotated[int | None, Parameter(help="Limit of the memory, in MB")] = None,
    processes: Annotated[int | None, Parameter(help="Limit of the number of processes")] = None,
    seed: Annotated[int | None, Parameter(help="Seed of random numbers")] = None,
    session: Annotated[bool, Parameter(help="Keep the interpreter for --continue", negative="")] = False,
    continues: Annotated[
        str | None,
        Parameter(name="--continue", converter=job_id_of, help="JOB or @last: continue where that session ended"),
    ] = None,
    save: Annotated[Path | None, Parameter(help="A folder for the files that the program made")] = None,
    check: Annotated[bool, Parameter(help="Exit with 1 unless the verdict is ok", negative="")] = False,
    sending: Sending = _PLAIN,
) -> int:
    """Run a program in the sandbox and print what it prints, while it runs.

    A program that fails is a job that succeeded, with a verdict: exit status 0, unless --check is given.
    """
    if code is None:
        if file is None:
            raise UsageError("missing program. Usage: assay execute FILE, or -c CODE, or - for standard input")
        code = sys.stdin.read() if file == "-" else text_of(Path(file))
    elif file is not None:
        raise UsageError("give a file or -c CODE, not both")
    else:
        _check_code(code)
    files = {target: readable(Path(path)) for path, target in map(_attachment, attach)}
    limits = given(wall_seconds=wall_seconds, cpu_seconds=cpu_seconds, memory_mb=memory_mb, processes=processes)
    fields = given(
        language=language or _language_of(file or "-"),
        stdin=text_of(stdin) if stdin else None,
        limits=limits or None,
        seed=seed,
        session=True if session or continues else None,
        continues=continues,
    )
    client, printed = current().client, Printed()
    input = client.drive(submits.execute_input(client.options, code, files, fields))
    bad = False

    def tell(session: CommandLine, job: dict[str, Any]) -> None:
        nonlocal bad
        bad = job["result"]["verdict"] != "ok"
        _tell_execution(session, job["result"], printed)
        if save is not None:
            _save_artifacts(session, job["result"], save)

    status = run("execute", input, sending, tell, printed=printed)
    return status or int(check and bad)


def _check_code(code: str) -> None:
    """Refuse the name of a file where code is expected. Raises: UsageError."""
    if len(code.split()) == 1 and Path(code).suffix and Path(code).is_file():
        check_kind(Path(code), "program")
        raise UsageError(f"-c takes the program's text, and {code} is a file: assay execute {code}")


def _language_of(file: str) -> str:
    """Return the language that a program's file extension means. Raises: UsageError for an unknown one."""
    if file == "-":
        return DEFAULT_LANGUAGE
    if (known := language_of_file(file)) is None:
        check_kind(Path(file), "program")
        endings = [f"{ending} ({row.title})" for row in LANGUAGES.values() for ending in row.extensions]
        raise UsageError(
            f"cannot detect the language from {Path(file).suffix or file!r}; "
            f"use one of {', '.join(endings)}, or --language"
        )
    return known.name


def _attachment(text: str) -> tuple[str, str]:
    path, equals, target = text.partition("=")
    return (path, target) if equals else (path, Path(path).name)


def _tell_execution(session: CommandLine, result: dict[str, Any], printed: Printed) -> None:
    printed.finish(result)
    for display in result["displays"]:
        if display.get("file_id"):
            session.say(f"display {display['media_type']}: assay files get {display['file_id']}")
        elif display.get("text"):
            session.out(display["text"])
    if result["value"] is not None:
        session.out(str(result["value"]["text"]))
    if result["error"] is not None:
        _tell_error(session, result["error"], result["stderr"])
        said = f"{result['error']['message']}\n{result['stderr']}"
        if hint := unsent_file(said) or no_network(said):
            session.warn(hint)
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
