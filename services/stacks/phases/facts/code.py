"""What the code itself says: ports it listens on, variables it reads, health routes it serves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from services.stacks.manifests.formats import Broken, read_yaml
from services.stacks.manifests.model import dig
from services.stacks.packages.package import Package
from services.stacks.packages.survey import Survey
from services.stacks.scan.markers import SERVER_SETTINGS
from services.stacks.scan.scanner import SMALL_TREE
from services.stacks.tree import HEAD_BYTES, join

ENTRIES = frozenset(
    ("main", "app", "server", "index", "settings", "config", "application", "program", "startup", "manage", "wsgi",
    "asgi",
     "routes", "router", "api", "web", "run", "__main__", "start", "boot", "bootstrap", "health", "urls", "lib",
     "endpoint", "tasks", "celery")
)  # fmt: skip
CODE = (".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx", ".py", ".go", ".rs", ".rb", ".php", ".java", ".kt", ".cs",
        ".fs", ".ex", ".exs", ".scala", ".clj", ".swift", ".dart", ".cr", ".ru", ".vue", ".svelte", ".hs", ".pl",
        ".r", ".R",
        ".cpp", ".cc", ".c", ".gleam", ".nim", ".jl", ".ml")  # fmt: skip
CONFIGS = ("application.properties", "application.yml", "application.yaml", "bootstrap.yml", "micronaut.yml")
#: Of a large tree, so many files are read for facts; the nearest to their package first.
MOST_READ = 256
_ENV = re.compile(
    r"process\.env\.([A-Z][A-Z0-9_]+)|process\.env\[['\"]([A-Z][A-Z0-9_]+)['\"]\]|import\.meta\.env\.([A-Z][A-Z0-9_]+)"
    r"|(?:Bun|Deno)\.env\.(?:get\(['\"])?([A-Z][A-Z0-9_]+)|os\.environ(?:\.get)?[\[(]\s*['\"]([A-Z][A-Z0-9_]+)['\"]"
    r"|os\.getenv\(\s*['\"]([A-Z][A-Z0-9_]+)['\"]|\bENV(?:\.fetch)?[\[(]\s*['\"]([A-Z][A-Z0-9_]+)['\"]"
    r"|os\.(?:Getenv|LookupEnv)\(\s*\"([A-Z][A-Z0-9_]+)\"|env::var(?:_os)?\(\s*\"([A-Z][A-Z0-9_]+)\""
    r"|System\.getenv\(\s*\"([A-Z][A-Z0-9_]+)\"|\b(?:getenv|env(?:\.(?:int|bool|float|array|json))?)\(\s*['\"]([A-Z][A-Z0-9_]+)['\"]"
    r"|GetEnvironmentVariable\(\s*\"([A-Z][A-Z0-9_]+)\"|System\.(?:get_env|fetch_env!?)\(\s*\"([A-Z][A-Z0-9_]+)\""
    r"|(?:env!|option_env!)\(\s*\"([A-Z][A-Z0-9_]+)\"|\$_(?:ENV|SERVER)\[['\"]([A-Z][A-Z0-9_]+)['\"]\]"
    r"|\$\{([A-Z][A-Z0-9_]+)(?::[^}]*)?\}"
)
_TAKEN_APART = re.compile(r"\{([\w\s,:='\"]{1,400})\}\s{0,9}=\s{0,9}(?:process|import\.meta)\.env\b")
_PORT = re.compile(
    r"\.listen\(\s*\{?\s*(?:port\s*:\s*)?(\d{2,5})\b|\bPORT['\"]?\]?\)?\s*(?:\|\||\?\?|,|or)\s*['\"]?(\d{2,5})\b"
    r"|\bport\s*[:=]\s*(?:int\()?(\d{2,5})\b|(?:ListenAndServe|\.Run|\.Start|\.Listen)\(\s*\"[\w.]*:(\d{2,5})\""
    r"|Addr:\s*\"[\w.]*:(\d{2,5})\"|(?:0\.0\.0\.0|127\.0\.0\.1|localhost|\[::\]):(\d{4,5})\b"
    r"|\(\s*\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]\s*,\s*(\d{2,5})\s*\)|\.bind\(\(\s*\"[\d.]+\"\s*,\s*(\d{2,5})\s*\)"
    r"|\bset\s+:port\s*,\s*(\d{2,5})|\bserver\.port\s*[=:]\s*(?:\$\{\w+:)?(\d{2,5})|\bPORT\s*=\s*(\d{2,5})\b"
    r"|\.start\(\s*(\d{4,5})\s*\)|addListener\(\s*\"[\d.]+\"\s*,\s*(\d{2,5})|\brun\s+(\d{4,5})\s+\w|env\.int\(\s*['\"]PORT['\"]\s*,\s*(\d{2,5})"
    r"|getenv\(\s*['\"]PORT['\"]\s*,\s*['\"]?(\d{2,5})|unwrap_or(?:_else)?\([^)]{0,40}?\"?(\d{4,5})"
)
_HEALTH = re.compile(
    r"['\"`](/(?:api/|v\d+/|_)?(?:health(?:[-_]?checks?|z)?|healthcheck|livez?|readyz?|status/health|up|ping|-/healthy)(?:/(?:live|ready|liveness|readiness))?)/?['\"`]"
)
_RAILS_HEALTH = re.compile(r"""get\s*\(?\s*["']/?([\w/-]+)["']\s*=>\s*["']rails/health#show""")
_TEST = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|e2e|docs?|examples?|scripts|migrations|fixtures)/|[._-](?:test|spec)\.|_test\.|(?:^|/)test_"
)
_BUILD_TIME = re.compile(r"^(?:VITE_|NEXT_PUBLIC_|REACT_APP_|PUBLIC_|NUXT_PUBLIC_|GATSBY_|EXPO_PUBLIC_|VUE_APP_)")
#: Databases and queues: a program connects to these, it does not listen on them.
_OTHERS_PORTS = frozenset((5432, 6379, 27017, 3306, 9092, 5672))
_NOT_NAMES = frozenset(
    ("NODE_ENV", "HOME", "PATH", "USER", "PWD", "SHELL", "TERM", "MODE", "DEV", "PROD", "SSR", "BASE_URL", "CI")
)


