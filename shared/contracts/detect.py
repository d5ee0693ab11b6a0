"""``detect``: every technology of a source tree, with evidence."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator

from shared.contracts.common import Answer, FileId, Request

Kind = Literal["language", "build_system", "package_manager", "framework", "runtime", "orchestrator"]


class Source(Request):
    """Where the tree is: an uploaded archive, a public https git URL, or a local path (embedded mode only)."""

    file_id: FileId | None = None
    git: Annotated[str, Field(min_length=1, max_length=2048)] | None = None
    ref: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    path: Annotated[str, Field(min_length=1, max_length=4096)] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in ("file_id", "git", "path") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of file_id, git and path")
        if self.ref is not None and self.git is None:
            raise ValueError("ref belongs to git")
        return self


class DependencyRule(Request):
    ecosystem: str
    name: str


class Definition(Request):
    """A caller's own technology: the files or dependencies that prove it."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
    kind: Kind
    name: Annotated[str, Field(min_length=1, max_length=100)]
    files: Annotated[list[str], Field(max_length=50)] = []
    dependencies: Annotated[list[DependencyRule], Field(max_length=50)] = []
    weight: Annotated[float, Field(gt=0, le=1)] = 0.9


class DetectInput(Request):
    source: Source
    mode: Literal["full", "static", "llm_only"] = "full"
    root: Annotated[str, Field(max_length=4096)] = ""
    disable: Annotated[list[str], Field(max_length=1000)] = []
    definitions: Annotated[list[Definition], Field(max_length=200)] = []


class Evidence(Answer):
    """A file (relative to the root of the source), its line from 1 (null when its existence is the proof)."""

    file: str
    line: int | None = None
    rule: str
    snippet: str | None = None


class Candidate(Answer):
    kind: str
    id: str
    name: str
    custom: bool
    confidence: float
    version: str | None
    evidence: list[Evidence]


class Primary(Answer):
    language: str | None = None
    build_system: str | None = None
    framework: str | None = None
    runtime: str | None = None
    package_manager: str | None = None


class Overridden(Answer):
    source: str
    file: str
    line: int | None
    value: str


class VersionTrail(Answer):
    runtime: str
    value: str
    source: str
    overridden: list[Overridden]


class Build(Answer):
    packages: list[str] = []
    env: list[str] = []
    commands: list[str] = []
    cache: list[str] = []


class Runtime(Answer):
    packages: list[str] = []
    env: list[str] = []
    copy_: list[str] = Field([], alias="copy")
    command: str | None = None
    ports: list[int] = []
    health: str | None = None


class Conflict(Answer):
    kind: str
    claims: list[JsonValue]
    winner: str | None
    rule: str


class Service(Answer):
    path: str
    name: str
    role: Literal["app", "library"]
    primary: Primary
    candidates: list[Candidate]
    versions: list[VersionTrail]
    build: Build
    runtime: Runtime
    conflicts: list[Conflict]
    warnings: list[str]


class Workspace(Answer):
    manager: str
    members: list[str]


class DetectStats(Answer):
    files: int
    seconds: float
    llm_calls: int


class DetectResult(Answer):
    services: list[Service]
    orchestrator: str | None
    workspace: Workspace | None
    languages: dict[str, int]
    root_cache: list[str]
    stats: DetectStats
