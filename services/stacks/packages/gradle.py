"""What Gradle's build files take from elsewhere: version catalogs, scripts, convention plugins of the same build."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from services.stacks.budget import Budget, inherited_budget
from services.stacks.manifests.gradle import Catalog, apply_catalogs, read_build_gradle, read_catalog
from services.stacks.manifests.model import Manifest
from services.stacks.scan.model import Scan
from services.stacks.tree import ancestors, join, resolved

_ENDING = ".versions.toml"
_REGISTERED = re.compile(
    r"""\bid\s*+=?\s*+\(?["']([\w.-]+)["'][^{}]{0,300}?implementationClass\s*=\s*["']([\w.]+)["']""", re.S
)
_APPLIED = re.compile(r"""\bapply\s*+\(?\s*+(?:plugin\s*+[:=]\s*+)?["']([\w.-]+)["']""")
_PACKAGE = re.compile(r"(?m)^package\s+([\w.]+)")
#: Convention plugins apply others, down to this depth.
_DEEPEST = 5


@dataclass
class GradleBuilds:
    """The catalogs, scripts and convention plugins of a source, each read once."""

    scan: Scan
    budget: Budget = field(default_factory=inherited_budget)
    _catalogs: dict[str, dict[str, Catalog]] = field(default_factory=dict)
    _scripts: dict[str, Manifest] = field(default_factory=dict)

    def complete(self, manifest: Manifest, folder: str) -> None:
        """Add what a build file takes from the others."""
        self._take(manifest, folder, _DEEPEST)

    def _take(self, manifest: Manifest, folder: str, depth: int) -> None:
        apply_catalogs(manifest, self._catalogs_of(folder))
        applied = [key.removeprefix("plugin:") for key in manifest.facts if key.startswith("plugin:")]
        sources = [self._conventions[id] for id in applied if id in self._conventions] if applied else []
        for relative in manifest.facts.get("scripts", "").split("\n"):
            places = (resolved(above, relative) for above in ancestors(folder)) if relative else ()
            sources += [path for path in [next((p for p in places if p and self.scan.tree.has(p)), None)] if path]
        for path in sources if depth else ():
            script = self._read(path, depth)
            if script.path != manifest.path and self.budget.take(len(script.dependencies) + len(script.facts)):
                manifest.dependencies.extend(script.dependencies)
                manifest.statements.extend(script.statements)
                manifest.facts |= {key: "0" for key in script.facts if key.startswith("plugin:")}

    def _read(self, path: str, depth: int) -> Manifest:
        if path not in self._scripts:
            text = self.scan.tree.text(path, 1 << 17) or ""
            script = self._scripts[path] = Manifest(path, "build.gradle.kts", "maven", text)
            if path.endswith((".gradle", ".gradle.kts")):
                read_build_gradle(script)
                self._take(script, script.folder, depth - 1)
            else:  # a plugin that is a class
                for match in _APPLIED.finditer(text):
                    script.facts[f"plugin:{match[1]}"] = str(match.start())
                    script.depend(f"plugin:{match[1]}", None, "prod", match.start())
        return self._scripts[path]

    def _catalogs_of(self, folder: str) -> dict[str, Catalog]:
        for above in ancestors(folder):
            folder = join(above, "gradle")
            names = [name for name in self.scan.names(folder) if name.endswith(_ENDING)]
            if names:
                if above not in self._catalogs:
                    self._catalogs[above] = {
                        name.removesuffix(_ENDING): read_catalog(
                            self.scan.tree.text(join(above, f"gradle/{name}")) or ""
                        )
                        for name in names
                    }
                return self._catalogs[above]
        return {}

    @cached_property
    def _conventions(self) -> dict[str, str]:
        """The path of the script or class of each plugin that the build itself defines, by the plugin's id."""
        by_id: dict[str, str] = {}
        classes: dict[str, str] = {}
        for path, folder in self.scan.tree.folders.items():
            if "/src/main/" not in f"/{path}/" or not _holds_plugins(path):
                continue
            for name in folder.files:
                stem, _, ending = name.partition(".")
                if ending in {"kt", "java", "groovy"}:
                    classes[stem] = join(path, name)
                elif name.endswith((".gradle", ".gradle.kts")):
                    id = name.removesuffix(".kts").removesuffix(".gradle")
                    package = _PACKAGE.search(self.scan.tree.text(join(path, name), 4096) or "")
                    by_id[f"{package[1]}.{id}" if package else id] = join(path, name)
        for scanned in self.scan.folders.values():
            for manifest in scanned.manifests if _holds_plugins(scanned.path) else ():
                for match in _REGISTERED.finditer(manifest.text):
                    if source := classes.get(match[2].rpartition(".")[2]):
                        by_id.setdefault(match[1], source)
        return by_id


def _holds_plugins(path: str) -> bool:
    """Return whether a folder belongs to a build that only makes plugins for the others."""
    parts = path.lower().split("/")
    return any(
        part == "buildsrc" or part.startswith(("build-", "buildlogic", "gradle-", "convention", "plugins"))
        for part in parts
    )