#: Plain words without which a pattern finds nothing; a look for one costs a tenth of the pattern.
_NAMING = (b"env", b"ENV", b"${")
_LISTENING = (
    b"port", b"PORT", b"Listener", b"run ", b"Addr", b"0.0.0.0", b"127.0.0.1", b"bind", b".Run", b".Start", b".start(",
    b"Listen",
)  # fmt: skip
_HEALTHY = (b"/health", b"/ready", b"/live", b"/ping", b"/status", b"/up", b"/api/", b"/_health")
_WORDS = (*_NAMING, b"listen", *_LISTENING, *_HEALTHY)
_MOST_JOINED = 4 << 20


@dataclass
class CodeFacts:
    ports: list[int] = field(default_factory=list)
    configured: list[int] = field(default_factory=list)  #: from configuration files, surer than code
    env: list[str] = field(default_factory=list)
    build_env: list[str] = field(default_factory=list)
    health: str | None = None
    text: dict[str, str] = field(default_factory=dict)  #: the entry files that were read


@dataclass
class ReadBudget:
    """How much was read for facts so far, over all packages of a survey."""

    left: int = MOST_READ
    cut: bool = False


def code_facts(survey: Survey, package: Package, reading: ReadBudget) -> CodeFacts:
    facts = CodeFacts()
    heads: list[tuple[bytes, str, bool]] = []
    for depth, name, path in _files(package, bool(survey.scan.heads) or survey.scan.files <= SMALL_TREE):
        head = _head(survey, path, reading)
        if head is None:
            continue
        entry = depth <= 3 and name.partition(".")[0].lower() in ENTRIES
        if entry:
            facts.text[path] = head.decode("utf-8", "replace")
        heads.append((head, name, entry))
    if heads and _any_of(_WORDS, heads):
        for head, name, entry in heads:
            _search(head, facts, name, entry)
    if package.markers:
        _dotenv(survey, package, facts)
        _settings(survey, package, facts)
    _configs(survey, package, facts)
    return facts


def _head(survey: Survey, path: str, reading: ReadBudget) -> bytes | None:
    head = survey.scan.heads.get(path)
    if head is not None:
        return head
    if survey.scan.files > SMALL_TREE and not survey.scan.heads:
        if reading.left <= 0:
            reading.cut = True
            return None
        reading.left -= 1
    return survey.scan.tree.read(path, HEAD_BYTES)


def _any_of(words: tuple[bytes, ...], heads: list[tuple[bytes, str, bool]]) -> bool:
    """Whether any of the words stands in any of the files: a few looks at all of them are cheaper than one at each."""
    if sum(len(head) for head, _, _ in heads) > _MOST_JOINED:
        return True
    whole = b"\n".join([head for head, _, _ in heads])
    return any(word in whole for word in words)


def _files(package: Package, small: bool) -> list[tuple[int, str, str]]:
    base = len(package.path) + 1 if package.path else 0
    files = []
    for folder in package.folders:
        depth = folder.path[base:].count("/") + 1 if folder.path != package.path else 0
        if not small and depth > 3:
            continue
        for name in folder.files:
            if (small or name.partition(".")[0].lower() in ENTRIES) and name.endswith(CODE):
                path = join(folder.path, name)
                if not _TEST.search(path[base:]):
                    files.append((depth, name, path))
    return sorted(files, key=lambda file: (file[0], file[2])) if len(files) > 1 else files


