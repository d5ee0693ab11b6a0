"""``detect``: every technology of a source tree, with evidence."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from shared.addresses import looks_private
from shared.contracts.common import Answer, FileId, LocalPath, Reference, Request
from shared.contracts.definitions import Definition, DependencyRule, TechnologyKind

#: What every resolver reads alike: no letters beyond ASCII, no percent signs, no dot at the end.
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|[0-9a-f:.]+")
_REF = re.compile(r"(?!.*(\.\.|@\{|//))[A-Za-z0-9_][A-Za-z0-9._/@+#-]*")


_FindingRule = Literal["eol", "conflict", "unpinned", "secret-file"]
FindingRule = TypeAliasType("FindingRule", Annotated[_FindingRule, Field(description="Rule of a finding")])
FINDING_RULES: tuple[_FindingRule, ...] = get_args(_FindingRule)


def not_allowed(reason: str) -> PydanticCustomError:
    """Return the validation error for a source that Assay does not open; its type is the problem's ``code``."""
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


DetectMode = TypeAliasType(
    "DetectMode", Annotated[Literal["full", "static", "llm_only"], Field(description="How to detect technologies")]
)
CandidateSource = TypeAliasType(
    "CandidateSource",
    Annotated[Literal["rule", "user", "llm", "default"], Field(description="What proposed a technology")],
)
ServiceCategory = TypeAliasType(
    "ServiceCategory",
    Annotated[
        Literal["database", "cache", "broker", "search", "storage", "service"],
        Field(description="Kind of backing service; `service` is any other"),
    ],
)
ServiceRole = TypeAliasType("ServiceRole", Annotated[Literal["app", "library"], Field(description="Role of a package")])


FactOrigin = TypeAliasType(
    "FactOrigin",
    Annotated[
        Literal["dockerfile", "procfile", "compose", "platform", "manifest", "code", "default"],
        Field(description="Kind of file that a fact was read from; `default` is what the framework does by itself"),
    ],
)


class Source(Request):
    """Source tree: an uploaded archive, a public https git URL, or a local path (single-machine installations only)."""

    file_id: FileId | None = None
    """Id of the uploaded archive (tar or zip); give this, `git` or `path`"""
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Display name of the archive in lists; only with `file_id`"""
    git: GitUrl | None = None
    """URL of a public Git repository, https only; give this, `file_id` or `path`"""
    ref: GitRef | None = None
    """Branch, tag or commit to fetch; only with `git`. Default: the repository's default branch"""
    path: Annotated[str, LocalPath(), Field(min_length=1, max_length=4096)] | None = None
    """Folder on the server; only where the installation runs on one machine"""

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
    """Input of a `detect` job."""

    source: Source
    """Source tree to scan"""
    mode: DetectMode = "full"
    """`full`: rules first, then the model for what is unexplained; `static`: rules only; `llm_only`: the model only"""
    root: Annotated[str, Field(max_length=4096)] = ""
    """Folder inside the source to scan, such as `apps/api`; the whole source if empty"""
    disable: Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=1000)] = []
    """Names of detectors to turn off"""
    definitions: Annotated[list[Definition], Field(max_length=200)] = []
    """Definitions for this job; they take precedence over the tenant's"""
    definitions_version: Annotated[int, Reference("definitions"), Field(ge=0, le=2**31 - 1)] | None = None
    """Version of the tenant's definitions to use; 0 for none, null for the newest"""

    @model_validator(mode="after")
    def _inside(self) -> Self:
        if self.root.startswith("/") or "\\" in self.root or "\0" in self.root or ".." in self.root.split("/"):
            raise ValueError("root is a folder inside the source, such as apps/api")
        return self


class Evidence(Answer):
    """What shows a claim: a file, and the line in it."""

    file: str
    """Path of the file, relative to the root of the source"""
    line: int | None = None
    """Line number, from 1; null if the file's existence is the evidence"""
    rule: str
    """Rule that matched"""
    snippet: str | None = None
    """Text that matched; null if there is none"""


class Candidate(Answer):
    """A technology that a package may use; the best of its kind comes first."""

    kind: TechnologyKind
    """Kind of technology of the candidate, such as `language` or `framework`"""
    id: str
    """Technology id"""
    name: str
    """Display name of the technology"""
    custom: bool
    """Whether no built-in rule knows the technology"""
    confidence: float
    """Confidence that the package uses the technology, 0 to 1"""
    version: str | None
    """Version that the package uses; null if unknown"""
    evidence: list[Evidence]
    """Files that support the claim"""
    source: CandidateSource = "rule"
    """What proposed the candidate: a built-in rule, a user's definition, the model, or a default without evidence"""
    end_of_life: str | None = None
    """Last day on which the technology is maintained, as an ISO 8601 date; null if none was announced"""
    successor: str | None = None
    """Technology that its makers recommend instead; null if none"""


