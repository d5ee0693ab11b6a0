"""``python -m scripts.pin_images [NAME=REFERENCE@sha256:DIGEST ...]``: reference images by digest, not by tag.

Writes the references into docker-compose.yml, deploy/kubernetes and the Dockerfiles; then lists the images that still
have a tag, which anyone with write access to the registry can move, and ends with status 1 while there are any. The
digests are those of your registry: ``docker buildx imagetools inspect NAME`` prints them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_REFERENCE = re.compile(r"[a-z0-9][\w.:/-]*@sha256:[0-9a-f]{64}")
#: A line that names an image: the part before the reference, and the reference.
_NAMED = re.compile(r"^(\s*(?:-\s+)?image:\s+|FROM\s+)(\S+)", re.MULTILINE)


def main(words: Sequence[str], root: Path = ROOT) -> int:
    try:
        pins = _read(words, {name_of(reference) for file in files(root) for reference in references(file)})
    except ValueError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    for file in files(root):
        text = file.read_text("utf-8")
        pinned = _NAMED.sub(lambda found: found[1] + pins.get(name_of(found[2]), found[2]), text)
        if pinned != text:
            file.write_text(pinned, "utf-8")
    by_tag = sorted({each for file in files(root) for each in references(file) if not _REFERENCE.fullmatch(each)})
    for reference in by_tag:
        print(f"{reference}: by a tag")  # noqa: T201
    return 1 if by_tag else 0


def files(root: Path) -> Iterator[Path]:
    yield root / "docker-compose.yml"
    yield from sorted((root / "deploy" / "kubernetes").rglob("*.yaml"))
    yield from sorted((root / "deploy").glob("*/Dockerfile"))


def references(file: Path) -> list[str]:
    return [reference for _, reference in _NAMED.findall(file.read_text("utf-8"))]


def name_of(reference: str) -> str:
    """``qdrant/qdrant`` of ``qdrant/qdrant:v1.20.0``; of a reference that was pinned the name that it had here."""
    path = re.sub(r"(@sha256:.*|:[^/]*)$", "", re.sub(r"\$\{[^}]*\}", "", reference))
    host, slash, rest = path.partition("/")
    return rest if slash and ("." in host or ":" in host or host == "localhost") else path


def _read(words: Sequence[str], known: set[str]) -> Mapping[str, str]:
    """Parse the arguments. Raises: ValueError for an unknown image, or an invalid digest."""
    pins = {}
    for word in words:
        name, _, reference = word.partition("=")
        if name not in known:
            raise ValueError(f"there is no image {name!r}; there are {', '.join(sorted(known))}")
        if not _REFERENCE.fullmatch(reference):
            raise ValueError(f"{name}: give REGISTRY/NAME@sha256: and 64 digits, not {reference!r}")
        pins[name] = reference
    return pins


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
