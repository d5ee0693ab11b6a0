"""The command that starts a built package, language by language."""

from __future__ import annotations

import re

from services.stacks.manifests.model import Manifest, dig, table, text_of
from services.stacks.packages.package import Package
from services.stacks.packages.ranking import primary_language, primary_of
from services.stacks.phases.facts.build import go_mains
from services.stacks.phases.facts.configuration import CodeFacts
from services.stacks.phases.facts.deployment import DEFAULT, Place
from services.stacks.phases.facts.dockerfile import command_of
from services.stacks.phases.facts.roles import asgi_entry, is_program
from services.stacks.rules.technologies import SERVING, Technology
from services.stacks.tree import join

#: What starts a built program, the surest first.
START_SCRIPTS = ("start:prod", "start", "serve", "production")


#: A command and what it rests on.
Start = tuple[list[str], Place]
_NOTHING: Start = ([], DEFAULT)
_ADDRESS = "0.0.0.0"  # noqa: S104 - inside its container


def start_command(package: Package, technology: Technology | None, code: CodeFacts) -> Start:
    """Return what starts the built package: what a manifest or the code says, else what is usual for its framework."""
    language = primary_language(package)
    id = language.id if language else None
    if id in {"javascript", "typescript"}:
        return _node(package, technology)
    if id == "python":
        return _python(package, technology, code)
    starts = technology.text("start") if technology else None
    if starts:
        return command_of(starts), DEFAULT
    if id == "go":
        mains = go_mains(package) if package.manifest("go.mod") else []
        if not mains:
            return _NOTHING
        main = mains[0].removeprefix("./").removeprefix(".")
        return ["./bin/app"], Place("code", join(join(package.path, main) if main else package.path, "main.go"))
    if id == "rust":
        manifest = package.manifest("Cargo.toml")
        words = [] if technology and technology.static else rust_command(package)
        return (words, _stated(manifest, "name")) if words and manifest else _NOTHING
    if id in {"java", "kotlin", "groovy", "scala", "clojure"}:
        return jvm_command(package, technology), DEFAULT
    if id in {"csharp", "fsharp", "vbnet"}:
        return _dotnet(package)
    if id == "ruby" and "config.ru" in package.files:
        return ["bundle", "exec", "rackup", "--host", _ADDRESS], Place("code", join(package.path, "config.ru"))
    if id == "perl":
        script = next((name for name in ("app.pl", "app.psgi") if name in package.files), None)
        words = {"app.pl": ["perl", "app.pl", "daemon"], "app.psgi": ["plackup", "app.psgi"]}.get(script or "", [])
        return (words, Place("code", join(package.path, script))) if script else _NOTHING
    return _built_program(package)


def _stated(manifest: Manifest | None, key: str, after: str | None = None) -> Place:
    return Place("manifest", manifest.path, manifest.line_of(key, after)) if manifest else DEFAULT


def _dotnet(package: Package) -> Start:
    project = next((one for one in package.manifests if one.kind.startswith("*.") and one.kind.endswith("proj")), None)
    if project is None or not is_program(package):
        return _NOTHING
    return ["dotnet", f"out/{project.facts.get('AssemblyName') or project.name}.dll"], Place("manifest", project.path)


#: Where a build leaves the program that a manifest names.
_PROGRAMS = {
    "Package.swift": "./.build/release/{}", "shard.yml": "./bin/{}", "CMakeLists.txt": "./build/{}",
    "meson.build": "./build/{}", "*.nimble": "./{}", "dune-project": "dune exec {}",
    "build.zig": "./zig-out/bin/{}",
}  # fmt: skip


def _built_program(package: Package) -> Start:
    dub = package.manifest("dub.json")
    if dub and dub.name and is_program(package):
        return [f"./{dub.name}"], _stated(dub, "name")
    for manifest in package.manifests:
        name = manifest.facts.get("executable")
        if name and manifest.kind in _PROGRAMS and name != "yes":
            return _PROGRAMS[manifest.kind].format(name).split(), _stated(manifest, name)
        if name and manifest.ecosystem == "hackage":
            program = manifest.name if name == "yes" else name
            stacked = package.manifest("stack.yaml") and program
            return ["stack", "exec", str(program)] if stacked else ["cabal", "run"], Place("manifest", manifest.path)
    return _NOTHING


def _node(package: Package, technology: Technology | None) -> Start:
    manifest, deno = package.manifest_of("npm"), package.manifest("deno.json")
    if manifest and manifest.kind == "project.json":
        return _nx(package, manifest, technology), DEFAULT
    manager = primary_of(package, "package_manager")
    name = manager.id if manager else "npm"
    scripts = table(manifest.data.get("scripts")) if manifest else {}
    for script in START_SCRIPTS:
        if text_of(scripts.get(script)):
            short = name in {"npm", "pnpm", "yarn"} and script == "start"
            return [name, script] if short else [name, "run", script], _stated(manifest, script, "scripts")
    if deno and (name == "deno" or manifest is None):
        tasks = table(deno.data.get("tasks"))
        for task in ("start", "serve", "preview", "dev"):
            if task in tasks:
                return ["deno", "task", task], _stated(deno, task, "tasks")
        has_main = "main.ts" in package.files
        return (
            (["deno", "run", "-A", "main.ts"], Place("code", join(package.path, "main.ts"))) if has_main else _NOTHING
        )
    starts = technology.text("start") if technology else None
    if starts:
        return command_of(starts) if starts.startswith("node ") else ["npx", *command_of(starts)], DEFAULT
    if technology is None or technology.tier in SERVING:
        return _node_entry(package, manifest, technology, "bun" if name == "bun" else "node")
    return _NOTHING


