"""What a package's manifests leave to others: parents, catalogs, central lists, the root of an Nx workspace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from pydantic import JsonValue

from services.stacks.budget import Budget, inherited_budget
from services.stacks.manifests.dotnet import read_shared
from services.stacks.manifests.formats import Broken
from services.stacks.manifests.model import Dependency, Manifest, Statement, dig, table, text_of, texts
from services.stacks.manifests.python import read_requirements
from services.stacks.packages.gradle import GradleBuilds
from services.stacks.packages.javascript import Catalogs, shared_dependencies
from services.stacks.packages.package import JVM_SOURCES, Package
from services.stacks.scan.model import Scan
from services.stacks.tree import ancestors, join, parent, resolved

#: Requirement files that are followed from one.
MAX_INCLUDED = 40
#: Parents of a Maven project that are followed.
MAX_PARENTS = 40
_CENTRAL = ("Directory.Build.props", "Directory.Packages.props")


@dataclass(frozen=True)
class OwnContent:
    """What a manifest says by itself."""

    dependencies: Sequence[Dependency]
    statements: Sequence[Statement]


@dataclass(frozen=True)
class CentralProps:
    """A ``Directory.*.props`` file: what it sets, and the versions that it pins."""

    statements: Sequence[Statement]
    versions: Mapping[str, str | None]


@dataclass
class Inheritance:
    """Gives each package's manifests what others in the tree say for them; each of those is read once."""

    scan: Scan
    catalogs: Catalogs = field(init=False)
    gradle: GradleBuilds = field(init=False)
    budget: Budget = field(default_factory=inherited_budget)
    _requirement_files: dict[str, Manifest] = field(default_factory=dict)
    _own: dict[str, OwnContent] = field(default_factory=dict)  #: by path, before anything was inherited
    _central: dict[str, CentralProps | Broken] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.catalogs = Catalogs(self.scan)
        self.gradle = GradleBuilds(self.scan, self.budget)

    def complete(self, packages: Iterable[Package]) -> None:
        """Dependencies by name, with what parents, catalogs and central lists add to them."""
        for package in packages:
            self._take(package)
            for manifest in package.manifests:
                for dependency in manifest.dependencies:
                    key = (dependency.ecosystem, dependency.name)
                    known = package.dependencies.get(key)
                    if known is None or (known.scope != "prod" and dependency.scope == "prod"):
                        package.dependencies[key] = dependency
        self.scan.warnings += self.budget.warnings

    def _take(self, package: Package) -> None:
        for manifest in package.manifests:
            if manifest.problems:
                package.warnings.extend(manifest.problems)
            if manifest.ecosystem == "npm":
                if manifest.kind == "project.json":
                    manifest.dependencies.extend(shared_dependencies(self.scan, package, manifest))
                else:
                    self.catalogs.resolve(manifest, package.path)
            elif manifest.kind in {"build.gradle", "build.gradle.kts"}:
                self._gradle(package, manifest)
            elif manifest.kind == "pom.xml":
                self._maven(manifest, package)
            elif manifest.ecosystem == "nuget":
                self._dotnet(package, manifest)
            elif "includes" in manifest.facts:
                self._requirements(manifest)
            elif manifest.kind == "build.sbt":
                self._sbt(manifest)
            elif manifest.kind == "Cargo.toml":
                self._cargo(package, manifest)

    def _by_itself(self, manifest: Manifest) -> OwnContent:
        """Return a manifest's content before inheritance: otherwise what is inherited twice would double at every
        level.
        """
        if manifest.path not in self._own:
            self._own[manifest.path] = OwnContent(tuple(manifest.dependencies), tuple(manifest.statements))
        return self._own[manifest.path]

    def _cargo(self, package: Package, manifest: Manifest) -> None:
        """Fill in what the root of a Cargo workspace says about the crates that its members take from it."""
        if not any(dependency.version == "workspace" for dependency in manifest.dependencies):
            return
        shared: Mapping[str, JsonValue] = {}
        for folder in ancestors(package.path):
            roots = (one for one in self.scan.manifests_at(folder) if one.kind == "Cargo.toml")
            shared = next(
                (table(dig(one.data, "workspace", "dependencies")) for one in roots if "workspace" in one.data), {}
            )
            if shared:
                break
        by_name = {text_of(table(spec).get("package")) or alias: spec for alias, spec in shared.items()}
        for at, dependency in enumerate(manifest.dependencies):
            spec = by_name.get(dependency.name, shared.get(dependency.name))
            if dependency.version != "workspace" or spec is None:
                continue
            features = texts(table(spec).get("features"))
            if not self.budget.take(1 + len(features)):
                return
            manifest.dependencies[at] = replace(
                dependency,
                name=text_of(table(spec).get("package")) or dependency.name,
                version=text_of(spec) or text_of(table(spec).get("version")) or dependency.version,
                extras=(*dependency.extras, *features),
            )

    def _sbt(self, manifest: Manifest) -> None:
        """Add the plugins of an sbt build, which are declared in a separate build."""
        path = join(manifest.folder, "project/plugins.sbt")
        if not self.scan.tree.has(path):
            return
        plugins = Manifest(path, "plugins.sbt", "maven", self.scan.tree.text(path, 1 << 16) or "")
        for match in re.finditer(r'addSbtPlugin\(\s*"([\w.-]+)"\s*%\s*"([\w.-]+)"\s*%\s*"([^"]+)"', plugins.text):
            plugins.depend(f"sbt-build:{match[1]}:{match[2]}", match[3], "prod", match.start())
        manifest.dependencies.extend(plugins.dependencies)

    def _gradle(self, package: Package, manifest: Manifest) -> None:
        self.gradle.complete(manifest, package.path)
        self._by_itself(manifest)
        if JVM_SOURCES.isdisjoint(package.sources):
            return  # what a build gives to all of its projects is used by those that are written in its languages
        for folder in islice(ancestors(package.path), 1, None):
            for outer in self.scan.manifests_at(folder):
                if outer.kind in {"build.gradle", "build.gradle.kts"}:
                    self._shared(manifest, outer)

    def _shared(self, manifest: Manifest, outer: Manifest) -> None:
        """Add what a build declares for all the projects below it."""
        own = self._by_itself(outer).dependencies
        if not self.budget.take(len(own) + len(outer.facts)):
            return
        for dependency in own:
            library = f"shared-library:{dependency.name}"
            plugin = f"shared-plugin:{dependency.name.removeprefix('plugin:')}"
            if library in outer.facts or plugin in outer.facts:
                manifest.dependencies.append(replace(dependency, inherited=True))
        for key, at in outer.facts.items():
            if key.startswith("shared-plugin:"):
                name = "plugin:" + key.partition(":")[2]
                manifest.dependencies.append(Dependency("maven", name, None, "prod", outer, int(at), inherited=True))

    def _requirements(self, manifest: Manifest) -> None:
        """Follow the requirement files that a manifest reads, and those that they read."""
        left, seen = [manifest], {manifest.path}
        versions: dict[str, str] = {}
        while left and len(seen) <= MAX_INCLUDED:
            here = left.pop()
            for line in here.facts.get("includes", "").splitlines():
                how, _, relative = line.partition(" ")
                path = resolved(here.folder, relative)
                if path is None or path in seen or not self.scan.tree.has(path):
                    continue
                seen.add(path)
                read = self._requirement_file(path)
                if not self.budget.take(len(read.dependencies)):
                    return
                if how == "c":
                    versions |= {one.name: one.version for one in read.dependencies if one.version}
                else:
                    manifest.dependencies.extend(read.dependencies)
                left.append(read)
        manifest.dependencies[:] = [
            replace(one, version=versions[one.name]) if one.version is None and one.name in versions else one
            for one in manifest.dependencies
        ]

    def _requirement_file(self, path: str) -> Manifest:
        if path not in self._requirement_files:
            read = Manifest(path, "requirements.txt", "pypi", self.scan.tree.text(path, 1 << 20) or "")
            read_requirements(read)
            self._requirement_files[path] = read
        return self._requirement_files[path]

    def _dotnet(self, package: Package, manifest: Manifest) -> None:
        """Add what ``Directory.Build.props`` sets and ``Directory.Packages.props`` pins, from the nearest folder."""
        said = {statement.runtime for statement in manifest.statements}
        for name in _CENTRAL:
            folder = next((above for above in ancestors(package.path) if name in self.scan.names(above)), None)
            if folder is None:
                continue
            shared = self._read_central(join(folder, name), name)
            if isinstance(shared, Broken):
                package.warnings.append(f"{join(folder, name)}:{shared.line or 1}: {shared.reason}")
                continue
            manifest.statements.extend(statement for statement in shared.statements if statement.runtime not in said)
            pinned = shared.versions
            manifest.dependencies = [
                replace(dependency, version=pinned[dependency.name])
                if dependency.version is None and dependency.name in pinned
                else dependency
                for dependency in manifest.dependencies
            ]

    def _read_central(self, path: str, name: str) -> CentralProps | Broken:
        if path not in self._central:
            shared = Manifest(path, name, "nuget", self.scan.tree.text(path) or "")
            try:
                read_shared(shared)
                self._central[path] = CentralProps(
                    shared.statements, {dependency.name: dependency.version for dependency in shared.dependencies}
                )
            except Broken as broken:
                self._central[path] = broken
        return self._central[path]

    def _maven(self, manifest: Manifest, package: Package) -> None:
        """Follow parents inside the tree: what they depend on, every child depends on."""
        foreign = (
            JVM_SOURCES.isdisjoint(package.sources) and package.manifest_of("npm", "pypi", "go", "cargo") is not None
        )
        self._by_itself(manifest)
        seen, here = {manifest.path}, manifest
        while (relative := here.facts.get("parent")) and len(seen) <= MAX_PARENTS:
            path = resolved(here.folder, relative)
            if path is not None and not path.endswith(".xml"):
                path = join(path, "pom.xml")
            beside = self.scan.manifests_at(parent(path)) if path else []
            outer = next((manifest for manifest in beside if manifest.path == path), None)
            if outer is None or outer.path in seen:
                return
            seen.add(outer.path)
            own = self._by_itself(outer)
            if not self.budget.take(len(own.dependencies) + len(outer.facts)):
                return
            manifest.dependencies.extend(
                replace(
                    dependency, scope="indirect" if dependency.section == "parent" else dependency.scope, inherited=True
                )
                for dependency in (own.dependencies if not foreign else ())
            )
            for key, value in outer.facts.items():
                if key.startswith("managed:"):
                    manifest.facts.setdefault(key, value)
            manifest.statements.extend(own.statements)
            here = outer