def _search(head: bytes, facts: CodeFacts, name: str, entry: bool) -> None:
    """Look closely only where a plain word says that it may be worth it."""
    named = any(word in head for word in _NAMING)
    listens = b"listen" in head or ((entry or name.endswith((".ru", ".rb"))) and _may_listen(head))
    healthy = facts.health is None and any(word in head for word in _HEALTHY)
    if not (named or listens or healthy):
        return
    text = head.decode("utf-8", "replace")
    for match in _ENV.finditer(text) if named else ():
        _variable(next(group for group in match.groups() if group), facts)
    for taken in _TAKEN_APART.finditer(text) if named else ():
        for one in re.findall(r"\b[A-Z][A-Z0-9_]+\b", taken[1]):
            _variable(one, facts)
    for port in _PORT.finditer(text) if listens else ():
        number = int(next(group for group in port.groups() if group))
        if 0 < number < 65536 and number not in facts.ports and number not in _OTHERS_PORTS:
            facts.ports.append(number)
    if healthy and (route := _HEALTH.search(text)):
        facts.health = route[1]
    elif healthy and (route := _RAILS_HEALTH.search(text)):
        facts.health = f"/{route[1]}"


def _may_listen(head: bytes) -> bool:
    return any(word in head for word in _LISTENING)


def _variable(name: str, facts: CodeFacts) -> None:
    if name in _NOT_NAMES:
        return
    target = facts.build_env if _BUILD_TIME.match(name) else facts.env
    if name not in target:
        target.append(name)


def _dotenv(survey: Survey, package: Package, facts: CodeFacts) -> None:
    """Names, never values; a port is no secret."""
    for name in sorted(package.markers):
        if name == ".env" or name.startswith(".env."):
            text = survey.scan.tree.text(join(package.path, name), 1 << 16) or ""
            for match in re.finditer(
                r"(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*[\"']?([^\s\"'#]*)", text
            ):
                if match[1].endswith("_VERSION") and match[1].isupper():
                    continue
                _variable(match[1], facts)
                if match[1] == "PORT" and match[2].isdigit() and 0 < int(match[2]) < 65536:
                    facts.configured.append(int(match[2]))


_SETTINGS_PORT = re.compile(r"(?m)\bport\s*[:=]\s*(\d{2,5})\b")


def _settings(survey: Survey, package: Package, facts: CodeFacts) -> None:
    for name in sorted(package.markers):
        if name in SERVER_SETTINGS:
            text = survey.scan.tree.text(join(package.path, name), HEAD_BYTES) or ""
            for match in _SETTINGS_PORT.finditer(text):
                if 0 < int(match[1]) < 65536 and int(match[1]) not in facts.configured:
                    facts.configured.append(int(match[1]))
                break


def _configs(survey: Survey, package: Package, facts: CodeFacts) -> None:
    if package.manifest_of("maven") is None and package.manifest_of("nuget") is None:
        return
    tree = survey.scan.tree
    for folder in ("src/main/resources", "config", "src/main/conf", ""):
        base = join(package.path, folder) if folder else package.path
        for name in CONFIGS:
            path = join(base, name)
            if not tree.has(path):
                continue
            text = tree.text(path, HEAD_BYTES) or ""
            for match in re.finditer(r"\$\{([A-Z][A-Z0-9_]+)(?::[^}]*)?\}", text):
                _variable(match[1], facts)
            port = _port_of(name, text)
            if port and port not in facts.configured:
                facts.configured.append(port)
            if (base_path := re.search(r"management\.endpoints\.web\.base-path\s*=\s*(\S+)", text)) is not None:
                facts.health = f"{base_path[1].rstrip('/')}/health"
    for path in (join(package.path, "Properties/launchSettings.json"), join(package.path, "appsettings.json")):
        if tree.has(path):
            for match in re.finditer(
                r"\"(?:applicationUrl|Url|Urls)\"\s*:\s*\"([^\"]+)\"", tree.text(path, HEAD_BYTES) or ""
            ):
                for one in re.findall(r"http://[^:/\"]*:(\d{2,5})", match[1]):
                    if int(one) not in facts.configured:
                        facts.configured.append(int(one))


_PROPERTY_PORT = re.compile(
    r"(?m)^(?:quarkus\.http|server|micronaut\.server)\.port[ \t]*[=:][ \t]*(?:\$\{\w+:)?(\d{1,5})"
)


def _port_of(name: str, text: str) -> int | None:
    """The port that a JVM framework's settings name."""
    if name.endswith(".properties"):
        match = _PROPERTY_PORT.search(text)
        value: object = match[1] if match else None
    else:
        try:
            data = read_yaml(text)
        except Broken:
            return None
        places = (("server", "port"), ("quarkus", "http", "port"), ("micronaut", "server", "port"))
        value = next((stated for place in places if (stated := dig(data, *place)) is not None), None)
    number = re.fullmatch(r"(?:\$\{\w+:)?(\d{1,5})\}?", str(value)) if value is not None else None
    return int(number[1]) if number and 0 < int(number[1]) < 65536 else None
