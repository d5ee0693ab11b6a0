"""Whether a package is started or only used by others, and which package comes first."""

from __future__ import annotations

from services.stacks.manifests.model import table, text_of
from services.stacks.packages.package import Package
from services.stacks.packages.ranking import is_aggregator, primary_of
from services.stacks.phases.facts.configuration import CodeFacts
from services.stacks.phases.facts.dockerfile import Deployment
from services.stacks.phases.facts.programs import is_program, starts_itself
from services.stacks.rules.technologies import SERVING, TIERS, Rules

_RUNNING_SCRIPTS = ("start", "start:prod", "serve", "dev", "preview")


def role_of(package: Package, rules: Rules, code: CodeFacts, deployed: Deployment, command: list[str]) -> str:
    framework = primary_of(package, "framework")
    technology = rules.get("framework", framework.id) if framework else None
    declared = framework is not None and any(proof.weight >= 0.6 for proof in framework.proofs)
    if deployed.named or is_program(package):
        return "app"
    if package.manifest("wordpress"):
        return "app"
    node = package.manifest_of("npm")
    if node is not None and (main := primary_of(package, "language")) and main.id in {"javascript", "typescript"}:
        return _node_role(package, technology.tier if technology else 0, declared, code)
    if technology and declared and (technology.tier in SERVING or technology.tier in {TIERS["app"], TIERS["ui-app"]}):
        return "library" if _published(package) and not starts_itself(code) else "app"
    if any(manifest.ecosystem == "terraform" for manifest in package.manifests):
        return "app"
    scripted = package.manifest("pyproject.toml")
    if scripted and (
        table(table(scripted.data.get("project")).get("scripts"))
        or table(table(table(scripted.data.get("tool")).get("poetry")).get("scripts"))
    ):
        return "app"
    if _published(package):
        return "library"
    page = "index.php" in package.files or any("public" in folder.folders for folder in package.folders[:1])
    if package.manifest_of("composer") and page:
        return "app"
    return "app" if command or starts_itself(code) else "library"


def _node_role(package: Package, tier: int, declared: bool, code: CodeFacts) -> str:
    manifest = package.manifest_of("npm")
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
    composer = package.manifest("composer.json")
    if gem or (
        composer and composer.facts.get("type") in {"library", "symfony-bundle", "wordpress-plugin", "drupal-module"}
    ):
        return True
    cargo = package.manifest("Cargo.toml")
    if cargo and not is_program(package):
        return True
    pyproject = package.manifest("pyproject.toml")
    return bool(
        (pyproject and "build-system" in pyproject.data and "Dockerfile" not in package.files)
        or package.manifest("setup.py")
    )
