"""Sandboxes of gVisor: each has its own kernel, namespaces and warm interpreter."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile

from services.execution.sandbox.host.launcher import Overhead
from services.execution.sandbox.host.runtime import Bind, Runtime
from services.execution.sandbox.host.zygote import EMPTY_FOLDERS, command, environment
from services.execution.sandbox.language import GUEST_ROOT, Guest
from services.execution.sandbox.protocol.wire import Json
from services.execution.sandbox.settings import SandboxSettings
from shared.errors import SandboxUnavailable

_RUNSC, _ROOT = "/runtime/runsc", "/rootfs"
_START = (
    "import sys; sys.path[:0] = ['{root}', *{packages}];"
    "from services.execution.sandbox.guest.{module} import main; main()"
)
_FOLDERS = (*EMPTY_FOLDERS, "/proc", "/dev", "/sys", "/tmp", "/ends")  # noqa: S108
#: gVisor, its gofer and the warm interpreter are in the sandbox's group too; a task inside has several outside.
_OVERHEAD = Overhead(megabytes=1536, tasks=800, each=4, breaks=True)


def find_runsc(settings: SandboxSettings) -> Path:
    """Return the path of runsc. Raises: SandboxUnavailable."""
    path = settings.runsc or shutil.which("runsc")
    if path is None or not os.access(path, os.X_OK):
        raise SandboxUnavailable(
            "gVisor's runsc is missing: install it (Debian: apt-get install runsc), or set ASSAY_SANDBOX_RUNSC."
        )
    return Path(path).resolve()


class GvisorLauncher:
    """Starts one sandbox after the other, from a thread that lives as long as it: they die with that thread."""

    boots = True
    overhead = _OVERHEAD

    def __init__(self, runtime: Runtime, uid: int, runsc: Path) -> None:
        self.uid = uid
        self._runtime = replace(runtime, binds=(*runtime.binds, Bind(runsc, _RUNSC)))
        self._errors = TemporaryFile()  # noqa: SIM115 - closed with the launcher
        self._warm: list[str] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._starter = ThreadPoolExecutor(1, "gvisor")
        self._lock = threading.Lock()
        self.alive = True

    def wait_warm(self, modules: Sequence[str]) -> None:
        """Set the modules that each sandbox loads when it starts."""
        self._warm = list(modules)

    def fork(self, guest: Guest, descriptors: Sequence[int], memfd: bool) -> None:
        """Start a sandbox with these ends of its pipes. Raises: SandboxUnavailable."""
        del memfd  # nothing counts such memory there
        program: Json = {
            "module": guest.module,
            "command": list(guest.command),
            "threads": guest.threads,
            "rests": guest.rests,
            "memfd": False,
            "warm": self._warm,
            "root": GUEST_ROOT,
            "python": self._python("gvisor"),
        }
        inside = [*self._python("bridge"), *(str(number) for number in descriptors), json.dumps(program)]
        try:
            started = self._starter.submit(self._started, inside, descriptors).result()
        except (OSError, RuntimeError) as error:  # bubblewrap is not there, or this is closed
            raise SandboxUnavailable(f"Bubblewrap could not be started ({error}).") from None
        with self._lock:
            self._processes = [started, *(each for each in self._processes if each.poll() is None)]

    def _python(self, module: str) -> list[str]:
        start = _START.format(root=GUEST_ROOT, packages=list(self._runtime.packages), module=module)
        return [self._runtime.python, "-s", "-P", "-S", "-c", start]

    def _started(self, inside: Sequence[str], descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command(self._runtime, self.uid, inside, _call),
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
            pass_fds=tuple(descriptors),
            env={name: value for name, value in os.environ.items() if name == "LD_LIBRARY_PATH"},
            cwd="/",
        )

    def why(self, what: str) -> str:
        """Return the message with the last output of gVisor or bubblewrap, if any."""
        size = os.fstat(self._errors.fileno()).st_size
        said = os.pread(self._errors.fileno(), 2000, max(0, size - 2000))
        lines = said.decode(errors="replace").strip().splitlines()
        return f"{what} It said: {lines[-1][:300]}" if lines else what

    def close(self) -> None:
        self.alive = False
        self._starter.shutdown()  # finish pending requests first
        for process in self._processes:
            process.kill()
            process.wait()
        self._errors.close()


def _call(runtime: Runtime, bwrap: str, sources: dict[str, str], inside: Sequence[str]) -> list[str]:
    """Return the bwrap call: root of an ordinary user's user namespace, as runsc requires; binds are mounted twice."""
    parts = [bwrap, "--unshare-all", "--uid", "0", "--gid", "0", "--hostname", "sandbox", "--as-pid-1"]
    parts += ["--die-with-parent", "--new-session", "--cap-add", "ALL", "--clearenv"]
    for folder in _folders_above([*sources, *(path for _, path in runtime.links), *_FOLDERS]):
        parts += ["--perms", "0755", "--dir", f"{_ROOT}{folder}"]  # the code is another user there
    for target, source in sources.items():
        parts += ["--ro-bind", source, target]
        if target != _RUNSC:
            parts += ["--ro-bind", source, f"{_ROOT}{target}"]
    for text, path in runtime.links:
        parts += ["--symlink", text, path, "--symlink", text, f"{_ROOT}{path}"]
    for folder in _FOLDERS:
        parts += ["--perms", "0755", "--dir", f"{_ROOT}{folder}"]
    parts += ["--proc", "/proc", "--dev", "/dev", "--size", "67108864", "--tmpfs", "/tmp"]  # noqa: S108
    for name, value in environment(runtime).items():
        parts += ["--setenv", name, value]
    return [*parts, "--chdir", "/", "--remount-ro", "/dev", "--remount-ro", "/", "--", *inside]


def _folders_above(paths: Iterable[str]) -> list[str]:
    """Return every folder above these, each after its own parents; the root is the empty one."""
    folders = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
    return sorted("" if folder == "/" else folder for folder in folders)
