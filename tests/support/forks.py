"""Python programs that tests run by the hundred: each is a process of its own, forked from one that has their imports.

``python -P -m tests.support.forks MODULE...`` imports the modules, then runs what the lines of its input ask for.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

_ROOT = Path(__file__).parents[2]
#: Imports of the command; a process of the platform has other ones.
_OF_THE_COMMAND = ("assay.command", "assay._sync.client", "rich.live")


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
    server = _server(*imports)
    assert server.stdin is not None
    assert server.stdout is not None
    request = {"module": module, "words": list(words), "env": dict(env), "cwd": str(cwd), "stdin": stdin or ""}
    server.stdin.write(json.dumps(request).encode() + b"\n")
    server.stdin.flush()
    return Ran(**json.loads(server.stdout.readline()))


@cache
def _server(*imports: str) -> subprocess.Popen[bytes]:
    """Return the process that forks; it ends when this process ends, because its input is closed then."""
    command = [sys.executable, "-P", "-m", "tests.support.forks", *imports]
    env = {**os.environ, "PYTHONPATH": str(_ROOT)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)


def main() -> None:
    for module in sys.argv[1:]:
        importlib.import_module(module)
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    for line in requests:
        request = json.loads(line)
        with ExitStack() as stack:
            streams = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            streams[0].write(request["stdin"].encode())
            streams[0].seek(0)
            pid = os.fork()
            if pid == 0:
                requests.close()
                replies.close()
                _become(request, streams)
                return
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            out, talk = (_content(stream) for stream in streams[1:])
        replies.write(json.dumps({"status": status, "out": out, "talk": talk}).encode() + b"\n")
        replies.flush()


def _become(request: dict[str, Any], streams: Sequence[BinaryIO]) -> None:
    """In the child: run the module as if it had been started."""
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv[1:] = request["words"]
    runpy.run_module(request["module"], run_name="__main__", alter_sys=True)


def _content(stream: BinaryIO) -> str:
    stream.seek(0)
    return stream.read().decode()


if __name__ == "__main__":
    main()
