"""``python -m services.host.demo``: three acts on real servers, each with what it shows, and a verdict."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from services.host.demo import library
from services.host.environment import python_path

_HERE = Path(__file__).parent
_ROOT = Path(__file__).resolve().parents[3]
_TASK = "One row per month: the mean adjusted close, the number of trading days, and the total volume"
_QUESTION, _ABSENT = "Which module reads CSV files?", "How long do I boil an egg?"
_ACTS = 3


@dataclass(frozen=True)
class Run:
    """A command that has ended: its status and what it printed."""

    status: int
    out: str
    err: str

    @property
    def result(self) -> Mapping[str, Any]:
        """Return the result of the finished job that ``--json`` printed last; empty without such a job."""
        with suppress(ValueError, IndexError):
            job = json.loads(self.out.strip().splitlines()[-1])
            return job.get("result") or {} if isinstance(job, dict) else {}
        return {}


@dataclass
class Stage:
    """One demonstration: its folder and environment, and what was as it should be."""

    env: Mapping[str, str]
    folder: Path
    verdicts: list[tuple[bool, str]] = field(default_factory=list)

    def run(self, *words: str) -> Run:
        command = [sys.executable, "-P", "-m", "assay", *words]
        ran = subprocess.run(
            command, env=dict(self.env), cwd=self.folder, capture_output=True, text=True, check=False
        )  # fmt: skip
        return Run(ran.returncode, ran.stdout, ran.stderr)

    def show(self, *words: str) -> None:
        """Print a command as a person would type it."""
        typed = " ".join(f'"{word}"' if " " in word else word for word in words)
        _print(f"{_bold('$ assay ' + typed)}")

    def check(self, holds: bool, text: str) -> None:
        self.verdicts.append((holds, text))


def main() -> int:
    began = time.monotonic()
    home = Path(tempfile.mkdtemp(prefix="assay-demo-", dir="/tmp"))
    home.chmod(0o755)
    stage = Stage(_environment(home), home / "work")
    stage.folder.mkdir()
    shutil.copy(_stock_prices(), stage.folder)
    (stage.folder / "sales.csv").write_text("city,amount\nOslo,3\nRome,4\nOslo,5\n")
    library.write(stage.folder)
    _print("Assay in three acts. Servers, workers, sandboxes and checks are real; the models follow a script.\n")
    try:
        if not _start(stage):
            return 1
        for number, act in enumerate((_repaired, _refuted, _searched), 1):
            act(stage, number)
        _verdict(stage, time.monotonic() - began)
        _look(stage)
    finally:
        stage.run("down")
        shutil.rmtree(home, ignore_errors=True)
    return 0 if len(stage.verdicts) == _ACTS and all(holds for holds, _ in stage.verdicts) else 1


def _start(stage: Stage) -> bool:
    _print("Starting Postgres, Redis, the gateway and the workers ...", end="")
    began = time.monotonic()
    ran = stage.run("up", "--demo", "-d")
    _print(f" {time.monotonic() - began:.0f} s\n" if ran.status == 0 else f"\n{ran.err or ran.out}")
    return ran.status == 0


# The acts


def _repaired(stage: Stage, number: int) -> None:
    """Show a transform whose first provider is busy and whose first program fails."""
    _title(number, "The first provider is busy, the first program is wrong. The result is right.")
    words = ["transform", "msft.csv", _TASK, "-o", "months.csv"]
    stage.show(*words)
    ran = stage.run(*words)
    for line in ran.err.splitlines():
        if line.lstrip().startswith(("failover", "turn")) and not line.endswith("skipped"):
            _print(f"  {line.strip()[:110]}")
    table = stage.folder / "months.csv"
    text = table.read_text() if table.is_file() else ran.err
    _print("\n" + text)
    expected = _months(stage.folder / "msft.csv")
    rows = {row["month"]: (int(row["days"]), int(row["volume"])) for row in csv.DictReader(text.splitlines())}
    stage.check(rows == expected, f"{len(rows)} months, with days and volumes as the file has them")


def _months(file: Path) -> dict[str, tuple[int, int]]:
    """Compute days and volume of each month without Assay."""
    months: dict[str, tuple[int, int]] = {}
    with file.open(newline="") as lines:
        for row in csv.DictReader(lines):
            date = time.strptime(row["Date"], "%d-%b-%y")
            days, volume = months.get(month := time.strftime("%Y-%m", date), (0, 0))
            months[month] = (days + 1, volume + int(row["Volume"]))
    return months


def _refuted(stage: Stage, number: int) -> None:
    """Show a model that makes its result up."""
    _title(number, "A model makes its numbers up and says that it is done. Assay does not.")
    _print("sales.csv: Oslo 3, Rome 4, Oslo 5\n")
    words = ["transform", "sales.csv", "total amount by city", "--model", "groq/inventive"]
    stage.show(*words)
    ran = stage.run(*words, "--format", "csv")
    _print(ran.out.rstrip())
    reasons = [line for line in ran.err.splitlines() if "unverified" in line]
    _print("\n".join(map(_wrapped, reasons[:1])))
    _print(f"exit status {ran.status}: unverified\n" if ran.status == 7 else f"exit status {ran.status}\n")
    stage.check(ran.status == 7, "The invented result is reported as unverified")


def _searched(stage: Stage, number: int) -> None:
    """Show a question that records answer, and one that none answers."""
    _title(number, "A search quotes its source, or says that there is none.")
    modules = "modules.jsonl"
    for words in (
        ["collection", "create", "python", "tables.json"],
        ["ingest", modules, "-c", "python", "-t", "modules"],
    ):
        stage.show(*words)
        ran = stage.run(*words)
        _print(f"  {(ran.out or ran.err).strip().splitlines()[-1][:110]}")
    results = []
    for question in (_QUESTION, _ABSENT):
        stage.show("search", question, "-c", "python")
        result = stage.run("search", question, "-c", "python", "-t", "modules", "--json").result
        results.append(result)
        answer = str(result.get("answer") or "no answer").splitlines()[0]
        _print(f"  {answer.partition('; these')[0][:110]}")
        cited = ", ".join(f"{each['table']}/{each['id']}" for each in result.get("citations", ()))
        _print(f"  verdict: {result.get('verdict')}{f'; source: {cited}' if cited else ''}\n")
    answered, absent = results
    cites = "csv" in [each["id"] for each in answered.get("citations", ())]
    holds = answered.get("verdict") == "found" and cites and absent.get("verdict") in {"weak", "not_found"}
    stage.check(holds, "One answer with its source, one honest no")


def _verdict(stage: Stage, seconds: float) -> None:
    _print(_bold("Verdict"))
    for number, (holds, text) in enumerate(stage.verdicts, 1):
        _print(f"  act {number}: {'as promised' if holds else 'NOT AS PROMISED'}. {text}.")
    kept = sum(holds for holds, _ in stage.verdicts)
    _print(f"  {kept} of {_ACTS} acts in {seconds:.0f} s. To keep Assay running: make up")


def _look(stage: Stage) -> None:
    """Leave the installation running for a person at a terminal until Enter."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    ran = stage.run("login")
    if ran.status != 0:
        return
    _print(f"\nSee all of it in the console, within a minute: {ran.out.strip()}\nPress Enter to stop. ", end="")
    with suppress(KeyboardInterrupt, EOFError):
        input()


