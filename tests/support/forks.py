"""Python programs that tests run by the hundred: each is a process of its own, forked from one that has their imports.

``python -P -m tests.support.forks SOCKET MODULE...`` imports the modules, then forks for each connection to the socket:
the process takes over the streams that come with it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from tests.support import fork_client
from tests.support.fork_client import Fork
from tests.support.keeper import run_folder

_ROOT = Path(__file__).parents[2]
#: Imports of the command, also late ones; a process of the platform has other ones.
_OF_THE_COMMAND = (
    "assay.command", "assay._sync.client", "assay.mcp.server", "assay.mcp.stdio", "anyio._backends._asyncio",
    "anyio.streams", "cyclopts.help", "docstring_parser", "h11", "h2.connection", "httpcore2", "pydantic.dataclasses",
    "rich.live", "rich.panel", "rich.table", "stringprep", "truststore",
)  # fmt: skip
_servers: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    talk: str

    @property
    def json(self) -> Any:
        assert self.out, (self.status, self.talk)
        return json.loads(self.out)


def run(
    module: str,
    words: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    stdin: str | None = None,
    imports: Sequence[str] = _OF_THE_COMMAND,
) -> Ran:
    """Run ``python -P -m module words`` to its end, with the imports done already."""
    with ExitStack() as stack:
        given, out, talk = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write((stdin or "").encode())
        given.seek(0)
        status = Fork(
            _address(*imports), module, words, env, str(cwd), [each.fileno() for each in (given, out, talk)]
        ).wait()
        return Ran(status, _content(out), _content(talk))


@cache
def commands() -> Path:
    """Return a folder with `assay`, and `python` for a program from its input: scripts that are forks."""
    folder = run_folder() / f"commands-{os.getpid()}"
    folder.mkdir()
    client = Path(fork_client.__file__).read_text()
    others = f'if sys.argv[1:] != ["-"]:\n    os.execv({sys.executable!r}, ["python", *sys.argv[1:]])\n'
    for name, module, before in (("assay", "assay", ""), ("python", None, others)):
        script = folder / name
        script.write_text(
            f"#!{sys.executable} -IS\n{client}\n\n{before}main({_address(*_OF_THE_COMMAND)!r}, {module!r})\n"
        )
        script.chmod(0o755)
    return folder


@cache
def _address(*imports: str) -> str:
    """Start a process that forks; it ends when this process ends, because its input is closed then."""
    address = str(run_folder() / f"forks-{os.getpid()}-{len(_servers)}")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        command = [sys.executable, "-P", "-m", "tests.support.forks", str(listening.fileno()), *imports]
        env = {**os.environ, "PYTHONPATH": str(_ROOT)}
        _servers.append(subprocess.Popen(command, stdin=subprocess.PIPE, env=env, pass_fds=[listening.fileno()]))
    return address


def main() -> None:
    listening = socket.socket(fileno=int(sys.argv[1]))
    listening.set_inheritable(False)
    gc.disable()
    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.freeze()  # memory that the forks share is not touched again
    gc.enable()
    while True:
        if sys.stdin in select.select([listening, sys.stdin], [], [])[0]:
            return
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        connection, _ = listening.accept()
        with connection:
            if os.fork() == 0:
                listening.close()
                _serve(connection)
                return


def _serve(connection: socket.socket) -> None:
    """Fork once more: report how the process ends, and return in it as what it is to be."""
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rw") as talk:
        request = json.load(talk)
        pid = os.fork()
        if pid:
            print(pid, file=talk, flush=True)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=talk, flush=True)
            os._exit(0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv[1:] = request["words"]
    connection.close()
    if request["module"] is not None:
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
    else:
        _run_input()


def _run_input() -> None:
    """Do what ``python -`` does."""
    sys.argv[:1], sys.path[:0] = [], [""]
    program = sys.modules["__main__"] = ModuleType("__main__")
    exec(compile(sys.stdin.buffer.read(), "<stdin>", "exec"), vars(program))


def _content(stream: BinaryIO) -> str:
    stream.seek(0)
    return stream.read().decode()


if __name__ == "__main__":
    main()
