"""A git repository read without a work tree: bare, shallow, blobs on demand; no hooks, no submodules, no redirects."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from services.stacks.sources.collector import Collector, Limits, Select
from services.stacks.tree import MANIFEST_BYTES, Tree
from shared.addresses import AddressPrivate, AddressUnknown, resolve
from shared.errors import JobCancelled, SourceNotAllowed, SourceTooLarge, SourceUnreadable

_SAFE = (
    "protocol.allow=never", "protocol.https.allow=always", "http.followRedirects=false", "core.hooksPath=/dev/null",
    "credential.helper=", "core.askPass=", "submodule.recurse=false", "fetch.recurseSubmodules=false", "gc.auto=0",
    "maintenance.auto=false", "core.fsmonitor=false", "advice.detachedHead=false", "transfer.fsckObjects=false",
    "core.symlinks=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=20", "http.maxRequests=2",
)  # fmt: skip
#: Small files come with the commit, in one answer; large ones only when somebody wants them.
_FILTER = "--filter=blob:limit=262144"
_REF = "refs/assay/source"
_TICK = 0.02
_BLOBS_AT_ONCE = 2000


@dataclass(frozen=True)
class GitLimits:
    """What fetching a repository may take, and whom it may trust."""

    seconds: float = 120
    megabytes: int = 2048  #: on disk, while it is read
    private_hosts: bool = False
    ca_file: Path | None = None  #: certificates in place of the system's


@dataclass
class Git:
    """One repository in a folder of its own."""

    home: Path
    git_limits: GitLimits
    pinned: str  #: ``host:port:address``, so that the address that was checked is the one that is connected to
    deadline: float
    stop: Callable[[], bool]

    def run(self, *arguments: str, stdin: IO[bytes] | None = None) -> bytes:
        """Raises: SourceUnreadable, SourceTooLarge, JobCancelled."""
        over = self._over()
        if over is not None:
            raise over
        options = [part for setting in _SAFE for part in ("-c", setting)]
        options += ["-c", f"http.curloptResolve={self.pinned}"]
        if self.git_limits.ca_file is not None:
            options += ["-c", f"http.sslCAInfo={self.git_limits.ca_file}"]
        out = self.home / "out"
        with out.open("wb") as target, (self.home / "errors").open("wb") as errors:
            process = subprocess.Popen(
                ["git", *options, *arguments], stdin=stdin or subprocess.DEVNULL, stdout=target, stderr=errors,
                env=self._environment(), cwd=self.home, start_new_session=True,
            )  # fmt: skip
            self._wait(process)
        if process.returncode:
            raise SourceUnreadable(_reason((self.home / "errors").read_bytes()))
        if out.stat().st_size > 1 << 30:
            raise SourceTooLarge("the repository's listing is larger than Assay reads")
        return out.read_bytes()

    def feed(self, lines: Sequence[str], *arguments: str) -> bytes:
        """Run with lines on the standard input."""
        given = self.home / "given"
        given.write_text("".join(f"{line}\n" for line in lines))
        with given.open("rb") as stdin:
            return self.run("-C", "repository", *arguments, stdin=stdin)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.home), "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ALLOW_PROTOCOL": "https",
            "GIT_ASKPASS": "true", "SSH_ASKPASS": "true", "GIT_NO_LAZY_FETCH": "1",
        }  # fmt: skip

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """Until it ends; killed with its children when the job is cancelled, or its time or disk space used up."""
        checked = 0.0
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_TICK)
                return
            problem, now = self._over(), time.monotonic()
            if problem is None and now - checked > 0.5:
                checked = now
                if _size(self.home) > self.git_limits.megabytes << 20:
                    problem = SourceTooLarge(f"the repository takes more than {self.git_limits.megabytes} MB")
            if problem is not None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise problem

    def _over(self) -> Exception | None:
        """What ends the fetching, when the job or its time is over."""
        if self.stop():
            return JobCancelled("the job was cancelled")
        if time.monotonic() > self.deadline:
            return SourceUnreadable("the repository could not be fetched in time")
        return None


@contextmanager
def open_git(
    url: str, ref: str | None, select: Select, limits: Limits, git_limits: GitLimits, stop: Callable[[], bool]
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
        identity = git.run(*into, "rev-parse", f"{_REF}^{{tree}}").decode().strip()
        yield _tree(git, identity, select, limits)


@dataclass
class Blobs:
    """The contents of a repository: what is asked for comes in batches, and stays."""

    git: Git
    ids: dict[str, str]
    absent: set[str]  #: ids that the filter left with the server
    contents: dict[str, bytes] = field(default_factory=dict)

    def read(self, path: str, limit: int) -> bytes | None:
        if path not in self.contents and path in self.ids:
            self.prefetch([path])
        body = self.contents.get(path)
        return None if body is None else body[:limit]

    def size(self, path: str) -> int:
        return len(self.read(path, MANIFEST_BYTES) or b"")

    def prefetch(self, paths: Iterable[str]) -> None:
        wanted = [path for path in paths if path in self.ids and path not in self.contents]
        for at in range(0, len(wanted), _BLOBS_AT_ONCE):
            batch = wanted[at : at + _BLOBS_AT_ONCE]
            self.fetch({self.ids[path] for path in batch} & self.absent)
            here = [path for path in batch if self.ids[path] not in self.absent]
            bodies = self.git.feed([self.ids[path] for path in here], "cat-file", "--batch")
            self.contents.update(zip(here, _bodies(bodies, len(here)), strict=True))

    def fetch(self, ids: set[str]) -> None:
        """One request to the server for all of them; what it does not give stays absent."""
        if not ids:
            return
        with suppress(SourceUnreadable):
            self.git.feed(
                sorted(ids), "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags",
                "--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none", "--stdin", "origin",
            )  # fmt: skip
            self.absent -= ids

    def sizes(self) -> dict[str, int]:
        """Bytes by id, of everything that is here."""
        here = sorted(set(self.ids.values()) - self.absent)
        told = self.git.feed(here, "cat-file", "--batch-check=%(objectname) %(objectsize)")
        return {words[0].decode(): int(words[1]) for words in (line.split() for line in told.splitlines())}


def _bodies(output: bytes, count: int) -> Iterator[bytes]:
    at = 0
    for _ in range(count):
        end = output.index(b"\n", at)
        size = int(output[at:end].split()[2])
        yield output[end + 1 : end + 1 + size]
        at = end + 2 + size


def _tree(git: Git, identity: str, select: Select, limits: Limits) -> Tree:
    """Regular files only: a link inside a repository is legitimate and is not followed."""
    collector = Collector(select, limits)
    ids: dict[str, str] = {}
    for entry in git.run("-C", "repository", "ls-tree", "-r", "-z", _REF).split(b"\0"):
        meta, _, raw = entry.partition(b"\t")
        if not raw:
            continue
        collector.count()
        mode, kind, id = meta.decode().split()
        if kind == "blob" and mode in {"100644", "100755"}:
            path = collector.clean(raw.decode("utf-8", "surrogateescape"))
            if path:
                ids[path] = id
    listed = git.run("-C", "repository", "rev-list", "--objects", "--missing=print", "--no-object-names", _REF)
    absent = {line[1:].decode() for line in listed.splitlines() if line.startswith(b"?")}
    blobs = Blobs(git, ids, absent)
    wanted = [path for path in ids if select(path)]
    blobs.prefetch(wanted)
    sizes = blobs.sizes()
    collector.sizes = {path: sizes.get(id, 0) for path, id in ids.items()}
    tree = collector.tree(strip=False)
    return Tree(tree.folders, blobs, tree.warnings, identity)


def _size(folder: Path) -> int:
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(base, name)).st_size
    return total


def _reason(errors: bytes) -> str:
    text = errors.decode("utf-8", "replace").lower()
    if "couldn't find remote ref" in text or "not our ref" in text:
        return "the repository has no such branch, tag or commit"
    if "not found" in text or "authentication" in text or "could not read username" in text or "403" in text:
        return "there is no public repository at that URL"
    if "redirect" in text or "unable to update url base" in text:
        return "the git URL redirects elsewhere; give the address it leads to"
    return "the repository could not be fetched"


def checked_address(url: str, private_allowed: bool) -> tuple[str, int, str]:
    """The host, the port and one checked address of a URL.

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
