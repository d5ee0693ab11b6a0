"""What comes first: the primary technology of each kind in a package, and the primary package of a source."""

from __future__ import annotations

import re
from functools import cache

from services.stacks.manifests.javascript import workspace_globs
from services.stacks.packages.package import Package, TechnologyFinding
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import SERVING, TIERS, ecosystems_of
from shared.contracts.detect import TechnologyKind

_ORIGIN = {"user": 3, "rule": 2, "default": 1, "llm": 0}


def primary_language(package: Package) -> TechnologyFinding | None:
    """Return the primary language: the caller's choice, else by the weight of manifest, frameworks and sources."""
    languages = ordered(package, "language")
    return languages[0] if languages else None


def _languages(package: Package) -> list[TechnologyFinding]:
    """Return the primary language first, the others by their confidence."""
    findings = package.findings_of("language")
    if len(findings) < 2:
        return findings
    sure = [finding for finding in findings if finding.confidence >= 0.5]
    if len(sure) == 1:
        return _behind(sure[0], findings)
    shares: dict[str, float] = {}
    for name, sources in package.sources.items():
        for id in _written_as(name):
            shares[id] = shares.get(id, 0) + sources.bytes
    total = sum(sources.bytes for sources in package.sources.values()) or 1
    best: dict[str, int] = {}
    for framework in package.findings_of("framework"):
        if framework.confidence >= 0.5:
            best[framework.ecosystem] = max(best.get(framework.ecosystem, 0), framework.tier)
    manifests = {manifest.ecosystem for manifest in package.manifests if manifest.kind != "Makefile"}

    def order(finding: TechnologyFinding) -> tuple[bool, bool, float, float, str]:
        mine = ecosystems_of(finding.id)
        share = shares.get(finding.id, 0) / total
        tier = max((best[ecosystem] for ecosystem in mine if ecosystem in best), default=0)
        standing = 2.0 if tier in SERVING else 1.0 if tier > TIERS["bundler"] else 0.3 if tier else 0.0
        if mine & manifests and finding.id not in {"c", "c++"}:
            standing += 0.4
        return (
            finding.confidence >= 0.5,
            finding.source == "user",
            standing + share + finding.confidence / 2,
            finding.confidence,
            finding.id,
        )

    return _behind(max(findings, key=order), findings)


def _behind(main: TechnologyFinding, findings: list[TechnologyFinding]) -> list[TechnologyFinding]:
    return [
        main,
        *sorted(
            (finding for finding in findings if finding is not main),
            key=lambda finding: (-finding.confidence, finding.id),
        ),
    ]


_LINGUIST = {
    "typescript": ("TypeScript", "TSX"), "javascript": ("JavaScript",), "csharp": ("C#",), "fsharp": ("F#",),
    "vbnet": ("Visual Basic .NET",), "c++": ("C++",), "php": ("PHP", "Blade"), "objective-c": ("Objective-C",),
}  # fmt: skip


@cache
def _written_as(linguist: str) -> tuple[str, ...]:
    """Return the ids of a language by linguist's name."""
    named = tuple(id for id, names in _LINGUIST.items() if linguist in names)
    return named if linguist.lower() in _LINGUIST else (*named, linguist.lower())


def ordered(package: Package, kind: TechnologyKind) -> list[TechnologyFinding]:
    """Return every finding of one kind, the primary one first."""
    known = package.ranked.get(kind)
    if known is None:
        known = package.ranked[kind] = _languages(package) if kind == "language" else _others(package, kind)
    return known


def _others(package: Package, kind: TechnologyKind) -> list[TechnologyFinding]:
    findings = package.findings_of(kind)
    if len(findings) < 2:
        return findings
    language = primary_language(package)
    mine = ecosystems_of(language.id) if language else frozenset()

    def order(finding: TechnologyFinding) -> tuple[object, ...]:
        sure = finding.confidence >= 0.5
        family = not mine or not finding.ecosystem or finding.ecosystem in mine or finding.source in {"user", "llm"}
        above = (finding.standing, finding.rank) if kind == "framework" else (0, 0)
        return (not sure, -_ORIGIN[finding.source] if finding.source in {"user", "llm"} else -2, not family, -above[0],
                -above[1], _late(finding), -finding.confidence, finding.id)  # fmt: skip

    return sorted(findings, key=order)


