"""One project and what is expected of one of its services; a field that is left out is not checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    name: str
    files: Mapping[str, object]
    language: str | None = "-"
    build: str | None = "-"
    framework: str | None = "-"
    runtime: str | None = "-"
    manager: str | None = "-"
    role: str = "-"
    at: str = ""
    candidates: tuple[tuple[str, str], ...] = ()  #: (kind, id) that have to be among the candidates
    absent: tuple[tuple[str, str], ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] | None = None
    command: str | None = None  #: the whole command, joined by spaces
    origin: str | None = None  #: the kind of file that the command is read from
    commands: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None  #: of all services, in order
    orchestrator: str | None = "-"
    workspace: tuple[str, tuple[str, ...]] | None = None
    health: str | None = "-"
    env: tuple[str, ...] = ()
    uses: tuple[str, ...] | None = None  #: the ids of all backing services


def npm(**fields: object) -> dict[str, object]:
    return {"name": "app", "version": "1.0.0", **fields}


def deps(*names: str, **versions: str) -> dict[str, str]:
    return {**dict.fromkeys(names, "^1.0.0"), **versions}
