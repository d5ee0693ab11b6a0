"""Dockerfiles: stages with what each inherits, as the build tool reads them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

_MAX_LINES = 5000
_MAX_STAGES = 200
#: Of one range in EXPOSE.
_MAX_RANGE = 50
_DIRECTIVE = re.compile(r"#\s*escape\s*=\s*(\S)", re.I)
_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)(?:\s+(.*))?$", re.S)
_HEREDOC = re.compile(r"<<-?\s*[\"']?([A-Za-z_]\w*)[\"']?")
_VARIABLE = re.compile(r"\\\$|\$(?:(\w+)|\{(\w+)(?:(:?[-+])([^}]*))?\})")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=((?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\.|[^\s\"'\\])*)")
_APT = re.compile(
    r"(?:apt-get|apt)\s+(?:-\S+\s+)*install\s+((?:[^&|;\\]|\\\s)+)|apk\s+(?:-\S+\s+)*add\s+((?:[^&|;\\]|\\\s)+)"
)
#: A URL of the machine itself: its port and its path.
OWN_URL = re.compile(
    r"(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]|\$\{?HOSTNAME\}?|(?<=//)\$\{?\w+\}?)"
    r"(?::(\d{2,5}|\$\{?\w+(?::?-\d+)?\}?))?(/[\w./~%-]*)?"
)
_URL_WITH_SCHEME = re.compile(r"https?://")
#: What a process that starts a server says of its port.
_PORT_WORD = re.compile(
    r"""(?:^|[\s"'])(?:--(?:http-|server-|listen-|web-)?port|--server\.port|-Dserver\.port|-Dquarkus\.http\.port|--http\.port|-p|-port)"""
    r"""[=\s"',]+(\d{2,5})\b"""
    r"""|(?:^|[\s"'])(?:--bind|-b|--listen|-l|--addr(?:ess)?|--http|-S|--urls|--endpoint|runserver|--hostport)"""
    r"""[=\s"',]+(?:\w+://)?(?:[\w.*+\[\]:-]*:)?(\d{2,5})\b"""
    r"""|\bPORT=["']?(\d{2,5})\b"""
    r"""|(?:^|[\s"'])(?:http|server|listen|web|app)[_.-]port=["']?(\d{2,5})\b"""
)
_PORT_DEFAULT = re.compile(r"\$\{\w*PORT:?-(\d{2,5})\}")
_PORT_VARIABLE = re.compile(r"\$\{?(\w*PORT)\b")
#: Variables from which servers take their port.
PORT_VARIABLES = (
    "PORT", "HTTP_PORT", "SERVER_PORT", "APP_PORT", "LISTEN_PORT", "WEB_PORT", "ASPNETCORE_HTTP_PORTS",
    "FLASK_RUN_PORT", "UVICORN_PORT", "GRADIO_SERVER_PORT", "STREAMLIT_SERVER_PORT", "NITRO_PORT", "ROCKET_PORT",
    "NUXT_PORT", "WEBSITES_PORT", "DJANGO_PORT", "GUNICORN_PORT", "QUARKUS_HTTP_PORT", "MICRONAUT_SERVER_PORT",
    "PUMA_PORT", "PHX_PORT", "ASPNETCORE_URLS", "DOTNET_URLS", "GUNICORN_CMD_ARGS", "BIND", "LISTEN_ADDR", "BIND_ADDR",
)  # fmt: skip
_NGINX = ("nginx", "-g", "daemon off;")
#: What public images run, and the port on which that listens, by the image and a word of its tag.
_IMAGES: tuple[tuple[str, str, tuple[str, ...], int | None], ...] = (
    ("nginx", "", _NGINX, 80), ("nginxinc/nginx-unprivileged", "", _NGINX, 8080),
    ("openresty/openresty", "", ("/usr/local/openresty/bin/openresty", "-g", "daemon off;"), 80),
    ("httpd", "", ("httpd-foreground",), 80),
    ("caddy", "", ("caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"), 80),
    ("tomcat", "", ("catalina.sh", "run"), 8080), ("jetty", "", ("java", "-jar", "/usr/local/jetty/start.jar"), 8080),
    ("php", "apache", ("apache2-foreground",), 80), ("php", "fpm", ("php-fpm",), 9000),
    ("wordpress", "fpm", ("php-fpm",), 9000), ("wordpress", "", ("apache2-foreground",), 80),
    ("joseluisq/static-web-server", "", ("static-web-server",), 80),
    ("dunglas/frankenphp", "", ("frankenphp", "run", "--config", "/etc/frankenphp/Caddyfile"), 80),
    ("tiangolo/uvicorn-gunicorn-fastapi", "", ("/start.sh",), 80),
    ("ghost", "", ("node", "current/index.js"), 2368),
)  # fmt: skip


@dataclass(frozen=True)
class Instruction:
    line: int
    name: str
    body: str


@dataclass(frozen=True)
class Argv:
    """A command and the line that gives it; ``text``: it is written for a shell."""

    words: list[str]
    line: int
    text: bool = False


@dataclass
class Stage:
    """One stage with all that it inherits from the stage it is made from."""

    image: str  #: the public image at its root
    line: int  #: of its FROM
    name: str | None = None
    entry: Argv | None = None
    command: Argv | None = None
    exposed: dict[int, int] = field(default_factory=dict)  #: port to line
    env: dict[str, tuple[str, int]] = field(default_factory=dict)  #: value and line
    health: tuple[str, int, int | None] | None = None  #: path, line and port
    workdir: str = ""
    copied: list[str] = field(default_factory=list)  #: sources of its COPY and ADD instructions
    args: dict[str, str] = field(default_factory=dict)
    own_command: bool = False

    @property
    def start(self) -> tuple[list[str], int] | None:
        """Return the arguments that a container starts, and their line."""
        if self.entry and self.entry.words:
            more = self.command.words if self.command and not self.entry.text else []
            line = self.command.line if self.command and more else self.entry.line
            return [*self.entry.words, *more], line
        if self.command and self.command.words:
            return self.command.words, self.command.line
        words, _ = _of_image(self.image)
        return (list(words), self.line) if words else None

    @property
    def ports(self) -> dict[int, int]:
        """Ports with their lines: those exposed, else of the command, the variables, the check or the base image."""
        if self.exposed:
            return self.exposed
        start = self.start
        if start and (ports := ports_of(start[0], {name: value for name, (value, _) in self.env.items()})):
            return dict.fromkeys(ports, start[1])
        for name in PORT_VARIABLES:
            value, line = self.env.get(name, ("", 0))
            if match := re.search(r"(?:^|[:\s])(\d{2,5})(?:\D|$)", value):
                return _valid({int(match[1]): line})
        if self.health and self.health[2]:
            return _valid({self.health[2]: self.health[1]})
        _, port = _of_image(self.image)
        return {port: self.line} if port else {}


@dataclass
class Dockerfile:
    stages: list[Stage] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)  #: of the system, in any stage
    text: str = ""

    def stage(self, target: str | None = None) -> Stage | None:
        """Return the stage that a build ends with: the target, else the last."""
        wanted = target.lower() if target else None
        for at, stage in enumerate(self.stages):
            if wanted is not None and wanted in {stage.name, str(at)}:
                return stage
        return self.stages[-1] if self.stages else None


