"""``python -m scripts.pin_images [--fetch] [NAME=REFERENCE@sha256:DIGEST ...]``: name images by digest, not by tag.

Writes the references into docker-compose.yml, the chart, deploy/kubernetes and the Dockerfiles; then lists the images
that still have a tag, which anyone with write access to the registry can move, and ends with status 1 while there are
any. ``--fetch`` reads the digests of the public images from their registries; those of the project's own images are
known once ``make images REGISTRY=...`` has pushed them. Without every digest nothing is written.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PINNED = re.compile(r"[a-z0-9][\w.:/-]*@sha256:[0-9a-f]{64}")
#: A line that names an image: the part before the reference, and the reference.
_NAMED = re.compile(r"^(\s*(?:-\s+)?image:\s+|FROM\s+|\s+assay[a-z-]*:\s+)(\S+)", re.MULTILINE)
_HUB = "registry-1.docker.io"
_LOOPBACK = ("127.0.0.1", "localhost")
#: What a registry may answer with: an index of all platforms, or the manifest of one.
_MANIFESTS = ", ".join(
    f"application/vnd.{kind}+json"
    for kind in (
        "oci.image.index.v1", "docker.distribution.manifest.list.v2", "oci.image.manifest.v1",
        "docker.distribution.manifest.v2",
    )
)  # fmt: skip
_SECONDS = 30.0
_MAX_BYTES = 4_000_000


class Refused(Exception):
    """Why no digest is known, in words."""


def main(words: Sequence[str], root: Path = ROOT) -> int:
    named = sorted({reference for file in files(root) for reference in references(file)})
    given = [word for word in words if word != "--fetch"]
    try:
        pins = _read(given, {name_of(reference) for reference in named})
        if "--fetch" in words:
            tagged = {tag_of(each) for each in named if is_public(each) and name_of(each) not in pins}
            pins = {**{name_of(each): f"{each}@{digest_of(each)}" for each in sorted(tagged)}, **pins}
    except Refused as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    for file in files(root):
        text = file.read_text("utf-8")
        pinned = _NAMED.sub(lambda line: line[1] + pins.get(name_of(line[2]), line[2]), text)
        if pinned != text:
            file.write_text(pinned, "utf-8")
    by_tag = unpinned(root)
    for reference in by_tag:
        print(f"{reference}: by a tag")  # noqa: T201
    return 1 if by_tag else 0


def unpinned(root: Path = ROOT) -> list[str]:
    """Return the references that are not digests."""
    return sorted({each for file in files(root) for each in references(file) if not _PINNED.fullmatch(each)})


def files(root: Path) -> Iterator[Path]:
    yield root / "docker-compose.yml"
    yield root / "deploy" / "helm" / "assay" / "values.yaml"
    yield from sorted((root / "deploy" / "kubernetes").rglob("*.yaml"))
    yield from sorted((root / "deploy").glob("*/Dockerfile"))


def references(file: Path) -> list[str]:
    return [reference for _, reference in _NAMED.findall(file.read_text("utf-8"))]


def is_public(reference: str) -> bool:
    """Return whether others publish the image."""
    return not name_of(reference).startswith("assay")


def name_of(reference: str) -> str:
    """``qdrant/qdrant`` of ``qdrant/qdrant:v1.20.0``; of a reference that was pinned the name that it had here."""
    path = re.sub(r"(@sha256:.*|:[^/]*)$", "", re.sub(r"\$\{[^}]*\}", "", reference))
    host, slash, rest = path.partition("/")
    return rest if slash and _is_host(host) else path


def tag_of(reference: str) -> str:
    """Return the reference without its digest: what is fetched again. Raises: Refused where only a digest is named."""
    tagged = reference.partition("@")[0]
    if ":" not in tagged.rpartition("/")[2]:
        raise Refused(f"{reference} names no tag, so no newer digest can be fetched: give NAME:TAG")
    return tagged


def digest_of(reference: str) -> str:
    """Ask the image's registry for the digest of a tag. Raises: Refused."""
    name, _, tag = reference.rpartition(":")
    host, slash, path = name.partition("/")
    if not slash or not _is_host(host):
        host, path = _HUB, name if slash else f"library/{name}"
    scheme = "http" if host.partition(":")[0] in _LOOPBACK else "https"
    url = f"{scheme}://{host}/v2/{path}/manifests/{tag}"
    try:
        body, said = _manifest(url, path)
    except urllib.error.HTTPError as error:
        raise Refused(f"{reference}: {host} answered {error.code}") from None
    except (OSError, ValueError) as error:
        raise Refused(f"{reference}: {host} cannot be reached: {error}") from None
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    if said not in (None, digest):
        raise Refused(f"{reference}: {host} names the digest {said}, and what it sent has {digest}")
    return digest


def _manifest(url: str, path: str) -> tuple[bytes, str | None]:
    """Read a manifest, with a token where the registry wants one: its bytes, and the digest that the header names."""
    headers = {"Accept": _MANIFESTS}
    try:
        return _fetched(url, headers)
    except urllib.error.HTTPError as error:
        challenge = error.headers.get("WWW-Authenticate", "")
        asked = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        if error.code != 401 or not challenge.startswith("Bearer ") or "realm" not in asked:
            raise
    query = {"service": asked.get("service", ""), "scope": asked.get("scope", f"repository:{path}:pull")}
    answer = json.loads(_fetched(f"{asked['realm']}?{urllib.parse.urlencode(query)}", {})[0])
    token = answer.get("token") or answer.get("access_token")
    return _fetched(url, {**headers, "Authorization": f"Bearer {token}"})


def _fetched(url: str, headers: Mapping[str, str]) -> tuple[bytes, str | None]:
    if not url.startswith(("https://", *(f"http://{host}" for host in _LOOPBACK))):
        raise ValueError(f"{url} is not https")
    request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 - checked above
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
        return answer.read(_MAX_BYTES), answer.headers.get("Docker-Content-Digest")


def _is_host(word: str) -> bool:
    return "." in word or ":" in word or word == "localhost"


def _read(words: Sequence[str], known: set[str]) -> Mapping[str, str]:
    """Parse the arguments. Raises: Refused for an unknown image, or an invalid digest."""
    pins = {}
    for word in words:
        name, _, reference = word.partition("=")
        if name not in known:
            raise Refused(f"there is no image {name!r}; there are {', '.join(sorted(known))}")
        if not _PINNED.fullmatch(reference):
            raise Refused(f"{name}: give REGISTRY/NAME@sha256: and 64 digits, not {reference!r}")
        pins[name] = reference
    return pins


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
