"""The assemble phase: findings become the answer, in an order that never changes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from services.stacks.detectors import build_systems, javascript, python
from services.stacks.packages.package import Package, TechnologyFinding
from services.stacks.packages.ranking import first_of, ordered, primary_of
from services.stacks.packages.survey import Survey
from services.stacks.phases.facts.backing import backing_services
from services.stacks.phases.facts.build import build_facts
from services.stacks.phases.facts.code import ReadBudget, code_facts
from services.stacks.phases.facts.roles import role_of
from services.stacks.phases.facts.run import run_facts
from services.stacks.phases.facts.run_files import RunFiles, deployment
from services.stacks.phases.use import Known, weigh_use
from services.stacks.phases.versions import FileStatements, trails
from services.stacks.phases.workspaces import find_workspace
from services.stacks.rules.backing import load_backing_rules
from services.stacks.rules.technologies import TechnologyRules
from shared.contracts.detect import (
    Candidate,
    Contradiction,
    DetectResult,
    DetectStats,
    Primary,
    Service,
    TechnologyKind,
    VersionTrail,
)

KINDS: tuple[TechnologyKind, ...] = (
    "language",
    "build_system",
    "package_manager",
    "framework",
    "runtime",
    "orchestrator",
)
_VERSIONED = {"jvm": "java", "beam": "elixir", "csharp": "dotnet", "fsharp": "dotnet", "vbnet": "dotnet",
              "javascript": "", "typescript": "", "kotlin": "kotlin", "native": ""}  # fmt: skip


@dataclass(frozen=True)
class Analysed:
    service: Service
    named: bool
    bytes: int


@dataclass
class ReadOnce:
    """What is read once for all packages, or limited over all of them."""

    files: RunFiles
    code: ReadBudget = field(default_factory=ReadBudget)
    said: FileStatements = field(default_factory=dict)


def analyse(survey: Survey, package: Package, rules: TechnologyRules, read: ReadOnce, known: Known) -> Analysed:
    """Run the service phase for one package: versions, build, run, role."""
    code, deployed = known.code, known.deployed
    versions, conflicts = trails(survey, package, read.said)
    runtime = run_facts(survey, package, rules, code, deployed)
    role = role_of(package, rules, code, deployed, runtime.command)
    conflicts = [
        *javascript.lockfile_conflicts(survey, package), *python.lockfile_conflicts(survey, package),
        *_build_systems(package), *conflicts,
    ]  # fmt: skip
    service = Service(
        path=package.path,
        name=_name(package),
        role="app" if role == "app" else "library",
        primary=Primary(**{kind: _id(primary_of(package, kind)) for kind in KINDS if kind != "orchestrator"}),
        candidates=_CANDIDATES.validate_python(
            [_candidate(finding, versions, rules) for kind in KINDS for finding in ordered(package, kind)]
        ),
        versions=versions,
        build=build_facts(survey, package, rules, code, deployed),
        runtime=runtime,
        conflicts=conflicts,
        warnings=list(dict.fromkeys(package.warnings)),
        backing_services=backing_services(survey, package, code, deployed.images, load_backing_rules()),
    )
    return Analysed(service, deployed.named, sum(sources.bytes for sources in package.sources.values()))


def assemble(survey: Survey, rules: TechnologyRules) -> DetectResult:
    read = ReadOnce(RunFiles(survey))
    known = {
        path: Known(code_facts(survey, package, read.code), deployment(survey, package, read.files))
        for path, package in survey.packages.items()
    }
    weigh_use(survey, rules, known)
    done = {path: analyse(survey, package, rules, read, known[path]) for path, package in survey.packages.items()}
    if read.code.spent:
        survey.warnings.append("the tree is large: ports and variable names were searched for in the main files only")
    first = first_of(
        survey,
        {path: analysed.service.role for path, analysed in done.items()},
        {path for path, analysed in done.items() if analysed.named},
        {path: analysed.bytes for path, analysed in done.items()},
    )
    services = [done[first].service] if first is not None else []
    services += [done[path].service for path in sorted(done) if path != first]
    return DetectResult(
        services=services,
        orchestrator=build_systems.chosen_orchestrator(survey),
        workspace=find_workspace(survey),
        languages=survey.scan.languages,
        root_cache=root_cache(survey, rules),
        stats=DetectStats(files=survey.scan.files, seconds=0, llm_calls=survey.llm_calls),
    )


def root_cache(survey: Survey, rules: TechnologyRules) -> list[str]:
    """Cache folders at the root: the orchestrator's, then those of the root's and the members' build systems."""
    folders: list[str] = []
    for package in survey.packages.values():
        for finding in package.findings_of("orchestrator"):
            technology = rules.get("orchestrator", finding.id)
            folders += technology.list("cache") if technology else ()
    root = survey.packages.get(survey.scan.root)
    for package in [root] if root else survey.packages.values():
        built = primary_of(package, "build_system")
        technology = rules.get("build_system", built.id) if built else None
        folders += [folder for folder in technology.list("cache") if not folder.startswith("~")] if technology else ()
    return list(dict.fromkeys(folders))


def _id(finding: TechnologyFinding | None) -> str | None:
    return finding.id if finding else None


#: Manifests that are named after something else.
_NAMELESS = frozenset(("Makefile", "requirements.txt"))


def _name(package: Package) -> str:
    named = next(
        (manifest.name for manifest in package.manifests if manifest.name and manifest.kind not in _NAMELESS), None
    )
    named = named or next((manifest.name for manifest in package.manifests if manifest.name), None)
    return named or package.path.rpartition("/")[2] or "root"


#: All candidates of a service in one go: one object after another takes three times as long.
_CANDIDATES = TypeAdapter(list[Candidate])


def _candidate(finding: TechnologyFinding, versions: list[VersionTrail], rules: TechnologyRules) -> dict[str, object]:
    """Return the fields of a ``Candidate``."""
    version = finding.version
    if version is None and versions and finding.kind in {"language", "runtime", "package_manager", "build_system"}:
        wanted = _VERSIONED.get(finding.id, finding.id)
        version = next((trail.value for trail in versions if trail.runtime == wanted), None)
    proofs = finding.proofs
    if len(proofs) > 1:
        proofs = sorted(proofs, key=lambda proof: (-proof.weight, proof.file, proof.line or 0))
    technology = rules.get(finding.kind, finding.id)
    return {
        "kind": finding.kind, "id": finding.id, "name": finding.name, "custom": finding.custom,
        "confidence": finding.confidence, "version": version,
        "evidence": [
            {"file": file, "line": line, "rule": rule, "snippet": snippet} for file, line, rule, snippet, _ in proofs
        ],
        "source": finding.source,
        "end_of_life": technology.text("eol") if technology else None,
        "successor": technology.text("successor") if technology else None,
    }  # fmt: skip


def _build_systems(package: Package) -> list[Contradiction]:
    """Maven and Gradle side by side build the same sources twice."""
    if len(package.findings_of("build_system")) < 2:
        return []
    both = [
        finding.id
        for finding in ordered(package, "build_system")
        if finding.id in {"maven", "gradle"} and finding.confidence >= 0.5
    ]
    if len(both) < 2:
        return []
    return [Contradiction(kind="build_systems", claims=list(both), winner=both[0], rule="order")]


def canonical(result: DetectResult) -> bytes:
    """Return the result as bytes that are equal for the same tree and rule set: everything but the duration."""
    body = result.model_dump(mode="json", by_alias=True)
    body["stats"].pop("seconds")
    return json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
