"""`assay doc run`, `check` and `preview`: documents whose code runs before their prompts are sent to a model."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from assay.calls import files
from assay.commands import show
from assay.commands.describe import first_line
from assay.commands.doc_output import content_of
from assay.commands.doc_preview import watch
from assay.commands.file_kinds import check_kind
from assay.commands.ids import job_id_of
from assay.commands.run import Sending, given, pair, readable, run, unsent_file
from assay.commands.session import CommandLine, UsageError, current
from shared.amounts import amount

app = App(name="doc", help="Documents: run their code and their instructions, or only check them.")

Flavour = Literal["stencila", "quarto", "myst"]
_PLAIN = Sending()
_FLAVOURS = {".qmd": "quarto", ".smd": "stencila", ".myst": "myst"}
#: A longer text goes up as a file: a request's body may have 1 MB.
_MAX_INLINE = 400_000
Set = Annotated[Sequence[str], Parameter(help="PARAMETER=VALUE", negative="")]
Attached = Annotated[
    Sequence[str], Parameter(name=["--file", "--attach"], help="FILE or FILE=PATH-IN-DOCUMENT", negative="")
]


@app.command(name="run")
@app.default
def run_document(
    file: Annotated[Path, Parameter(help="Markdown, Quarto, MyST or notebook file")],
    /,
    *,
    out: Annotated[
        Path | None, Parameter(name=["-o", "--out"], help="Write it here, by its ending: .md .html .ipynb .pdf .docx")
    ] = None,
    html: Annotated[Path | None, Parameter(help="Write the page here")] = None,
    set: Set = (),
    attach: Attached = (),
    flavour: Annotated[
        Flavour | None, Parameter(help="Notation of the document; the file's ending decides otherwise")
    ] = None,
    execute: Annotated[Literal["stale", "all", "none"] | None, Parameter(help="stale when left out")] = None,
    previous: Annotated[
        str | None, Parameter(converter=job_id_of, help="The job to build on, or @last: only what changed runs")
    ] = None,
    model: Annotated[str | None, Parameter(help="PROVIDER/MODEL for all instructions")] = None,
    dry_run: Annotated[bool, Parameter(help="Call no model; print the estimated cost", negative="")] = False,
    on_missing: Annotated[
        Literal["send", "skip", "fail"] | None,
        Parameter(help="An instruction whose values are missing: send it unchanged, leave it out, or fail"),
    ] = None,
    check: Annotated[bool, Parameter(show=False, negative="")] = False,
    sending: Sending = _PLAIN,
) -> int:
    """Run a document's code, then its instructions, and print the Markdown; 1 when a block has an error."""
    del check  # unused: checking is always done
    input = {
        **_document(file, flavour, set, attach),
        **given(execute=execute, previous_job_id=previous, model=model, dry_run=dry_run or None, on_missing=on_missing),
        **given(notebook=True if out is not None and out.suffix.lower() == ".ipynb" else None),
    }
    content = None if out is None else content_of(out)
    bad = False

    def keep(session: CommandLine, job: dict[str, Any]) -> None:
        nonlocal bad
        result = job["result"]
        bad = _has_errors(result)
        if html is not None and result.get("html_file_id"):
            session.client.files.save(result["html_file_id"], html)
            session.say(f"saved {html}")
        if out is not None and content is not None:
            _replace(out, content(session, result))
            session.say(f"saved {out}")

    def tell(session: CommandLine, job: dict[str, Any]) -> None:
        result = job["result"]
        _tell_problems(session.say, session.warn, file, job)
        session.say(_summary(job["id"], result))
        for each in result.get("files") or ():
            session.say(f"{each['path']} has new answers: assay files get {each['file_id']}")
        if dry_run:
            _tell_estimate(session, result)
        elif out is None:
            session.out(result["markdown"])

    status = run("document", input, sending, tell, keep=keep, warn=False)
    return status or int(bad)


@app.command(name="check")
def check_document(
    file: Annotated[Path, Parameter(help="Markdown, Quarto, MyST or notebook file")],
    /,
    *,
    set: Set = (),
    attach: Attached = (),
    flavour: Annotated[
        Flavour | None, Parameter(help="Notation of the document; the file's ending decides otherwise")
    ] = None,
    model: Annotated[str | None, Parameter(help="PROVIDER/MODEL for all instructions")] = None,
    sending: Sending = _PLAIN,
) -> int:
    """List a document's blocks, parameters and problems without running anything; 1 when there is an error."""
    input = {**_document(file, flavour, set, attach), **given(model=model), "execute": "none"}
    bad = False

    def keep(_session: CommandLine, job: dict[str, Any]) -> None:
        nonlocal bad
        bad = _has_errors(job["result"])

    def tell(session: CommandLine, job: dict[str, Any]) -> None:
        result = job["result"]
        rows = [[_lines(block), block["kind"], block["id"], _what(block)] for block in result["blocks"]]
        if rows:
            session.out(show.table(["lines", "kind", "id", "what"], rows))
        properties = (result.get("parameters_schema") or {}).get("properties") or {}
        for name, schema in properties.items():
            session.out(f"parameter {name}: {json.dumps(schema, ensure_ascii=False)}")
        _tell_problems(session.out, session.out, file, job)

    status = run("document", input, sending, tell, keep=keep, warn=False)
    return status or int(bad)


