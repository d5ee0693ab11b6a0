"""A source tree as the engine sees it: folders with names and sizes, and the bytes of the few files that matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

#: What is kept of a manifest; a larger one is reported and read no further.
MANIFEST_BYTES = 4 << 20
#: What is kept of a file whose language its content decides, or whose code is searched for facts.
HEAD_BYTES = 64 << 10
#: The size of a file whose size was not needed so far: reading it costs as much as listing its name.
UNASKED = -1


@dataclass(slots=True)
class Folder:
    path: str  #: relative to the root of the source, ``""`` for the root itself
    files: dict[str, int] = field(default_factory=dict)  #: name to size in bytes, or ``UNASKED``
    folders: list[str] = field(default_factory=list)  #: names


class Reader(Protocol):
    """How the content of a file is reached."""

    def read(self, path: str, limit: int) -> bytes | None:
        """Return the first ``limit`` bytes; None when the file is gone, unreadable or was not kept."""
        ...

    def size(self, path: str) -> int:
        """Bytes of a file whose listing left them out; 0 when it is gone."""
        ...

    def prefetch(self, paths: Iterable[str]) -> None:
        """Get the contents of these files ready in one go, where that is cheaper."""
        ...


@dataclass(slots=True)
class Tree:
    folders: dict[str, Folder]
    reader: Reader
    warnings: list[str] = field(default_factory=list)
    identity: str | None = None  #: hash of the whole content, when the source gives one for nothing

    def has(self, path: str) -> bool:
        """Return whether the path is a file."""
        folder, _, name = path.rpartition("/")
        listed = self.folders.get(folder)
        return listed is not None and name in listed.files

    def size(self, path: str) -> int:
        folder, _, name = path.rpartition("/")
        files = self.folders[folder].files
        if files[name] == UNASKED:
            files[name] = self.reader.size(path)
        return files[name]

    def read(self, path: str, limit: int = MANIFEST_BYTES) -> bytes | None:
        return self.reader.read(path, limit)

    def text(self, path: str, limit: int = MANIFEST_BYTES) -> str | None:
        body = self.read(path, limit)
        return None if body is None else decoded(body)

    def ordered(self) -> Iterator[Folder]:
        """Yield every folder, parents first, in the order of their paths."""
        for path in sorted(self.folders):
            yield self.folders[path]


def decoded(body: bytes) -> str:
    """UTF-8, or UTF-16 as some editors of Windows write it, without the mark at the beginning."""
    utf_16 = body[:2] in {b"\xff\xfe", b"\xfe\xff"}
    return body.decode("utf-16" if utf_16 else "utf-8-sig", "replace")


def join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def ancestors(path: str) -> Iterator[str]:
    """Yield the folder itself, its parent, and so on to the root."""
    while True:
        yield path
        if not path:
            return
        path = parent(path)


def resolved(folder: str, relative: str) -> str | None:
    """Return the path that a file in ``folder`` means; None when it leaves the tree."""
    parts = folder.split("/") if folder else []
    for part in relative.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def within(path: str, root: str) -> bool:
    return not root or path == root or path.startswith(root + "/")


#: Folders that tools fill; a package in them is third-party.
NEVER_FIRST_PARTY = frozenset(
    (".git", ".hg", ".svn", ".bzr", "node_modules", "bower_components", "jspm_packages", "__pycache__", ".tox",
     ".nox", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".next", ".nuxt", ".svelte-kit", ".turbo",
     ".parcel-cache", ".gradle", ".terraform", ".dart_tool", ".bundle", ".eggs", "site-packages", ".stack-work",
     "dist-newstyle", "elm-stuff", ".zig-cache", "zig-cache", "zig-out", ".build", ".pnpm-store", ".pnp",
     ".cache", ".direnv", ".idea", ".angular", ".expo", ".serverless", ".vercel", ".netlify", ".astro",
     ".output", ".bloop", ".metals", ".import_linter_cache", ".hypothesis", "DerivedData", ".Rproj.user",
     ".ipynb_checkpoints")
)  # fmt: skip