def _valid(ports: Mapping[int, int]) -> dict[int, int]:
    return {port: line for port, line in ports.items() if 0 < port < 65536}


def instructions(text: str) -> Iterator[Instruction]:
    """Yield each instruction with its first line, after comments, continued lines and here-documents."""
    lines = text.splitlines()[:_MAX_LINES]
    escape = "\\"
    at = 0
    while at < len(lines):
        bare = lines[at].strip()
        if match := _DIRECTIVE.match(bare) if at == 0 else None:
            escape = match[1]
        if not bare or bare.startswith("#"):
            at += 1
            continue
        first, body = at + 1, lines[at].rstrip()
        at += 1
        while body.endswith(escape):
            body = body[:-1] + " "
            while at < len(lines) and (not lines[at].strip() or lines[at].lstrip().startswith("#")):
                at += 1
            if at == len(lines):
                break
            body += lines[at].rstrip()
            at += 1
        match = _INSTRUCTION.match(body)
        if match is None:
            continue
        name, rest = match[1].upper(), (match[2] or "").strip()
        if name in {"RUN", "COPY", "ADD"}:
            inner: list[str] = []
            for mark in _HEREDOC.findall(rest)[:5]:
                while at < len(lines) and lines[at].strip() != mark:
                    inner.append(lines[at])
                    at += 1
                at += 1
            rest = " ; ".join([rest, *inner]) if name == "RUN" else rest
        yield Instruction(first, name, rest)


