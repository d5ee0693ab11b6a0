"""The packages of a tree: one per folder with a manifest that makes one, and what belongs to each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from services.stacks.manifests.dotnet import read_shared
from services.stacks.manifests.formats import Broken
from services.stacks.manifests.gradle import apply_catalog
from services.stacks.manifests.kinds import kind_of
from services.stacks.manifests.model import Dependency, Manifest
from services.stacks.scan import Scan, ScannedFolder, Sources
from services.stacks.tree import ancestors, join, parent
from shared.contracts.detect import Kind

_COMPILED = frozenset(
    ("C", "C++", "Assembly", "Unix Assembly", "Fortran", "Cuda", "Objective-C", "Pascal", "COBOL", "Ada")
)
_TOPMOST_ONLY = frozenset(("CMakeLists.txt", "meson.build", "Makefile", "*.tf", "configure.ac", "BUILD"))
_SHELLS = ("android", "ios", "macos", "linux", "windows", "web")


@dataclass(frozen=True, slots=True)
class Proof:
    """One piece of evidence and how much it weighs (0..1)."""

    file: str
    line: int | None
    rule: str
    snippet: str | None
    weight: float


@dataclass(slots=True)
class Finding:
    """A technology that a detector found in a package."""

    kind: Kind
    id: str
    name: str
    proofs: list[Proof]
    custom: bool = False
    version: str | None = None
    source: str = "rule"
    tier: int = 0
    ecosystem: str = ""
    confidence: float = field(init=False)

    def __post_init__(self) -> None:
        self.weigh()

    def weigh(self) -> None:
        """Independent proofs together: one minus the product of what each leaves open."""
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
    findings: dict[tuple[Kind, str], Finding] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    dependencies: dict[tuple[str, str], Dependency] = field(default_factory=dict)
    ranked: dict[str, list[Finding]] = field(default_factory=dict)  #: until the next finding

    def has(self, kind: str) -> Manifest | None:
        return next((it for it in self.manifests if it.kind == kind), None)

    def of(self, ecosystem: str) -> Manifest | None:
        return next((it for it in self.manifests if it.ecosystem == ecosystem), None)

    def add(self, finding: Finding) -> None:
        key = (finding.kind, finding.id)
        self.ranked.clear()
        known = self.findings.get(key)
        if known is None:
            self.findings[key] = finding
            return
        best = {(proof.file, proof.line): proof for proof in known.proofs}
        for proof in finding.proofs:
            if (proof.file, proof.line) not in best or best[proof.file, proof.line].weight < proof.weight:
                best[proof.file, proof.line] = proof
        known.proofs = list(best.values())
        known.weigh()
        known.version = known.version or finding.version

    def found(self, kind: Kind) -> list[Finding]:
        return [it for (one, _), it in self.findings.items() if one == kind]

    def own_files(self) -> Iterator[tuple[str, str]]:
        """Every file of the package: its name and its path."""
        for folder in self.folders:
            for name in folder.files:
                yield name, join(folder.path, name)

    @property
    def depth(self) -> int:
        return self.path.count("/") + 1 if self.path else 0


@dataclass(slots=True)
class Survey:
    """All that the detectors look at, and what they have found."""

    scan: Scan
    packages: dict[str, Package]
    warnings: list[str] = field(default_factory=list)
    llm_calls: int = 0

    def line_proof(self, manifest: Manifest, line: int | None, rule: str, weight: float) -> Proof:
        return Proof(manifest.path, line, rule, manifest.snippet(line), weight)

    def above(self, path: str) -> Iterator[tuple[str, dict[str, int]]]:
        """The folder and those above it up to the root of the source, with the names in them."""
        for folder in ancestors(path):
            yield folder, self.scan.names(folder)

    def manifests_at(self, folder: str) -> list[Manifest]:
        found = self.scan.folders.get(folder) or self.scan.outside.get(folder)
        return found.manifests if found else []


def find_packages(scan: Scan) -> dict[str, Package]:
    packages: dict[str, Package] = {}
    for path, folder in scan.folders.items():
        if folder.manifests and _makes_package(scan, folder, packages):
            packages[path] = Package(path, list(folder.manifests), folder.files)
    _drop_platform_shells(packages)
    for path, folder in scan.folders.items():
        owner = owner_of(path, packages)
        if owner is not None:
            owner.folders.append(folder)
            for language, sources in folder.sources.items():
                mine = owner.sources.setdefault(language, Sources(first=sources.first))
                mine.bytes += sources.bytes
                mine.files += sources.files
    for path, folder in scan.folders.items():
        if path not in packages and folder.manifests:
            _adopt(folder, owner_of(path, packages))
    for package in [it for it in packages.values() if _hollow(it, packages)]:
        del packages[package.path]
    for package in packages.values():
        _inherit(scan, package)
    return packages


def owner_of(path: str, packages: dict[str, Package]) -> Package | None:
    return next((packages[folder] for folder in ancestors(path) if folder in packages), None)


def _makes_package(scan: Scan, folder: ScannedFolder, packages: dict[str, Package]) -> bool:
    makers = [it for it in folder.manifests if it.package or it.problems]
    kinds = [(it, kind_of(it.path.rpartition("/")[2])) for it in makers]
    strong = [it for it, kind in kinds if kind and not kind.weak]
    above = [packages[path] for path in ancestors(parent(folder.path)) if path in packages] if folder.path else []
    if any(not _nested(it, above) for it in strong):
        return True
    weak = [it for it, kind in kinds if kind and kind.weak]
    return any(_weak_counts(scan, it, folder, above) for it in weak) or _tool_settings_only(folder, above)


def _nested(manifest: Manifest, above: list[Package]) -> bool:
    """Whether it only continues a build that an ancestor began."""
    if manifest.kind in _TOPMOST_ONLY:
        return any(it.kind == manifest.kind for package in above for it in package.manifests)
    return manifest.kind == "bazel" and any(package.has("bazel") for package in above)


def _weak_counts(scan: Scan, manifest: Manifest, folder: ScannedFolder, above: list[Package]) -> bool:
    languages = _languages_below(scan, folder.path)
    if manifest.kind == "requirements.txt":
        return not folder.path or bool(languages & {"Python", "Jupyter Notebook", "Cython"})
    if manifest.kind == "Makefile":
        if above:
            return False
        return bool(languages & _COMPILED) or (
            not folder.path and bool(languages - {"Shell", "Makefile", "Dockerfile"})
        )
    if manifest.kind == "_config.yml":
        return "_posts" in folder.folders or "_layouts" in folder.folders or "Gemfile" in folder.files
    if manifest.kind == "*.tf":
        return not _nested(manifest, above)
    if manifest.kind in {"mkdocs.yml", "dist.ini", "configure.ac"}:
        return not any(package.path == folder.path for package in above)
    return not above


def _tool_settings_only(folder: ScannedFolder, above: list[Package]) -> bool:
    """A ``pyproject.toml`` that only configures tools makes a package where Python stands beside it."""
    return (
        any(it.kind == "pyproject.toml" for it in folder.manifests)
        and "Python" in folder.sources
        and not any(package.of("pypi") for package in above)
    )


def _languages_below(scan: Scan, path: str) -> set[str]:
    prefix = path + "/" if path else ""
    found: set[str] = set()
    for other, folder in scan.folders.items():
        if other == path or other.startswith(prefix):
            found.update(folder.sources)
    return found


def _hollow(package: Package, packages: dict[str, Package]) -> bool:
    """A root that holds only ``make`` while the real packages stand below it is no package of its own."""
    strong = [it for it in package.manifests if it.kind != "Makefile"]
    if strong or len(packages) < 2:
        return False
    own = set(package.sources) - {"Shell", "Makefile", "Dockerfile"}
    return not own and any(path.startswith(package.path) and path != package.path for path in packages)


def _drop_platform_shells(packages: dict[str, Package]) -> None:
    """``android``, ``ios`` and so on under a Flutter, React Native or Ionic app belong to that app."""
    for path in sorted(packages):
        outer, _, name = path.rpartition("/")
        for above in ancestors(outer) if path else ():
            relative = path[len(above) + 1 :] if above else path
            if above in packages and relative.partition("/")[0] in _SHELLS and _mobile(packages[above]):
                packages.pop(path, None)
                break
        del name


def _mobile(package: Package) -> bool:
    pubspec, node = package.has("pubspec.yaml"), package.has("package.json")
    if pubspec is not None and any(it.name == "flutter" for it in pubspec.dependencies):
        return True
    mobile = {"react-native", "expo", "@capacitor/core", "@ionic/angular", "@ionic/react", "@ionic/vue", "cordova"}
    return node is not None and any(it.name in mobile for it in node.dependencies)


def _adopt(folder: ScannedFolder, owner: Package | None) -> None:
    """Requirement files in a folder of their own belong to the package around it."""
    if owner is None:
        return
    for manifest in folder.manifests:
        if manifest.kind == "requirements.txt" and folder.path.rpartition("/")[2] == "requirements":
            owner.manifests.append(manifest)
        elif manifest.kind in {"_config.yml", "hugo"}:
            continue


def _inherit(scan: Scan, package: Package) -> None:
    """Dependencies by name, with what parents, catalogs and central lists add to them."""
    for manifest in package.manifests:
        if manifest.problems:
            package.warnings.extend(manifest.problems)
        if manifest.kind in {"build.gradle", "build.gradle.kts"}:
            _gradle(scan, package, manifest)
        elif manifest.kind == "pom.xml":
            _maven(scan, package, manifest)
        elif manifest.ecosystem == "nuget":
            _dotnet(scan, package, manifest)
    for manifest in package.manifests:
        for dependency in manifest.dependencies:
            key = (dependency.ecosystem, dependency.name)
            known = package.dependencies.get(key)
            if known is None or (known.scope != "prod" and dependency.scope == "prod"):
                package.dependencies[key] = dependency


def _manifests(scan: Scan, folder: str) -> list[Manifest]:
    found = scan.folders.get(folder) or scan.outside.get(folder)
    return found.manifests if found else []


def _gradle(scan: Scan, package: Package, manifest: Manifest) -> None:
    for folder in ancestors(package.path):
        catalog = join(folder, "gradle/libs.versions.toml")
        if scan.tree.has(catalog):
            apply_catalog(manifest, scan.tree.text(catalog) or "")
            break
    for folder in list(ancestors(package.path))[1:]:
        for outer in _manifests(scan, folder):
            if outer.kind in {"build.gradle", "build.gradle.kts"}:
                for dependency in outer.dependencies:
                    shared = f"shared-library:{dependency.name}"
                    plugin = f"shared-plugin:{dependency.name.removeprefix('plugin:')}"
                    if shared in outer.facts or plugin in outer.facts:
                        manifest.dependencies.append(dependency)
                for key, at in outer.facts.items():
                    if key.startswith("shared-plugin:"):
                        manifest.dependencies.append(
                            Dependency("maven", "plugin:" + key.partition(":")[2], None, "prod", outer, int(at))
                        )


def _dotnet(scan: Scan, package: Package, manifest: Manifest) -> None:
    """What ``Directory.Build.props`` sets and ``Directory.Packages.props`` pins, from the nearest folder."""
    said = {it.runtime for it in manifest.statements}
    for name in ("Directory.Build.props", "Directory.Packages.props"):
        folder = next((it for it in ancestors(package.path) if name in scan.names(it)), None)
        if folder is None:
            continue
        shared = Manifest(join(folder, name), name, "nuget", scan.tree.text(join(folder, name)) or "")
        try:
            read_shared(shared)
        except Broken as broken:
            package.warnings.append(f"{shared.path}:{broken.line or 1}: {broken.reason}")
            continue
        manifest.statements.extend(it for it in shared.statements if it.runtime not in said)
        pinned = {it.name: it.version for it in shared.dependencies}
        manifest.dependencies = [
            replace(it, version=pinned[it.name]) if it.version is None and it.name in pinned else it
            for it in manifest.dependencies
        ]


def _maven(scan: Scan, package: Package, manifest: Manifest) -> None:
    """Follow parents inside the tree: what they depend on, every child depends on."""
    seen, here = {manifest.path}, manifest
    while relative := here.facts.get("parent"):
        path = _resolve(here.folder, relative)
        if path is not None and not path.endswith(".xml"):
            path = join(path, "pom.xml")
        outer = next((it for it in _manifests(scan, parent(path or "")) if it.path == path), None) if path else None
        if outer is None or outer.path in seen:
            return
        seen.add(outer.path)
        manifest.dependencies.extend(it for it in outer.dependencies if it not in manifest.dependencies)
        manifest.statements.extend(outer.statements)
        here = outer


def _resolve(folder: str, relative: str) -> str | None:
    parts = folder.split("/") if folder else []
    for part in relative.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)
