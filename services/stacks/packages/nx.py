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
    """A ``project.json`` outside of an Nx workspace is somebody else's."""
    for path, folder in scan.folders.items():
        if any(it.kind == "project.json" for it in folder.manifests) and not _in_nx(scan, path):
            folder.manifests[:] = [it for it in folder.manifests if it.kind != "project.json"]


def _in_nx(scan: Scan, path: str) -> bool:
    return any("nx.json" in scan.names(folder) for folder in ancestors(path))


def shared_dependencies(scan: Scan, package: Package, manifest: Manifest) -> Iterable[Dependency]:
    """Those of the root's dependencies that the project's code imports or its plugins are for."""
    if package.has("package.json"):
        return []
    root = next((it for folder in list(ancestors(package.path))[1:] for it in _node(scan, folder)), None)
    if root is None:
        return []
    used = _imported(scan, package)
    for target in table(manifest.data.get("targets")).values():
        executor = text_of(dig(target, "executor")) or ""
        used.add(_PLUGINS.get(executor.partition(":")[0].rpartition("/")[2], ""))
    return [replace(it, scope="prod") if it.scope == "dev" else it for it in root.dependencies if it.name in used]


def _node(scan: Scan, folder: str) -> list[Manifest]:
    found = scan.folders.get(folder) or scan.outside.get(folder)
    return [it for it in found.manifests if it.kind == "package.json"] if found else []


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
                used.update(found[1].decode() for found in _IMPORT.finditer(head))
    return used
