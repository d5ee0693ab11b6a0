"""Precedence of statements about a version: environment, then pins in the code's folder, then manifests."""

from __future__ import annotations

from collections.abc import Iterable

from services.stacks.manifests import version_files
from services.stacks.manifests.formats import Broken
from services.stacks.manifests.model import Manifest, Statement
from services.stacks.packages.package import Package
from services.stacks.packages.survey import Survey
from services.stacks.phases.ranges import clean, end_of_life, is_pin, satisfies, supported_until
from services.stacks.rules.technologies import TOOLS
from services.stacks.tree import join
from shared.contracts.detect import Contradiction, Overridden, VersionTrail

#: (class, rank in the class): within a class the nearest folder wins, then the rank.
_RANK = {
    "env": (0, 0), "packageManager": (1, 0), ".tool-versions": (2, 0), "mise.toml": (2, 1), "volta": (4, 0),
    "devEngines": (4, 1), "runtime.txt": (3, 5), "toolchain": (4, 2), "config.platform.php": (4, 3),
    "Gemfile.lock": (6, 0),
    "Dockerfile": (7, 0),
}  # fmt: skip
_FILES = (3, 0)
_MANIFESTS = (5, 0)
_PLAIN_RANK = {name: rank for rank, name in enumerate((".nvmrc", ".node-version", ".python-version", "global.json"))}
#: States the oldest acceptable version: a newer pin does not contradict it.
_AT_LEAST = frozenset(
    ("go.mod", "rust-version", "swift-tools-version", "sourceCompatibility", "options.release", "java.version",
     "maven.compiler.release", "maven.compiler.target", "maven.compiler.source", "TargetFramework", "TargetFrameworks")
)  # fmt: skip
_INHERITED = frozenset(("npm", "pypi", "cargo", "maven"))


#: What the version files of a source say, by their paths: a file at the root speaks for every package.
FileStatements = dict[str, list[Statement]]


def trails(survey: Survey, package: Package, read: FileStatements) -> tuple[list[VersionTrail], list[Contradiction]]:
    """Return the versions that count; ``read`` caches what version files state for other packages."""
    stated = list(_statements(survey, package, read))
    if not stated:
        return [], []
    wanted = {tool for manifest in package.manifests for tool in TOOLS.get(manifest.ecosystem, ())}
    wanted |= {finding.id for finding in package.findings_of("language")}
    said: dict[str, list[tuple[int, Statement]]] = {}
    for depth, statement in stated:
        if statement.runtime in wanted and clean(statement.runtime, statement.value):
            said.setdefault(statement.runtime, []).append((depth, statement))
    trails_found: list[VersionTrail] = []
    conflicts: list[Contradiction] = []
    for runtime in sorted(
        said, key=lambda tool: (tool not in {"node", "python", "java", "go", "rust", "ruby", "php"}, tool)
    ):
        nearest = any(depth == 0 and statement.source != "Dockerfile" for depth, statement in said[runtime])
        ranked = sorted(_unique(said[runtime]), key=lambda stated: _order(stated[0], stated[1], nearest))
        winner = ranked[0][1]
        value = clean(runtime, winner.value)
        trails_found.append(_trail(runtime, value, winner, [statement for _, statement in ranked]))
        conflicts.extend(_conflict(runtime, value, winner, [statement for _, statement in ranked[1:]]))
    return trails_found, conflicts


def _trail(runtime: str, value: str, winner: Statement, ranked: list[Statement]) -> VersionTrail:
    ranges = [statement.value for statement in ranked if not is_pin(clean(runtime, statement.value))]
    return VersionTrail(
        runtime=runtime,
        value=value,
        source=winner.source,
        file=winner.file,
        line=winner.line,
        range=ranges[0] if ranges else None,
        eol=end_of_life(runtime, value),
        eol_date=supported_until(runtime, value),
        overridden=[
            Overridden(source=statement.source, file=statement.file, line=statement.line, value=statement.value)
            for statement in ranked
            if statement is not winner
        ],
    )


