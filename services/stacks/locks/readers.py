"""What each form of lock file pins, and what of it has no version of a registry, in the order of the file.

All patterns are linear. Members of the source itself (workspaces, folders, links) are neither.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson

from services.stacks.manifests.model import Json, dig, table, text_of


class LeftOut(NamedTuple):
    """An entry without the package URL of a registry."""

    name: str
    reason: str  #: ``git``, ``tarball``, ``file`` or ``no version``


Pinned = Iterator[tuple[str, str] | LeftOut]
_GIT = re.compile(
    r"^(?:git\b|git[+@:]|github:|gitlab:|bitbucket:|ssh:|git\+|https?://[^\s]+\.git(?:#|$)|[\w.-]+@[\w.-]+:)"
)
_TARBALL = re.compile(
    r"^https?://(?:codeload\.github\.com|github\.com|gitlab\.com|bitbucket\.org|api\.github\.com)/|^https?://[^\s]+\.(?:tar\.gz|zip)(?:[#?]|$)"
)


def _elsewhere(address: str | None) -> str | None:
    """Return why an address is not that of a registry; None where it is one or unknown."""
    if not address:
        return None
    if _GIT.match(address):
        return "git"
    if _TARBALL.match(address):
        return "tarball"
    return "file" if address.startswith("file:") else None


@dataclass(frozen=True)
class LockForm:
    kind: str  #: the type of its package URLs
    read: Callable[[str], Pinned]


def _json(text: str) -> Json:
    """Parse a JSON object. Raises: ValueError."""
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
        if not inside or table(entry).get("link"):
            continue
        name = text_of(table(entry).get("name")) or name
        reason = _elsewhere(text_of(table(entry).get("resolved")))
        if reason or not version:
            yield LeftOut(name, reason or "no version")
        else:
            yield name, version
    pending = [] if packages else [table(data.get("dependencies"))]
    while pending:
        for name, entry in pending.pop().items():
            version = text_of(table(entry).get("version"))
            reason = _elsewhere(version) or _elsewhere(text_of(table(entry).get("resolved")))
            if reason and reason != "file":
                yield LeftOut(name, reason)
            elif version and ":" not in version:
                yield name, version
            if inner := table(table(entry).get("dependencies")):
                pending.append(inner)


_PNPM = re.compile(r"(?m)^  ['\"]?/?(@?[^@/\s'\"()]+(?:/[^@/\s'\"()]+)?)[@/](\d[^\s'\"():_]*)[^\n:]*:")


_PNPM_KEY = re.compile(r"(?m)^  (?! )(['\"]?)([^\n]{1,600}?)\1:(?: *\{[^\n]*)?$")


def _pnpm(text: str) -> Pinned:
    _, _, packages = text.partition("\npackages:\n")
    packages = re.split(r"(?m)^\S", packages, maxsplit=1)[0]
    for key in _PNPM_KEY.finditer(packages):
        match = _PNPM.match(f"  {key[1]}{key[2]}{key[1]}:")
        if match:
            yield match[1], match[2]
            continue
        name, _, address = key[2].lstrip("/").rpartition("@") if "@" in key[2][1:] else ("", "", key[2])
        at = key[2].find("@", 1)
        if at > 0:
            name, address = key[2][:at].lstrip("/"), key[2][at + 1 :]
        if address.startswith(("link:", "workspace:")) or (address.startswith("file:") and not _archive(address)):
            continue
        yield LeftOut(name or address, _elsewhere(address) or ("file" if address.startswith("file:") else "git"))


def _archive(address: str) -> bool:
    return address.partition("(")[0].endswith((".tgz", ".tar.gz", ".zip"))


_YARN = re.compile(
    r"(?m)^\"?(@?[^@\s\",]+)@[^\n]*:\n  version:? \"?([^\"\n]+)\"?"
    r"(?:\n  resolution: \"(@?[^@\"\n]+)@([a-z+]+):([^\"\n]*))?(?:\n  resolved \"([^\"\n]+)\")?"
)


def _yarn(text: str) -> Pinned:
    for match in _YARN.finditer(text):
        protocol, name = match[4], match[3] or match[1]
        if protocol in {"workspace", "link", "portal", "patch"} or match[2] == "0.0.0-use.local":
            continue
        reason = _elsewhere(match[6])
        if protocol not in {None, "npm"}:
            reason = _elsewhere(f"{protocol}:{match[5]}") or "git"
        if reason:
            yield LeftOut(name, reason)
        else:
            yield name, match[2]


_BUN = re.compile(r"(?m)^\s{2,8}\"[^\"\n]+\": \[\"(@?[^@\"\n]+)@([^\"\n]+)\"")


def _bun(text: str) -> Pinned:
    for match in _BUN.finditer(text):
        if match[2][0].isdigit():
            yield match[1], match[2]
        elif not match[2].startswith(("workspace:", "root:", "link:")) and (
            match[2][:5] != "file:" or _archive(match[2])
        ):
            yield LeftOut(match[1], _elsewhere(match[2]) or "tarball")


_NAME, _VERSION = re.compile(r"(?m)^name = \"([^\"\n]+)\""), re.compile(r"(?m)^version = \"([^\"\n]+)\"")
_OWN_SOURCE = re.compile(r"(?m)^source = \{ (?:virtual|editable|directory|path) =|^type = \"directory\"|^path = ")
_OTHER_SOURCE = re.compile(r"(?m)^source = \{ (git|url) =|^type = \"(git|url|file)\"|^(git|url) = ")
_CARGO_SOURCE = re.compile(r"(?m)^source = \"(registry|sparse|git)\+")
#: Of one entry; what is beyond is hashes.
_MAX_BLOCK = 20_000


def _tables(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the version and the text of each package."""
    for block in re.split(r"(?m)^\[\[package\]\]\r?$", text)[1:]:
        body = block[:_MAX_BLOCK]
        name, version = _NAME.search(body), _VERSION.search(body)
        if name:
            yield name[1], version[1] if version else "", body


