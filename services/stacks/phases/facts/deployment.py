"""What a package's Dockerfile, Procfile, compose and platform files say about running it, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from shared.contracts.detect import FactOrigin

#: Where a debugger listens: no port of the service.
_DEBUG_PORTS = frozenset((9229, 9230, 5678, 5005, 2345, 40000, 24678, 35729, 9003))
#: A container that is only kept alive, for someone to work in.
_IDLE = re.compile(
    r"^(?:sh -c )?(?:(?:/usr)?/bin/)?(?:bash|sh|zsh|ash|fish)(?: -l| -i)?$"
    r"|^(?:sh -c )?(?:sleep |tail -[fF] /dev/null)|^/bin/true$"
)


@dataclass(frozen=True)
class Place:
    """What a fact rests on; a default has no file."""

    source: FactOrigin
    file: str | None = None
    line: int | None = None


DEFAULT = Place("default")


@dataclass(frozen=True)
class UsedImage:
    """A container that a compose file starts with a package."""

    image: str
    file: str
    line: int | None
    named: bool  #: whether the package's own container depends on it


@dataclass
class Deployment:
    """What the files say; the first that says something decides."""

    ports: list[int] = field(default_factory=list)
    ports_at: Place | None = None
    env: list[str] = field(default_factory=list)
    health: str | None = None
    health_at: Place | None = None
    command: list[str] = field(default_factory=list)
    command_at: Place | None = None
    entry: list[str] = field(default_factory=list)  #: an entry point that gets its arguments elsewhere
    packages: list[str] = field(default_factory=list)
    images: list[UsedImage] = field(default_factory=list)
    named: bool = False  #: a file says how this package is run

    def start(self, words: list[str], place: Place) -> None:
        """Take a command, unless an earlier file gave one or it only keeps a container alive."""
        if not self.command and words and not _IDLE.match(" ".join(words)):
            self.command, self.command_at = words, place

    def listen(self, port: object, place: Place) -> None:
        """Add a port, with or without its protocol."""
        number = str(port).partition("/")[0].strip()
        if not number.isdigit() or not 0 < int(number) < 65536 or int(number) in self.ports:
            return
        if int(number) in _DEBUG_PORTS and self.ports:
            return
        self.ports.append(int(number))
        self.ports_at = self.ports_at or place

    def check(self, path: str | None, place: Place) -> None:
        """Take the path of a health check, unless an earlier file gave one."""
        if path and self.health is None:
            self.health = path if path.startswith("/") else f"/{path}"
            self.health_at = place

    def name_variables(self, names: Iterable[str]) -> None:
        ignored = {"PATH", "HOME", "DEBIAN_FRONTEND"}
        self.env += [name for name in names if name not in self.env and name not in ignored]