# Words on the screen


def _title(number: int, text: str) -> None:
    _print(_bold(f"Act {number} of {_ACTS}. {text}"))


def _print(text: str, end: str = "\n") -> None:
    sys.stdout.write(text + end)
    sys.stdout.flush()


def _bold(text: str) -> str:
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else f"\033[1m{text}\033[0m"


def _wrapped(line: str) -> str:
    """Break a long line at a blank."""
    import textwrap  # noqa: PLC0415

    return "\n".join(textwrap.wrap(line.strip(), 110, initial_indent="  ", subsequent_indent="    "))


def _stock_prices() -> Path:
    """64 days of a share's prices in 2003, which ship with matplotlib (found, not imported)."""
    package = find_spec("matplotlib")
    if package is None or package.origin is None:
        sys.exit("The demonstration's data ships with matplotlib: pip install matplotlib")
    return Path(package.origin).parent / "mpl-data" / "sample_data" / "msft.csv"


def _environment(home: Path) -> dict[str, str]:
    """Return the environment without this machine's own Assay, servers and keys."""
    foreign = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_URL", "BLOB_URL")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**env, "ASSAY_HOME": str(home), "ASSAY_PORT": "0", "PYTHONPATH": python_path(os.environ)}


if __name__ == "__main__":
    sys.exit(main())
