"""How a package is built: commands in order, cache folders, system packages, names of build variables."""

from __future__ import annotations

from services.stacks.manifests.model import table, text_of
from services.stacks.packages.package import Package
from services.stacks.packages.python_imports import IMPORTS
from services.stacks.packages.ranking import ordered, primary_of
from services.stacks.packages.survey import Survey
from services.stacks.phases.facts.configuration import CodeFacts
from services.stacks.phases.facts.deployment import Deployment
from services.stacks.rules.technologies import TechnologyRules
from services.stacks.tree import join
from shared.contracts.detect import Build

#: What a dependency needs from the system to build.
_SYSTEM = {
    ("pypi", "psycopg2"): ("libpq-dev", "gcc"), ("pypi", "mysqlclient"): ("default-libmysqlclient-dev", "pkg-config",
    "gcc"),
    ("pypi", "lxml"): ("libxml2-dev", "libxslt1-dev"), ("pypi", "python-ldap"): ("libldap2-dev", "libsasl2-dev"),
    ("pypi", "pycairo"): ("libcairo2-dev", "pkg-config"), ("pypi", "pyaudio"): ("portaudio19-dev",),
    ("pypi", "weasyprint"): ("libpango-1.0-0", "libpangoft2-1.0-0"), ("pypi", "pdf2image"): ("poppler-utils",),
    ("pypi", "opencv-python"): ("libgl1", "libglib2.0-0"), ("gem", "pg"): ("libpq-dev", "build-essential"),
    ("gem", "mysql2"): ("default-libmysqlclient-dev", "build-essential"), ("gem", "sqlite3"): ("libsqlite3-dev",),
    ("gem", "nokogiri"): ("libxml2-dev", "libxslt1-dev"), ("gem", "rmagick"): ("libmagickwand-dev",),
    ("npm", "bcrypt"): ("python3", "make", "g++"), ("npm", "canvas"): ("libcairo2-dev", "libpango1.0-dev",
    "libjpeg-dev"),
    ("npm", "node-gyp"): ("python3", "make", "g++"), ("npm", "better-sqlite3"): ("python3", "make", "g++"),
    ("npm", "puppeteer"): ("chromium",), ("cargo", "openssl"): ("libssl-dev", "pkg-config"),
    ("cargo", "openssl-sys"): ("libssl-dev", "pkg-config"), ("cargo", "diesel"): ("libpq-dev",),
    ("cargo", "tonic-build"): ("protobuf-compiler",), ("cargo", "prost-build"): ("protobuf-compiler",),
    ("cargo", "rdkafka"): ("cmake", "libssl-dev"), ("go", "github.com/mattn/go-sqlite3"): ("gcc", "libsqlite3-dev"),
}  # fmt: skip
_INSTALL = {
    "npm": ("npm ci", "npm install"), "pnpm": ("pnpm install --frozen-lockfile", "pnpm install"),
    "bun": ("bun install --frozen-lockfile", "bun install"),
}  # fmt: skip


def build_facts(
    survey: Survey, package: Package, rules: TechnologyRules, code: CodeFacts, deployed: Deployment
) -> Build:
    caches: list[str] = []
    commands: list[str] = []
    main = primary_of(package, "build_system")
    for finding in [main] if main else []:
        commands += _commands(survey, package, rules, finding.id)
        technology = rules.get("build_system", finding.id)
        caches += list(technology.list("cache")) if technology else []
    for other in ordered(package, "build_system")[1:]:
        technology = rules.get("build_system", other.id)
        if technology and other.confidence >= 0.5 and main and technology.ecosystem != main.ecosystem:
            caches += [folder for folder in technology.list("cache") if folder not in caches]
    framework = primary_of(package, "framework")
    technology = rules.get("framework", framework.id) if framework else None
    caches += [folder for folder in technology.list("cache") if folder not in caches] if technology else []
    system = list(deployed.packages)
    if not package.dependencies.keys().isdisjoint(_SYSTEM):
        for key, names in _SYSTEM.items():
            if key in package.dependencies:
                system += [name for name in names if name not in system]
    return Build(packages=system, env=dict.fromkeys(code.build_env), commands=commands, cache=caches)