def _python(text: str) -> Pinned:
    for name, version, body in _tables(text):
        if _OWN_SOURCE.search(body):
            continue
        other = _OTHER_SOURCE.search(body)
        if other or not version:
            kind = next(filter(None, other.groups())) if other else "no version"
            yield LeftOut(name, {"url": "tarball"}.get(kind, kind))
        else:
            yield name, version


def _cargo(text: str) -> Pinned:
    for name, version, body in _tables(text):
        source = _CARGO_SOURCE.search(body)
        if source and source[1] == "git":
            yield LeftOut(name, "git")
        elif source and version:
            yield name, version


def _pipenv(text: str) -> Pinned:
    data = _json(text)
    for section in ("default", "develop"):
        for name, entry in table(data.get(section)).items():
            version = text_of(table(entry).get("version"))
            if version and version.startswith("=="):
                yield name, version[2:].strip()
            elif not table(entry).get("path") and not table(entry).get("editable"):
                yield LeftOut(
                    name, "git" if table(entry).get("git") else "tarball" if table(entry).get("file") else "no version"
                )


_GO_SUM = re.compile(r"(?m)^(\S+) (v[^\s/]+) h1:")
_GEM = re.compile(r"(?m)^    ([\w.-]+) \(([^)\s]+)\)$")


def _gems(text: str) -> Pinned:
    for block in re.split(r"\n(?=[A-Z])", text):
        if block.startswith("GEM"):
            yield from ((match[1], match[2]) for match in _GEM.finditer(block))
        elif block.startswith("GIT"):
            yield from (LeftOut(match[1], "git") for match in _GEM.finditer(block))


def _composer(text: str) -> Pinned:
    data = _json(text)
    for section in ("packages", "packages-dev"):
        for entry in _listed(data.get(section)):
            name, version = text_of(table(entry).get("name")), text_of(table(entry).get("version"))
            if name and version and dig(entry, "dist", "type") != "path":
                yield name, version.removeprefix("v")


def _nuget(text: str) -> Pinned:
    for framework in table(_json(text).get("dependencies")).values():
        for name, entry in table(framework).items():
            version = text_of(table(entry).get("resolved"))
            if version and table(entry).get("type") != "Project":
                yield name, version
            elif table(entry).get("type") != "Project":
                yield LeftOut(name, "no version")


_GRADLE = re.compile(r"(?m)^([\w.-]+:[\w.-]+):([^=\s:]+)=")
_MIX = re.compile(r"(?m)^\s{2}\"[^\"\n]+\": \{:hex, :(\w+), \"([^\"\n]+)\"")
_MIX_GIT = re.compile(r"(?m)^\s{2}\"([^\"\n]+)\": \{:git,")


def _mix(text: str) -> Pinned:
    yield from ((match[1], match[2]) for match in _MIX.finditer(text))
    yield from (LeftOut(match[1], "git") for match in _MIX_GIT.finditer(text))


_PUB = re.compile(r"(?m)^  (\w+):\n((?:    [^\n]*\n){1,12})")
_PUB_VERSION = re.compile(r"(?m)^    version: \"([^\"\n]+)\"")


def _pub(text: str) -> Pinned:
    for match in _PUB.finditer(text):
        version = _PUB_VERSION.search(match[2])
        if version and "    source: hosted\n" in match[2]:
            yield match[1], version[1]
        elif "    source: git\n" in match[2]:
            yield LeftOut(match[1], "git")


def _swift(text: str) -> Pinned:
    data = _json(text)
    for pin in _listed(data.get("pins") or dig(data, "object", "pins")):
        url = text_of(table(pin).get("location")) or text_of(table(pin).get("repositoryURL"))
        version = text_of(dig(pin, "state", "version"))
        if url and version and url.startswith("https://"):
            place = urlsplit(url)
            yield f"{place.hostname}{place.path}".removesuffix(".git"), version
        elif url:
            yield LeftOut(url.rpartition("/")[2].removesuffix(".git"), "no version" if not version else "git")


def _by(pattern: re.Pattern[str]) -> Callable[[str], Pinned]:
    return lambda text: ((match[1], match[2]) for match in pattern.finditer(text))


FORMS = {
    "package-lock.json": LockForm("npm", _npm), "npm-shrinkwrap.json": LockForm("npm", _npm),
    "pnpm-lock.yaml": LockForm("npm", _pnpm), "yarn.lock": LockForm("npm", _yarn),
    "bun.lock": LockForm("npm", _bun),
    "uv.lock": LockForm("pypi", _python), "poetry.lock": LockForm("pypi", _python),
    "pdm.lock": LockForm("pypi", _python), "Pipfile.lock": LockForm("pypi", _pipenv),
    "Cargo.lock": LockForm("cargo", _cargo), "go.sum": LockForm("golang", _by(_GO_SUM)),
    "Gemfile.lock": LockForm("gem", _gems), "composer.lock": LockForm("composer", _composer),
    "packages.lock.json": LockForm("nuget", _nuget), "gradle.lockfile": LockForm("maven", _by(_GRADLE)),
    "mix.lock": LockForm("hex", _mix), "pubspec.lock": LockForm("pub", _pub),
    "Package.resolved": LockForm("swift", _swift),
}  # fmt: skip
