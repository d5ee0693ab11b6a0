"""How a built package is run: its command, ports, health, variables and the files that it needs."""

from __future__ import annotations

import re

from services.stacks.manifests.model import Manifest, table, text_of
from services.stacks.packages.package import Package
from services.stacks.packages.ranking import primary_language, primary_of
from services.stacks.phases.facts.build import go_mains
from services.stacks.phases.facts.configuration import CodeFacts
from services.stacks.phases.facts.deployment import Deployment, command_of
from services.stacks.rules.technologies import SERVING, TIERS, Rules, Technology
from services.stacks.tree import join
from shared.contracts.detect import Copy, Health, Runtime

_SCRIPT_PORT = re.compile(r"(?:--port|-p|--http-port|PORT)[ =](\d{2,5})\b|:(\d{4,5})\b")
#: What starts a built program, the surest first.
_SCRIPTS = ("start:prod", "start", "serve", "production")


def run_facts(package: Package, rules: Rules, code: CodeFacts, deployed: Deployment) -> Runtime:
    framework = primary_of(package, "framework")
    technology = rules.get("framework", framework.id) if framework else None
    command = deployed.command or _command(package, technology, code)
    serves = technology is not None and (technology.tier in SERVING or technology.tier == TIERS["app"])
    health = deployed.health or code.health or _usual_health(package)
    return Runtime(
        packages=list(deployed.packages),
        env=dict.fromkeys([*deployed.env, *(name for name in code.env if name not in deployed.env)]),
        copy=_copies(package, technology),
        command=command,
        ports=_ports(package, rules, technology, code, deployed),
        health=Health(endpoint=health) if health and (serves or deployed.health or command) else None,
    )


def _ports(
    package: Package, rules: Rules, technology: Technology | None, code: CodeFacts, deployed: Deployment
) -> list[int]:
    """What deployment files say, else configuration and scripts, else the code, else the framework's usual port."""
    if deployed.ports:
        return deployed.ports
    scripted = [*code.configured, *(port for port in _script_ports(package) if port not in code.configured)]
    if scripted:
        return scripted
    if code.ports:
        return code.ports
    usual = [technology.port] if technology and technology.port else []
    if usual or technology is None or not technology.static:
        return usual
    bundlers = (
        rules.get("framework", finding.id) for finding in package.findings_of("framework") if finding.confidence >= 0.5
    )
    return [bundler.port for bundler in bundlers if bundler and bundler.port and bundler.tier == TIERS["bundler"]][:1]


def _script_ports(package: Package) -> list[int]:
    manifest = package.manifest_of("npm")
    scripts = table(manifest.data.get("scripts")) if manifest else {}
    ports: list[int] = []
    started = next((name for name in _SCRIPTS if text_of(scripts.get(name))), None)
    for name in (started,) if started else ("preview", "dev"):
        for port in _SCRIPT_PORT.finditer(text_of(scripts.get(name)) or ""):
            number = int(port[1] or port[2])
            if 0 < number < 65536 and number not in ports:
                ports.append(number)
        if ports:
            break
    return ports


def _command(package: Package, technology: Technology | None, code: CodeFacts) -> list[str]:
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
        return [] if technology and technology.static else _rust(package)
    if id in {"java", "kotlin", "groovy", "scala", "clojure"}:
        return _jvm(package, technology)
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
    for script in _SCRIPTS:
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
    entry = _asgi_entry(code, base)
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


_ASGI = re.compile(
    r"(?m)^(\w+)\s*(?::\s*\w+\s*)?=\s*(?:\w+\.)?(?:FastAPI|Starlette|Litestar|Flask|Quart|Sanic|Robyn)\("
)


def _asgi_entry(code: CodeFacts, base: int) -> str | None:
    """``package.module:variable`` of the application object."""
    for path, text in code.text.items():
        if path.endswith(".py") and (match := _ASGI.search(text)):
            module = path[base:].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            return f"{module.removeprefix('src.')}:{match[1]}"
    return None


_MAIN = re.compile(
    r"__main__|\bint\s+main\s*\("
    r"|static\s+(?:async\s+)?(?:void|int|Task)\s+[mM]ain\s*\(|\bfun main\(|@main def |extends App\b"
)


def starts_itself(code: CodeFacts) -> bool:
    """Whether an entry file makes an application object or runs when it is started."""
    return any(
        path.endswith("manage.py") or _ASGI.search(text) or _MAIN.search(text) for path, text in code.text.items()
    )


def _rust(package: Package) -> list[str]:
    manifest = package.manifest("Cargo.toml")
    if manifest is None or not is_program(package):
        return []
    return [f"./target/release/{manifest.facts.get('bin') or manifest.name or 'app'}"]


def _jvm(package: Package, technology: Technology | None) -> list[str]:
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


def _usual_health(package: Package) -> str | None:
    if ("maven", "org.springframework.boot:spring-boot-starter-actuator") in package.dependencies:
        return "/actuator/health"
    if any(
        ("maven", f"io.quarkus:quarkus-smallrye-health{suffix}") in package.dependencies
        for suffix in ("", "-deployment")
    ):
        return "/q/health"
    if ("framework", "streamlit") in package.findings:
        return "/_stcore/health"
    return None


def _bundled(package: Package, technology: Technology) -> str | None:
    """Where a bundler leaves the pages of a user interface that has no server."""
    if technology.static and any(("framework", id) in package.findings for id in ("vite", "parcel")):
        return "dist"
    return None


def _copies(package: Package, technology: Technology | None) -> list[Copy]:
    """What of a build has to reach the image that runs it."""
    language = primary_language(package)
    id = language.id if language else None
    output = (technology.text("output") if technology else None) or (technology and _bundled(package, technology))
    if output:
        return [Copy(**{"from": output, "to": f"/app/{output}"})]
    if id == "rust" and not (technology and technology.static) and (command := _rust(package)):
        source = command[0].removeprefix("./")
        return [Copy(**{"from": source, "to": f"/app/{source.rpartition('/')[2]}"})]
    if id == "go" and package.manifest("go.mod") and go_mains(package):
        return [Copy(**{"from": "bin/app", "to": "/app/bin/app"})]
    if id in {"csharp", "fsharp", "vbnet"} and is_program(package):
        return [Copy(**{"from": "out", "to": "/app/out"})]
    if id in {"java", "kotlin", "groovy"} and _jvm(package, technology):
        jar = _jvm(package, technology)[-1]
        return [Copy(**{"from": jar, "to": "/app/app.jar"})]
    return []
