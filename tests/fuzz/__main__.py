"""``python -m tests.fuzz [SECONDS] [TARGET ...]``: fuzz the targets; what fails is kept in the corpus."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import corpus
from tests.fuzz.targets import TARGETS

_ROOT = Path(__file__).parents[2]
_EXAMPLES = 300  #: of a round
#: Seconds after which a process hangs: threads of a library that got no memory may wait for each other for ever.
_HANGS = 60.0


@dataclass(frozen=True)
class Fuzzed:
    name: str
    inputs: int
    contained: int  #: processes that ended where that is allowed
    failure: str = ""
    failing: bytes = b""


def fuzz(*names: str, seconds: float, examples: int = _EXAMPLES, first: int = 0) -> Fuzzed:
    """In processes of their own; one that ends by a signal, or not at all, is replaced where its targets are contained.

    Such a target runs in a process with a time of its own wherever it is used.
    """
    name, may_end = ",".join(names), all(TARGETS[name].contained for name in names)
    ends, inputs, contained, seed = time.monotonic() + seconds, 0, 0, first
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder) / "current"
        while True:
            left = max(0.0, ends - time.monotonic())
            arguments = [name, str(seed), str(examples), str(left), str(current)]
            try:
                process = subprocess.run(
                    [sys.executable, "-m", "tests.fuzz.child", *arguments], capture_output=True, text=True, check=False,
                    cwd=_ROOT, timeout=left + _HANGS if may_end else None,
                )  # fmt: skip
            except subprocess.TimeoutExpired as hung:
                process = subprocess.CompletedProcess(hung.cmd, -signal.SIGKILL, "", "")
            if process.returncode == 0:
                return Fuzzed(name, inputs + int(process.stdout.split()[0]), contained)
            if process.returncode > 0 or not may_end:
                why = f"exit status {process.returncode}\n{process.stderr[-4000:]}"
                return Fuzzed(name, inputs, contained, why, current.read_bytes() if current.exists() else b"")
            contained += 1
            seed += 1_000_003  # other rounds than those that are done
            if time.monotonic() > ends:
                return Fuzzed(name, inputs, contained)


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    failed = 0
    for name in sys.argv[2:] or list(TARGETS):
        fuzzed = fuzz(name, seconds=seconds, first=int(time.time()))
        ended = f", {fuzzed.contained} processes ended where they may" if fuzzed.contained else ""
        print(f"{name:<12}{fuzzed.inputs:>9,} inputs{ended}", flush=True)
        if fuzzed.failure:
            failed += 1
            kept = corpus.add(name, fuzzed.failing)
            print(f"{fuzzed.failure}\nThe input is kept as {kept} in {corpus.ARCHIVE.relative_to(_ROOT)}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
