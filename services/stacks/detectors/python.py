"""The package manager of a Python project. The build backend is a separate fact and proves no manager."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from services.stacks.manifests.model import Manifest, dig, table
from services.stacks.packages.package import Package, Proof, TechnologyFinding
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import TechnologyRules
from services.stacks.scan.markers import PYTHON_LOCKFILES
from services.stacks.tree import join
from shared.contracts.detect import Contradiction, TechnologyKind

#: In the order of precedence.
MANAGERS = ("uv", "poetry", "pdm", "hatch", "pipenv", "pixi", "conda", "buildout", "pip")
_SECTIONS = (
    ("uv", ("tool", "uv"), 0.85),
    ("poetry", ("tool", "poetry"), 0.9),
    ("pdm", ("tool", "pdm"), 0.85),
    ("hatch", ("tool", "hatch", "envs"), 0.85),
    ("pixi", ("tool", "pixi"), 0.85),
    ("conda", ("tool", "conda"), 0.3),
)
_BACKENDS = {"poetry.core.masonry.api": ("poetry", 0.7), "pdm.backend": ("pdm", 0.6), "uv_build": ("uv", 0.6)}
_FILES = {
    "Pipfile": ("pipenv", 0.9),
    "pixi.toml": ("pixi", 0.95),
    "environment.yml": ("conda", 0.9),
    "requirements.txt": ("pip", 0.8),
    "setup.py": ("pip", 0.7),
    "buildout.cfg": ("buildout", 0.8),
    "setup.cfg": ("pip", 0.6),
}


@dataclass(frozen=True)
class PythonManagers:
    rules: TechnologyRules
    kind: TechnologyKind = "build_system"

    def detect(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]:
        for package in survey.packages.values():
            if package.manifest_of("pypi") is None:
                continue
            proofs = claims(survey, package)
            chosen = next((manager for manager in MANAGERS if proofs.get(manager)), None)
            if chosen is None:
                manifest = package.manifest_of("pypi")
                proofs["pip"] = [Proof(manifest.path, None, "build.pip", None, 0.6)] if manifest else []
                chosen = "pip"
            for manager in MANAGERS:
                for kind in ("build_system", "package_manager"):
                    technology = self.rules.get(kind, manager)
                    mine = proofs.get(manager)
                    if technology and mine:
                        share = 1.0 if manager == chosen else 0.5
                        shown = [proof._replace(rule=technology.rule, weight=proof.weight * share) for proof in mine]
                        yield package, TechnologyFinding.of(technology, shown)


def claims(survey: Survey, package: Package) -> dict[str, list[Proof]]:
    """Return the proofs for each manager: lockfiles of the nearest folder that has one, sections, backends,
    manifests.
    """
    proofs: dict[str, list[Proof]] = {}
    for level in survey.above(package.path):
        names = level.names
        locked = (
            [(name, manager) for name, manager in PYTHON_LOCKFILES.items() if name in names] if level.markers else []
        )
        for name, manager in locked:
            proofs.setdefault(manager, []).append(Proof(join(level.folder, name), None, "", None, 0.9))
        if locked:
            break
    for manifest in package.manifests:
        if manifest.kind == "pyproject.toml":
            _pyproject(survey, manifest, proofs)
        elif manifest.kind in _FILES:
            manager, weight = _FILES[manifest.kind]
            proofs.setdefault(manager, []).append(Proof(manifest.path, None, "", None, weight))
    if "hatch.toml" in package.files:
        proofs.setdefault("hatch", []).append(Proof(join(package.path, "hatch.toml"), None, "", None, 0.9))
    return proofs


def _pyproject(survey: Survey, manifest: Manifest, proofs: dict[str, list[Proof]]) -> None:
    for manager, keys, weight in _SECTIONS:
        if dig(manifest.data, *keys) is not None:
            line = manifest.line_of(".".join(keys)) or manifest.line_of(f"{keys[0]}.{keys[1]}")
            proofs.setdefault(manager, []).append(survey.line_proof(manifest, line, "", weight))
    backend = manifest.facts.get("backend", "")
    for prefix, (manager, weight) in _BACKENDS.items():
        if backend.startswith(prefix):
            line = manifest.line_of("build-backend")
            proofs.setdefault(manager, []).append(survey.line_proof(manifest, line, "", weight))
    if table(manifest.data.get("project")):
        line = manifest.line_of("project")
        proofs.setdefault("pip", []).append(survey.line_proof(manifest, line, "", 0.5))


def lockfile_conflicts(survey: Survey, package: Package) -> Iterable[Contradiction]:
    if package.manifest_of("pypi") is None:
        return
    for level in survey.above(package.path):
        if not level.markers:
            continue
        locked = [manager for name, manager in PYTHON_LOCKFILES.items() if name in level.names]
        if len(locked) > 1:
            order = sorted(locked, key=MANAGERS.index)
            yield Contradiction(kind="lockfiles", claims=list(order), winner=order[0], rule="python-manager-order")
        if locked:
            return
