"""Which bytes of an archive's entry are worth keeping while the stream passes by once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from services.stacks.tree import Folder, Tree, join, parent
from shared.errors import JobCancelled, SourceTooLarge

#: The path of a file to the bytes of it to keep; 0 when its name and size are enough.
Select = Callable[[str], int]


#: Of one file; no system that the sources come from can hold longer ones.
_LONGEST_PATH = 4096
_DEEPEST_PATH = 255
#: How many refused names are kept for the warning.
_MAX_TOLD = 3


@dataclass(frozen=True)
class SourceLimits:
    """How much of a source is read before it is refused."""

    entries: int = 1_000_000
    unpacked_bytes: int = 10 << 30
    kept_bytes: int = 512 << 20
    names_bytes: int = 256 << 20  #: all the paths together
    ratio: int = 400  #: unpacked to packed bytes, checked beyond 256 MB; no source code packs that well


@dataclass
class KeptFiles:
    """The files of an archive that were kept; the rest of a tree is names and sizes."""

    contents: dict[str, bytes] = field(default_factory=dict)

    def read(self, path: str, limit: int) -> bytes | None:
        body = self.contents.get(path)
        return None if body is None else body[:limit]

    def size(self, path: str) -> int:
        return len(self.contents.get(path, b""))

    def prefetch(self, paths: Iterable[str]) -> None:
        """Do nothing: the file was read when it passed by."""


@dataclass
class Collector:
    """Builds a tree from the entries of an archive, in any order, refusing what does not belong in a tree."""

    select: Select
    limits: SourceLimits
    sizes: dict[str, int] = field(default_factory=dict)
    kept: KeptFiles = field(default_factory=KeptFiles)
    entries: int = 0
    unpacked: int = 0
    kept_bytes: int = 0
    names: int = 0
    unsafe: dict[str, list[str]] = field(default_factory=dict)
    full: bool = False
    stop: Callable[[], bool] = lambda: False

    def admit(self, raw: str, size: int) -> tuple[str, int] | None:
        """Return the clean path of a file and how many of its bytes to keep; None when it is refused.

        Raises: SourceTooLarge.
        """
        path = self.clean(raw)
        if path is None or path.startswith("__MACOSX/") or path.rpartition("/")[2].startswith("._"):
            return None  # what macOS adds to archives is not source
        self.unpacked += max(size, 0)
        if self.unpacked > self.limits.unpacked_bytes:
            raise SourceTooLarge(f"the archive unpacks to more than {self.limits.unpacked_bytes >> 30} GB")
        self.sizes[path] = size
        wanted = min(size, self.select(path))
        if wanted and self.kept_bytes + wanted > self.limits.kept_bytes:
            self.full = True
            wanted = 0
        self.kept_bytes += wanted
        return path, wanted

    def count(self) -> None:
        """Count an entry. Raises: SourceTooLarge, JobCancelled."""
        self.entries += 1
        if self.entries % 1024 == 0 and self.stop():
            raise JobCancelled("the job was cancelled")
        if self.entries > self.limits.entries:
            raise SourceTooLarge(f"the archive holds more than {self.limits.entries:,} entries")

    def clean(self, raw: str) -> str | None:
        if raw.startswith("/") or "\\" in raw or "\0" in raw or (len(raw) > 1 and raw[1] == ":"):
            self.refuse("an absolute or foreign path", raw)
            return None
        if len(raw) > _LONGEST_PATH or raw.count("/") > _DEEPEST_PATH:
            self.refuse("a path that is too long", raw)
            return None
        parts = [part for part in raw.split("/") if part not in {"", "."}]
        if ".." in parts:
            self.refuse("a path that leaves the archive", raw)
            return None
        self.names += len(raw)
        if self.names > self.limits.names_bytes:
            raise SourceTooLarge(f"the names of the files take more than {self.limits.names_bytes >> 20} MB")
        path = "/".join(parts)
        try:
            path.encode()
        except UnicodeEncodeError:
            self.refuse("a name that is not UTF-8", raw)
            return None
        return path or None

    def refuse(self, why: str, raw: str) -> None:
        refused = self.unsafe.setdefault(why, [])
        refused.append(raw[:120].encode("utf-8", "backslashreplace").decode() if len(refused) < _MAX_TOLD else "")

    def tree(self, strip: bool = True) -> Tree:
        """Return the tree of what was admitted; an archive's single top folder is stripped."""
        prefix = _single_top_folder(self.sizes) if strip else ""
        cut = len(prefix)
        folders: dict[str, Folder] = {"": Folder("")}
        for path, size in self.sizes.items():
            folder, _, name = path[cut:].rpartition("/")
            listed = folders.get(folder)
            if listed is None:
                listed = _folder(folders, folder)
                if len(self.sizes) + len(folders) > self.limits.entries:
                    raise SourceTooLarge(f"the source holds more than {self.limits.entries:,} files and folders")
            listed.files[name] = size
        if cut:
            self.kept.contents = {path[cut:]: body for path, body in self.kept.contents.items()}
        for one in folders.values():  # a name that is both a file and a folder would be two things at once
            for name in [name for name in one.files if join(one.path, name) in folders]:
                del one.files[name]
        return Tree(folders, self.kept, self.warnings())

    def warnings(self) -> list[str]:
        texts = [
            f"skipped {len(names)} unsafe archive {'entry' if len(names) == 1 else 'entries'} with {why}: "
            + ", ".join(names[:3])
            + (", ..." if len(names) > 3 else "")
            for why, names in self.unsafe.items()
        ]
        if self.full:
            texts.append(f"the manifests exceed {self.limits.kept_bytes >> 20} MB; the rest were not read")
        return texts


def _single_top_folder(sizes: Mapping[str, int]) -> str:
    tops = {path.partition("/")[0] if "/" in path else "" for path in sizes}
    top = tops.pop() if len(tops) == 1 else ""
    return top + "/" if top else ""


def _folder(folders: dict[str, Folder], path: str) -> Folder:
    """Return the folder at that path, created with those above it."""
    new = folders[path] = Folder(path)
    inner = new
    while inner.path:
        outer = folders.get(parent(inner.path))
        name = inner.path.rpartition("/")[2]
        if outer is not None:
            outer.folders.append(name)
            break
        outer = folders[parent(inner.path)] = Folder(parent(inner.path))
        outer.folders.append(name)
        inner = outer
    return new
