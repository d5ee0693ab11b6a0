"""`assay definitions`: a tenant's own technologies, their versions, and what is proposed for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from assay.calls import stacks
from assay.commands import show
from assay.commands.run import text_of
from assay.commands.session import answer, current

app = App(name="definitions", help="Your own technologies, which `detect` knows in addition to its rules.")
_File = Annotated[str, Parameter(help="YAML; - is standard input", allow_leading_hyphen=True)]


@app.command
def get(*, version: Annotated[int | None, Parameter(help="An older version")] = None) -> None:
    """Print the definitions in use, as YAML."""
    call = stacks.definitions() if version is None else stacks.definition_version(version)
    answer(call, lambda answer: str(answer["yaml"]).rstrip() or "# no definitions")


@app.command(name="set")
def set_definitions(
    file: _File, *, note: Annotated[str | None, Parameter(help="Why, for the list of versions")] = None
) -> None:
    """Make a file the new version of the definitions."""
    answer(stacks.set_definitions(_read(file), note=note), _version)


@app.command
def check(file: _File) -> None:
    """Say what is wrong with a file, and keep nothing."""
    checked = current().client.fetch(stacks.check_definitions(_read(file)))
    for warning in checked["warnings"]:
        current().say(f"warning: {warning}")
    rows = [[each["kind"], each["id"], each["name"], _proofs(each)] for each in checked["definitions"]]
    current().show(checked, lambda _: show.table(["kind", "id", "name", "proved by"], rows))


@app.command
def versions() -> None:
    """List the versions, newest first."""
    columns = ["version", "definitions", "created", "by", "why"]
    answer(
        stacks.definition_versions(),
        lambda page: show.table(
            columns,
            [
                [each["version"], each["count"], show.clock(each["created_at"]), each["actor"], each["note"]]
                for each in show.items(page)
            ],
        ),
    )


@app.command
def rollback(version: Annotated[int, Parameter(help="Version to return to")]) -> None:
    """Make an old version the new one."""
    answer(stacks.roll_back_definitions(version), _version)


@app.command
def clear() -> None:
    """Use no definitions any more; the versions stay."""
    answer(stacks.delete_definitions(), _version)


@app.command
def proposals(*, at_least: Annotated[int | None, Parameter(help="In how many jobs it was named (3)")] = None) -> None:
    """List technologies that models named again and again and no rule knows."""
    page = current().client.fetch(stacks.proposals(at_least))
    columns = ["kind", "id", "state", "jobs", "sources", "sure", "rule", "like", "seen in"]
    current().show(page, show.listing(columns, _proposal))


@app.command
def promote(
    kind: Annotated[str, Parameter(help="Kind of technology, such as framework")],
    id: Annotated[str, Parameter(help="Id of the proposed technology")],
    *,
    new_id: Annotated[str | None, Parameter(help="Call it something else")] = None,
    file: Annotated[Sequence[str], Parameter(help="The file names that prove it instead", negative="")] = (),
) -> None:
    """Make a proposal a definition."""
    call = stacks.promote(kind, id, new_id=new_id, files=list(file) or None)
    answer(call, _version)


@app.command
def dismiss(
    kind: Annotated[str, Parameter(help="Kind of technology, such as framework")],
    id: Annotated[str, Parameter(help="Id of the proposed technology")],
) -> None:
    """Dismiss a proposal; it can still be promoted."""
    answer(stacks.dismiss(kind, id), lambda proposal: f"{proposal['id']} {proposal['state']}")


def _read(file: str) -> str:
    return sys.stdin.read() if file == "-" else text_of(Path(file))


def _version(definitions: dict[str, Any]) -> str:
    return f"version {definitions['version']}, {definitions['count']} definitions"


def _proofs(definition: dict[str, Any]) -> str:
    named = [f"{each['ecosystem']}:{each['name']}" for each in definition["dependencies"]]
    return ", ".join([*definition["files"], *named])


def _proposal(each: dict[str, Any]) -> list[object]:
    places = [f"{file['file']}" for sighting in each["sightings"][:1] for file in sighting["files"][:2]]
    return [
        each["kind"], each["id"], each["state"], each["jobs"], each["sources"], f"{each['confidence']:.2f}",
        ", ".join(each["definition"]["files"]), each["resembles"], ", ".join(places),
    ]  # fmt: skip
