"""``detect``: every technology of a source tree, with evidence."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from shared.addresses import looks_private
from shared.contracts.common import Answer, FileId, LocalPath, Reference, Request
from shared.contracts.definitions import Definition, DependencyRule, Kind

#: What every resolver reads alike: no letters beyond ASCII, no percent signs, no dot at the end.
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|[0-9a-f:.]+")
_REF = re.compile(r"(?!.*(\.\.|@\{|//))[A-Za-z0-9_][A-Za-z0-9._/@+#-]*")


FindingRule = Literal["eol", "conflict", "unpinned", "secret-file"]


def not_allowed(reason: str) -> PydanticCustomError:
    """What a validator raises for a source that Assay will not open; its type is the problem's ``code``."""
    return PydanticCustomError("source_not_allowed", "{reason}", {"reason": reason})


def _public_https(url: str) -> str:
    """Refuse everything but ``https`` to a host that is not private by its spelling; the worker resolves it."""
    if url != url.strip() or any(ord(c) < 33 or c == "\\" for c in url):
        raise not_allowed("a git URL holds no spaces, control characters or backslashes")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise not_allowed("that is not a URL") from None
    if parts.scheme != "https" or not url.lower().startswith("https://"):
        raise not_allowed("only https:// git URLs are opened")
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise not_allowed("a git URL must not carry credentials")
    if not host or host.startswith("-") or (port is not None and port == 0):
        raise not_allowed("the git URL names no host")
    if not _HOST.fullmatch(host):
        raise not_allowed("write the host of the git URL in ASCII, an international name as xn--...")
    if looks_private(host):
        raise not_allowed("git sources are fetched from public addresses only")
    return url


def _plain_ref(ref: str) -> str:
    if not _REF.fullmatch(ref) or ref.endswith((".lock", "/", ".")):
        raise not_allowed("that is not the name of a branch, a tag or a commit")
    return ref


GitUrl = Annotated[str, Field(min_length=1, max_length=2048), AfterValidator(_public_https)]
GitRef = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_plain_ref)]


class Source(Request):
    """Where the tree is: an uploaded archive, a public https git URL, or a local path (embedded mode only)."""

    file_id: FileId | None = None
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None  #: of the archive, for who reads lists
    git: GitUrl | None = None
    ref: GitRef | None = None
    path: Annotated[str, LocalPath(), Field(min_length=1, max_length=4096)] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in ("file_id", "git", "path") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of file_id, git and path")
        if self.name is not None and self.file_id is None:
            raise ValueError("name belongs to file_id")
        if self.ref is not None and self.git is None:
            raise ValueError("ref belongs to git")
        return self


class DetectInput(Request):
    source: Source
    mode: Literal["full", "static", "llm_only"] = "full"
    root: Annotated[str, Field(max_length=4096)] = ""
    disable: Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=1000)] = []
    definitions: Annotated[list[Definition], Field(max_length=200)] = []
    #: Of the tenant's own definitions: null is the newest, 0 is none. Those of the job itself stand over them.
    definitions_version: Annotated[int, Reference("definitions"), Field(ge=0, le=2**31 - 1)] | None = None

    @model_validator(mode="after")
    def _inside(self) -> Self:
        if self.root.startswith("/") or "\\" in self.root or "\0" in self.root or ".." in self.root.split("/"):
            raise ValueError("root is a folder inside the source, such as apps/api")
        return self


class Evidence(Answer):
    """A file (relative to the root of the source), its line from 1 (null when its existence is the proof)."""

    file: str
    line: int | None = None
    rule: str
    snippet: str | None = None


class Candidate(Answer):
    """One technology that a package may use; the best of its kind comes first."""

    kind: Kind
    id: str
    name: str
    custom: bool
    confidence: float
    version: str | None
    evidence: list[Evidence]
    source: Literal["rule", "user", "llm", "default"] = "rule"
    end_of_life: str | None = None  #: The day after which nobody maintains it, where that was announced.
    successor: str | None = None  #: What its makers sent its users to.


class BackingService(Answer):
    """Something that a service uses over the network: a database, a broker, a service of others."""

    category: Literal["database", "cache", "broker", "search", "storage", "service"]
    id: str
    name: str
    confidence: float
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
    """The version that counts, where it was said, and every other statement about it, best first."""

    runtime: str
    value: str
    source: str
    overridden: list[Overridden]
    file: str | None = None
    line: int | None = None
    range: str | None = None  #: the widest statement (``engines``, ``requires-python``), when there is one
    eol: bool | None = None  #: whether that release line is out of support; null when the table does not know it
    eol_date: str | None = None  #: the last day of that release line's support, past or to come; null when unknown


class Build(Answer):
    """System packages, environment names (value null unless a rule sets it), commands in order, cache folders."""

    packages: list[str] = []
    env: dict[str, str | None] = {}
    commands: list[str] = []
    cache: list[str] = []


class Copy(Answer):
    from_: str = Field(alias="from")
    to: str

    model_config = ConfigDict(extra="ignore", populate_by_name=True, serialize_by_alias=True)


class HealthEndpoint(Answer):
    endpoint: str


class Runtime(Answer):
    """What the built service needs to run; ``command`` is an argument list, empty when unknown."""

    packages: list[str] = []
    env: dict[str, str | None] = {}
    copy_: list[Copy] = Field([], alias="copy")
    command: list[str] = []
    ports: list[int] = []
    health: HealthEndpoint | None = None

    model_config = ConfigDict(extra="ignore", populate_by_name=True, serialize_by_alias=True)


class Conflict(Answer):
    """Statements that do not go together, and which one was believed, by which rule."""

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
    backing_services: list[BackingService] = []


class Workspace(Answer):
    manager: str
    members: list[str]


class StackFinding(Answer):
    """Something that a check of a repository may refuse; ``service`` is the path of the package, null for none.

    ``eol``: a version or a technology out of support; ``conflict``: statements that contradict each other;
    ``unpinned``: dependencies or images that another build may resolve to others; ``secret-file``: a file in the
    source that holds credentials. A secret's value is never part of the message.
    """

    rule: FindingRule
    message: str
    service: str | None = None
    file: str | None = None
    line: int | None = None
    since: str | None = None  #: for ``eol``: the last day of support, where it is known


class LockFile(Answer):
    """A lock file and the package URLs that it pins, sorted; not ``complete``: it is too large, or broken."""

    file: str
    packages: list[str]
    complete: bool = True


class DetectStats(Answer):
    files: int
    seconds: float
    llm_calls: int


class RuleSet(Answer):
    """Which rules answered; ``definitions`` is the version of the tenant's own, 0 where it has none."""

    version: str
    definitions: int = 0


class DetectResult(Answer):
    services: list[Service]
    orchestrator: str | None
    workspace: Workspace | None
    languages: dict[str, int]
    root_cache: list[str]
    stats: DetectStats
    rules: RuleSet | None = None
    locks: list[LockFile] = []
    findings: list[StackFinding] = []  #: in the order of their rules, then of the files


class SourceText(Answer):
    """Lines of a file of the source, as far as it is kept."""

    path: str
    first: int  #: the number of the first of the lines, from 1
    lines: list[str]
    line_count: int  #: of what is kept of the file
    cut: bool  #: the file goes on behind that


class DetectSource(Answer):
    """The files of a source; with a path the lines of one."""

    files: list[str] = []
    file_count: int  #: how many files the source has
    readable: list[str] = []  #: the files whose text is kept: those that claims rest on
    text: SourceText | None = None


__all__ = ["Definition", "DependencyRule", "DetectInput", "DetectResult", "Kind"]
