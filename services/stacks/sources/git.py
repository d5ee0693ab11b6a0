"""A git repository read without a work tree: one commit, its listing in pieces, blobs in batches, all under limits."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from services.stacks.sources.collector import Collector, Select, SourceLimits
from services.stacks.sources.git_process import Git, GitLimits
from services.stacks.tree import HEAD_BYTES, Tree
from shared.addresses import AddressPrivate, AddressUnknown, resolve
from shared.errors import SourceNotAllowed, SourceUnreadable

#: Small files come with the commit, in one response; large ones only when they are read.
_FILTER = "--filter=blob:limit=262144"
_REF = "refs/assay/source"
#: The blobs of one batch together, as git writes them out; a larger one is not read.
_BATCH_BYTES = 64 << 20
#: Of a listing, in addition to the path itself: mode, kind, id.
_LISTED_BYTES = 80


@contextmanager
def open_git(
    url: str, ref: str | None, select: Select, limits: SourceLimits, git_limits: GitLimits, stop: Callable[[], bool]
) -> Iterator[Tree]:
    """Fetch one commit and list it; the blobs that matter come in one batch.

    Raises: SourceNotAllowed, SourceUnreadable, SourceTooLarge, JobCancelled.
    """
    host, port, address = checked_address(url, git_limits.private_hosts)
    shown = f"[{address}]" if ":" in address else address
    with tempfile.TemporaryDirectory(prefix="assay-git-") as folder:
        git = Git(Path(folder), git_limits, f"{host}:{port}:{shown}", time.monotonic() + git_limits.seconds, stop)
        git.run("init", "--bare", "--quiet", "repository")
        into = ("-C", "repository")
        git.run(*into, "config", "remote.origin.url", url)
        git.run(*into, "config", "remote.origin.promisor", "true")
        git.run(*into, "config", "remote.origin.partialclonefilter", "blob:limit=256k")
        git.run(*into, "config", "extensions.partialClone", "origin")
        fetch = ("fetch", "--quiet", "--depth=1", "--no-tags", _FILTER, "--no-write-fetch-head")
        git.run(*into, *fetch, "origin", f"{ref or 'HEAD'}:{_REF}")
        identity = git.run(*into, "rev-parse", f"{_REF}^{{tree}}").read_text().strip()
        yield _tree(git, identity, select, limits)


@dataclass
class Blobs:
    """The contents of a repository, each blob once: requests are batched, and results are cached up to a limit."""

    git: Git
    ids: dict[str, str]  #: by path
    absent: set[str]  #: ids that the filter left with the server
    most: int  #: bytes of all that is kept
    wanted: dict[str, int] = field(default_factory=dict)  #: bytes of a blob to keep, where that is more than its head
    contents: dict[str, bytes] = field(default_factory=dict)
    kept: int = 0
    full: bool = False
    _sizes: dict[str, int] = field(default_factory=dict)

    def read(self, path: str, limit: int) -> bytes | None:
        id = self.ids.get(path)
        if id is not None and id not in self.contents:
            self.prefetch([path])
        body = self.contents.get(id or "")
        return None if body is None else body[:limit]

    def size(self, path: str) -> int:
        return self._sizes.get(self.ids.get(path, ""), 0)

    def prefetch(self, paths: Iterable[str]) -> None:
        wanted = {id for path in paths if (id := self.ids.get(path)) and id not in self.contents}
        self.fetch(wanted & self.absent)
        batch: list[str] = []
        size = 0
        for id in sorted(wanted & self._sizes.keys()):
            kept = min(self._sizes[id], self.wanted.get(id, HEAD_BYTES))
            if self._sizes[id] > _BATCH_BYTES or self.kept + kept > self.most:
                self.full = True
                continue
            self.kept += kept
            if size + self._sizes[id] > _BATCH_BYTES:
                self._read(batch)
                batch, size = [], 0
            batch.append(id)
            size += self._sizes[id]
        self._read(batch)

    def fetch(self, ids: set[str]) -> None:
        """Fetch them all with one request to the server; what it does not send stays absent."""
        if not ids:
            return
        with suppress(SourceUnreadable):
            self.git.feed(
                sorted(ids), "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags",
                "--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none", "--stdin", "origin",
            )  # fmt: skip
            self.absent -= ids
            self.measure(ids)

    def measure(self, ids: set[str]) -> None:
        """Read the sizes of the local ones."""
        asked = self.git.feed(sorted(ids - self.absent), "cat-file", "--batch-check=%(objectname) %(objectsize)")
        with asked.open() as lines:
            self._sizes |= {id: int(size) for id, size in (line.split() for line in lines) if size.isdigit()}

    def _read(self, ids: Sequence[str]) -> None:
        if not ids:
            return
        with self.git.feed(ids, "cat-file", "--batch").open("rb") as bodies:
            for id in ids:
                size = int(bodies.readline().split()[2])
                self.contents[id] = bodies.read(min(size, self.wanted.get(id, HEAD_BYTES)))
                bodies.seek(size - len(self.contents[id]) + 1, os.SEEK_CUR)


def _tree(git: Git, identity: str, select: Select, limits: SourceLimits) -> Tree:
    """Regular files only: a link inside a repository is legitimate and is not followed."""
    collector = Collector(select, limits, stop=git.stop)
    ids: dict[str, str] = {}
    wanted: dict[str, int] = {}
    most = limits.names_bytes + _LISTED_BYTES * limits.entries
    for entry in _entries(git.run("-C", "repository", "ls-tree", "-r", "-z", _REF, most=most)):
        meta, _, raw = entry.partition(b"\t")
        collector.count()
        mode, kind, id = meta.decode().split()
        path = collector.clean(raw.decode("utf-8", "surrogateescape")) if mode in {"100644", "100755"} else None
        if path and kind == "blob":
            ids[path] = sys.intern(id)
            if kept := select(path):
                wanted[id] = max(kept, wanted.get(id, 0))
    listing = git.run("-C", "repository", "rev-list", "--objects", "--missing=print", "--no-object-names", _REF)
    with listing.open() as lines:
        absent = {line[1:].strip() for line in lines if line.startswith("?")}
    blobs = Blobs(git, ids, absent, limits.kept_bytes, wanted)
    blobs.measure(set(ids.values()))
    blobs.prefetch([path for path, id in ids.items() if id in wanted])
    collector.sizes = {path: blobs.size(path) for path in ids}
    collector.full = blobs.full
    tree = collector.tree(strip=False)
    return Tree(tree.folders, blobs, tree.warnings, identity)


def _entries(listing: Path) -> Iterator[bytes]:
    """Yield the parts between null bytes, reading the file a piece at a time."""
    left = b""
    with listing.open("rb") as stream:
        while block := stream.read(1 << 20):
            *entries, left = (left + block).split(b"\0")
            yield from entries


def checked_address(url: str, private_allowed: bool) -> tuple[str, int, str]:
    """Return the host, the port and one checked address of a URL.

    Raises: SourceNotAllowed when any of its addresses is private, SourceUnreadable when it has none.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 443
    try:
        return host, port, resolve(host, port, allow_private=private_allowed)
    except AddressUnknown:
        raise SourceUnreadable("the git host has no address; check the URL") from None
    except AddressPrivate:
        raise SourceNotAllowed("git sources are fetched from public addresses only") from None
