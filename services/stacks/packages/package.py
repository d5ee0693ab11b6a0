"""A package: its manifests, its sources, and the technologies that detectors found in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from services.stacks.manifests.model import Dependency, Manifest
from services.stacks.rules.technologies import Technology
from services.stacks.scan.model import ScannedFolder, Sources
from services.stacks.tree import join
from shared.contracts.detect import TechnologyKind

JVM_SOURCES = frozenset(("Java", "Kotlin", "Groovy", "Scala", "Clojure"))
_JVM_BUILDS = frozenset(
    ("pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "build.xml", "build.sbt")
)
#: What the order of every other kind depends on.
_RANKING = frozenset(("language", "framework"))


class Proof(NamedTuple):
    """One piece of evidence and how much it weighs (0..1)."""

    file: str
    line: int | None
    rule: str
    snippet: str | None
    weight: float

    def under(self, rule: str, weight: float | None = None) -> Proof:
        """Return the same evidence for another rule."""
        return Proof(self.file, self.line, rule, self.snippet, self.weight if weight is None else weight)


@dataclass(slots=True)
class TechnologyFinding:
    """A technology that a detector found in a package."""

    kind: TechnologyKind
    id: str
    name: str
    proofs: list[Proof]
    custom: bool = False
    version: str | None = None
    source: str = "rule"
    tier: int = 0
    ecosystem: str = ""
    standing: int = 2  #: required (2), optional or inherited (1), for development or tests only (0)
    by_file: bool = False  #: one of its files proves it, not only a list of dependencies
    rank: int = field(init=False)  #: among those of its kind: the tier, as use raises or lowers it
    confidence: float = field(init=False)

    def __post_init__(self) -> None:
        self.rank = self.tier
        self.weigh()

    @classmethod
    def of(
        cls, technology: Technology, proofs: list[Proof], version: str | None = None, source: str = "rule",
        ecosystem: str | None = None, by_file: bool = False,
    ) -> TechnologyFinding:  # fmt: skip
        return cls(
            technology.kind, technology.id, technology.name, proofs, version=version, source=source,
            tier=technology.tier, ecosystem=technology.ecosystem if ecosystem is None else ecosystem, by_file=by_file,
        )  # fmt: skip

    def weigh(self) -> None:
        """Independent proofs together: one minus the product of what each leaves open."""
        if len(self.proofs) == 1:
            self.confidence = round(self.proofs[0].weight, 4)
            return
        doubt = 1.0
        for proof in self.proofs:
            doubt *= 1 - proof.weight
        self.confidence = round(1 - doubt, 4)


@dataclass(slots=True)
class Package:
    path: str
    manifests: list[Manifest]
    files: dict[str, int]
    sources: dict[str, Sources] = field(default_factory=dict)
    folders: list[ScannedFolder] = field(default_factory=list)  #: its own ones, without nested packages
    markers: Sequence[str] = ()
    memberless: frozenset[str] = frozenset()  #: files of workspaces that list no members
    findings: dict[tuple[TechnologyKind, str], TechnologyFinding] = field(default_factory=dict)
    by_kind: dict[TechnologyKind, list[TechnologyFinding]] = field(default_factory=dict)  #: the same findings
    warnings: list[str] = field(default_factory=list)
    dependencies: dict[tuple[str, str], Dependency] = field(default_factory=dict)
    ranked: dict[TechnologyKind, list[TechnologyFinding]] = field(default_factory=dict)  #: until the next finding
    primary: dict[TechnologyKind, TechnologyFinding | None] = field(default_factory=dict)  #: until the next finding

    def manifest(self, kind: str) -> Manifest | None:
        for manifest in self.manifests:
            if manifest.kind == kind:
                return manifest
        return None

    def manifest_of(self, *ecosystems: str) -> Manifest | None:
        for manifest in self.manifests:
            if manifest.ecosystem in ecosystems:
                return manifest
        return None

    def wrapped_by(self, manifest: Manifest) -> bool:
        """Return whether a build file of the JVM only calls the tools of a package in another language."""
        return (
            manifest.kind in _JVM_BUILDS
            and JVM_SOURCES.isdisjoint(self.sources)
            and any(other.ecosystem in {"npm", "pypi", "go", "cargo", "pub"} for other in self.manifests)
        )

    def add(self, finding: TechnologyFinding) -> None:
        key = (finding.kind, finding.id)
        if finding.kind in _RANKING:
            self.ranked.clear()
            self.primary.clear()
        else:
            self.ranked.pop(finding.kind, None)
            self.primary.pop(finding.kind, None)
        known = self.findings.get(key)
        if known is None:
            self.findings[key] = finding
            self.by_kind.setdefault(finding.kind, []).append(finding)
            return
        best = {(proof.file, proof.line): proof for proof in known.proofs}
        for proof in finding.proofs:
            if (proof.file, proof.line) not in best or best[proof.file, proof.line].weight < proof.weight:
                best[proof.file, proof.line] = proof
        known.proofs = list(best.values())
        known.weigh()
        known.version = known.version or finding.version
        known.standing = max(known.standing, finding.standing)
        known.by_file = known.by_file or finding.by_file

    def findings_of(self, kind: TechnologyKind) -> list[TechnologyFinding]:
        return self.by_kind.get(kind, [])

    def own_files(self) -> Iterator[tuple[str, str]]:
        """Yield every file of the package: its name and its path."""
        for folder in self.folders:
            for name in folder.files:
                yield name, join(folder.path, name)

    def file_proof(self, name: str, rule: str, weight: float) -> Proof:
        return Proof(join(self.path, name), None, rule, None, weight)
