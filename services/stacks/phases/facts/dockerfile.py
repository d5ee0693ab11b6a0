"""What a Dockerfile says about building and running a package."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field

_CONTINUED = re.compile(r"\\[ \t]*\r?\n")


_INSTRUCTION = re.compile(r"(?mi)^[ \t]*(EXPOSE|CMD|ENTRYPOINT|ENV|HEALTHCHECK|RUN|FROM|ARG|COPY)[ \t]+(.*)$")


_APT = re.compile(
    r"(?:apt-get|apt)\s+(?:-\S+\s+)*install\s+((?:[^&|;\\]|\\\s)+)|apk\s+(?:-\S+\s+)*add\s+((?:[^&|;\\]|\\\s)+)"
)


URL_PATH = re.compile(r"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|\$\{?\w+\}?)(?::[\w${}:-]+)?(/[\w./-]*)")


@dataclass(frozen=True)
class UsedImage:
    """A container that a compose file starts beside a package."""

    image: str
    file: str
    line: int | None
    named: bool  #: whether the package's own container depends on it


@dataclass
class Deployment:
    """What was found, best first."""

    ports: list[int] = field(default_factory=list)
    env: list[str] = field(default_factory=list)
    health: str | None = None
    command: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    images: list[UsedImage] = field(default_factory=list)
    named: bool = False  #: a Procfile or an image names this package


def read_dockerfile(text: str, facts: Deployment) -> None:
    """Only the last stage runs; system packages of every stage build."""
    plain = _CONTINUED.sub(" ", re.sub(r"(?m)^[ \t]*#[^\n]*\n?", "", text))
    instructions = [(match[1].upper(), match[2].strip()) for match in _INSTRUCTION.finditer(plain)]
    last = max((at for at, (name, _) in enumerate(instructions) if name == "FROM"), default=0)
    values = dict(_pairs(body) for name, body in instructions if name in {"ENV", "ARG"} and "=" in body)
    entry: list[str] = []
    command: list[str] = []
    for at, (name, body) in enumerate(instructions):
        if name == "RUN":
            facts.packages += [installed for installed in _installed(body) if installed not in facts.packages]
        if at < last:
            continue
        if name == "EXPOSE":
            for word in body.split():
                add_port(
                    re.sub(
                        r"\$\{?(\w+)(?::-(\d+))?\}?", lambda variable: values.get(variable[1], variable[2] or ""), word
                    ),
                    facts,
                )
        elif name == "ENV":
            add_names(re.findall(r"(?:^|\s)([A-Za-z_]\w*)=", " " + body) or body.split()[:1], facts)
        elif name == "CMD":
            command = _argv(body)
        elif name == "ENTRYPOINT":
            entry = _argv(body)
        elif name == "HEALTHCHECK" and (path := URL_PATH.search(body)):
            facts.health = facts.health or path[1] or "/"
    if not facts.command:
        facts.command = [*entry, *command]


def _pairs(body: str) -> tuple[str, str]:
    key, _, value = body.partition("=")
    return key.strip().split()[-1] if key.split() else "", value.strip().strip("\"'")


def _installed(body: str) -> list[str]:
    names = []
    for match in _APT.finditer(body):
        words = (match[1] or match[2]).split()
        names += [word.partition("=")[0] for word in words if re.fullmatch(r"[a-z0-9][a-z0-9+.:=~-]*", word)]
    return names


def _argv(body: str) -> list[str]:
    if body.startswith("["):
        try:
            parsed = json.loads(body)
        except ValueError:
            return []
        return [str(argument) for argument in parsed] if isinstance(parsed, list) else []
    return command_of(body)


def command_of(text: str) -> list[str]:
    """A shell command as an argument list; through ``sh -c`` when only a shell understands it."""
    text = text.strip()
    if not text:
        return []
    if re.search(r"[&|;<>`$]|^\w+=", text):
        return ["sh", "-c", text]
    try:
        return shlex.split(text)
    except ValueError:
        return ["sh", "-c", text]


def add_port(word: object, facts: Deployment) -> None:
    number = str(word).partition("/")[0].strip()
    if number.isdigit() and 0 < int(number) < 65536 and int(number) not in facts.ports:
        facts.ports.append(int(number))


def add_names(names: Iterable[str], facts: Deployment) -> None:
    facts.env += [name for name in names if name not in facts.env and name not in {"PATH", "HOME", "DEBIAN_FRONTEND"}]