def _nx(package: Package, manifest: Manifest, technology: Technology | None) -> list[str]:
    """Return the command of a project in an Nx workspace, which is built into ``dist`` at the root."""
    if manifest.facts["projectType"] == "library" or technology is None or technology.tier not in SERVING:
        return []
    output = manifest.facts.get("output") or f"dist/{package.path}"
    if technology.id == "nextjs":
        return ["npx", "next", "start", output]
    return ["node", f"{output}/main.js"]


def _node_entry(package: Package, manifest: Manifest | None, technology: Technology | None, program: str) -> Start:
    main = text_of(manifest.data.get("main")) if manifest else None
    if main and technology:
        return [program, main.removeprefix("./")], _stated(manifest, "main")
    for name in ("server.js", "app.js", "index.js", "main.js", "server.ts", "index.ts"):
        if technology and name in package.files:
            return [program, name], Place("code", join(package.path, name))
    if program == "bun":
        inside = next((folder for folder in package.folders if folder.path.rpartition("/")[2] == "src"), None)
        entries = ("index.ts", "server.ts", "main.ts", "app.ts", "index.tsx", "index.js")
        entry = next((name for name in entries if inside and name in inside.files), None)
        if technology and inside and entry:
            return ["bun", f"src/{entry}"], Place("code", join(inside.path, entry))
    return _NOTHING


#: Tasks of Python's tools that start a server, by where they are written.
_TASKS = (
    ("tool", "pdm", "scripts"),
    ("tool", "poe", "tasks"),
    ("tool", "pixi", "tasks"),
    ("tool", "taskipy", "tasks"),
    ("scripts",),
)
_TASK_NAMES = ("start", "serve", "server", "web", "prod", "run")


def _python_task(package: Package) -> Start | None:
    """Return what a manifest names as the command that starts the program."""
    for manifest in package.manifests:
        for keys in _TASKS if manifest.kind in {"pyproject.toml", "Pipfile"} else ():
            tasks = table(dig(manifest.data, *keys))
            for name in _TASK_NAMES:
                body = (
                    text_of(tasks.get(name))
                    or text_of(dig(tasks.get(name), "cmd"))
                    or text_of(dig(tasks.get(name), "shell"))
                )
                if body:
                    return command_of(body), _stated(manifest, name, ".".join(keys))
    return None


def _python_script(package: Package) -> Start | None:
    """Return the console script of a package that has but one, or one with its own name."""
    for manifest in package.manifests:
        if manifest.kind != "pyproject.toml":
            continue
        for keys in (("project", "scripts"), ("tool", "poetry", "scripts")):
            scripts = table(dig(manifest.data, *keys))
            name = (
                manifest.name if manifest.name in scripts else next(iter(scripts), None) if len(scripts) == 1 else None
            )
            if name:
                return [name], _stated(manifest, name, ".".join(keys))
    return None


def _python(package: Package, technology: Technology | None, code: CodeFacts) -> Start:
    """Return a task or script of the manifest, else what the framework runs, else the file that runs by itself."""
    command = _python_task(package)
    if command is not None:
        return command
    framework = _python_framework(package, technology, code)
    if not framework or framework == command_of((technology.text("start") if technology else None) or ""):
        script = _python_script(package)
        if script is not None:
            return script
    if framework is not None:
        return framework, DEFAULT
    base = len(package.path) + 1 if package.path else 0
    main = next((path for path, text in code.text.items() if "__main__" in text and path.endswith(".py")), None)
    if main is None:
        names = (name for name in ("main.py", "app.py", "run.py", "server.py") if name in package.files)
        main = next((join(package.path, name) for name in names), None)
    if main is None:
        return _NOTHING
    text = code.text.get(main, "")
    at = text.find("__main__")
    return ["python", main[base:]], Place("code", main, text.count("\n", 0, at) + 1 if at >= 0 else None)


def _python_framework(package: Package, technology: Technology | None, code: CodeFacts) -> list[str] | None:
    """Return what is usual for the framework; None where it has no usual command."""
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
            return ["gunicorn", f"{module}:application", "--bind", f"{_ADDRESS}:8000"]
        return command_of(starts or "")
    if starts and "{module}" in starts:
        return command_of(starts.replace("{module}:app", entry)) if entry is not None else []
    if starts and "{file}" in starts:
        application = next((path[base:] for path, text in code.text.items() if "streamlit" in text), None)
        return command_of(starts.replace("{file}", application)) if application else []
    if technology and entry and ("pypi", "gunicorn") in package.dependencies:
        return ["gunicorn", entry, "--bind", f"{_ADDRESS}:{technology.port or 8000}"]
    return command_of(starts) if starts else None


def _celery(path: str, text: str) -> str | None:
    """Return the module of a Celery application."""
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
