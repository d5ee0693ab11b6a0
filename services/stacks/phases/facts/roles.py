"""Whether a package is a program: started, or only used by others."""

from __future__ import annotations

import re

from services.stacks.detectors.languages import served_page
from services.stacks.manifests.model import table, text_of
from services.stacks.packages.package import Package
from services.stacks.packages.ranking import is_aggregator, primary_of
from services.stacks.phases.facts.build import go_mains
from services.stacks.phases.facts.configuration import CodeFacts
from services.stacks.phases.facts.deployment import Deployment
from services.stacks.rules.technologies import FUNCTIONS, SERVING, TIERS, TechnologyRules
from services.stacks.tree import join

_RUNNING_SCRIPTS = ("start", "start:prod", "serve", "dev", "preview")


def role_of(package: Package, rules: TechnologyRules, code: CodeFacts, deployed: Deployment, command: list[str]) -> str:
    framework = primary_of(package, "framework")
    technology = rules.get("framework", framework.id) if framework else None
    declared = framework is not None and any(proof.weight >= 0.6 for proof in framework.proofs)
    if deployed.named or is_program(package):
        return "app"
    if package.manifest("wordpress") or served_page(package) is not None:
        return "app"
    if package.path.rpartition("/")[2] in {"buildSrc", "build-logic", "buildLogic", "build-src"}:
        return "library"
    if ("nuget", "sdk:Microsoft.NET.Sdk.Razor") in package.dependencies:
        return "library"
    node = package.manifest_of("npm")
    if node is not None and (main := primary_of(package, "language")) and main.id in {"javascript", "typescript"}:
        return _node_role(package, technology.tier if technology else 0, declared, code)
    if (
        technology
        and declared
        and (technology.tier in SERVING or technology.tier in {TIERS["app"], TIERS["ui-app"], *FUNCTIONS})
    ):
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
    if tier in SERVING or tier in {TIERS["app"], TIERS["native-ui"], TIERS["ui-app"], *FUNCTIONS}:
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
    """Return whether the manifest is written for others to depend on."""
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


ASGI = re.compile(r"(?m)^(\w+)\s*(?::\s*\w+\s*)?=\s*(?:\w+\.)?(?:FastAPI|Starlette|Litestar|Flask|Quart|Sanic|Robyn)\(")


_MAIN = re.compile(
    r"__main__|\bint\s+main\s*\("
    r"|static\s+(?:async\s+)?(?:void|int|Task)\s+[mM]ain\s*\(|\bfun main\(|@main def |extends App\b"
)


def starts_itself(code: CodeFacts) -> bool:
    """Return whether an entry file makes an application object or runs when it is started."""
    return any(
        path.endswith("manage.py") or ASGI.search(text) or _MAIN.search(text) for path, text in code.text.items()
    )


def is_program(package: Package) -> bool:
    """Return whether the package's own manifest or sources show that it can be started."""
    cargo = package.manifest("Cargo.toml")
    if cargo and ("bin" in cargo.facts or _rust_main(package)):
        return True
    if package.manifest("go.mod") and go_mains(package):
        return True
    dub = package.manifest("dub.json")
    if dub and dub.facts.get("program") and any("app.d" in folder.files for folder in package.folders):
        return True
    for manifest in package.manifests:
        facts = manifest.facts
        if (
            facts.get("executable")
            or facts.get("application")
            or facts.get("OutputType", "").lower() in {"exe", "winexe"}
        ):
            return True
        if "plugin:application" in facts or any("spring-boot" in key and key.startswith("plugin:") for key in facts):
            return True
        if any(
            key.startswith("plugin:") and key.endswith(("maven-shade-plugin", "exec-maven-plugin")) for key in facts
        ):
            return True
        if manifest.ecosystem == "nuget" and any(
            dependency.name
            in {"sdk:Microsoft.NET.Sdk.Web", "sdk:Microsoft.NET.Sdk.Worker", "sdk:Microsoft.NET.Sdk.BlazorWebAssembly"}
            for dependency in manifest.dependencies
        ):
            return True
    return False


def _rust_main(package: Package) -> bool:
    sources = join(package.path, "src")
    return any(
        (folder.path == sources and "main.rs" in folder.files) or (f"/{folder.path}/".find("/src/bin/") >= 0)
        for folder in package.folders
    )


def asgi_entry(code: CodeFacts, base: int) -> str | None:
    """``package.module:variable`` of the application object."""
    for path, text in code.text.items():
        if path.endswith(".py") and (match := ASGI.search(text)):
            module = path[base:].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            return f"{module.removeprefix('src.')}:{match[1]}"
    return None
