"""What the root of a JavaScript workspace holds for its packages: dependencies of Nx projects, catalogs of versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from services.stacks.manifests.formats import Broken, read_jsonc, read_yaml
from services.stacks.manifests.model import Dependency, Manifest, dig, table, text_of
from services.stacks.packages.package import Package
from services.stacks.scan.model import Scan
from services.stacks.tree import HEAD_BYTES, ancestors, join, resolved

_IMPORT = re.compile(
    rb"""(?:\bfrom\s*|\brequire\(\s*|\bimport\(\s*|\bimport\s+)["']((?:@[\w.-]+/)?[\w.-]+)(?:/[^"'\n]*)?["']"""
)
#: Maximum number of a project's files that are searched for imports.
_MAX_READ = 60
_CODE = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".vue", ".svelte")
#: A plugin that builds or serves a project is there for this package.
_PLUGINS = {
    "next": "next", "nest": "@nestjs/core", "react": "react", "angular": "@angular/core", "vue": "vue", "nuxt": "nuxt",
    "express": "express", "expo": "expo", "react-native": "react-native", "remix": "@remix-run/react", "vite": "vite",
    "build-angular": "@angular/core", "storybook": "storybook",
}  # fmt: skip


def add_listed_projects(scan: Scan) -> None:
    """Add the projects of older Nx workspaces, which are listed in one file and have no manifests."""
    for path, folder in list(scan.folders.items()):
        if not folder.markers or "nx.json" not in folder.files:
            continue
        name = next((name for name in ("workspace.json", "angular.json") if name in folder.files), None)
        if name is None:
            continue
        try:
            text = scan.tree.text(join(path, name)) or ""
            projects = table(read_jsonc(text).get("projects"))
        except Broken:
            continue
        for project, spec in projects.items():
            root = text_of(spec) or text_of(table(spec).get("root"))
            place = resolved(path, root) if root else None
            inner = scan.folders.get(place) if place else None
            if inner is not None and "project.json" not in inner.files and inner is not folder:
                listed = Manifest(join(path, name), "project.json", "npm", text, name=project, data=dict(table(spec)))
                listed.facts["projectType"] = text_of(table(spec).get("projectType")) or "application"
                targets = table(table(spec).get("targets")) or table(table(spec).get("architect"))
                listed.facts["targets"] = "\n".join(targets)
                inner.manifests.append(listed)


def drop_foreign_projects(scan: Scan) -> None:
    """Drop a ``project.json`` outside of an Nx workspace: it belongs to another tool."""
    for path, folder in scan.folders.items():
        manifests = folder.manifests
        if manifests and any(one.kind == "project.json" for one in manifests) and not _in_nx(scan, path):
            folder.manifests[:] = [manifest for manifest in folder.manifests if manifest.kind != "project.json"]


def _in_nx(scan: Scan, path: str) -> bool:
    return any("nx.json" in scan.names(folder) for folder in ancestors(path))


def shared_dependencies(scan: Scan, package: Package, manifest: Manifest) -> Iterable[Dependency]:
    """Return those of the root's dependencies that the project's code imports or its plugins are for."""
    if package.manifest("package.json"):
        return []
    above = islice(ancestors(package.path), 1, None)
    outer = (manifest for folder in above for manifest in scan.manifests_at(folder))
    root = next((manifest for manifest in outer if manifest.kind == "package.json"), None)
    if root is None:
        return []
    used = _imported(scan, package)
    for target in (table(manifest.data.get("targets")) or table(manifest.data.get("architect"))).values():
        executor = text_of(dig(target, "executor")) or text_of(dig(target, "builder")) or ""
        used.add(_PLUGINS.get(executor.partition(":")[0].rpartition("/")[2], ""))
    return [
        replace(dependency, scope="prod") if dependency.scope == "dev" else dependency
        for dependency in root.dependencies
        if dependency.name in used
    ]


def _imported(scan: Scan, package: Package) -> set[str]:
    used: set[str] = set()
    left = _MAX_READ
    for folder in package.folders:
        for name in sorted(folder.files):
            if not left:
                return used
            if name.endswith(_CODE):
                left -= 1
                path = join(folder.path, name)
                head = scan.heads.get(path) or scan.tree.read(path, HEAD_BYTES) or b""
                used.update(match[1].decode() for match in _IMPORT.finditer(head))
    return used


#: Name of a catalog ("" is the default one) to names of packages to versions.
Catalog = Mapping[str, Mapping[str, str]]


@dataclass
class Catalogs:
    """The catalogs of a source, each read once."""

    scan: Scan
    _read: dict[str, Catalog] = field(default_factory=dict)

    def resolve(self, manifest: Manifest, path: str) -> None:
        """Put the versions in that a ``package.json`` takes from a catalog."""
        if not any(
            dependency.version and dependency.version.startswith("catalog:") for dependency in manifest.dependencies
        ):
            return
        known = next((catalog for folder in ancestors(path) if (catalog := self._of(folder))), {})
        for place, dependency in enumerate(manifest.dependencies):
            if dependency.version and dependency.version.startswith("catalog:"):
                name = dependency.version.removeprefix("catalog:")
                version = known.get("" if name == "default" else name, {}).get(dependency.name)
                manifest.dependencies[place] = replace(dependency, version=version or dependency.version)

    def _of(self, folder: str) -> Catalog:
        if folder not in self._read:
            self._read[folder] = self._declared(folder)
        return self._read[folder]

    def _declared(self, folder: str) -> Catalog:
        data: object = {}
        if "pnpm-workspace.yaml" in self.scan.names(folder):
            try:
                data = read_yaml(self.scan.tree.text(join(folder, "pnpm-workspace.yaml")) or "")
            except Broken:
                data = {}  # the workspace reports it
        catalog = dict(_catalogs(data))
        for manifest in self.scan.manifests_at(folder):
            if manifest.kind == "package.json":
                for place in (manifest.data, manifest.data.get("workspaces")):
                    for name, versions in _catalogs(place).items():
                        catalog.setdefault(name, versions)
        return catalog


def _catalogs(data: object) -> dict[str, Mapping[str, str]]:
    named = {"": dig(data, "catalog"), **table(dig(data, "catalogs"))}
    read = {
        name: {key: text for key, value in table(versions).items() if (text := text_of(value))}
        for name, versions in named.items()
    }
    return {name: versions for name, versions in read.items() if versions}
