"""Whether a package is started or only used by others, and which package comes first."""

from __future__ import annotations

import re

from services.stacks.facts.code import CodeFacts
from services.stacks.facts.deployment import Deployment
from services.stacks.facts.run import is_program, starts_itself
from services.stacks.manifests.javascript import workspace_globs
from services.stacks.manifests.model import table, text_of
from services.stacks.packages import Package, Survey
from services.stacks.ranking import primary_of
from services.stacks.rules import SERVING, TIERS, Rules

_RUNNING_SCRIPTS = ("start", "start:prod", "serve", "dev", "preview")
#: Where code stands that is more than settings.
_OWN_CODE = re.compile(r"(?:src|app|lib|pages|server|bin)(?:/|$)")


def role_of(package: Package, rules: Rules, code: CodeFacts, deployed: Deployment, command: list[str]) -> str:
    framework = primary_of(package, "framework")
    technology = rules.get("framework", framework.id) if framework else None
    declared = framework is not None and any(proof.weight >= 0.6 for proof in framework.proofs)
    if deployed.named or is_program(package):
        return "app"
    if package.has("wordpress"):
        return "app"
    node = package.of("npm")
    if node is not None and (main := primary_of(package, "language")) and main.id in {"javascript", "typescript"}:
        return _node_role(package, technology.tier if technology else 0, declared, code)
    if technology and declared and (technology.tier in SERVING or technology.tier in {TIERS["app"], TIERS["ui-app"]}):
        return "library" if _published(package) and not starts_itself(code) else "app"
    if any(manifest.ecosystem == "terraform" for manifest in package.manifests):
        return "app"
    scripted = package.has("pyproject.toml")
    if scripted and (
        table(table(scripted.data.get("project")).get("scripts"))
        or table(table(table(scripted.data.get("tool")).get("poetry")).get("scripts"))
    ):
        return "app"
    if _published(package):
        return "library"
    page = "index.php" in package.files or any("public" in folder.folders for folder in package.folders[:1])
    if package.of("composer") and page:
        return "app"
    return "app" if command or starts_itself(code) else "library"


def _node_role(package: Package, tier: int, declared: bool, code: CodeFacts) -> str:
    manifest = package.of("npm")
    data = manifest.data if manifest else {}
    if manifest and manifest.kind == "project.json":
        return "library" if manifest.facts["projectType"] == "library" else "app"
    scripts = table(data.get("scripts"))
    if is_aggregator(package) and not text_of(scripts.get("start")):
        return "library"
    if tier in SERVING or tier in {TIERS["app"], TIERS["native-ui"], TIERS["ui-app"]}:
        library = (
            any(key in data for key in ("exports", "module", "types", "peerDependencies"))
            and "start" not in scripts
            and not (code.ports and tier in SERVING)
        )
        return "app" if declared and not library else "library"
    published = data.get("private") is not True and any(
        key in data for key in ("exports", "module", "types", "typings")
    )
    if "bin" in data or (not published and any(key in scripts for key in ("start", "start:prod", "serve"))):
        return "app"
    if any(key in data for key in ("exports", "module", "types", "peerDependencies")):
        return "library"
    if tier and any(name in scripts for name in _RUNNING_SCRIPTS):
        return "app"
    if tier and ("index.html" in package.files or any("pages" in folder.folders for folder in package.folders)):
        return "app"
    return "library"


def _published(package: Package) -> bool:
    """Whether the manifest is written for others to depend on."""
    gem = any(manifest.kind == "*.gemspec" for manifest in package.manifests)
    composer = package.has("composer.json")
    if gem or (
        composer and composer.facts.get("type") in {"library", "symfony-bundle", "wordpress-plugin", "drupal-module"}
    ):
        return True
    cargo = package.has("Cargo.toml")
    if cargo and not is_program(package):
        return True
    pyproject = package.has("pyproject.toml")
    return bool(
        (pyproject and "build-system" in pyproject.data and "Dockerfile" not in package.files)
        or package.has("setup.py")
    )


def is_aggregator(package: Package) -> bool:
    """A root that only gathers members: no sources of its own beyond settings, nothing to start."""
    manifest = package.of("npm")
    gathers = bool(manifest and workspace_globs(manifest.data)) or any(
        name in package.files for name in ("pnpm-workspace.yaml", "lerna.json", "nx.json", "turbo.json", "go.work")
    )
    pom = package.has("pom.xml")
    gathers = gathers or bool(pom and pom.facts.get("packaging") == "pom")
    gathers = gathers or any(manifest.facts.get("include") for manifest in package.manifests)
    cargo = package.has("Cargo.toml")
    gathers = gathers or bool(
        cargo and "workspace" in cargo.data and not any("src" in it.folders for it in package.folders[:1])
    )
    if not gathers:
        return False
    base = len(package.path) + 1 if package.path else 0
    return not any(_OWN_CODE.match(folder.path[base:]) for folder in package.folders if folder.sources)


def first_of(survey: Survey, roles: dict[str, str], named: set[str], shares: dict[str, int]) -> str | None:
    """The primary package: the root one, then a deployed one, then apps by their share of the code, then paths."""
    root = survey.scan.root

    def order(path: str) -> tuple[object, ...]:
        package = survey.packages[path]
        is_root = path == root and not is_aggregator(package)
        return (not is_root, path not in named, roles[path] != "app", -shares.get(path, 0), path)

    return min(survey.packages, key=order, default=None)
