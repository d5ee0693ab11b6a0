"""The command that starts a built package, language by language."""

from __future__ import annotations

import re

from services.stacks.manifests.model import Manifest, table, text_of
from services.stacks.packages.package import Package
from services.stacks.packages.ranking import primary_language, primary_of
from services.stacks.phases.facts.build import go_mains
from services.stacks.phases.facts.configuration import CodeFacts
from services.stacks.phases.facts.dockerfile import command_of
from services.stacks.phases.facts.roles import asgi_entry, is_program
from services.stacks.rules.technologies import SERVING, Technology

#: What starts a built program, the surest first.
START_SCRIPTS = ("start:prod", "start", "serve", "production")


def start_command(package: Package, technology: Technology | None, code: CodeFacts) -> list[str]:
    language = primary_language(package)
    id = language.id if language else None
    if id in {"javascript", "typescript"}:
        return _node(package, technology)
    if id == "python":
        return _python(package, technology, code)
    starts = technology.text("start") if technology else None
    if starts:
        return command_of(starts)
    if id == "go":
        return ["./bin/app"] if package.manifest("go.mod") and go_mains(package) else []
    if id == "rust":
        return [] if technology and technology.static else rust_command(package)
    if id in {"java", "kotlin", "groovy", "scala", "clojure"}:
        return jvm_command(package, technology)
    if id in {"csharp", "fsharp", "vbnet"}:
        project = next(
            (
                manifest
                for manifest in package.manifests
                if manifest.kind.startswith("*.") and manifest.kind.endswith("proj")
            ),
            None,
        )
        return (
            ["dotnet", f"out/{project.facts.get('AssemblyName') or project.name}.dll"]
            if project and is_program(package)
            else []
        )
    if id == "ruby" and "config.ru" in package.files:
        return ["bundle", "exec", "rackup", "--host", "0.0.0.0"]  # noqa: S104 - inside its container
    if id == "perl":
        script = next((name for name in ("app.pl", "app.psgi") if name in package.files), None)
        return {"app.pl": ["perl", "app.pl", "daemon"], "app.psgi": ["plackup", "app.psgi"]}.get(script or "", [])
    return _built_program(package)


#: Where a build leaves the program that a manifest names.
_PROGRAMS = {
    "Package.swift": "./.build/release/{}", "shard.yml": "./bin/{}", "CMakeLists.txt": "./build/{}",
    "meson.build": "./build/{}", "*.nimble": "./{}", "dune-project": "dune exec {}",
    "build.zig": "./zig-out/bin/{}",
}  # fmt: skip


def _built_program(package: Package) -> list[str]:
    dub = package.manifest("dub.json")
    if dub and dub.name and is_program(package):
        return [f"./{dub.name}"]
    for manifest in package.manifests:
        name = manifest.facts.get("executable")
        if name and manifest.kind in _PROGRAMS and name != "yes":
            return _PROGRAMS[manifest.kind].format(name).split()
        if name and manifest.ecosystem == "hackage":
            program = manifest.name if name == "yes" else name
            return ["stack", "exec", program] if package.manifest("stack.yaml") and program else ["cabal", "run"]
    return []


def _node(package: Package, technology: Technology | None) -> list[str]:
    manifest, deno = package.manifest_of("npm"), package.manifest("deno.json")
    if manifest and manifest.kind == "project.json":
        return _nx(package, manifest, technology)
    manager = primary_of(package, "package_manager")
    name = manager.id if manager else "npm"
    scripts = table(manifest.data.get("scripts")) if manifest else {}
    for script in START_SCRIPTS:
        if text_of(scripts.get(script)):
            if name in {"npm", "pnpm", "yarn"} and script == "start":
                return [name, "start"]
            return [name, "run", script]
    if deno and (name == "deno" or manifest is None):
        tasks = table(deno.data.get("tasks"))
        for task in ("start", "serve", "preview", "dev"):
            if task in tasks:
                return ["deno", "task", task]
        return ["deno", "run", "-A", "main.ts"] if "main.ts" in package.files else []
    starts = technology.text("start") if technology else None
    if starts:
        return command_of(starts) if starts.startswith("node ") else ["npx", *command_of(starts)]
    if technology is None or technology.tier in SERVING:
        return _node_entry(package, manifest, technology, "bun" if name == "bun" else "node")
    return []