def _unique(said: list[tuple[int, Statement]]) -> list[tuple[int, Statement]]:
    seen: dict[tuple[str, int | None, str], tuple[int, Statement]] = {}
    for depth, statement in said:
        seen.setdefault((statement.file, statement.line, statement.source), (depth, statement))
    return list(seen.values())


def _order(depth: int, statement: Statement, nearest: bool) -> tuple[int, int, int, int]:
    """``nearest``: the package itself says something, which a file that deploys a folder above does not override."""
    if statement.source == "env" and depth and nearest:
        return 6, depth, 0, statement.line or 0
    place, rank = _RANK.get(
        statement.source,
        _FILES
        if statement.file.endswith(statement.source) and statement.source in version_files.READERS
        else _MANIFESTS,
    )
    if place in {2, 3}:  # version files of either kind: the nearest folder first
        return 2, depth, place, rank + _PLAIN_RANK.get(statement.source, 9)
    return place, depth, rank, statement.line or 0


def _statements(survey: Survey, package: Package, read: FileStatements) -> Iterable[tuple[int, Statement]]:
    ecosystems = {manifest.ecosystem for manifest in package.manifests}
    for manifest in package.manifests:
        for statement in manifest.statements:
            yield 0, statement
    for depth, (folder, names, markers, manifests) in enumerate(survey.above(package.path)):
        for name in markers:
            if name in version_files.READERS and not (depth and name in _OWN_ONLY):
                yield from ((depth, statement) for statement in _read(survey, package, join(folder, name), read))
            elif name.startswith("Dockerfile.") and not depth:
                text = survey.scan.tree.text(join(folder, name), 1 << 16) or ""
                yield from ((depth, statement) for statement in version_files.dockerfile(join(folder, name), text))
        if "pom.xml" in names or "gradlew" in names or "mvnw" in names or "build.sbt" in names:
            for name in version_files.NESTED:
                path = join(folder, name)
                if survey.scan.tree.has(path):
                    yield from ((depth, statement) for statement in _read(survey, package, path, read))
        if depth:
            for manifest in manifests:
                for statement in _handed_down(manifest, ecosystems) if manifest.statements else ():
                    yield depth, statement


#: They say nothing about the packages below their own.
_OWN_ONLY = frozenset((".env", "Dockerfile", "Gemfile.lock"))


def _handed_down(manifest: Manifest, ecosystems: set[str]) -> list[Statement]:
    """Return a workspace root's statements for its members."""
    if manifest.ecosystem == "npm" and "npm" in ecosystems:
        return manifest.statements
    if manifest.kind == "Cargo.toml" and "cargo" in ecosystems:
        return manifest.statements
    if manifest.kind in {"build.gradle", "build.gradle.kts"} and "maven" in ecosystems:
        return manifest.statements
    if manifest.ecosystem in _INHERITED & ecosystems and manifest.kind == "pyproject.toml":
        return manifest.statements
    return []


def _read(survey: Survey, package: Package, path: str, read: FileStatements) -> list[Statement]:
    """Return a version file's statements; when it is broken, the first package that it concerns gets a warning."""
    if path not in read:
        text = survey.scan.tree.text(path, 1 << 20)
        try:
            read[path] = version_files.read(path, text) if text is not None else []
        except Broken as broken:
            package.warnings.append(f"{path}:{broken.line or 1}: {broken.reason}")
            read[path] = []
    return read[path]


def _conflict(runtime: str, value: str, winner: Statement, others: list[Statement]) -> Iterable[Contradiction]:
    """Yield a pin that another statement rules out."""
    against = []
    for statement in others:
        theirs = clean(runtime, statement.value)
        if statement.source in _AT_LEAST or (statement.source.startswith("maven-compiler-plugin") and is_pin(theirs)):
            theirs = f">={theirs}"
        fits = satisfies(value, theirs, runtime) if is_pin(value) else satisfies(theirs, value, runtime)
        if fits is False:
            against.append(f"{statement.source} {statement.value}")
    if against:
        mine = f"{winner.source} {winner.value}"
        yield Contradiction(kind="versions", claims=[mine, *against], winner=mine, rule="version-precedence")
