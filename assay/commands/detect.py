"""`assay detect`: what a source tree is made of, why, and what changed between two of its commits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from assay import submits
from assay.calls import jobs
from assay.commands import stack_tree
from assay.commands.run import Asking, follow, given, readable, run, text_of
from assay.commands.session import DONE, FAILED, CommandLine, UsageError, current

if TYPE_CHECKING:
    from shared.contracts.detect import DetectResult

_PLAIN = Asking()
_Finding = Mapping[str, Any]
_RULES = ("eol", "conflict", "unpinned", "secret-file")
_MAX_BYTES = 256 << 20


def detect(
    source: Annotated[str, Parameter(help="A folder, an archive, or the https URL of a repository")],
    *,
    mode: Annotated[str | None, Parameter(help="full, static (no model) or llm_only")] = None,
    ref: Annotated[str | None, Parameter(help="Branch, tag or commit of a repository")] = None,
    root: Annotated[str | None, Parameter(help="Only this folder of it")] = None,
    format: Annotated[
        Literal["universalbuild", "cyclonedx", "spdx", "sarif", "dockerfile"] | None,
        Parameter(help="Print another form of the result"),
    ] = None,
    explain: Annotated[bool, Parameter(help="Every candidate with all of its evidence", negative="")] = False,
    diff: Annotated[
        list[str] | None,
        Parameter(
            help="OLD NEW: what changed between two commits; OLD.json: since a detection that --json printed",
            consume_multiple=True,
            negative="",
        ),
    ] = None,
    definitions: Annotated[
        int | None, Parameter(help="This version of your own definitions; 0 for none (the newest)")
    ] = None,
    fail_on: Annotated[
        str | None, Parameter(help="Exit 1 when any of these is found: eol, conflict, unpinned, secret-file")
    ] = None,
    disable: Annotated[list[str] | None, Parameter(help="A rule to skip, such as fw.express")] = None,
    sending: Asking = _PLAIN,
) -> int:
    """Find every technology of a source tree, with evidence."""
    if diff is not None and (format is not None or explain or ref is not None or fail_on or not sending.wait):
        raise UsageError("--diff goes without --format, --explain, --ref, --fail-on and --no-wait")
    refused = _rules(fail_on) if fail_on is not None else frozenset[str]()
    if refused and not sending.wait:
        raise UsageError("--fail-on goes without --no-wait: what is found is known at the end")
    if "://" not in source:
        readable(Path(source))
        if ref is not None:
            raise UsageError("--ref belongs to a URL; of a folder, --diff OLD NEW compares two commits")
    fields = given(mode=mode, root=root, definitions_version=definitions, disable=disable or None)
    if diff is not None:
        return _compare(source, diff, fields, sending)
    client = current().client
    input = client.drive(submits.detect_input(client.options, source, given(ref=ref, **fields)))

    def tell(session: CommandLine, job: dict[str, Any]) -> None:
        if format is not None:
            session.out(session.client.send(jobs.result_form(job["id"], format)).decode("utf-8", "replace"))
        else:
            session.out(stack_tree.drawn(job["result"], explain=explain))

    seen: list[_Finding] = []

    def check(session: CommandLine, job: dict[str, Any]) -> None:
        seen.extend(each for each in job["result"].get("findings") or [] if each["rule"] in refused)
        for finding in seen:
            session.warn(_line(finding))

    status = run("detect", input, sending, tell, keep=check)
    return status or (FAILED if seen else DONE)


def _compare(source: str, sides: list[str], fields: dict[str, Any], sending: Asking) -> int:
    """Detect both sides, or what is there now and what a file holds, and print what is different."""
    from shared.contracts.detect_diff import compare  # noqa: PLC0415 - pydantic costs a tenth of a second

    session = current()
    if len(sides) == 1:
        before: DetectResult | None = _earlier(Path(sides[0]))
        after = _detected(session, source, fields, sending)
    elif len(sides) == 2:
        before = _detected(session, source, {**fields, "ref": sides[0]}, sending)
        after = _detected(session, source, {**fields, "ref": sides[1]}, sending) if before else None
    else:
        raise UsageError("--diff takes OLD NEW, two commits, or OLD.json, what --json printed before")
    if before is None or after is None:
        return FAILED
    changes = [change.model_dump() for change in compare(before, after)]
    if session.json:
        session.out(json.dumps(changes, ensure_ascii=False))
    else:
        session.out(stack_tree.changes_drawn(changes) if changes else "nothing changed")
    return DONE


def _detected(session: CommandLine, source: str, fields: dict[str, Any], sending: Asking) -> DetectResult | None:
    """None, and the reason on stderr, when the job did not succeed."""
    from shared.contracts.detect import DetectResult  # noqa: PLC0415

    what = fields.get("ref") or source
    input = session.client.drive(submits.detect_input(session.client.options, source, fields))
    job = follow(session, session.client.fetch(jobs.create("detect", input, sending.options())), sending.timeout)
    if job["state"] != "succeeded":
        error = job.get("error") or {}
        session.warn(f"{what}: job {job['id']} {job['state']}: {error.get('detail') or error.get('title')}")
        return None
    for warning in job.get("warnings") or []:
        session.say(f"warning: {what}: {warning}")
    return DetectResult.model_validate(job["result"])


def _rules(text: str) -> frozenset[str]:
    """Return the rules of a comma list. Raises: UsageError for none, or one that does not exist."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in _RULES]
    if unknown or not names:
        what = f"there is no check {', '.join(unknown)}" if unknown else "it names no check"
        raise UsageError(f"--fail-on: {what}; those there are: {', '.join(_RULES)}")
    return frozenset(names)


def _line(finding: _Finding) -> str:
    """Return the finding as compilers write one: file, line, rule, message."""
    place = finding["file"] or finding["service"] or "."
    line = f":{finding['line']}" if finding["line"] else ""
    return f"{place}{line}: {finding['rule']}: {finding['message']}"


def _earlier(path: Path) -> DetectResult:
    """Return the result of the job that `--json` printed, or the result alone.

    Raises: UsageError when there is no such file, it is too large, or it holds something else.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - pydantic costs a tenth of a second

    from shared.contracts.detect import DetectResult  # noqa: PLC0415

    if path.exists() and path.stat().st_size > _MAX_BYTES:
        raise UsageError(f"{path} is larger than {_MAX_BYTES >> 20} MB")
    try:
        body = json.loads(text_of(path))
        return DetectResult.model_validate(body["result"] if isinstance(body, dict) and "result" in body else body)
    except (ValueError, RecursionError, ValidationError):
        raise UsageError(f"{path} holds no detection: save one with assay detect SOURCE --json > {path}") from None
