"""Versions that a workspace keeps in one place: the catalogs of pnpm and Bun."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from services.stacks.manifests.formats import Broken, read_yaml
from services.stacks.manifests.model import Manifest, dig, table, text_of
from services.stacks.scan.model import Scan
from services.stacks.tree import ancestors, join

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
                data = {}  # the workspace says so
        catalog = dict(_catalogs(data))
        scanned = self.scan.folders.get(folder) or self.scan.outside.get(folder)
        for manifest in scanned.manifests if scanned else ():
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
