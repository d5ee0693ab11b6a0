"""``python -m services.host.demo``: start everything, run jobs on real data, show them, stop."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from services.host.demo import library
from services.host.environment import python_path

_HERE = Path(__file__).parent
_ROOT = Path(__file__).resolve().parents[3]
_TASK = "One row per month: the mean adjusted close, the number of trading days, and the total volume"


def main() -> int:
    began = time.monotonic()
    home = Path(tempfile.mkdtemp(prefix="assay-demo-", dir="/tmp"))
    home.chmod(0o755)
    env = _environment(home)
    work = home / "work"
    work.mkdir()
    for file in (_stock_prices(), _HERE / "busiest_days.py", _HERE / "prices.md", _HERE / "shop.mmd"):
        shutil.copy(file, work)
    library.write(work)
    steps = [
        ("A program in the sandbox, beside a file", ["execute", "busiest_days.py", "--file", "msft.csv"]),
        ("A task for a model, whose program is run and checked", ["transform", "msft.csv", _TASK]),
        ("A document: what its prompt will say", ["doc", "run", "prices.md", "--file", "msft.csv", "--dry-run"]),
        (
            "The same with a model's answer in it",
            ["doc", "run", "prices.md", "--file", "msft.csv", "--html", "prices.html"],
        ),
        ("A diagram, edited in plain words", ["flow", "edit", "shop.mmd", "Put a review before the payment"]),
        ("A collection: what Python's own library is for", ["collection", "create", "python", "tables.json"]),
        ("One table", ["ingest", "python", "modules", "modules.jsonl"]),
        ("Another table", ["ingest", "python", "exceptions", "exceptions.jsonl"]),
        ("A question that is answered at once", ["search", "python", "Which module reads CSV files?"]),
        ("Found in other words", ["search", "python", "Which module is a tortoise with a pen?", "--explain"]),
        ("Found in another table", ["search", "python", "Who says that a list has no such position?", "--explain"]),
        ("Not there, and it says so", ["search", "python", "How long do I boil an egg?", "--explain"]),
        ("The technologies of a repository: this one", ["detect", str(_ROOT), "--mode", "static"]),
        ("What ran", ["jobs", "ls"]),
    ]
    try:
        status = _assay(
            ["up", "--demo", "-d"], env, work, "Start Postgres, Redis, gateway, workers, and scripted models"
        )
        for title, words in steps:
            status = status or _assay(words, env, work, title)
        page = _kept(work / "prices.html")
        if status == 0:
            _look(env, work)
    finally:
        stopped = _assay(["down"], env, work, "Stop")
        shutil.rmtree(home, ignore_errors=True)
    print(f"\nThat took {time.monotonic() - began:.0f} s. `make up` keeps it running.", file=sys.stderr)  # noqa: T201
    if page is not None:
        print(f"The document as a page, with its plot: {page}", file=sys.stderr)  # noqa: T201
    return status or stopped


def _look(env: dict[str, str], work: Path) -> None:
    """Leave everything there for who sits before a terminal, until they have seen enough."""
    if not sys.stdin.isatty() or _assay(["login"], env, work, "Look at all of it in the console") != 0:
        return
    sys.stderr.write("\nOpen the link within a minute. Enter stops everything: ")
    sys.stderr.flush()
    with suppress(KeyboardInterrupt, EOFError):
        input()


def _kept(page: Path) -> Path | None:
    """Copy the page to where it stays when the rest of the demonstration is deleted."""
    if not page.is_file():
        return None
    kept = _ROOT / ".assay" / "demo" / page.name
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(page, kept)
    return kept


def _assay(words: Sequence[str], env: dict[str, str], cwd: Path, title: str) -> int:
    """Run the command as a person would, and show it."""
    shown = " ".join(f'"{word}"' if " " in word else word for word in words).replace(str(_ROOT), ".")
    print(f"\n# {title}\n$ assay {shown}", file=sys.stderr, flush=True)  # noqa: T201
    return subprocess.run([sys.executable, "-P", "-m", "assay", *words], env=env, cwd=cwd, check=False).returncode


def _stock_prices() -> Path:
    """64 days of a share's prices in 2003, which ship with matplotlib (found, not imported)."""
    package = find_spec("matplotlib")
    if package is None or package.origin is None:
        sys.exit("the demonstration's data ships with matplotlib: pip install 'assay[execution]'")
    return Path(package.origin).parent / "mpl-data" / "sample_data" / "msft.csv"


def _environment(home: Path) -> dict[str, str]:
    """The environment without this machine's own Assay, servers and keys."""
    foreign = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_URL", "BLOB_URL")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**env, "ASSAY_HOME": str(home), "ASSAY_PORT": "0", "PYTHONPATH": python_path(os.environ)}


if __name__ == "__main__":
    sys.exit(main())
