"""``python -m benchmarks [NAME ...] [--OPTION ...]``: every benchmark, or those that are named, one after the other.

Options go to each of them: ``chaos --jobs 2000``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

#: In this order; each prints its table and can be run alone: ``python -m benchmarks.platform``.
ALL = (
    "start",
    "platform",
    "sandbox",
    "interpreter",
    "llm",
    "slots",
    "transform",
    "documents",
    "tables",
    "stacks",
    "flows",
    "search",
)
#: Only when it is named: they take minutes, or need a browser.
LONG = ("chaos", "soak", "neighbours", "console")


def main() -> int:
    given = sys.argv[1:]
    if given[:1] in (["-h"], ["--help"]):
        sys.stdout.write(f"{__doc__}\nAll: {', '.join(ALL)}\nOnly when named: {', '.join(LONG)}\n")
        return 0
    first = next((at for at, word in enumerate(given) if word.startswith("--")), len(given))
    wanted = given[:first] or list(ALL)
    unknown = sorted(set(wanted) - {*ALL, *LONG})
    if unknown:
        sys.stderr.write(f"there is no benchmark {unknown[0]!r}; there are {', '.join((*ALL, *LONG))}\n")
        return 2
    failed = [name for name in wanted if not _ran(name, given[first:])]
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return 1 if failed else 0


def _ran(name: str, options: Sequence[str]) -> bool:
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *options], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
