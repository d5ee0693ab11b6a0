"""What each form of lock file pins: pairs of name and version, in the order of the file. All patterns are linear."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

from services.stacks.manifests.model import Json, dig, table, text_of

Pinned = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class LockForm:
    kind: str  #: the type of its package URLs
    read: Callable[[str], Pinned]


def _json(text: str) -> Json:
    """Raises: ValueError."""
    value = orjson.loads(text)
    return value if isinstance(value, dict) else {}


def _listed(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else ()


def _npm(text: str) -> Pinned:
    """Forms 2 and 3 have ``packages`` by their folders, form 1 has nested ``dependencies``."""
    data = _json(text)
    packages = table(data.get("packages"))
    for folder, entry in packages.items():
        _, inside, name = folder.rpartition("node_modules/")
        version = text_of(table(entry).get("version"))
        if inside and version and not table(entry).get("link"):
            yield text_of(table(entry).get("name")) or name, version
    pending = [] if packages else [table(data.get("dependencies"))]
    while pending:
        for name, entry in pending.pop().items():
            version = text_of(table(entry).get("version"))
            if version and ":" not in version:
                yield name, version
            if inner := table(table(entry).get("dependencies")):
                pending.append(inner)


_PNPM = re.compile(r"(?m)^  ['\"]?/?(@?[^@/\s'\"()]+(?:/[^@/\s'\"()]+)?)[@/](\d[^\s'\"():_]*)[^\n:]*:")


def _pnpm(text: str) -> Pinned:
    _, _, packages = text.partition("\npackages:\n")
    packages = re.split(r"(?m)^\S", packages, maxsplit=1)[0]
    yield from ((match[1], match[2]) for match in _PNPM.finditer(packages))


_YARN = re.compile(
    r"(?m)^\"?(@?[^@\s\",]+)@[^\n]*:\n  version:? \"?([^\"\n]+)\"?(?:\n  resolution: \"(@?[^@\"\n]+)@([a-z]+):)?"
)


def _yarn(text: str) -> Pinned:
    for match in _YARN.finditer(text):
        if match[4] in {None, "npm"} and match[2] != "0.0.0-use.local":
            yield match[3] or match[1], match[2]


_BUN = re.compile(r"(?m)^\s{2,8}\"[^\"\n]+\": \[\"(@?[^@\"\n]+)@(\d[^\"\n]*)\"")
_TABLES = re.compile(r"(?m)^\[\[package\]\]\r?\n(?:[^\[\n][^\n]*\n|\r?\n){0,20}")
_NAME, _VERSION = re.compile(r"(?m)^name = \"([^\"\n]+)\""), re.compile(r"(?m)^version = \"([^\"\n]+)\"")
_OWN_SOURCE = re.compile(r"(?m)^source = \{ (?:virtual|editable|directory|path) =")
_CARGO_SOURCE = re.compile(r"(?m)^source = \"(?:registry|sparse)\+")


def _toml(text: str, wanted: Callable[[str], bool]) -> Pinned:
    for block in _TABLES.finditer(text):
        name, version = _NAME.search(block[0]), _VERSION.search(block[0])
        if name and version and wanted(block[0]):
            yield name[1], version[1]


def _python(text: str) -> Pinned:
    return _toml(text, lambda block: _OWN_SOURCE.search(block) is None)


def _cargo(text: str) -> Pinned:
    return _toml(text, lambda block: _CARGO_SOURCE.search(block) is not None)


def _pipenv(text: str) -> Pinned:
    data = _json(text)
    for section in ("default", "develop"):
        for name, entry in table(data.get(section)).items():
            version = text_of(table(entry).get("version"))
            if version and version.startswith("=="):
                yield name, version[2:].strip()


_GO_SUM = re.compile(r"(?m)^(\S+) (v[^\s/]+) h1:")
_GEM = re.compile(r"(?m)^    ([\w.-]+) \(([^)\s]+)\)$")


def _gems(text: str) -> Pinned:
    for block in re.split(r"\n(?=[A-Z])", text):
        if block.startswith("GEM"):
            yield from ((match[1], match[2]) for match in _GEM.finditer(block))


def _composer(text: str) -> Pinned:
    data = _json(text)
    for section in ("packages", "packages-dev"):
        for entry in _listed(data.get(section)):
            name, version = text_of(table(entry).get("name")), text_of(table(entry).get("version"))
            if name and version:
                yield name, version.removeprefix("v")


def _nuget(text: str) -> Pinned:
    for framework in table(_json(text).get("dependencies")).values():
        for name, entry in table(framework).items():
            version = text_of(table(entry).get("resolved"))
            if version and table(entry).get("type") != "Project":
                yield name, version


_GRADLE = re.compile(r"(?m)^([\w.-]+:[\w.-]+):([^=\s:]+)=")
_MIX = re.compile(r"(?m)^\s{2}\"[^\"\n]+\": \{:hex, :(\w+), \"([^\"\n]+)\"")
_PUB = re.compile(r"(?m)^  (\w+):\n((?:    [^\n]*\n){1,12})")
_PUB_VERSION = re.compile(r"(?m)^    version: \"([^\"\n]+)\"")


def _pub(text: str) -> Pinned:
    for match in _PUB.finditer(text):
        version = _PUB_VERSION.search(match[2])
        if version and "    source: hosted\n" in match[2]:
            yield match[1], version[1]


def _swift(text: str) -> Pinned:
    data = _json(text)
    for pin in _listed(data.get("pins") or dig(data, "object", "pins")):
        url = text_of(table(pin).get("location")) or text_of(table(pin).get("repositoryURL"))
        version = text_of(dig(pin, "state", "version"))
        if url and version and url.startswith("https://"):
            place = urlsplit(url)
            yield f"{place.hostname}{place.path}".removesuffix(".git"), version


def _by(pattern: re.Pattern[str]) -> Callable[[str], Pinned]:
    return lambda text: ((match[1], match[2]) for match in pattern.finditer(text))


FORMS = {
    "package-lock.json": LockForm("npm", _npm), "npm-shrinkwrap.json": LockForm("npm", _npm),
    "pnpm-lock.yaml": LockForm("npm", _pnpm), "yarn.lock": LockForm("npm", _yarn),
    "bun.lock": LockForm("npm", _by(_BUN)),
    "uv.lock": LockForm("pypi", _python), "poetry.lock": LockForm("pypi", _python),
    "pdm.lock": LockForm("pypi", _python), "Pipfile.lock": LockForm("pypi", _pipenv),
    "Cargo.lock": LockForm("cargo", _cargo), "go.sum": LockForm("golang", _by(_GO_SUM)),
    "Gemfile.lock": LockForm("gem", _gems), "composer.lock": LockForm("composer", _composer),
    "packages.lock.json": LockForm("nuget", _nuget), "gradle.lockfile": LockForm("maven", _by(_GRADLE)),
    "mix.lock": LockForm("hex", _by(_MIX)), "pubspec.lock": LockForm("pub", _pub),
    "Package.resolved": LockForm("swift", _swift),
}  # fmt: skip
