"""What a package's manifests leave to others: parents, catalogs, central lists, the root of an Nx workspace."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from services.stacks.catalogs import Catalogs
from services.stacks.manifests.dotnet import read_shared
from services.stacks.manifests.formats import Broken
from services.stacks.manifests.gradle import apply_catalog
from services.stacks.manifests.model import Dependency, Manifest
from services.stacks.nx import shared_dependencies
from services.stacks.scan import Scan
from services.stacks.tree import ancestors, join, parent

if TYPE_CHECKING:
    from services.stacks.packages import Package


def inherit(scan: Scan, package: Package, catalogs: Catalogs) -> None:
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
        elif manifest.kind == "build.sbt":
            _sbt(scan, manifest)
        elif manifest.kind == "project.json":
            manifest.dependencies.extend(shared_dependencies(scan, package, manifest))
        elif manifest.ecosystem == "npm":
            catalogs.resolve(manifest, package.path)
    for manifest in package.manifests:
        for dependency in manifest.dependencies:
            key = (dependency.ecosystem, dependency.name)
            known = package.dependencies.get(key)
            if known is None or (known.scope != "prod" and dependency.scope == "prod"):
                package.dependencies[key] = dependency


def _sbt(scan: Scan, manifest: Manifest) -> None:
    """The plugins of a build stand in a build of their own."""
    path = join(manifest.folder, "project/plugins.sbt")
    if not scan.tree.has(path):
        return
    plugins = Manifest(path, "plugins.sbt", "maven", scan.tree.text(path, 1 << 16) or "")
    for found in re.finditer(r'addSbtPlugin\(\s*"([\w.-]+)"\s*%\s*"([\w.-]+)"\s*%\s*"([^"]+)"', plugins.text):
        plugins.depend(f"{found[1]}:{found[2]}", found[3], "prod", found.start())
    manifest.dependencies.extend(plugins.dependencies)


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
        manifest.dependencies.extend(
            replace(it, scope="indirect") if it.section == "parent" else it
            for it in outer.dependencies
            if it not in manifest.dependencies
        )
        for key, value in outer.facts.items():
            if key.startswith("managed:"):
                manifest.facts.setdefault(key, value)
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