def _nx(package: Package, manifest: Manifest, technology: Technology | None) -> list[str]:
    """A project of an Nx workspace is built into ``dist`` at the root."""
    if manifest.facts["projectType"] == "library" or technology is None or technology.tier not in SERVING:
        return []
    output = manifest.facts.get("output") or f"dist/{package.path}"
    if technology.id == "nextjs":
        return ["npx", "next", "start", output]
    return ["node", f"{output}/main.js"]


def _node_entry(package: Package, manifest: Manifest | None, technology: Technology | None, program: str) -> list[str]:
    main = text_of(manifest.data.get("main")) if manifest else None
    if main and technology:
        return [program, main.removeprefix("./")]
    for name in ("server.js", "app.js", "index.js", "main.js", "server.ts", "index.ts"):
        if technology and name in package.files:
            return [program, name]
    if technology and program == "bun":
        inside = next((folder for folder in package.folders if folder.path.rpartition("/")[2] == "src"), None)
        entries = ("index.ts", "server.ts", "main.ts", "app.ts", "index.tsx", "index.js")
        return next((["bun", f"src/{name}"] for name in entries if inside and name in inside.files), [])
    return []


def _python(package: Package, technology: Technology | None, code: CodeFacts) -> list[str]:
    base = len(package.path) + 1 if package.path else 0
    starts = technology.text("start") if technology else None
    entry = asgi_entry(code, base)
    if technology and technology.id == "celery":
        worker = next(
            (application for path, text in code.text.items() if (application := _celery(path[base:], text))), None
        )
        return ["celery", "-A", worker, "worker"] if worker else []
    if technology and technology.id == "django":
        project = next((path for path in code.text if path.endswith("wsgi.py")), None)
        module = project[base:].removesuffix(".py").replace("/", ".") if project else None
        if module and any(("pypi", name) in package.dependencies for name in ("gunicorn",)):
            return ["gunicorn", f"{module}:application", "--bind", "0.0.0.0:8000"]
        return command_of(starts or "")
    if starts and "{module}" in starts:
        if entry is None:
            return []
        return command_of(starts.replace("{module}:app", entry))
    if starts and "{file}" in starts:
        application = next((path[base:] for path, text in code.text.items() if "streamlit" in text), None)
        return command_of(starts.replace("{file}", application)) if application else []
    if technology and entry and ("pypi", "gunicorn") in package.dependencies:
        return ["gunicorn", entry, "--bind", f"0.0.0.0:{technology.port or 8000}"]
    if starts:
        return command_of(starts)
    main = next((path[base:] for path, text in code.text.items() if "__main__" in text and path.endswith(".py")), None)
    if main is None:
        main = next((name for name in ("main.py", "app.py", "run.py", "server.py") if name in package.files), None)
    return ["python", main] if main else []


def _celery(path: str, text: str) -> str | None:
    """The module of a Celery application."""
    if not path.endswith(".py") or not re.search(r"(?m)^\w+\s*=\s*(?:celery\.)?Celery\(", text):
        return None
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".").removesuffix(".celery")


def rust_command(package: Package) -> list[str]:
    manifest = package.manifest("Cargo.toml")
    if manifest is None or not is_program(package):
        return []
    return [f"./target/release/{manifest.facts.get('bin') or manifest.name or 'app'}"]


def jvm_command(package: Package, technology: Technology | None) -> list[str]:
    if not is_program(package) and (technology is None or technology.tier not in SERVING):
        return []
    system = primary_of(package, "build_system")
    if technology and technology.id == "quarkus":
        folder = "build" if system and system.id == "gradle" else "target"
        return ["java", "-jar", f"{folder}/quarkus-app/quarkus-run.jar"]
    if system and system.id in {"maven", "gradle", "leiningen"}:
        return [
            "java",
            "-jar",
            {"maven": "target/*.jar", "gradle": "build/libs/*.jar"}.get(system.id, "target/uberjar/*-standalone.jar"),
        ]
    return {"sbt": ["sbt", "run"], "tools-deps": ["clojure", "-M:run"], "mill": ["mill", "run"]}.get(
        system.id if system else "", []
    )
