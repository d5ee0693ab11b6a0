"""Git as a process on a separate repository: no hooks, no submodules, no redirects; bounded."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from shared.errors import JobCancelled, SourceTooLarge, SourceUnreadable

_SAFE = (
    "protocol.allow=never", "protocol.https.allow=always", "http.followRedirects=false", "core.hooksPath=/dev/null",
    "credential.helper=", "core.askPass=", "submodule.recurse=false", "fetch.recurseSubmodules=false", "gc.auto=0",
    "maintenance.auto=false", "core.fsmonitor=false", "advice.detachedHead=false", "transfer.fsckObjects=false",
    "core.symlinks=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=20", "http.maxRequests=2",
    "core.bigFileThreshold=1m", "core.packedGitWindowSize=16m", "core.packedGitLimit=128m",
    "core.deltaBaseCacheLimit=32m",  # what is larger passes through git in pieces
)  # fmt: skip
_TICK = 0.02
#: What git may take of memory.
_MEMORY_KB = 2 << 20


#: The shell limits the memory of what it then becomes.
_LIMITED = 'ulimit -v "$0" && exec "$@"'


@dataclass(frozen=True)
class GitLimits:
    """What fetching a repository may take, and whom it may trust."""

    seconds: float = 120
    megabytes: int = 2048  #: on disk, while it is read
    private_hosts: bool = False
    ca_file: Path | None = None  #: certificates in place of the system's


@dataclass
class Git:
    """One repository in a separate folder."""

    home: Path
    git_limits: GitLimits
    pinned: str  #: ``host:port:address``, so that the address that was checked is the one that is connected to
    deadline: float
    stop: Callable[[], bool]

    def run(self, *arguments: str, stdin: IO[bytes] | None = None, most: int = 1 << 30) -> Path:
        """Run git and return the file with its output, of at most ``most`` bytes.

        Raises: SourceUnreadable, SourceTooLarge, JobCancelled.
        """
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
                ["sh", "-c", _LIMITED, str(_MEMORY_KB), "git", *options, *arguments], stdin=stdin or subprocess.DEVNULL,
                stdout=target, stderr=errors, env=self._environment(), cwd=self.home, start_new_session=True,
            )  # fmt: skip
            self._wait(process, out, most)
        if process.returncode:
            raise SourceUnreadable(_reason((self.home / "errors").read_bytes()))
        return out

    def feed(self, lines: Sequence[str], *arguments: str) -> Path:
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

    def _wait(self, process: subprocess.Popen[bytes], out: Path, most: int) -> None:
        """Wait for the end; kill it with its children when the job is cancelled, or its time or disk space is used
        up.
        """
        checked = 0.0
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_TICK)
                if out.stat().st_size > most:
                    raise SourceTooLarge("the repository lists more than Assay reads")
                return
            problem, now = self._over(), time.monotonic()
            if problem is None and out.stat().st_size > most:
                problem = SourceTooLarge("the repository lists more than Assay reads")
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
        """Return the error that ends the fetch when the job or its time is over."""
        if self.stop():
            return JobCancelled("the job was cancelled")
        if time.monotonic() > self.deadline:
            return SourceUnreadable("the repository could not be fetched in time")
        return None


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