def read_dockerfile(text: str) -> Dockerfile:
    """Read the stages of a Dockerfile; what it does not say is left empty."""
    read = Dockerfile(text=text)
    outer: dict[str, str] = {}  # arguments before the first stage
    here: Stage | None = None
    for instruction in instructions(text):
        name, body = instruction.name, instruction.body
        if name == "FROM":
            here = _from(read.stages, instruction, outer)
            if len(read.stages) < _MAX_STAGES:
                read.stages.append(here)
        elif name == "ARG":
            key, _, value = body.partition("=")
            values = here.args if here else outer
            default = outer.get(key.strip(), "") if here else ""
            values[key.strip()] = _filled(_unquoted(value), values) if value else default
        elif name == "RUN":
            read.packages += [installed for installed in _installed(body) if installed not in read.packages]
        if here is None and name not in {"FROM", "ARG"}:
            here = Stage("", instruction.line)
            read.stages.append(here)
        if here is not None:
            _apply(here, instruction)
    return read


def _from(stages: list[Stage], instruction: Instruction, outer: Mapping[str, str]) -> Stage:
    words = [word for word in instruction.body.split() if not word.startswith("--")]
    image = _filled(words[0], outer) if words else ""
    name = words[2].lower() if len(words) > 2 and words[1].lower() == "as" else None
    base = next((stage for stage in reversed(stages) if stage.name and stage.name == image.lower()), None)
    if base is None:
        return Stage(image, instruction.line, name)
    return replace(
        base, line=instruction.line, name=name, exposed=dict(base.exposed), env=dict(base.env), copied=[], args={},
        own_command=False,
    )  # fmt: skip


def _apply(stage: Stage, instruction: Instruction) -> None:
    name, body, line = instruction.name, instruction.body, instruction.line
    values = {**stage.args, **{key: value for key, (value, _) in stage.env.items()}}
    if name == "EXPOSE":
        for word in _filled(body, values).split():
            stage.exposed.update(dict.fromkeys(_port_range(word), line))
    elif name == "ENV":
        for key, value in _pairs(body):
            stage.env[key] = (_filled(value, values), line)
    elif name == "WORKDIR":
        path = _filled(_unquoted(body), values)
        stage.workdir = path if path.startswith("/") else f"{stage.workdir}/{path}"
    elif name == "CMD":
        stage.command, stage.own_command = argv(body, line), True
    elif name == "ENTRYPOINT":
        stage.entry = argv(body, line)
        if not stage.own_command:
            stage.command = None  # an inherited command belongs to the entry point that it was written for
    elif name == "HEALTHCHECK":
        stage.health = None if body.strip().upper() == "NONE" else _health(body, line, values)
    elif name in {"COPY", "ADD"} and "--from=" not in body:
        words = [word for word in re.sub(r"[\[\]\",]", " ", body).split() if not word.startswith("--")]
        stage.copied += words[:-1]


