"""``python -m benchmarks.start``: how long `assay up` takes, cold and warm, compared with its imports alone.

The ratio is against importing the gateway's modules once, in the same run on the same machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_ROUNDS = 3


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="assay-bench-", dir="/tmp"))
    home.chmod(0o755)
    foreign = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_URL", "BLOB_URL", "PYTHONDONTWRITEBYTECODE")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    env |= {"ASSAY_HOME": str(home), "ASSAY_PORT": "0", "PYTHONPATH": str(_ROOT)}
    try:
        cold = _up(env)
        warm = min(_up(env) for _ in range(_ROUNDS))
        imports = min(_timed(["-c", "import services.gateway.app"], env) for _ in range(_ROUNDS))
        help_ = min(_timed(["-m", "assay", "--help"], env) for _ in range(_ROUNDS))
        bare = min(_timed(["-c", "import cyclopts, rich.console"], env) for _ in range(_ROUNDS))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print("| what | seconds | ratio | against |")
    print("|---|---|---|---|")
    print(f"| `assay up -d`, cold | {cold:.2f} | {cold / imports:.1f} | importing the gateway |")
    print(f"| `assay up -d`, warm | {warm:.2f} | {warm / imports:.1f} | importing the gateway |")
    print(f"| `assay --help` | {help_:.2f} | {help_ / bare:.1f} | importing cyclopts and rich |")


def _up(env: dict[str, str]) -> float:
    try:
        return _timed(["-m", "assay", "up", "-d"], env)
    finally:
        _timed(["-m", "assay", "down"], env)


def _timed(words: list[str], env: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-P", *words], env=env, capture_output=True, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