def _commands(survey: Survey, package: Package, rules: TechnologyRules, system: str) -> list[str]:
    if system in {"npm", "pnpm", "yarn", "bun"}:
        return _node(survey, package, system)
    if system == "pip":
        return _pip(package)
    if system == "go-mod":
        return _go(package)
    technology = rules.get("build_system", system)
    commands = list(technology.list("build")) if technology else []
    if system == "maven" and _reachable(survey, package, "mvnw"):
        commands = [command.replace("mvn ", "./mvnw ", 1) for command in commands]
    if system == "gradle" and _reachable(survey, package, "gradlew"):
        commands = [command.replace("gradle ", "./gradlew ", 1) for command in commands]
    if system == "gradle" and ("framework", "spring-boot") in package.findings:
        commands = [command.replace(" build -x test", " bootJar") for command in commands]
    if system == "pub" and ("framework", "flutter") in package.findings:
        target = "web" if any("web" in folder.folders for folder in package.folders[:1]) else "apk"
        commands = ["flutter pub get", f"flutter build {target}"]
    if system in {"uv", "poetry", "pdm", "pipenv"}:
        commands = _unlocked(survey, package, system, commands)
    if system == "leiningen" or system not in {"mix", "bundler", "composer"}:
        return commands
    return commands + _assets(package)


def _node(survey: Survey, package: Package, manager: str) -> list[str]:
    manifest = package.manifest_of("npm")
    nx = package.manifest("project.json")
    scripts = table(manifest.data.get("scripts")) if manifest else {}
    locked = _reachable(survey, package, *_LOCKS[manager])
    if manager == "yarn":
        berry = _berry(survey, package)
        install = (
            ("yarn install --immutable" if berry else "yarn install --frozen-lockfile") if locked else "yarn install"
        )
    else:
        install = _INSTALL[manager][0 if locked else 1]
    if text_of(scripts.get("build")):
        return [install, f"{manager} run build"]
    if nx and nx.name and "build" in nx.facts["targets"].split("\n"):
        return [install, f"npx nx build {nx.name}"]
    return [install]


_LOCKS = {
    "npm": ("package-lock.json", "npm-shrinkwrap.json"), "pnpm": ("pnpm-lock.yaml",), "yarn": ("yarn.lock",),
    "bun": ("bun.lock", "bun.lockb"),
}  # fmt: skip


def _berry(survey: Survey, package: Package) -> bool:
    """Return whether Yarn is newer than 1: by its settings file, its version, or its lockfile's format."""
    yarn = package.findings.get(("package_manager", "yarn"))
    if yarn and yarn.version:
        return not yarn.version.startswith(("0.", "1."))
    for folder, names, _, _ in survey.above(package.path):
        if ".yarnrc.yml" in names:
            return True
        if "yarn.lock" in names:
            return "__metadata:" in (survey.scan.tree.text(join(folder, "yarn.lock"), 4096) or "")
    return False


def _pip(package: Package) -> list[str]:
    if "requirements.txt" in package.files:
        return ["pip install -r requirements.txt"]
    lists = [manifest.path for manifest in package.manifests if manifest.kind == "requirements.txt"]
    if lists and not {"pyproject.toml", "setup.py"} & package.files.keys():
        main = min(lists, key=lambda path: ("prod" not in path, "base" not in path, "common" not in path, path))
        return [f"pip install -r {main[len(package.path) :].lstrip('/')}"]
    imports = package.manifest(IMPORTS)
    if imports is not None:
        return [f"pip install {' '.join(sorted(need.name for need in imports.dependencies))}"]
    return ["pip install ."]


def _go(package: Package) -> list[str]:
    mains = go_mains(package)
    target = "." if not mains or "." in mains else mains[0]
    return ["go mod download", f"go build -o bin/app {target}"]


def go_mains(package: Package) -> list[str]:
    """Return the folders of ``package main``: the root, then ``cmd/*``."""
    mains = []
    base = len(package.path) + 1 if package.path else 0
    for folder in package.folders:
        below = folder.path[base:] if folder.path != package.path else ""
        if "main.go" in folder.files and (not below or below.startswith("cmd/") or below == "cmd"):
            mains.append(f"./{below}" if below else ".")
    return sorted(mains, key=lambda main: (main != ".", main))


def _unlocked(survey: Survey, package: Package, system: str, commands: list[str]) -> list[str]:
    lock = {"uv": "uv.lock", "poetry": "poetry.lock", "pdm": "pdm.lock", "pipenv": "Pipfile.lock"}[system]
    if _reachable(survey, package, lock):
        return commands
    return [command.replace(" --frozen", "").replace(" --deploy", "") for command in commands]


def _reachable(survey: Survey, package: Package, *names: str) -> bool:
    """Return whether a file with one of those names is in the package's folder or above it."""
    marked = (level.markers for level in survey.above(package.path) if level.markers)
    return any(name in markers for markers in marked for name in names)


def _assets(package: Package) -> list[str]:
    """Return the commands that compile a framework's assets for browsers."""
    if ("framework", "rails") in package.findings:
        return ["bundle exec rails assets:precompile"]
    if ("framework", "phoenix") in package.findings:
        return ["MIX_ENV=prod mix assets.deploy", "MIX_ENV=prod mix release"]
    node = package.manifest_of("npm")
    if node and text_of(table(node.data.get("scripts")).get("build")):
        return ["npm install", "npm run build"]
    return []