def _health(body: str, line: int, values: Mapping[str, str]) -> tuple[str, int, int | None] | None:
    own = own_url(body)
    if own is None:
        return None
    path, port = own
    number = _filled(port or "", values)
    return path, line, int(number) if number.isdigit() else None


def own_url(text: str) -> tuple[str, str | None] | None:
    """Return the path, and the port if given, of the first URL of the machine itself."""
    for match in OWN_URL.finditer(text):
        if match[1] or match[2] or _URL_WITH_SCHEME.match(match[0]):
            return match[2] or "/", match[1]
    return None


def _port_range(word: str) -> list[int]:
    numbers = word.partition("/")[0].split("-")
    if not all(number.isdigit() and len(number) <= 5 for number in numbers) or len(numbers) > 2:
        return []
    low, high = int(numbers[0]), int(numbers[-1])
    return [port for port in range(low, min(high, low + _MAX_RANGE - 1) + 1) if 0 < port < 65536]


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Fill in variables as Docker does; an unknown one is empty."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "\\$":
            return "$"
        known = values.get(match[1] or match[2], "")
        if match[3] and match[3].endswith("-"):
            return known or match[4]
        return (match[4] if known else "") if match[3] else known

    return _VARIABLE.sub(value, text)[:2000]


def _unquoted(text: str) -> str:
    bare = text.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'" else bare


def _pairs(body: str) -> list[tuple[str, str]]:
    if "=" in body.split(maxsplit=1)[0] if body.split() else False:
        return [(match[1], _unquoted(match[2])) for match in _ASSIGNED.finditer(body)]
    key, _, value = body.partition(" ")
    return [(key, _unquoted(value))] if key else []


def _installed(body: str) -> list[str]:
    names = []
    for match in _APT.finditer(body):
        words = (match[1] or match[2]).split()
        names += [word.partition("=")[0] for word in words if re.fullmatch(r"[a-z0-9][a-z0-9+.:=~-]*", word)]
    return names


def argv(body: str, line: int) -> Argv:
    """Read a command in either form; what is not valid JSON is a shell command, as Docker takes it."""
    if body.startswith("["):
        try:
            parsed = json.loads(body)
        except ValueError:
            parsed = None
        if isinstance(parsed, list):
            return Argv([str(argument) for argument in parsed], line)
    return Argv(command_of(body), line, text=True)


def command_of(text: str) -> list[str]:
    """Return a shell command as an argument list; through ``sh -c`` when only a shell understands it."""
    text = text.strip()
    if not text:
        return []
    if re.search(r"[&|;<>`$]|^\w+=", text):
        return ["sh", "-c", text]
    try:
        return shlex.split(text)
    except ValueError:
        return ["sh", "-c", text]


def ports_of(words: list[str], values: Mapping[str, str] | None = None) -> list[int]:
    """Return the ports that a command names."""
    text = " ".join(words)
    ports = [int(next(filter(None, match.groups()))) for match in _PORT_WORD.finditer(text)]
    if not ports:
        for match in _PORT_VARIABLE.finditer(text):
            value = (values or {}).get(match[1], "")
            ports += [int(value)] if value.isdigit() else []
    ports = ports or [int(match[1]) for match in _PORT_DEFAULT.finditer(text)]
    return [port for port in dict.fromkeys(ports) if 0 < port < 65536][:5]


def _of_image(image: str) -> tuple[tuple[str, ...], int | None]:
    """Return what a public image runs by itself, and its port."""
    name = image.partition("@")[0]
    name, _, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "")
    name = name.removeprefix("docker.io/").removeprefix("library/").removeprefix("public.ecr.aws/docker/library/")
    if name == "mcr.microsoft.com/dotnet/aspnet":
        major = re.match(r"(\d+)", tag)
        return (), 80 if major and int(major[1]) < 8 else 8080
    for known, word, words, port in _IMAGES:
        if name == known and word in tag:
            return words, port
    return (), None