@app.command(name="preview")
def preview_document(
    file: Annotated[Path, Parameter(help="Markdown, Quarto, MyST or notebook file")],
    /,
    *,
    set: Set = (),
    attach: Attached = (),
    flavour: Annotated[
        Flavour | None, Parameter(help="Notation of the document; the file's ending decides otherwise")
    ] = None,
    model: Annotated[str | None, Parameter(help="PROVIDER/MODEL for all instructions")] = None,
    port: Annotated[int, Parameter(help="On this machine only; 0 takes a free one")] = 0,
) -> None:
    """Show a document's page in a browser, and render it again whenever the document is saved."""
    readable(file)
    watched = [file, *(Path(each.partition("=")[0]) for each in attach)]
    watch(current(), watched, port, lambda: {**_document(file, flavour, set, attach), **given(model=model)})


def _document(file: Path, flavour: str | None, set: Sequence[str], attach: Sequence[str]) -> dict[str, Any]:
    readable(file)
    if flavour is None:
        check_kind(file, "document")
    content = file.read_bytes()
    client = current().client
    input: dict[str, Any] = {}
    if len(content) > _MAX_INLINE:
        input["file_id"] = client.send(files.put(content, name=file.name, media_type="text/markdown")).id
    else:
        try:
            input["markdown"] = content.decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"{file} is not UTF-8 text") from error
    references = []
    for each in attach:
        path, equals, target = each.partition("=")
        info = client.send(files.put(readable(Path(path))))
        references.append({"id": info.id, "path": target if equals else Path(path).as_posix()})
    pairs = (pair(each, "PARAMETER=VALUE, as in --set region=north") for each in set)
    parameters = {key: _value(value) for key, value in pairs}
    return {
        **input,
        **given(
            flavour=flavour or _FLAVOURS.get(file.suffix.lower()),
            parameters=parameters or None,
            files=references or None,
        ),
    }


def _value(text: str) -> object:
    """Parse JSON, such as a number, a boolean or a list; anything else is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _replace(path: Path, content: bytes) -> None:
    """Write a file that is there when it is whole."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _has_errors(result: dict[str, Any]) -> bool:
    """Return whether a block failed or has an error message."""
    return any(
        block["status"] == "error" or any(message["level"] == "error" for message in block["messages"])
        for block in result["blocks"]
    )


def _tell_problems(say: Callable[[str], None], warn: Callable[[str], None], file: Path, job: dict[str, Any]) -> None:
    """Print one line for each message, in the format of compilers; errors also with --quiet."""
    lines: list[tuple[int, str, str]] = []
    known: set[str] = set()
    for block in job["result"]["blocks"]:
        for message in block["messages"]:
            known.add(f"{block['id']}: {message['text'][:500]}")
            is_include = message["code"] == "include_not_found"
            hint = "give it with --file" if is_include else unsent_file(message["text"])
            text = f"{first_line(message['text'], 300)}{f' ({hint})' if hint else ''}"
            lines.append((block["lines"][0], message["level"], f"{message['level']}: {text} [{message['code']}]"))
    for line, level, text in sorted(lines, key=lambda one: one[0]):
        (warn if level == "error" else say)(f"{file}:{line}: {text}")
    for warning in dict.fromkeys([*job["result"]["warnings"], *(job.get("warnings") or [])]):
        if warning not in known:
            say(f"{file}: warning: {first_line(warning, 300)}")


def _summary(job_id: str, result: dict[str, Any]) -> str:
    counts = Counter(block["status"] for block in result["blocks"] if block["kind"] != "suggestion")
    by_status = ", ".join(f"{counts[each]} {each}" for each in ("ok", "fresh", "skipped", "error") if counts[each])
    blocks = amount(sum(counts.values()), "block")
    return f"{blocks}{f': {by_status}' if by_status else ''} (--previous {job_id} runs only what changes)"


def _tell_estimate(session: CommandLine, result: dict[str, Any]) -> None:
    for block in result["blocks"]:
        if block["kind"] == "instruction":
            session.out(f"line {block['lines'][0]}: {block['message_rendered'] or block['message_original']}")
    estimate = result.get("estimate")
    if estimate:
        cost = estimate["cost_usd"]
        price = "unknown cost" if cost is None else f"about {cost:.4f} US dollars"
        calls = amount(estimate["calls"], "model call")
        session.out(f"{calls}, about {estimate['input_tokens']} tokens in, {price}")


def _lines(block: dict[str, Any]) -> str:
    first, last = block["lines"]
    return str(first) if first == last else f"{first}-{last}"


def _what(block: dict[str, Any]) -> str | None:
    if block["kind"] in ("instruction", "prompt"):
        words = [block["instruction_type"], first_line(block["message_original"] or "", 60)]
        return ": ".join(word for word in words if word) or None
    return str(block["language"]) if block["language"] else None