class BackingService(Answer):
    """A service that the package uses over the network, such as a database or a broker."""

    category: ServiceCategory
    """Kind of service"""
    id: str
    """Service id, such as `postgresql`"""
    name: str
    """Display name of the service"""
    confidence: float
    """Confidence that the package uses the service, 0 to 1"""
    evidence: list[Evidence]
    """Files that show the use"""


class Primary(Answer):
    """Main technology of each kind, by id; null if none was found."""

    language: str | None = None
    """Main language"""
    build_system: str | None = None
    """Main build system"""
    framework: str | None = None
    """Main framework"""
    runtime: str | None = None
    """Main runtime"""
    package_manager: str | None = None
    """Main package manager"""


class Overridden(Answer):
    """A version statement that another one overrode."""

    source: str
    """Kind of file or statement that named the version"""
    file: str
    """Path of the file that holds the statement"""
    line: int | None
    """Line of the statement, from 1; null if it has no line"""
    value: str
    """Version that the statement named"""


class VersionTrail(Answer):
    """The version of a runtime or tool that applies, and every statement that it overrode."""

    runtime: str
    """Runtime or tool that the version belongs to, such as `node`"""
    value: str
    """Version that applies"""
    source: str
    """Kind of file or statement that gave the version"""
    overridden: list[Overridden]
    """Statements with lower precedence, best first"""
    file: str | None = None
    """Path of the file that gave the version; null for a default"""
    line: int | None = None
    """Line of the statement, from 1; null if it has no line"""
    range: str | None = None
    """Widest range that a statement allows (`engines`, `requires-python`); null if there is none"""
    eol: bool | None = None
    """Whether the release line is out of support; null if unknown"""
    eol_date: str | None = None
    """Last day of the release line's support, as an ISO 8601 date, past or future; null if unknown"""


class Build(Answer):
    """What the package needs to be built."""

    packages: list[str] = []
    """System packages to install for the build"""
    env: dict[str, str | None] = {}
    """Environment variables of the build, by name; null where no rule gives the value"""
    commands: list[str] = []
    """Build commands, in order"""
    cache: list[str] = []
    """Folders to keep between builds"""


class Copy(Answer):
    """A path to copy from the build into the image."""

    from_: str = Field(alias="from")
    """Path in the build"""
    to: str
    """Path in the image"""

    model_config = ConfigDict(extra="ignore", populate_by_name=True, serialize_by_alias=True)


class HealthEndpoint(Answer):
    """Where the service reports its health."""

    endpoint: str
    """URL path of the health check"""


class FactEvidence(Answer):
    """File and line that a fact was read from."""

    file: str
    """Path of the file, relative to the root of the source"""
    line: int | None = None
    """Line number, from 1; null if the file's existence is the evidence"""


class FactTrail(Answer):
    """Where a fact about running a service comes from, and how sure it is."""

    source: FactOrigin
    """Kind of file that gave the fact; `default` if no file did"""
    evidence: FactEvidence | None = None
    """File and line that gave the fact; null for a default"""
    confidence: float
    """Confidence in the fact, 0 to 1; a default never has more than 0.5"""


class RuntimeTrail(Answer):
    """Where the facts about running a service come from; null where there is no fact."""

    command: FactTrail | None = None
    """Origin of the start command"""
    ports: FactTrail | None = None
    """Origin of the first port"""
    health: FactTrail | None = None
    """Origin of the health check"""


class Runtime(Answer):
    """What the built service needs to run."""

    packages: list[str] = []
    """System packages to install in the image"""
    env: dict[str, str | None] = {}
    """Environment variables of the service, by name; null where no rule gives the value"""
    copy_: list[Copy] = Field([], alias="copy")
    """Paths to copy from the build into the image"""
    command: list[str] = []
    """Start command as a list of arguments; empty if unknown"""
    ports: list[int] = []
    """Ports that the service listens on"""
    health: HealthEndpoint | None = None
    """Health check of the service; null if none was found"""
    trail: RuntimeTrail = RuntimeTrail()
    """Origin of the command, the ports and the health check"""

    model_config = ConfigDict(extra="ignore", populate_by_name=True, serialize_by_alias=True)


class Contradiction(Answer):
    """Statements that contradict each other, and the one that was used."""

    kind: str
    """What the statements are about, such as `versions` or `lockfiles`"""
    claims: list[JsonValue]
    """Contradicting statements"""
    winner: str | None
    """Statement that was used; null if none was"""
    rule: str
    """Rule that chose the winner"""


