"""``python -m benchmarks [NAME ...]``: every benchmark, or those that are named, one after the other."""

from __future__ import annotations

import subprocess
import sys

#: In this order; each prints its table and stands alone: ``python -m benchmarks.platform``.
ALL = (
    "start",
    "platform",
    "sandbox",
    "interpreter",
    "llm",
    "broker",
    "slots",
    "transform",
    "documents",
    "stacks",
    "flows",
    "search",
)


#: Only when it is named: they take minutes, or need a browser.
LONG = ("neighbours", "scale", "slot_jobs", "streams", "console")


def main() -> int:
    wanted = sys.argv[1:] or list(ALL)
    unknown = sorted(set(wanted) - {*ALL, *LONG})
    if unknown:
        sys.stderr.write(f"there is no benchmark {unknown[0]!r}; there are {', '.join((*ALL, *LONG))}\n")
        return 2
    failed = [name for name in wanted if not _ran(name)]
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return 1 if failed else 0


def _ran(name: str) -> bool:
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
