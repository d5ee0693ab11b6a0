"""`assay transform`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from assay import submits
from assay.commands import code_file as kept_code
from assay.commands import datafiles, tables
from assay.commands.code_file import KeptCode
from assay.commands.reading import Reading
from assay.commands.run import Asking, given, run
from assay.commands.session import ASKED, CommandLine, UsageError, current
from shared.languages import LANGUAGES, language_of_file

if TYPE_CHECKING:  # a Literal made from a table is more than a type checker can follow
    _Language: TypeAlias = str
else:
    _Language = Literal[tuple(name for name, row in LANGUAGES.items() if row.transforms)]
_PLAIN, _READING = Asking(), Reading()


def transform(
    file: Annotated[
        str, Parameter(help="A file, a folder or 'GLOB' of files; - is standard input", allow_leading_hyphen=True)
    ],
    task: Annotated[str | None, Parameter(help="What to do with the data; not needed with --code")] = None,
    *,
    data: Annotated[Sequence[str], Parameter(help="NAME=FILE: another data set", negative="")] = (),
    name: Annotated[str, Parameter(help="The name of the first data set in the code")] = "data",
    reading: Reading = _READING,
    language: Annotated[_Language | None, Parameter(help="Language of the code")] = None,
    dataframe: Annotated[
        Literal["pandas", "polars"] | None, Parameter(help="Data-frame library of Python code")
    ] = None,
    output: Annotated[
        Literal["table", "plot"] | None,
        Parameter(help="By default a plot if -o ends in .png or .svg, else a table"),
    ] = None,
    strategy: Annotated[
        Literal["deterministic", "tools"] | None, Parameter(help="Whether the model writes code or calls tools")
    ] = None,
    check: Annotated[Sequence[str], Parameter(name="--assert", help='For example "rows == 12"', negative="")] = (),
    max_iterations: Annotated[int | None, Parameter(help="Maximum number of attempts")] = None,
    confirm: Annotated[
        Literal["auto", "always", "never"] | None,
        Parameter(help="When the model is shown a good result before the job ends"),
    ] = None,
    mask: Annotated[Sequence[str], Parameter(help="A column whose values no model may see", negative="")] = (),
    rows: Annotated[int | None, Parameter(help="Rows of the preview that the model sees")] = None,
    code: Annotated[
        str | None,
        Parameter(help="FILE with your own code instead of a model's, one of --code-out, or the code itself"),
    ] = None,
    expects: Annotated[
        Sequence[str], Parameter(help="[DATA.]COLUMN[:TYPE] that the code was made for", negative="")
    ] = (),
    allow_drift: Annotated[bool, Parameter(help="Run the code although columns have changed", negative="")] = False,
    answer: Annotated[
        Sequence[str],
        Parameter(help="The reply to the model's question; with --conversation, to its last one", negative=""),
    ] = (),
    out: Annotated[
        Path | None, Parameter(name=["-o", "--out"], help="Save every row here, in the form that the ending says")
    ] = None,
    format: Annotated[tables.StreamFormat | None, Parameter(help="How all rows are printed; csv when piped")] = None,
    code_out: Annotated[
        Path | None, Parameter(help="Save code, columns, assertions here; --code runs it again")
    ] = None,
    sending: Asking = _PLAIN,
) -> int:
    """Have code written for a task on your data, run and checked; print the resulting table.

    A question of the model's goes to standard error, and the exit status is 6. An unverified result is printed and
    saved all the same, with the reasons on standard error, and the exit status is 7.
    """
    kept = KeptCode("") if code is None else kept_code.given_code(code)
    checks = (*check, *(text for text in kept.assertions if text not in check))
    task = task or kept.task
    dataframe = dataframe or kept.dataframe  # type: ignore[assignment]  # the server checks what a file says
    saving = _Saving(out, code_out, format, task or _run_task(code), dataframe, checks)
    saving.check(output)
    if output is None and out is not None and tables.is_plot(out):
        output = "plot"
    answers = list(answer)
    if sending.conversation is not None and answers and task is None:
        task = answers.pop(0)
    if task is None and code is None:
        raise UsageError('missing task. Usage: assay transform FILE "TASK"')
    if task is not None and _are_swapped(file, task):
        raise UsageError(f'the file comes first, then the task: assay transform {task} "{file[:200]}"')
    fields = given(
        language=language or _language_of(code), dataframe=dataframe, output=output, strategy=strategy,
        assertions=checks, max_iterations=max_iterations, confirm=confirm,
        preview=given(mask=tuple(mask), rows=rows) or None, code=kept.code or None,
    )  # fmt: skip
    client = current().client
    sets = datafiles.data_sets(name, file, data, reading)
    expected = {**kept.expects, **kept_code.expected(expects, list(sets))}
    if expected:
        fields |= {"expects": expected, "on_drift": "report" if allow_drift else "fail"}
    input = client.drive(submits.transform_input(client.options, task or _run_task(code), sets, fields))
    while True:
        status = run("transform", input, sending, saving.tell, keep=saving.keep)
        if saving.asked is None:
            return status
        if not answers:
            _tell_question(current(), saving.asked, file)
            return ASKED
        input = {**input, "task": answers.pop(0)}
        sending = replace(sending, conversation=saving.asked["conversation_id"])


def _are_swapped(file: str, task: str) -> bool:
    """Return whether the task was given first: it names a file, and what should be the file does not."""
    is_pattern = file == "-" or any(sign in file for sign in "*?[")
    return not is_pattern and not os.path.exists(file) and os.path.isfile(task)


@dataclass
class _Saving:
    """Where a result goes."""

    out: Path | None
    code_out: Path | None
    format: str | None
    task: str
    dataframe: str | None
    assertions: Sequence[str]
    asked: dict[str, Any] | None = None  #: the job whose result is a question

    def check(self, output: str | None) -> None:
        """Check the options before any cost arises. Raises: UsageError."""
        if self.out is not None:
            tables.check_target(self.out, output)
        if self.code_out is not None:
            tables.check_folder(self.code_out)

    def keep(self, session: CommandLine, job: dict[str, Any]) -> None:
        result = job["result"]
        self.asked = job if result["status"] == "question" else None
        if self.asked is not None:
            return
        if self.out is not None:
            tables.save(session, job["id"], result, self.out)
        if self.code_out is not None and result["code"]:
            kept_code.write(self.code_out, self.task, result, self.dataframe, self.assertions)
            session.say(f"saved {self.code_out}")

    def tell(self, session: CommandLine, job: dict[str, Any]) -> None:
        result = job["result"]
        if self.asked is not None:
            return
        for data in result["inputs"]:
            if data.get("notes"):
                session.say(f"how {data['name']} was read: {'; '.join(data['notes'])}")
        if result["explanation"]:
            session.say(result["explanation"])
        if result["status"] == "best_so_far":
            session.warn("the budget was spent: this is the best result so far")
        for reason in result.get("unverified_because") or ():
            session.warn(f"unverified: {reason['message']}")
        if self.out is not None and self.format is None and not sys.stdout.isatty():
            return  # a user who names a file does not need the rows on a pipe
        if result["table"] is None:
            session.out(str(result["plot_file_id"]))
            return
        tables.show_table(session, job["id"], result["table"], self.format)


def _run_task(code: str | None) -> str:
    return "Run own code" if code is None or kept_code.is_text(code) else f"Run {code}"


def _language_of(code: str | None) -> str | None:
    """Return the language that the code's extension means. Raises: UsageError when transforms do not support it."""
    if code is None:
        return None
    if kept_code.is_text(code):
        names = " or ".join(row.name for row in LANGUAGES.values() if row.transforms)
        raise UsageError(f"say what the code is written in: --language {names}")
    known = language_of_file(code)
    if known is None or not known.transforms:
        endings = [
            f"{ending} ({row.title})" for row in LANGUAGES.values() if row.transforms for ending in row.extensions
        ]
        raise UsageError(
            f"cannot detect the language from {Path(code).suffix or code!r}; "
            f"use one of {', '.join(endings)}, or --language"
        )
    return known.name


def _tell_question(session: CommandLine, job: Mapping[str, Any], file: str) -> None:
    session.warn(f"the model has a question: {job['result']['question'] or '(nothing)'}")
    words = ["assay", "transform", file, "--conversation", job["conversation_id"], "--answer"]
    session.warn(f'continue with: {shlex.join(words)} "..."')