def _late(finding: TechnologyFinding) -> int:
    """Build tools that run the others come first, ``make`` and the dependency fetchers last."""
    if finding.id in {"bazel", "pants", "buck"}:
        return 0
    return (
        2
        if finding.id
        in {
            "make",
            "conan",
            "vcpkg",
            "cocoapods",
            "opam",
            "hpack",
            "luarocks",
            "bower",
            "gulp",
            "grunt",
            "ivy",
            "carthage",
        }
        else 1
    )


def _only_documents(package: Package, tool: TechnologyFinding) -> bool:
    """Return whether a Python project only documents itself with the tool, without requiring it."""
    required = any(proof.line is not None and proof.weight >= 0.8 for proof in tool.proofs)
    return not required and any(
        manifest.kind in {"pyproject.toml", "setup.py", "setup.cfg"} for manifest in package.manifests
    )


def primary_of(package: Package, kind: TechnologyKind) -> TechnologyFinding | None:
    """Return the primary finding; a framework that is only tested with, or is of another language, does not count."""
    try:
        return package.primary[kind]
    except KeyError:
        best = package.primary[kind] = _primary(package, kind)
        return best


def _primary(package: Package, kind: TechnologyKind) -> TechnologyFinding | None:
    findings = ordered(package, kind)
    if not findings:
        return None
    best = findings[0]
    if kind in {"framework", "orchestrator"} and best.confidence < 0.5 and best.source != "user":
        return None
    if kind == "framework" and best.source == "rule" and best.tier == TIERS["docs"] and _only_documents(package, best):
        return None
    if kind == "framework" and best.source == "rule" and best.ecosystem:
        language = primary_language(package)
        if language and language.source == "rule" and not language.custom:
            families = ecosystems_of(language.id)
            if families and best.ecosystem not in families and language.confidence >= 0.5:
                return None
    return best


def is_aggregator(package: Package) -> bool:
    """Return whether a root only gathers members: it has no sources beyond settings, and nothing to start."""
    manifest = package.manifest_of("npm")
    gathers = bool(manifest and workspace_globs(manifest.data)) or any(
        name in package.files and name not in package.memberless
        for name in ("pnpm-workspace.yaml", "lerna.json", "nx.json", "turbo.json", "go.work")
    )
    pom = package.manifest("pom.xml")
    gathers = gathers or bool(pom and pom.facts.get("packaging") == "pom")
    gathers = gathers or any(manifest.facts.get("include") for manifest in package.manifests)
    cargo = package.manifest("Cargo.toml")
    gathers = gathers or bool(
        cargo and "workspace" in cargo.data and not any("src" in folder.folders for folder in package.folders[:1])
    )
    if not gathers:
        return False
    if any(_OWN_MAIN.fullmatch(name) for name in package.files):
        return False
    base = len(package.path) + 1 if package.path else 0
    return not any(_OWN_CODE.match(folder.path[base:]) for folder in package.folders if folder.sources)


def first_of(survey: Survey, roles: dict[str, str], named: set[str], shares: dict[str, int]) -> str | None:
    """Return the primary package: the root one, then a deployed one, then apps by their share of the code, then
    paths.
    """
    root = survey.scan.root

    def order(path: str) -> tuple[object, ...]:
        package = survey.packages[path]
        is_root = path == root and not is_aggregator(package)
        aside = not _ASIDE.isdisjoint(path.lower().split("/"))
        return (not is_root, path not in named or aside, aside, roles[path] != "app", -shares.get(path, 0), path)

    return min(survey.packages, key=order, default=None)


#: Folders whose programs are not what a source is about.
_ASIDE = frozenset(("docs", "doc", "documentation", "example", "examples", "sample", "samples", "demo", "demos",
"test", "tests",
                    "e2e", "benchmark", "benchmarks"))  # fmt: skip
#: Folders of code that is more than settings.
_OWN_MAIN = re.compile(r"(?:index|main|server|app)\.(?:[cm]?[jt]sx?|vue|go|py)")
_OWN_CODE = re.compile(r"(?:src|app|lib|pages|server|bin)(?:/|$)")