class Service(Answer):
    """One package of the source: an app or a library."""

    path: str
    """Folder of the package, relative to the root of the source"""
    name: str
    """Package name"""
    role: ServiceRole
    """Whether the package is an app or a library"""
    primary: Primary
    """Main technology of each kind"""
    candidates: list[Candidate]
    """Technologies that the package may use, best of each kind first"""
    versions: list[VersionTrail]
    """Versions of runtimes and tools, with where each was stated"""
    build: Build
    """What the package needs to be built"""
    runtime: Runtime
    """What the built package needs to run"""
    conflicts: list[Contradiction]
    """Contradicting statements about the package"""
    warnings: list[str]
    """Problems found in the package's files"""
    backing_services: list[BackingService] = []
    """Databases, brokers and other services that the package uses"""


class Workspace(Answer):
    """How the source is divided into packages."""

    manager: str
    """Tool that manages the workspace, such as `pnpm` or `cargo`"""
    members: list[str]
    """Folders of the member packages"""


class StackFinding(Answer):
    """Something that a check of a repository may refuse; ``service`` is the path of the package, null for none.

    ``eol``: a version or a technology out of support; ``conflict``: statements that contradict each other;
    ``unpinned``: dependencies or images that another build may resolve to others; ``secret-file``: a file in the
    source that holds credentials. A secret's value is never part of the message.
    """

    rule: FindingRule
    """Rule that the finding belongs to"""
    message: str
    """What was found, in one sentence"""
    service: str | None = None
    """Path of the package; null if the finding concerns no single package"""
    file: str | None = None
    """Path of the file; null if there is none"""
    line: int | None = None
    """Line number, from 1; null if there is none"""
    since: str | None = None
    """For `eol`: last day of support, as an ISO 8601 date; null if unknown"""


class LeftOutPackage(Answer):
    """An entry of a lock file that is not part of the bill."""

    name: str
    """Name of the entry in the lock file"""
    reason: str
    """Where the entry comes from: `git`, `tarball` or `file`; or `no version`"""


class LockFile(Answer):
    """A lock file with the packages that it pins."""

    file: str
    """Path of the lock file"""
    packages: list[str]
    """Package URLs (purl) that the file pins, sorted"""
    complete: bool = True
    """Whether `packages` holds everything that the file pins; false if it is too large or broken, or if `left_out`
    has entries"""
    left_out: list[LeftOutPackage] = []
    """Entries without a package URL, such as those from git; at most 100"""
    left_out_count: int = 0
    """Number of entries without a package URL"""


class DetectStats(Answer):
    """Effort of the scan."""

    files: int
    """Number of files scanned"""
    seconds: float
    """Duration of the scan in seconds"""
    llm_calls: int
    """Number of model calls"""


class RuleSet(Answer):
    """Which rules were applied."""

    version: str
    """Version of the built-in rules"""
    definitions: int = 0
    """Version of the tenant's definitions; 0 if none were used"""


class DetectResult(Answer):
    """Result of a `detect` job."""

    services: list[Service]
    """Packages of the source"""
    orchestrator: str | None
    """Tool that runs the services together, such as `docker-compose`; null if none was found"""
    workspace: Workspace | None
    """Workspace that the packages belong to; null if there is none"""
    languages: dict[str, int]
    """Bytes of source code, by language"""
    root_cache: list[str]
    """Folders at the root of the source to keep between builds"""
    stats: DetectStats
    """Effort of the scan"""
    rules: RuleSet | None = None
    """Rules that were applied; null in results of older versions"""
    locks: list[LockFile] = []
    """Lock files with the packages that they pin"""
    findings: list[StackFinding] = []
    """Problems that a check may refuse, sorted by rule and file"""


class SourceText(Answer):
    """Lines of a file of the source."""

    path: str
    """Path of the file"""
    first: int
    """Number of the first line shown, from 1"""
    lines: list[str]
    """Lines of text"""
    line_count: int
    """Number of lines that are kept of the file"""
    cut: bool
    """Whether the file continues after what is kept"""


class DetectSource(Answer):
    """Files of a scanned source, and the text of one on request."""

    files: list[str] = []
    """Paths of the files"""
    file_count: int
    """Number of files in the source"""
    readable: list[str] = []
    """Paths of the files whose text is kept: those that claims rest on"""
    text: SourceText | None = None
    """Lines of the requested file; null without `path`"""


__all__ = ["Definition", "DependencyRule", "DetectInput", "DetectResult", "TechnologyKind"]
