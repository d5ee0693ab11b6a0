"""Whether a package is a program: what its manifests and its entry files say."""

from __future__ import annotations

import re

from services.stacks.packages.package import Package
from services.stacks.phases.facts.build import go_mains
from services.stacks.phases.facts.configuration import CodeFacts
from services.stacks.tree import join

ASGI = re.compile(r"(?m)^(\w+)\s*(?::\s*\w+\s*)?=\s*(?:\w+\.)?(?:FastAPI|Starlette|Litestar|Flask|Quart|Sanic|Robyn)\(")


_MAIN = re.compile(
    r"__main__|\bint\s+main\s*\("
    r"|static\s+(?:async\s+)?(?:void|int|Task)\s+[mM]ain\s*\(|\bfun main\(|@main def |extends App\b"
)


def starts_itself(code: CodeFacts) -> bool:
    """Whether an entry file makes an application object or runs when it is started."""
    return any(
        path.endswith("manage.py") or ASGI.search(text) or _MAIN.search(text) for path, text in code.text.items()
    )


def is_program(package: Package) -> bool:
    """Whether the package's own manifest or sources say that it can be started."""
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
