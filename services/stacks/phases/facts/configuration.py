"""Ports, variables and health routes that a package's configuration files name: surer than what its code says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from services.stacks.manifests.formats import Broken, read_yaml
from services.stacks.manifests.model import dig
from services.stacks.packages.package import Package
from services.stacks.packages.survey import Survey
from services.stacks.phases.facts.deployment import Place
from services.stacks.scan.markers import SERVER_SETTINGS
from services.stacks.tree import HEAD_BYTES, Tree, join

CONFIGS = (
    "application.properties", "application.yml", "application.yaml", "bootstrap.yml", "micronaut.yml",
    "application.conf",
)  # fmt: skip
_CONFIG_FOLDERS = ("src/main/resources", "config", "src/main/conf", "conf", "")
_BUILD_TIME = re.compile(r"^(?:VITE_|NEXT_PUBLIC_|REACT_APP_|PUBLIC_|NUXT_PUBLIC_|GATSBY_|EXPO_PUBLIC_|VUE_APP_)")
#: Set by systems and tools, not by who runs the program.
_NOT_SETTINGS = frozenset(
    ("NODE_ENV", "HOME", "PATH", "USER", "PWD", "SHELL", "TERM", "MODE", "DEV", "PROD", "SSR", "BASE_URL", "CI")
)
_DOTENV_LINE = re.compile(r"(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*[\"']?([^\s\"'#]*)")
_SETTINGS_PORT = re.compile(r"(?m)\bport\s*[:=]\s*(\d{2,5})\b")
_PLACEHOLDER = re.compile(r"\$\{([A-Z][A-Z0-9_]+)(?::[^}\n]{0,200})?\}")
_ACTUATOR_PATH = re.compile(r"management\.endpoints\.web\.base-path\s*=\s*(\S+)")
_PROPERTY_PORT = re.compile(
    r"(?m)^(?:quarkus\.http|server|micronaut\.server)\.port[ \t]*[=:][ \t]*(?:\$\{\w+:)?(\d{1,5})"
)
_YAML_PORTS = (
    ("server", "port"), ("quarkus", "http", "port"), ("micronaut", "server", "port"), ("ktor", "deployment", "port"),
)  # fmt: skip
#: The port of a server in HOCON, in a block or in a path.
_HOCON_PORT = re.compile(
    r"\b(?:deployment|http|server|rest|api|web)(?:\s*\{[^{}]{0,500}?\b|\.)port\s*[=:]\s*\"?(\d{2,5})\b"
)
_DOTNET_URLS = re.compile(r"\"(?:applicationUrl|Url|Urls)\"\s*:\s*\"([^\"]+)\"")


#: Settings of servers that are not code of the program, and the port in them.
TOOL_SETTINGS = {
    ".streamlit/config.toml": re.compile(r"(?m)^[ \t]*port[ \t]*=[ \t]*(\d{2,5})\b"),
    "gunicorn.conf.py": re.compile(r"(?m)^bind[ \t]*=[ \t]*f?[\"'][^\"'\n]*:(\d{2,5})[\"']"),
    "uwsgi.ini": re.compile(r"(?m)^[ \t]*http(?:-socket)?[ \t]*=[ \t]*[\w.*]*:(\d{2,5})\b"),
    ".flaskenv": re.compile(r"(?m)^[ \t]*(?:export[ \t]+)?FLASK_RUN_PORT[ \t]*=[ \t]*[\"']?(\d{2,5})\b"),
    "config/puma.rb": re.compile(
        r"(?m)^[ \t]*port[ \t(]+(?:ENV\.fetch\([ \t]*[\"']PORT[\"']\)?[ \t]*[,{][ \t]*)?[\"']?(\d{2,5})\b"
    ),
}


@dataclass
class CodeFacts:
    """What configuration files and code say."""

    ports: list[int] = field(default_factory=list)
    configured: list[int] = field(default_factory=list)  #: from configuration files, surer than code
    env: list[str] = field(default_factory=list)
    build_env: list[str] = field(default_factory=list)
    places: dict[int, Place] = field(default_factory=dict)  #: where each port is named
    health: str | None = None
    health_at: Place | None = None
    health_declared: bool = False  #: a route of the program, and no path that is only named
    text: dict[str, str] = field(default_factory=dict)  #: the entry files that were read
    read_in: dict[str, str] = field(default_factory=dict)  #: variable to the first file that names it

    def add_variable(self, name: str, path: str) -> None:
        self.read_in.setdefault(name, path)
        names = self.build_env if _BUILD_TIME.match(name) else self.env
        if name not in _NOT_SETTINGS and name not in names:
            names.append(name)

    def configure_port(self, number: int, place: Place) -> None:
        if 0 < number < 65536 and number not in self.configured:
            self.configured.append(number)
            self.places[number] = place  # surer than code


def read_configuration(survey: Survey, package: Package, facts: CodeFacts) -> None:
    tree = survey.scan.tree
    for name in sorted(package.markers):
        if name == ".env" or name.startswith(".env."):
            path = join(package.path, name)
            _dotenv(path, tree.text(path, 1 << 16) or "", facts)
    for name in sorted(package.markers):
        if name in SERVER_SETTINGS:
            path = join(package.path, name)
            text = _FOREIGN.sub(_blank, tree.text(path, HEAD_BYTES) or "")
            if port := _SETTINGS_PORT.search(text):
                facts.configure_port(int(port[1]), _at(path, text, port.start()))
    for place, pattern in TOOL_SETTINGS.items():
        path = join(package.path, place)
        if tree.has(path):
            text = tree.text(path, HEAD_BYTES) or ""
            if port := pattern.search(text):
                facts.configure_port(int(port[1]), _at(path, text, port.start()))
    if package.manifest_of("maven") or package.manifest_of("nuget"):
        for folder in _CONFIG_FOLDERS:
            for path in _existing(tree, join(package.path, folder) if folder else package.path, CONFIGS):
                _jvm(path, tree.text(path, HEAD_BYTES) or "", facts)
        for path in (
            *_existing(tree, join(package.path, "Properties"), ("launchSettings.json",)),
            *_existing(tree, package.path, ("appsettings.json",)),
        ):
            text = tree.text(path, HEAD_BYTES) or ""
            for urls in _DOTNET_URLS.finditer(text):
                for number in re.findall(r"http://[^:/\"]*:(\d{2,5})", urls[1]):
                    facts.configure_port(int(number), _at(path, text, urls.start()))


def _at(path: str, text: str, offset: int) -> Place:
    return Place("code", path, text.count("\n", 0, offset) + 1)


#: Where a development server sends what it does not serve, and its channel for reloads: ports of others.
_FOREIGN = re.compile(r"\b(?:proxy|hmr|hot|fs)\s*:\s*\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _existing(tree: Tree, folder: str, names: Iterable[str]) -> list[str]:
    listed = tree.folders.get(folder)
    return [join(folder, name) for name in names if name in listed.files] if listed else []


def _dotenv(path: str, text: str, facts: CodeFacts) -> None:
    """Read names, never values; a port is not a secret."""
    for line in _DOTENV_LINE.finditer(text):
        name, value = line.groups()
        if name.endswith("_VERSION") and name.isupper():
            continue
        facts.add_variable(name, path)
        if name == "PORT" and value.isdigit():
            facts.configure_port(int(value), _at(path, text, line.start()))


def _jvm(path: str, text: str, facts: CodeFacts) -> None:
    for placeholder in _PLACEHOLDER.finditer(text):
        facts.add_variable(placeholder[1], path)
    port = _jvm_port(path, text)
    if port is not None:
        named = re.search(rf"\b{port}\b", text)
        facts.configure_port(port, _at(path, text, named.start() if named else 0))
    if actuator := _ACTUATOR_PATH.search(text):
        facts.health = f"{actuator[1].rstrip('/')}/health"
        facts.health_at = _at(path, text, actuator.start())


def _jvm_port(path: str, text: str) -> int | None:
    """Return the port in a JVM framework's settings."""
    if path.endswith(".conf"):
        block = _HOCON_PORT.search(text)
        return int(block[1]) if block else None
    if path.endswith(".properties"):
        line = _PROPERTY_PORT.search(text)
        value: object = line[1] if line else None
    else:
        try:
            data = read_yaml(text)
        except Broken:
            return None
        value = next((stated for keys in _YAML_PORTS if (stated := dig(data, *keys)) is not None), None)
    number = re.fullmatch(r"(?:\$\{\w+:)?(\d{1,5})\}?", str(value)) if value is not None else None
    return int(number[1]) if number else None
