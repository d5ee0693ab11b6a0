"""Nx projects: they have a ``project.json`` and no manifest of their own, and share the dependencies of the root."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from services.stacks.manifests.model import Dependency, Manifest, dig, table, text_of
from services.stacks.packages.package import Package
from services.stacks.scan.model import Scan
from services.stacks.tree import HEAD_BYTES, ancestors, join

_IMPORT = re.compile(
    rb"""(?:\bfrom\s*|\brequire\(\s*|\bimport\(\s*|\bimport\s+)["']((?:@[\w.-]+/)?[\w.-]+)(?:/[^"'\n]*)?["']"""
)
#: So many files of a project are searched for what they import.
_MOST_READ = 60
_CODE = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".vue", ".svelte")
#: A plugin that builds or serves a project is there for this package.
_PLUGINS = {
    "next": "next", "nest": "@nestjs/core", "react": "react", "angular": "@angular/core", "vue": "vue", "nuxt": "nuxt",
    "express": "express", "expo": "expo", "react-native": "react-native", "remix": "@remix-run/react", "vite": "vite",
    "build-angular": "@angular/core", "storybook": "storybook",
}  # fmt: skip


def drop_foreign_projects(scan: Scan) -> None:
    """A ``project.json`` outside of an Nx workspace belongs to another tool."""
    for path, folder in scan.folders.items():
        if any(manifest.kind == "project.json" for manifest in folder.manifests) and not _in_nx(scan, path):
            folder.manifests[:] = [manifest for manifest in folder.manifests if manifest.kind != "project.json"]


def _in_nx(scan: Scan, path: str) -> bool:
    return any("nx.json" in scan.names(folder) for folder in ancestors(path))


def shared_dependencies(scan: Scan, package: Package, manifest: Manifest) -> Iterable[Dependency]:
    """Those of the root's dependencies that the project's code imports or its plugins are for."""
    if package.manifest("package.json"):
        return []
    root = next(
        (manifest_above for folder in list(ancestors(package.path))[1:] for manifest_above in _node(scan, folder)), None
    )
    if root is None:
        return []
    used = _imported(scan, package)
    for target in table(manifest.data.get("targets")).values():
        executor = text_of(dig(target, "executor")) or ""
        used.add(_PLUGINS.get(executor.partition(":")[0].rpartition("/")[2], ""))
    return [
        replace(dependency, scope="prod") if dependency.scope == "dev" else dependency
        for dependency in root.dependencies
        if dependency.name in used
    ]


def _node(scan: Scan, folder: str) -> list[Manifest]:
    scanned = scan.folders.get(folder) or scan.outside.get(folder)
    return [manifest for manifest in scanned.manifests if manifest.kind == "package.json"] if scanned else []


def _imported(scan: Scan, package: Package) -> set[str]:
    used: set[str] = set()
    left = _MOST_READ
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
